"""Several runs fetch what one step builds: its first op is named once."""

import tensorflow.compat.v1 as tf


def saved(session, tensor):
    return session.run(tensor)


def train_each(session, batches):
    for trial in range(100):
        x = tf.placeholder(tf.float32, [None, 784])  # ops-in-loop
        w = tf.Variable(tf.zeros([784, 10]))
        y = tf.matmul(x, w)
        session.run(w.initializer)
        session.run(y, {x: batches[trial]})
        print(saved(session, w))
