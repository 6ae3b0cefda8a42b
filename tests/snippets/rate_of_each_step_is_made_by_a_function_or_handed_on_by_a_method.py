import math
import random

import tensorflow as tf

FLAGS = tf.compat.v1.flags.FLAGS
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
decayed = lambda step: 0.1 * 0.9 ** step


def lr_at(step):
    if step < 100:
        return 0.1 * step / 100
    return 0.1 * 0.5 ** (step / 1000)


@tf.function
def train(x, lr):
    optimizer.learning_rate.assign(lr)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def one(x, lr):
    loss = train(x, lr)  # python-number-argument
    print(float(loss))


def scheduled(batches):
    for step, x in enumerate(batches):
        train(x, lr_at(step))  # python-number-argument
        train(x, decayed(step))  # python-number-argument
        one(x, 0.1 * 0.99**step)


def listed(x):
    rates = [0.1 * 0.99**i for i in range(1000)]
    for rate in rates:
        train(x, rate)  # python-number-argument
    for x, rate in zip(tf.data.Dataset.range(1000).batch(4), [1 / (1 + i) for i in range(250)]):
        train(x, rate)  # python-number-argument
    for i in range(1000):
        train(x, rates[i])  # python-number-argument


class Agent:
    def __init__(self, epsilon=1.0, warmup=1000.0):
        self.epsilon = epsilon
        self.warmup = warmup
        self.steps = 0

    def rate(self, step):
        return min(1.0, step / self.warmup) * math.exp(-step)

    def learn(self, x):
        self.steps += 1
        train(x, self.epsilon)  # python-number-argument
        train(x, self.rate(self.steps))  # python-number-argument
        self.epsilon = max(0.1, self.epsilon * 0.99)


def play(batches):
    agent = Agent()
    for x in batches:
        agent.learn(x)
        train(x, agent.epsilon)  # python-number-argument
