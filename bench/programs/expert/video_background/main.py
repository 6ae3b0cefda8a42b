#!/usr/bin/env python3
"""Subtract the background from a (fake) surveillance clip and follow the blob."""
import argparse
import math
from typing import Iterator

import numpy as np
import tensorflow as tf

H, W = 48, 64


def read_frames(count: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.RandomState(seed)
    scene = rng.uniform(0, 0.5, (H, W)).astype(np.float32)
    for t in range(count):
        frame = scene + rng.normal(0, 0.02, (H, W)).astype(np.float32)
        cx, cy = int(W / 2 + 20 * math.cos(t / 9.0)), int(H / 2 + 12 * math.sin(t / 9.0))
        frame[cy - 3 : cy + 3, cx - 3 : cx + 3] = 1.0
        yield frame


@tf.function
def subtract(frame, background, frame_no=0):
    # running mean: the n-th frame counts 1/n, but never less than 2 %
    alpha = tf.maximum(1.0 / (frame_no + 1), 0.02)
    background = (1.0 - alpha) * background + alpha * frame
    mask = tf.cast(tf.abs(frame - background) > 0.3, tf.float32)
    ys = tf.reduce_sum(mask * tf.range(H, dtype=tf.float32)[:, None]) / (tf.reduce_sum(mask) + 1e-6)
    xs = tf.reduce_sum(mask * tf.range(W, dtype=tf.float32)[None, :]) / (tf.reduce_sum(mask) + 1e-6)
    return background, tf.stack([xs, ys])


def track(clip: Iterator[np.ndarray]) -> np.ndarray:
    background = tf.zeros([H, W])
    path = []
    n = 0
    for frame in clip:
        background, where = subtract(tf.constant(frame), background, frame_no=tf.constant(float(n)))
        path.append(where.numpy())
        n += 1
    return np.array(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--frames", type=int, default=100)
    parser.add_argument("--seed", type=int, default=4)
    opts = parser.parse_args()
    path = track(read_frames(opts.frames, opts.seed))
    length = np.sqrt((np.diff(path[20:], axis=0) ** 2).sum(1)).sum()
    print("frames", len(path))
    print("last position %.1f %.1f" % tuple(path[-1]))
    print("path length %.1f" % length)


if __name__ == "__main__":
    main()
