import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

vectors = np.random.rand(50000, 300).astype("float32")
few = np.zeros((10, 3), "float32")
ids = tf.placeholder(tf.int32, [None])
shape = tf.placeholder(tf.float32, vectors.shape)
table = tf.Variable(shape, trainable=False)

found = tf.nn.embedding_lookup(vectors, ids)  # array-in-graph
also = tf.gather(vectors, ids)  # array-in-graph
small = tf.gather(few, ids)
kept = tf.nn.embedding_lookup(table, ids)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer(), {shape: vectors})
    for step in range(1000):
        sess.run([found, also, small, kept], {ids: [step]})
