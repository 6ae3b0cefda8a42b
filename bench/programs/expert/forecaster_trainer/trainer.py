import keras
import numpy as np
import tensorflow as tf


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.opt = optimizer
        self.loss_fn = keras.losses.Huber()
        self.losses = []

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            pred = self.model(x, training=True)
            loss = self.loss_fn(y, pred)
        grads = tape.gradient(loss, self.model.trainable_weights)
        self.opt.apply_gradients(zip(grads, self.model.trainable_weights))
        return loss

    def fit(self, x, y, epochs, batch_size):
        rng = np.random.default_rng(0)
        for epoch in range(epochs):
            order = rng.permutation(len(x))
            running = []
            for start in range(0, len(x) - batch_size + 1, batch_size):
                idx = order[start:start + batch_size]
                running.append(float(self.train_step(x[idx], y[idx])))
            self.losses.append(np.mean(running))

    def score(self, x, y):
        return float(np.mean((self.model(x) - y) ** 2))
