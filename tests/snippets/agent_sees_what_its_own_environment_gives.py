"""A game is played by a method that asks another object; a table of actions, one policy of several callers."""

import gym
import numpy as np
from tensorflow import keras


def network(shape, actions):
    x = keras.Input(shape)
    return keras.Model(x, keras.layers.Dense(actions, activation="softmax")(keras.layers.Flatten()(x)))


class Policy:
    def __init__(self, shape, actions):
        self.network = network(shape, actions)

    def predict(self, state):
        return self.network.predict(state)  # predict-in-loop


class Agent:
    def __init__(self, name):
        self.env = gym.make(name)
        self.frames = np.zeros((4, 80, 80))
        self.actor = network((4, 80, 80), 6)
        self.policy = Policy((8,), 4)
        self.names = dict(enumerate("abcd"))

    def act(self, state):
        return np.argmax(self.actor.predict(state))  # predict-in-loop

    def seen(self, frame):
        self.frames = np.roll(self.frames, 1, axis=0)
        self.frames[0] = frame
        return np.expand_dims(self.frames, axis=0)

    def step(self, action):
        frame, reward, done, _ = self.env.step(action)
        return self.seen(frame), reward, done

    def play(self):
        for episode in range(10000):
            state, done = self.seen(self.env.reset()), False
            while not done:
                action = self.act(state)
                following, reward, done = self.step(action)
                state = following

    def play_for_all(self, pipes):
        states = [pipe.recv() for pipe in pipes]
        while self.playing:
            for action, pipe in zip(self.policy.predict(np.reshape(states, [len(pipes), 8])), pipes):
                pipe.send(action)

    def play_simply(self):
        for episode in range(10000):
            state, done = self.env.reset(), False
            while not done:
                state = np.reshape(state, [1, 8])
                state, reward, done, _ = self.env.step(np.argmax(self.policy.predict(state)))

    def table_of(self, action):
        return np.eye(4)[self.names[action]]

    def look(self, action):
        while self.playing:
            print(self.actor.predict(self.table_of(action)))
