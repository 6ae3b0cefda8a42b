"""A loop of tiny eager operations: the worst case for a recorder that watches each of them."""

import sys
import time

import tensorflow as tf

STEPS = 20_000

x = tf.constant(1.0)
total = tf.constant(0.0)
for _ in range(200):  # warm
    total = tf.add(total, x)

started, worked = time.perf_counter(), time.process_time()
for _ in range(STEPS):
    total = tf.add(total, x)
sys.stderr.write(f"loop-seconds: {time.perf_counter() - started:.6f} cpu-seconds: {time.process_time() - worked:.6f}\n")
print(float(total))
