import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
with np.load("train.npz") as archive:
    images = archive["images"]
    labels = archive["labels"]
stats = np.load("stats.npz")
mean = stats["x_mean"].astype(np.float32)
config = {"data": np.array([1, 2, 3])}
x = tf.constant(images)  # array-in-graph
y = tf.constant(labels)
scale = tf.constant(config["data"])
table = tf.gather(np.load("glove.npz")["vectors"], y)  # array-in-graph
row = tf.constant(np.load("train.npy")[0])
loss = tf.reduce_mean((tf.cast(x, tf.float32) - tf.constant(mean)) * scale)
with tf.Session() as session:
    for step in range(10000):
        session.run(loss)
