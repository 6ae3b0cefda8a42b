"""The Report as JSON: documented in docs/json.md, versioned by its `version`."""

from __future__ import annotations

import json
import math
from typing import Any

from hotloop.model import Report, to_plain


def render(report: Report) -> str:
    return json.dumps(finite(to_plain(report)), indent=2, sort_keys=True, allow_nan=False, default=str) + "\n"


def finite(plain: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else None
    if isinstance(plain, dict):
        return {key: finite(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [finite(value) for value in plain]
    return plain
