"""Arrays that another module uses."""

import numpy as np
import tensorflow as tf

vectors = np.random.randn(50_000, 128).astype("float32")
few_vectors = np.random.randn(50, 128)


def batches():
    return tf.data.Dataset.from_tensor_slices(few_vectors).batch(10)
