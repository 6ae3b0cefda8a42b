"""Never run: near misses and odd spellings."""

import random
from collections import deque

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

net = keras.Sequential([layers.Dense(2)])
net.compile("adam", "mse")


class Agent:
    def __init__(self):
        self.memory = deque(maxlen=2000)
        self.model = self.build()

    def build(self):
        model = keras.Sequential()
        model.add(layers.Dense(24, activation="relu"))
        model.compile(loss="mse", optimizer="adam")
        return model

    def one_by_one(self, batch_size):
        minibatch = random.sample(self.memory, batch_size)
        for state, action, reward in minibatch:
            target = self.model.predict_on_batch(state)
            target[0][action] = reward
            state = np.reshape(state, [1, 4])
            self.model.fit(state, target, epochs=1, verbose=0)  # expect: fit-in-loop

    def replay(self, batch_size):
        minibatch = random.sample(self.memory, batch_size)
        for state, action, reward in minibatch:
            target = self.model.predict_on_batch(state)
            self.model.fit(state, target, epochs=1, verbose=0)  # expect: fit-in-loop

    def drawn(self):
        rows = random.sample(self.memory, 32)
        states = np.array([row[0] for row in rows])
        targets = np.array([row[1] for row in rows])
        self.model.fit(states, targets, epochs=1, verbose=0)  # expect: fit-in-loop

    def play(self, env):
        while True:
            env.step()
            self.one_by_one(32)
            self.drawn()


def one_row(images, labels):
    for image, label in zip(images, labels):
        net.fit(image[np.newaxis], label[None], verbose=0)  # expect: fit-in-loop


def one_wide(x, y):
    for i in range(len(x)):
        net.fit(x[i : i + 1], y[i : i + 1])  # expect: fit-in-loop


def named(batches):
    for x_batch, y_batch in batches:
        net.fit(x=x_batch, y=y_batch, batch_size=32)  # expect: fit-in-loop


def scored(x, y):
    losses = []
    for i in range(0, 10_000, 64):
        losses.append(net.evaluate(x[i : i + 64], y[i : i + 64], verbose=0))  # expect: fit-in-loop
    return [net.evaluate(np.expand_dims(row, 0), verbose=0) for row in x]  # expect: fit-in-loop


def epoch_per_call(x_train, y_train, x_test, y_test):
    for epoch in range(50):
        net.fit(x_train, y_train, epochs=1)
        net.evaluate(x_test, y_test)


def whole_buffer_per_episode(env, episodes):
    for episode in range(episodes):
        states, returns = env.play(net)
        net.fit(np.array(states), np.array(returns), epochs=1, verbose=0)


def folds(splits, x, y):
    for train, test in splits:
        net.fit(x[train], y[train], epochs=20)
        net.evaluate(x[test], y[test])


def dataset_per_epoch(train_dataset, epochs):
    for epoch in range(epochs):
        net.fit(train_dataset.shuffle(1000, seed=epoch), epochs=1)


def steps_of_a_generator(make, epochs):
    for epoch in range(epochs):
        net.fit(make(epoch), steps_per_epoch=100, epochs=1)


def many_epochs_a_batch(batches):
    for x_batch, y_batch in batches:
        net.fit(x_batch, y_batch, epochs=100)


def few(x, y):
    for i in range(3):
        net.fit(x[i : i + 1], y[i : i + 1])


def mended(batches):
    for x_batch, y_batch in batches:
        net.train_on_batch(x_batch, y_batch)


def another_library(batches):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier()
    for x_batch, y_batch in batches:
        model.fit(x_batch, y_batch)


def seldom(batches):
    for step, (x_batch, y_batch) in enumerate(batches):
        net.train_on_batch(x_batch, y_batch)
        if step % 500 == 0:
            net.evaluate(x_batch, y_batch)
