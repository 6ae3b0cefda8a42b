"""How fast does a deep random network forget its input, for different activations?"""
import argparse

import tensorflow as tf

from dynamics import ACTIVATIONS, make_map


def study(name: str, gain: float, iterations: int, width: int) -> float:
    step = make_map(name, gain, width)
    a = tf.random.stateless_normal([width, 1], seed=[1, 2])
    b = a + 1e-3 * tf.random.stateless_normal([width, 1], seed=[3, 4])
    start = tf.norm(a - b)
    for _ in range(iterations):
        a, b = step(a), step(b)
    return float(tf.norm(a - b) / start)


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--iterations", type=int, default=150)
    cli.add_argument("--width", type=int, default=48)
    opt = cli.parse_args()

    for name in ACTIVATIONS:
        for gain in (0.9, 1.4):
            ratio = study(name, gain, opt.iterations, opt.width)
            print("%-8s gain %.1f: %s" % (name, gain, "forgets" if ratio < 1e-2 else "remembers"))
