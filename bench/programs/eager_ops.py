"""A loop of tiny eager operations: the worst case for a recorder that watches each of them."""

import sys
import time

import tensorflow as tf

STEPS = 60_000
CHUNKS = 40

x = tf.constant(1.0)
total = tf.constant(0.0)
for _ in range(200):  # warm
    total = tf.add(total, x)

chunks = []
for _ in range(CHUNKS):
    started = time.perf_counter()
    for _ in range(STEPS // CHUNKS):
        total = tf.add(total, x)
    chunks.append(time.perf_counter() - started)
sys.stderr.write(f"chunk-seconds: {' '.join(f'{seconds:.6f}' for seconds in chunks)}\n")
print(float(total))
