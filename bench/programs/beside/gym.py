"""A cart with a pole, in place of the package of this name: the same spaces, and steps that take no time."""

import math
import types

import numpy as np

GRAVITY, CART, POLE, HALF, FORCE, TICK = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


class CartPole:
    x_threshold, theta_threshold_radians = 2.4, 12 * math.pi / 180
    observation_space = types.SimpleNamespace(shape=(4,))
    action_space = types.SimpleNamespace(n=2, sample=lambda: np.random.randint(2))

    def seed(self, seed):
        pass

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state

    def step(self, action):
        x, speed, angle, turning = self.state
        force = FORCE if action == 1 else -FORCE
        pushed = (force + POLE * HALF * turning**2 * math.sin(angle)) / (CART + POLE)
        held = HALF * (4 / 3 - POLE * math.cos(angle) ** 2 / (CART + POLE))
        falling = (GRAVITY * math.sin(angle) - math.cos(angle) * pushed) / held
        moving = pushed - POLE * HALF * falling * math.cos(angle) / (CART + POLE)
        change = np.array([speed, moving, turning, falling])
        self.state = self.state + TICK * change
        self.steps += 1
        out = abs(self.state[0]) > self.x_threshold or abs(self.state[2]) > self.theta_threshold_radians
        return self.state, 1.0, bool(out or self.steps >= 200), {}

    def close(self):
        pass


def make(name):
    return CartPole()
