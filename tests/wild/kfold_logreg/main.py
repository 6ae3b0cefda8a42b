"""3-fold cross validation of a softmax regression, old school."""
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

FOLDS = 3
STEPS = 150


def open_session(graph, attempts=5):
    # the GPU box sometimes is busy; wait for our turn
    for attempt in range(attempts):
        try:
            return tf.Session(graph=graph)
        except tf.errors.ResourceExhaustedError:
            sys.stderr.write("busy, attempt %d\n" % attempt)
            time.sleep(2 ** attempt)
    raise RuntimeError("no device")


def build(n_features, n_classes):
    x = tf.placeholder(tf.float32, [None, n_features])
    y = tf.placeholder(tf.int64, [None])
    w = tf.get_variable("w", [n_features, n_classes], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [n_classes], initializer=tf.zeros_initializer())
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    return x, y, train, accuracy


def run_fold(train_x, train_y, test_x, test_y):
    graph = tf.Graph()
    with graph.as_default():
        x, y, train, accuracy = build(train_x.shape[1], 3)
        init = tf.global_variables_initializer()
    with open_session(graph) as sess:
        sess.run(init)
        for step in range(STEPS):
            rows = slice(step * 20 % len(train_x), step * 20 % len(train_x) + 20)
            sess.run(train, feed_dict={x: train_x[rows], y: train_y[rows]})
        return sess.run(accuracy, feed_dict={x: test_x, y: test_y})


def main():
    rng = np.random.RandomState(1)
    labels = rng.randint(0, 3, 360)
    data = rng.randn(360, 8).astype(np.float32) + 1.1 * np.eye(3, 8)[labels]
    fold_of = np.arange(360) % FOLDS
    scores = []
    for k in range(FOLDS):
        held_out = fold_of == k
        scores.append(run_fold(data[~held_out], labels[~held_out], data[held_out], labels[held_out]))
        print("fold %d: %.3f" % (k, scores[-1]))
    print("mean %.3f" % np.mean(scores))


main()
