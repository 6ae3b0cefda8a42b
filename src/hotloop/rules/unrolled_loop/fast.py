"""A pendulum, integrated in small steps inside a compiled function."""

import tensorflow as tf

STEPS = 4
SMALL_STEPS = 300


@tf.function
def swing(angle, speed):
    for _ in tf.range(SMALL_STEPS):
        speed = speed - 0.01 * tf.sin(angle) - 0.001 * speed
        angle = angle + 0.01 * speed
    return angle, speed


angle, speed = tf.constant([1.0, 2.0]), tf.constant([0.0, 0.0])
for _ in range(STEPS):
    angle, speed = swing(angle, speed)
print(f"angles {float(angle[0]):.3f} {float(angle[1]):.3f}")
