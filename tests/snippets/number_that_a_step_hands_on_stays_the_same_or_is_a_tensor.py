import argparse

import numpy as np
import tensorflow as tf

args = argparse.ArgumentParser().parse_args()
RATE = 0.1


@tf.function
def train(x, lr):
    return x * lr


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)])
def signed(x, lr):
    return x * lr


def constant(step):
    return RATE


def in_stages(step):
    if step < 1000:
        return 0.1
    return 0.01 if step < 5000 else 0.001


def dropped(epoch):
    return 0.1 * 0.1 ** (epoch // 30)


def of_numpy(step):
    return 0.1 * np.exp(-step / 100)


def of_tensorflow(step):
    return tf.constant(0.1) * 0.9**step


def scaled(x, step):
    return x * 0.9**step


def one(x, lr):
    train(x, lr)


def other(x, lr):
    signed(x, lr)


def mixed(x, step):
    train(scaled(x, step), tf.constant(0.9**step))


class Agent:
    def __init__(self, rate):
        self.rate = rate
        self.fixed = rate / 2
        self.beta = tf.Variable(1.0)
        self.trace = tf.zeros([3])
        self.steps = 0

    def learn(self, x):
        self.steps += 1
        self.beta = self.beta * 0.9
        self.trace = self.trace * 0.9 + x
        train(x, self.rate)
        train(x, self.fixed)
        train(x, self.beta)
        train(self.trace, args.rate)
        signed(x, 0.9**self.steps)


def trained(batches, epochs):
    agent = Agent(args.rate)
    for step, x in enumerate(batches):
        agent.learn(x)
        one(x, RATE)
        one(x, args.rate)
        other(x, 0.1 * 0.9**step)
        mixed(x, step)
        train(x, constant(step))
        train(x, in_stages(step))
        train(x, of_numpy(step))
        train(x, of_tensorflow(step))
        train(scaled(x, step), RATE)
        train(x, step % 2)
    for epoch in range(90):
        train(x, dropped(epoch))
    for rate in [0.1, 0.01, 0.001]:
        one(x, rate)
    for rate in [0.1 for _ in range(100)]:
        one(x, rate)
    for features in [x * i for i in range(3)]:
        one(x, features)
