"""Never run: near misses and odd spellings."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

net = keras.applications.MobileNetV2(weights=None)


def comprehension(images):
    return [net.predict(image[np.newaxis]) for image in images]  # expect: predict-in-loop


def reshaped(rows):
    for row in rows:
        row = row.reshape(1, -1)
        print(net.predict(row))  # expect: predict-in-loop


def sliced(x):
    for i in range(len(x)):
        print(net.predict(x[i : i + 1])[0])  # expect: predict-in-loop


class Agent:
    def __init__(self):
        self.model = self.build()

    def build(self):
        model = keras.Sequential([keras.layers.Dense(2)])
        model.compile("adam", "mse")
        return model

    def act(self, state):
        return np.argmax(self.model.predict(state[None], verbose=0))  # expect: predict-in-loop

    def play(self, env):
        state, done = env.reset(), False
        while not done:
            state, reward, done, _ = env.step(self.act(state))


def whole_set_per_epoch(model_data):
    x_train, x_test = model_data
    for epoch in range(100):
        net.fit(x_train, epochs=1)
        print(net.predict(x_test).mean())


def all_at_once(images):
    for scores in net.predict(np.stack(images)):
        print(scores.argmax())


def few(images):
    for image in images[:3]:
        print(image)
    for i in range(3):
        net.predict(images[i][None])


def sklearn_model(rows):
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    for row in rows:
        model.predict(row[None])


def folds(splits):
    for fold, (train, test) in enumerate(splits):
        net.predict(test)


def minibatch_row_by_row(memory, random):
    for state, target in random.sample(memory, 64):
        print(net.predict(state) - target)  # expect: predict-in-loop


def unless_it_was_the_last(memory, random):
    for state, target, done in random.sample(memory, 64):
        if not done:
            print(net.predict(state) - target)  # expect: predict-in-loop


def only_the_first(states):
    shown = False
    for state in states:
        if not shown:
            print(net.predict(state[None]))
            shown = True


def asked_for(images):
    # Paced by whoever sits in front of it.
    while True:
        print(net.predict(images[int(input("which? "))][None]))


def called_directly(images):
    for image in images:
        net(image[None], training=False)


class Shown(keras.callbacks.Callback):
    def __init__(self, images):
        super().__init__()
        self.images = images

    def on_epoch_end(self, epoch, logs=None):
        for image in self.images:
            print(self.model.predict(image[None]))  # expect: predict-in-loop


class Watched(keras.callbacks.Callback):
    def __init__(self, images, labels):
        super().__init__()
        self.images, self.labels = images, labels

    def on_train_batch_end(self, batch, logs=None):
        self.show()
        if batch % 100 == 0:
            print(self.model.predict(self.images))
        print(self.model.predict(np.loadtxt("all.csv")))

    def on_epoch_end(self, epoch, logs=None):
        print(self.model.predict(self.images))

    def show(self):
        print(self.model.predict(self.images[:1]))  # expect: predict-in-loop


def two_inputs(left, right):
    for i in range(len(left)):
        net.predict([left[i : i + 1], right[i : i + 1]])  # expect: predict-in-loop
    for one in left:
        net.predict({"left": one[None], "right": one.reshape(1, -1)})  # expect: predict-in-loop
    for at in range(0, len(left), 512):
        net.predict([left[at : at + 512], right[at : at + 512]])


def column(path):
    import pandas as pd

    table = pd.read_csv(path)
    return table["row"].map(lambda row: net.predict(np.array([row])))  # expect: predict-in-loop


def walk_forward(values, make):
    # Each step has a model of its own, fitted to all before it.
    found = []
    for t in range(500, len(values)):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(values[:t], values[1 : t + 1], epochs=30)
        found.append(model.predict(values[t][None]))
    return found
