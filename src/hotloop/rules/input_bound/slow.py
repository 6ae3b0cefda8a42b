"""Mean spread of sliding windows over a signal; a pipeline cuts the windows one by one."""

import numpy as np
import tensorflow as tf

STEPS = 200
WIDTH = 32
BATCH = 64

signal = np.sin(np.arange(STEPS * BATCH + WIDTH - 1) / 50).astype(np.float32)
windows = tf.data.Dataset.from_tensor_slices(signal).window(WIDTH, shift=1, drop_remainder=True)
windows = windows.flat_map(lambda window: window.batch(WIDTH))  # expect: input-bound
windows = windows.batch(BATCH)


@tf.function
def spread(batch):
    return tf.reduce_mean(tf.math.reduce_std(batch, axis=1))


total = 0.0
for batch in windows:
    total += float(spread(batch))
print(f"spread {total / STEPS:.5f}")
