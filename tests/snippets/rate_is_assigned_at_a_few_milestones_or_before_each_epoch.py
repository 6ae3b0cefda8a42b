import numpy as np
import tensorflow.compat.v1 as tf


def batches(examples, size=32):
    for start in range(0, len(examples), size):
        yield examples[start : start + size]


class Solver:
    def __init__(self, milestones, factor=0.1):
        self.milestones, self.factor = sorted(milestones, reverse=True), factor
        self.x = tf.placeholder(tf.float32, [None, 20])
        self.rate = tf.Variable(0.1, trainable=False)
        weights = tf.Variable(tf.zeros([20, 1]))
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.x, weights) - 1.0))
        self.step = tf.train.GradientDescentOptimizer(self.rate).minimize(self.loss)

    def by_steps(self, sess, examples, steps):
        rate, done, following = 0.1, 0, self.milestones.pop()
        while done < steps:
            if done == following + 1:
                rate *= self.factor
                sess.run(tf.assign(self.rate, rate))
                following = self.milestones.pop() if self.milestones else steps
            rows = np.random.randint(len(examples), size=32)
            sess.run(self.step, {self.x: examples[rows]})
            done += 1

    def by_epochs(self, sess, examples, epochs):
        for epoch in range(epochs):
            sess.run(tf.assign(self.rate, 0.1 * 0.5**epoch))  # ops-in-loop
            for batch in batches(examples):
                sess.run(self.step, {self.x: batch})

    def whole(self, sess, examples, epochs):
        for epoch in range(epochs):
            sess.run(tf.assign(self.rate, 0.1 * 0.5**epoch))  # ops-in-loop
            sess.run(self.step, {self.x: examples})
