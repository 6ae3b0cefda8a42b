"""Mean spread of sliding windows over a signal; all windows are cut at once."""

import numpy as np
import tensorflow as tf

STEPS = 200
WIDTH = 32
BATCH = 64

signal = np.sin(np.arange(STEPS * BATCH + WIDTH - 1) / 50).astype(np.float32)
windows = tf.data.Dataset.from_tensor_slices(tf.signal.frame(signal, WIDTH, 1))
windows = windows.batch(BATCH)


@tf.function
def spread(batch):
    return tf.reduce_mean(tf.math.reduce_std(batch, axis=1))


total = 0.0
for batch in windows:
    total += float(spread(batch))
print(f"spread {total / STEPS:.5f}")
