"""Never run: near misses and odd spellings."""

from collections import deque

import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1000)])
optimizer = keras.optimizers.SGD()


class Net(keras.Model):
    def call(self, x):
        return x


net = Net()


def never_read(dataset):
    outputs = []
    for x in dataset:
        y = net(x, training=False)
        outputs.append(y)  # expect: tensors-kept


def only_the_last(dataset):
    outputs = list()
    for x in dataset:
        outputs.append(model(x))  # expect: tensors-kept
    print(outputs[-1])


def reduced_in_the_end(dataset):
    errors = []
    for x, y in dataset:
        errors.append(model(x) - y)  # expect: tensors-kept
    return np.mean(errors)


def counted(dataset):
    squashed = []
    for x in dataset:
        out = tf.nn.softmax(model(x))
        squashed.append(out)  # expect: tensors-kept
    print(len(squashed))


@tf.function
def gradients(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    return tape.gradient(loss, model.trainable_variables)


def gradient_history(dataset):
    history = []
    for x in dataset:
        history.append(gradients(x))  # expect: tensors-kept
    print(tf.linalg.global_norm(history[0]))


class Monitor:
    def __init__(self):
        self.outputs = []
        self.losses = []
        self.recent = deque(maxlen=10)
        self.batch = []

    def watch(self, dataset):
        for x in dataset:
            y = model(x)
            self.outputs.append(y)  # expect: tensors-kept
            self.recent.append(y)
            self.losses.append(tf.reduce_mean(y))
            self.batch.append(y)
            if len(self.batch) == 32:
                self.flush()
        print(self.losses)

    def flush(self):
        self.batch = []


def concatenated(dataset):
    outputs = []
    for x in dataset:
        outputs.append(model(x))
    return tf.concat(outputs, axis=0)


def returned(dataset):
    outputs = []
    for x in dataset:
        outputs.append(model(x))
    return outputs


def as_arrays(dataset):
    outputs = []
    for x in dataset:
        outputs.append(model(x).numpy())
    print(outputs[-1])


def scalars(dataset):
    losses = []
    for x in dataset:
        loss = tf.reduce_mean(model(x))
        losses.append(loss)
    print(np.mean(losses))


def fresh_each_step(dataset):
    for x in dataset:
        parts = []
        for row in tf.unstack(x):
            parts.append(model(row[None]))
        print(parts[0])


def few(x):
    outputs = []
    for i in range(3):
        outputs.append(model(x + i))
    print(outputs[-1])


def emptied(dataset):
    outputs = []
    for x in dataset:
        outputs.append(model(x))
        if len(outputs) > 10:
            outputs.clear()


class Pyramid(keras.layers.Layer):
    def call(self, x):
        features = []
        for block in self.blocks:
            x = keras.layers.ReLU()(x)
            features.append(x)
        return features[-1]


def paths(files):
    names = []
    for file in files:
        names.append(file.upper())
    print(names[-1])


def one_of_two(dataset, step):
    losses = []
    for x in dataset:
        loss, logits = net(x)
        losses.append(loss)
    print(np.mean(losses))


def built(blocks, x):
    skips = []
    for width in range(64, 1024, 64):
        x = keras.layers.Conv2D(width, 3)(x)
        skips.append(x)
    return keras.Model(x, skips[-1])


def measured(dataset):
    distances = []
    for x in dataset:
        distances.append(tf.reduce_mean(model(x)).numpy())
    print(np.mean(distances))
