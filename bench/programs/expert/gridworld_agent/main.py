import os
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

import random
from collections import deque

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(1)

MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class GridWorld:
    def __init__(self, n=6):
        self.n = n

    def reset(self, rnd):
        self.pos = [rnd.randrange(self.n), rnd.randrange(self.n)]
        self.goal = [rnd.randrange(self.n), rnd.randrange(self.n)]
        return self.state()

    def state(self):
        return np.array(self.pos + self.goal, dtype='float32') / self.n

    def step(self, action):
        dx, dy = MOVES[action]
        self.pos[0] = min(max(self.pos[0] + dx, 0), self.n - 1)
        self.pos[1] = min(max(self.pos[1] + dy, 0), self.n - 1)
        done = self.pos == self.goal
        reward = 1.0 if done else -0.05
        return self.state(), reward, done


class DQNAgent:
    def __init__(self, state_size, action_size):
        self.memory = deque(maxlen=2000)
        self.action_size = action_size
        self.epsilon = 0.1
        self.model = self._build_model(state_size)
        self.q = tf.function(self.model)

    def _build_model(self, state_size):
        model = keras.Sequential()
        model.add(keras.Input((state_size,)))
        model.add(layers.Dense(32, activation='relu'))
        model.add(layers.Dense(32, activation='relu'))
        model.add(layers.Dense(self.action_size, activation='linear'))
        model.compile(loss='mse', optimizer=keras.optimizers.Adam(learning_rate=0.01))
        return model

    def remember(self, state, action, reward):
        self.memory.append((state, action, reward))

    def act(self, state, rnd):
        if rnd.random() < self.epsilon:
            return rnd.randrange(self.action_size)
        q_values = self.q(state.reshape(1, -1)).numpy()
        return int(np.argmax(q_values[0]))

    def warm_start(self):
        """Teach it the Manhattan distance, so that it knows roughly where to go."""
        xs = np.random.RandomState(0).randint(0, 6, size=(800, 4))
        after = np.stack([np.clip(xs[:, :2] + m, 0, 5) for m in MOVES], axis=1)
        q = -np.abs(after - xs[:, None, 2:]).sum(-1) / 6.0
        self.model.fit(xs.astype('float32') / 6.0, q, epochs=15, batch_size=64, verbose=0)


if __name__ == '__main__':
    rnd = random.Random(42)
    env = GridWorld()
    agent = DQNAgent(4, len(MOVES))
    agent.warm_start()

    episode = 0
    scores = []
    while episode < 12:
        state = env.reset(rnd)
        score = 0
        for t in range(12):
            action = agent.act(state, rnd)
            next_state, reward, done = env.step(action)
            agent.remember(state, action, reward)
            state = next_state
            score += reward
            if done:
                break
        scores.append(score)
        episode += 1
    print('episodes: {}, steps: {}'.format(episode, len(agent.memory)))
    print('scores:', ' '.join('%.2f' % s for s in scores))
