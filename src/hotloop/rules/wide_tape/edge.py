"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow import GradientTape, keras

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
mse = keras.losses.MeanSquaredError()


def around_epochs(dataset):
    with GradientTape(persistent=True) as t:  # expect: wide-tape
        for epoch in range(10):
            for x, y in dataset:
                loss = mse(y, model(x))
                grads = t.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))


def saliency(images):
    maps = []
    with tf.GradientTape(persistent=True) as tape:  # expect: wide-tape
        for image in images:
            tape.watch(image)
            score = tf.reduce_max(model(image[None]))
            maps.append(tape.gradient(score, image))
    return maps


def while_not_done(x, y):
    w = tf.Variable(0.0)
    with tf.GradientTape(persistent=True) as tape:  # expect: wide-tape
        while abs(w * x - y) > 0.01:
            loss = tf.square(w * x - y)
            w.assign_sub(0.1 * tape.gradient(loss, w))
    return w


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = keras.optimizers.SGD()

    def train(self, batches):
        with tf.device("/CPU:0"), tf.GradientTape(persistent=True) as tape:  # expect: wide-tape
            for batch in batches:
                loss = tf.reduce_sum(self.net(batch))
                self.opt.apply_gradients([(tape.gradient(loss, v), v) for v in self.net.trainable_variables])

    def whole_set(self, dataset):
        with tf.GradientTape() as tape:  # expect: wide-tape
            total_loss = 0.0
            for x, y in dataset:
                total_loss += mse(y, self.net(x))
        grads = tape.gradient(total_loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))


def summed_plainly(batches):
    loss = 0.0
    with tf.GradientTape() as tape:  # expect: wide-tape
        for x, y in enumerate(batches):
            loss = loss + mse(y, model(x))
    return tape.gradient(loss, model.trainable_variables)


def tape_per_step(dataset):
    for x, y in dataset:
        with tf.GradientTape(persistent=True) as tape:  # expect: eager-training-step
            loss = mse(y, model(x))
            other = tf.reduce_sum(model.losses)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        print(tape.gradient(other, model.trainable_variables))
        del tape


def unrolled(sequence, cell, state):
    with tf.GradientTape() as tape:
        loss = 0.0
        for t in range(sequence.shape[1]):
            state = cell(sequence[:, t], state)
            loss += tf.reduce_sum(state)
    return tape.gradient(loss, cell.trainable_variables)


def tokens_of_a_batch(batch, decoder, hidden):
    with tf.GradientTape() as tape:
        loss = 0.0
        for token in tf.unstack(batch, axis=1):
            prediction, hidden = decoder(token, hidden)
            loss += mse(token, prediction)
    return tape.gradient(loss, decoder.trainable_variables)


def adversarial(x, y, steps):
    with tf.GradientTape() as tape:
        delta = tf.zeros_like(x)
        for _ in range(steps):
            with tf.GradientTape() as inner:
                inner.watch(delta)
                loss = mse(y, model(x + delta))
            delta = delta + 0.01 * tf.sign(inner.gradient(loss, delta))
        loss = mse(y, model(x + delta))
    return tape.gradient(loss, model.trainable_variables)


def rows_of_a_jacobian(x):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = model(x)
    return [tape.gradient(y[:, i], x) for i in range(y.shape[1])]


def jacobians_of_several_outputs(x):
    found = []
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = model(x)
        for output in outputs:
            output = tf.reshape(output, [-1])
            found.append([tape.gradient(output[i], x) for i in range(output.shape[0])])
    return found


def second_derivatives(x, n):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        u = model(x)
        first = [tape.gradient(u[:, i], x) for i in range(n)]
    return [tape.gradient(g, x) for g in first]


def several_losses(x, y, heads):
    with tf.GradientTape() as tape:
        loss = 0.0
        for head in heads:
            loss += mse(y, head(x))
    return tape.gradient(loss, model.trainable_variables)


def few(batches):
    with tf.GradientTape(persistent=True) as tape:
        for i in range(3):
            loss = mse(batches[i], model(batches[i]))
            optimizer.apply_gradients([(tape.gradient(loss, v), v) for v in model.trainable_variables])


def rollout(env, state):
    with tf.GradientTape() as tape:
        loss = 0.0
        while not env.done:
            state = env.step(model(state))
            loss += tf.reduce_sum(state)
    return tape.gradient(loss, model.trainable_variables)


def penalty(x, samples):
    with tf.GradientTape() as tape:
        loss = mse(x, model(x))
        for weight in model.trainable_weights:
            loss += tf.nn.l2_loss(weight)
    return tape.gradient(loss, model.trainable_variables)


@tf.function
def examples_of_a_batch(x, y, batch):
    with tf.GradientTape() as tape:
        loss = 0.0
        for i in range(batch):
            loss += mse(y[i], x[i])
    return tape.gradient(loss, model.trainable_variables)
