"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow import GradientTape, keras

model = keras.Sequential([keras.layers.Dense(1)])
mse = keras.losses.MeanSquaredError()
BATCH = 32


@tf.function
def by_index(x, y):
    with GradientTape() as tape:
        losses = []
        for i in range(x.shape[0]):
            row = tf.expand_dims(x[i], 0)
            losses.append(mse(y[i], model(row)))  # expect: example-loop-in-step
        loss = tf.add_n(losses)
    return tape.gradient(loss, model.trainable_variables)


@tf.function
def by_element(batch):
    return tf.concat([model(x[tf.newaxis, :]) for x in tf.unstack(batch)], 0)  # expect: example-loop-in-step


@tf.function
def zipped(batch, labels):
    loss = 0.0
    for x, y in zip(tf.unstack(batch), tf.unstack(labels)):
        loss += mse(y, model(tf.reshape(x, (1, -1))))  # expect: example-loop-in-step
    return loss


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([keras.layers.Dense(4)])

    def call(self, inputs):
        rows = []
        for i in range(BATCH):
            rows.append(self.encoder(inputs[i][None]))  # expect: example-loop-in-step
        return tf.concat(rows, 0)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = 0.0
            for i in range(BATCH):
                loss += mse(y[i : i + 1], self(x[i : i + 1], training=True))  # expect: example-loop-in-step
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}


def loss_of(x, y):
    return mse(y, model(x[None]))  # expect: example-loop-in-step


@tf.function
def through_a_function(batch, labels):
    with tf.GradientTape() as tape:
        loss = tf.add_n([loss_of(batch[i], labels[i]) for i in range(BATCH)])
    return tape.gradient(loss, model.trainable_variables)


@tf.function
def in_the_graph(x):
    total = 0.0
    for i in tf.range(tf.shape(x)[0]):
        total += tf.reduce_sum(model(x[i][None]))  # expect: example-loop-in-step
    return total


@tf.function
def batched(x, y):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x))
    return tape.gradient(loss, model.trainable_variables)


@tf.function
def over_time(sequence, state):
    for t in range(40):
        state = model(sequence[:, t])
    return state


@tf.function
def fed_back(x):
    out = x[0][None]
    for i in range(40):
        out = model(out)
    return out


@tf.function
def state_handed_on(x, state):
    for i in range(40):
        out, state = model(x[i][None], state)
    return out


@tf.function
def few(x):
    return [model(x[i][None]) for i in range(3)]


def not_training(images):
    # One by one, but no step: where images come one by one there is no batch.
    for image in images:
        print(model(image[None]))


@tf.function
def several_models(x, models):
    return [net(x) for net in models]


@tf.function
def chunks(x):
    return [model(x[i : i + 64]) for i in range(0, 1024, 64)]


def sgd(examples):
    for x in examples:
        batched(x[None], x[None])


class Pyramid(keras.Model):
    def call(self, features):
        outputs = []
        for level in features:
            outputs.append(self.head(level))
        return outputs


class Rollout(keras.Model):
    def train_step(self, env):
        state = env.reset()
        for _ in range(40):
            action = self(state[None])
            state = env.step(action)
        return state
