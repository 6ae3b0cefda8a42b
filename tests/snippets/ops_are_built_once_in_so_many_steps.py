import numpy as np
import tensorflow.compat.v1 as tf


class Agent:
    def __init__(self, replace_every=500):
        self.states = tf.placeholder(tf.float32, [None, 4])
        self.slow, self.quick = [tf.Variable(tf.zeros([4, 1]))], [tf.Variable(tf.ones([4, 1]))]
        self.loss = tf.reduce_mean(tf.square(tf.matmul(self.states, self.quick[0])))
        self.train = tf.train.AdamOptimizer().minimize(self.loss)
        self.copy = [slow.assign(quick) for slow, quick in zip(self.slow, self.quick)]
        self.session, self.steps, self.replace_every = tf.Session(), 0, replace_every

    def learn(self, states):
        self.session.run(self.train, {self.states: states})
        if self.steps % self.replace_every == 0:
            self.session.run([tf.assign(slow, quick) for slow, quick in zip(self.slow, self.quick)])  # ops-in-loop
        self.steps += 1

    def learn_well(self, states):
        if self.steps % self.replace_every == 0:
            self.session.run(self.copy)
        self.session.run(self.train, {self.states: states})
        self.steps += 1

    def play(self, world):
        while True:
            self.learn(world.step())
            self.learn_well(world.step())


def long_training(session, train, loss, feed):
    for step in range(100000):
        session.run(train, feed)
        if not step % 200:
            print(session.run(tf.sqrt(loss), feed))  # ops-in-loop
        if step % 50000 == 0:
            print(session.run(tf.reduce_max(loss), feed))
        if step % 2 == 0:
            continue
        else:
            print(np.square(step))


def each_hundredth_batch(session, train, loss, feed):
    for epoch in range(10):
        for batch in range(1000):
            session.run(train, feed)
            if batch % 100 == 0 and batch > 0:
                print(session.run(tf.sqrt(loss), feed))  # ops-in-loop


def few_epochs(session, train, loss, feed, show):
    for epoch in range(200):
        session.run(train, feed)
        if epoch % 20 == 0:
            print(session.run(tf.sqrt(loss), feed))
        if epoch % show == 0:
            print(session.run(tf.sqrt(loss), feed))


def once_and_every_other_time(session, train, loss, feed):
    first = None
    for step in range(100000):
        if step % 10 == 0 and first is None:
            first = session.run(tf.sqrt(loss), feed)
        if step % 10 == 0:
            print(step)
        else:
            print(session.run(train, feed), first)
