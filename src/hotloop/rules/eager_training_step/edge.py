"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow import GradientTape
from tensorflow.keras.optimizers import Adam

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = Adam()


def inline(dataset):
    for epoch in range(10):
        for x, y in dataset:
            with GradientTape() as tape:  # expect: eager-training-step
                loss = tf.reduce_mean((model(x) - y) ** 2)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = tf.keras.optimizers.SGD()

    def step(self, batch):
        with tf.GradientTape() as t:  # expect: eager-training-step
            loss = tf.reduce_sum(self.net(batch))
        self.opt.apply_gradients(zip(t.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
        return loss

    def fit(self, dataset):
        for batch in dataset:
            self.step(batch)


def plain_variables(batches):
    w = tf.Variable(1.0)
    for x, y in batches:
        with tf.GradientTape() as tape:  # expect: eager-training-step
            loss = (w * x - y) ** 2
        w.assign_sub(0.1 * tape.gradient(loss, w))


@tf.function
def compiled_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def uses_compiled(dataset):
    for x, y in dataset:
        compiled_step(x, y)


def raw_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def compiles_it(dataset):
    step = tf.function(raw_step)
    for x, y in dataset:
        step(x, y)


class Custom(tf.keras.Model):
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(data)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}


class Agent:
    def __init__(self, wrap):
        self._train_fn = wrap(self._train)

    def train(self, experience):
        return self._train_fn(experience)


class Learner(Agent):
    def _train(self, experience):
        # The base class hands it to somebody who may compile it.
        for epoch in range(self.epochs):
            with tf.GradientTape() as tape:
                loss = self.loss(experience)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def saliency(images):
    # Gradients of a picture, nothing trained.
    for image in images:
        with tf.GradientTape() as tape:
            tape.watch(image)
            score = model(image)
        print(tape.gradient(score, image))


def once(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
