"""Smooth the overnight readings of every sensor and report the noisiest ones."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from filters import Smoother

SENSORS = 70
SAMPLES = 512


@dataclass
class Reading:
    sensor: str
    values: np.ndarray


def overnight(seed: int = 11) -> list[Reading]:
    rng = np.random.default_rng(seed)
    clock = np.linspace(0, 6 * np.pi, SAMPLES)
    return [
        Reading(f"s{i:03d}", (np.sin(clock + i) + rng.normal(0, 0.05 + 0.01 * (i % 7), SAMPLES)).astype(np.float32))
        for i in range(SENSORS)
    ]


def roughness(readings: list[Reading]) -> dict[str, float]:
    scores: dict[str, float] = {}
    smoother = Smoother(width=15)
    for reading in readings:
        smooth = smoother.apply(reading.values)
        scores[reading.sensor] = float(np.std(reading.values - smooth.numpy()))
    return scores


if __name__ == "__main__":
    scores = roughness(overnight())
    worst = sorted(scores, key=scores.get, reverse=True)[:5]
    for name in worst:
        print(f"{name} {scores[name]:.3f}")
    print(f"mean {np.mean(list(scores.values())):.4f}")
