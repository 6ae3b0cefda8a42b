"""A state that each step hands to the next is a tensor; a rate that a function of numbers makes is a number."""

import tensorflow as tf


@tf.function
def step(model, x, rate):
    return x + rate * model(x)


@tf.function
def update(x, rate):
    return x * rate


def decayed(rate):
    return rate * 0.99


def samples(model, dataset):
    rate = tf.constant(0.1)
    for i, batch in enumerate(dataset):
        for t in range(1000):
            batch = step(model, batch, rate)
        yield batch


def anneal(x):
    rate = 1.0
    for t in range(1000):
        x = update(x, rate)  # python-number-argument
        rate = decayed(rate)

class Trainer:
    def __init__(self, model):
        self.model, self.step, self.count = model, tf.constant(0, tf.int64), 0

    @tf.function
    def grad(self, x, step):
        return self.model(x) * tf.cast(step, tf.float32)

    def run(self, batches):
        for x in batches:
            self.grad(x, self.step)
            self.step += 1

    def run_by_number(self, batches):
        for x in batches:
            self.grad(x, self.count)  # python-number-argument
            self.count += 1
