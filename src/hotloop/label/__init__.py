"""Repeated inference at the machine's limit: load once, decode in parallel, one compiled call for each batch."""

from __future__ import annotations

from hotloop.label.headers import ImageError
from hotloop.label.options import Options
from hotloop.label.predictor import Predictor

__all__ = ["ImageError", "Options", "Predictor"]
