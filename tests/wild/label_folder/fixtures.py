"""A toy frozen graph and some noise to label, for when you have neither."""
import os

import numpy as np
import tensorflow.compat.v1 as tf

SIZE = 32


def write_pictures(folder, count):
    os.makedirs(folder)
    rng = np.random.RandomState(20)
    for i in range(count):
        tint = rng.randint(0, 3)
        pic = rng.randint(0, 160, size=(SIZE, SIZE, 3))
        pic[..., tint] += 90
        np.save(os.path.join(folder, 'img%03d.npy' % i), pic.astype(np.uint8))
    return folder


def write_graph(path):
    rng = np.random.RandomState(3)

    def weights(*shape):
        fan_in = float(np.prod(shape[:-1]))
        return tf.constant((rng.randn(*shape) * np.sqrt(2.0 / fan_in)).astype(np.float32))

    g = tf.Graph()
    with g.as_default():
        net = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3], name='picture')
        channels = 3
        for width in (16, 16, 32, 32, 64):
            net = tf.nn.relu(tf.nn.conv2d(net, weights(3, 3, channels, width), strides=2, padding='SAME'))
            channels = width
        net = tf.reduce_mean(net, axis=[1, 2])
        tf.nn.softmax(4.0 * tf.matmul(net, weights(channels, 5)), name='final_result')
    with open(path, 'wb') as f:
        f.write(g.as_graph_def().SerializeToString())
    return path
