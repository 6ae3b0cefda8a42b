"""Never run: near misses and odd spellings."""

import re

import keras
import tensorflow as tf
from tensorflow.keras.models import Sequential

net = keras.Sequential([keras.layers.Dense(1)])


def every_epoch(data, rates):
    for epoch in range(100):
        net.compile(optimizer="sgd", loss="mse")  # expect: compile-in-loop
        net.fit(data, epochs=1)


def every_batch(dataset):
    model = tf.keras.models.load_model("model.keras")
    for x, y in dataset:
        model.compile("adam", loss="mse")  # expect: compile-in-loop
        model.train_on_batch(x, y)


class Gan:
    def __init__(self):
        self.discriminator = Sequential([keras.layers.Dense(1)])
        self.discriminator.compile("adam", "mse")
        self.combined = self.build()

    def build(self):
        combined = keras.Model(keras.Input([1]), self.discriminator.output)
        combined.compile("adam", "mse")
        return combined

    def freeze(self, value):
        self.discriminator.trainable = value
        self.discriminator.compile("adam", "mse")  # expect: compile-in-loop

    def train(self, batches):
        for batch in batches:
            self.freeze(False)
            self.combined.train_on_batch(batch, batch)
            self.freeze(True)


def handed_over(model, rate):
    model.compile(keras.optimizers.SGD(rate), "mse")  # expect: compile-in-loop


def hands_over(batches):
    for step, batch in enumerate(batches):
        handed_over(net, 0.1 / (step + 1))
        net.train_on_batch(batch, batch)


def forced(images):
    while True:
        net.make_train_function(force=True)  # expect: compile-in-loop
        net.train_on_batch(images, images)


def by_name(model, steps):
    for step in range(steps):
        model.compile("adam", "mse")  # expect: compile-in-loop
        model.train_on_batch([step], [step])


# Each step has a model of its own.


def new_each_time(batches):
    for batch in batches:
        model = keras.Sequential([keras.layers.Dense(1)])  # expect: model-built-in-loop
        model.compile("adam", "mse")
        model.train_on_batch(batch, batch)


def build(units):
    model = keras.Sequential([keras.layers.Dense(units)])
    model.compile("adam", "mse")
    return model


def search(sizes):
    return [build(units) for units in sizes]


def compiled_after_build(configs):
    for config in configs:
        model = build(config)
        model.compile("sgd", "mse")


def each_of_them(models):
    for model in models:
        model.compile("adam", "mse")


class Member:
    def __init__(self, size):
        self.model = keras.Sequential([keras.layers.Dense(size)])
        self.prepare()

    def prepare(self):
        self.model.compile("adam", "mse")


def ensemble(items):
    return [Member(item) for item in items]


class Renewed:
    def restart(self):
        self.model = keras.Sequential([keras.layers.Dense(1)])

    def run(self, batches):
        for batch in batches:
            self.restart()
            self.model.compile("adam", "mse")


# Seldom.


def two_phases(data):
    for rate in [1e-3, 1e-4]:
        net.compile(keras.optimizers.Adam(rate), "mse")
        net.fit(data)


def when_it_is_time(data):
    for epoch in range(100):
        if epoch == 10:
            net.compile("sgd", "mse")
        net.fit(data)


def once(batches):
    net.compile("adam", "mse")
    for batch in batches:
        net.train_on_batch(batch, batch)


# No compilation of a model.


def patterns(lines):
    for line in lines:
        pattern = re.compile(line)
        pattern.match(line)


def templates(engine, paths):
    for path in paths:
        engine.compile(path)


def not_forced(batches):
    for batch in batches:
        net.make_train_function()
        net.train_on_batch(batch, batch)
