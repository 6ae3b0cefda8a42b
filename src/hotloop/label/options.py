"""What a labelling job was told: plain data that can be written down and sent to another machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Preprocess = Literal["auto", "label_image", "keras", "none"]
Resize = Literal["auto", "bilinear-v1", "bilinear", "nearest", "bicubic", "area", "lanczos3"]
Engine = Literal["local", "ray"]
PREPROCESS: tuple[Preprocess, ...] = ("auto", "label_image", "keras", "none")
RESIZE: tuple[Resize, ...] = ("auto", "bilinear-v1", "bilinear", "nearest", "bicubic", "area", "lanczos3")

MAX_PIXELS = 100_000_000


@dataclass(frozen=True)
class Serving:
    """How a model is loaded and fed. The same words as `Predictor` takes."""

    model: str
    input: str | None = None
    output: str | None = None
    signature: str | None = None
    size: tuple[int, int] | None = None  # height, width
    mean: float | None = None
    std: float | None = None
    preprocess: Preprocess = "auto"
    resize: Resize = "auto"
    max_pixels: int = MAX_PIXELS
    threads: int | None = None
    trust: bool = False


@dataclass(frozen=True)
class Options(Serving):
    """All of `hotloop label`: `batch` None is to be chosen by measuring."""

    labels: str | None = None
    top_k: int = 5
    raw: bool = False
    batch: int | None = None
    output_path: str | None = None
    resume: bool = False
    overwrite: bool = False
    fail_fast: bool = False
    engine: Engine = "local"
    address: str | None = None  # of a Ray cluster; None: this machine alone
    workers: int | None = None
    gpus_per_worker: float = 0.0

    def predictor_arguments(self) -> dict[str, Any]:
        """What `Predictor(**...)` takes, here or in another process."""
        told = asdict(self)
        serving = {field.name: told[field.name] for field in fields(Serving)}
        return {**serving, "batch": self.batch}
