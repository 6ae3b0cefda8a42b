"""hotloop: why a TensorFlow loop is slow, gets slower or eats memory, and the fix, with proof."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # `typing` alone would load two dozen modules
if TYPE_CHECKING:
    from hotloop.label import Predictor as Predictor
    from hotloop.watching import watch as watch

__all__ = ["Predictor", "watch"]


def __getattr__(name: str) -> object:
    """Public names are loaded when they are asked for: importing hotloop costs nothing."""
    if name == "watch":
        from hotloop.watching import watch

        return watch
    if name == "Predictor":
        from hotloop.label import Predictor

        return Predictor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
