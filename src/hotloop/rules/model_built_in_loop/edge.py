"""Never run: near misses and odd spellings."""

import keras
import tensorflow as tf
from tensorflow.keras import layers as L
from tensorflow.keras.optimizers import Adam

net = keras.Sequential([keras.layers.Dense(1)])


def layer_per_image(images):
    for image in images:
        image = tf.cast(image, tf.float32)
        small = L.Resizing(64, 64)(image)  # expect: model-built-in-loop
        print(tf.reduce_mean(small))


def named_layer(dataset):
    for x, y in dataset:
        dense = keras.layers.Dense(1)  # expect: model-built-in-loop
        print(dense(x))


def optimizer_per_step(dataset):
    for x, y in dataset:
        with tf.GradientTape() as tape:  # expect: eager-training-step
            loss = tf.reduce_mean((net(x) - y) ** 2)
        opt = Adam(1e-3)  # expect: model-built-in-loop
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True))


def train_step(x, y):
    optimizer = tf.keras.optimizers.SGD(0.1)  # expect: model-built-in-loop
    with tf.GradientTape() as tape:  # expect: eager-training-step
        loss = tf.reduce_mean((net(x) - y) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))


def train(dataset):
    for x, y in dataset:
        train_step(x, y)


def metric_per_batch(batches):
    for y, predicted in batches:
        metric = keras.metrics.AUC()  # expect: model-built-in-loop
        metric.update_state(y, predicted)
        print(metric.result())


class Classifier(keras.Model):
    def call(self, x):
        return x


def own_class(frames):
    while True:
        model = Classifier()  # expect: model-built-in-loop
        print(model(next(frames)))


def cut_out(image, layer_name):
    grad_model = tf.keras.models.Model([net.inputs], [net.get_layer(layer_name).output, net.output])  # expect: model-built-in-loop
    return grad_model(image)


def heat_maps(images):
    return [cut_out(image, "conv") for image in images]


def trained_again_and_again(data):
    for step in range(1000):
        model = keras.Sequential([keras.Input([4]), keras.layers.Dense(1)])  # expect: model-built-in-loop
        model.compile("adam", "mse")
        model.fit(data)


def build_network():
    inputs = keras.Input([8])
    outputs = L.Dense(1)(inputs)
    return keras.Model(inputs, outputs)  # expect: model-built-in-loop


def label(image):
    model = build_network()
    model.load_weights("model.weights.h5")  # expect: model-load-in-loop
    return model(image)


def label_all(images):
    return [label(image) for image in images]


def repeated(data):
    for _ in range(10):
        build_network().fit(data)


def score(model, x):
    return model(x)


def handed_on(batches):
    for batch in batches:
        print(score(Classifier(), batch))  # expect: model-built-in-loop


def called_at_once(batches):
    for y, predicted in batches:
        print(keras.metrics.CategoricalAccuracy()(y, predicted))  # expect: model-built-in-loop


# Building a network.


def blocks(inputs):
    x = inputs
    for i in range(16):
        x = L.Conv2D(32, 3)(x)
        x = L.ReLU()(x)
    return x


def towers(inputs):
    outputs = []
    for image_input in inputs:
        tower = L.Dense(8)(image_input)
        outputs.append(tower)
    return keras.Model(inputs, outputs)


def stacked(sizes):
    model = keras.Sequential()
    for size in range(10):
        model.add(L.Dense(size))
    return model


class Block(keras.layers.Layer):
    def __init__(self, steps):
        super().__init__()
        self.parts = []
        for step in range(steps):
            self.parts.append(L.Dense(8))
        self.more = [L.Dense(8) for step in range(20)]

    def call(self, batches):
        for batch in range(20):
            batches = L.Dense(8)(batches)
        return batches


# Many that are needed.


def ensemble(paths):
    models = []
    for path in paths:
        model = keras.Sequential([L.Dense(1)])
        models.append(model)
    return models


def by_name(files):
    found = {}
    for file in files:
        found[file] = keras.Sequential([L.Dense(1)])
    return found


def folds(splits):
    for fold, (train_data, test_data) in enumerate(splits):
        model = keras.Sequential([L.Dense(1)])
        model.compile(Adam(), "mse")
        model.fit(train_data)


def build(units):
    model = keras.Sequential([L.Dense(units), L.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(), loss="mse", metrics=[keras.metrics.AUC()])
    return model


def search(data, rows):
    for units in range(8, 512, 8):
        build(units).fit(data)


def per_run(batches):
    for run_number, data in enumerate(batches):
        optimizer = Adam()
        metric = keras.metrics.Mean()
        for x in data:
            metric.update_state(x)
            optimizer.apply_gradients(x)


def evaluate(data):
    mean = keras.metrics.Mean()

    @tf.function
    def update(x):
        mean.update_state(net(x))

    for x in data:
        update(x)
    return mean.result()


def every_epoch(data):
    for epoch in range(100):
        print(evaluate(data))


def summed_up_per_epoch(steps):
    for epoch in range(100):
        accuracy = keras.metrics.Accuracy()
        accuracy.update_state(net.predict(steps), steps)


def few(images):
    for image in images[:3]:
        print(image)
    for _ in range(3):
        print(L.Flatten()(images))


# Once.


def once(images):
    flatten = L.Flatten()
    for image in images:
        flatten(image)


class Lazy:
    metric = None

    def update(self, images):
        for image in images:
            if self.metric is None:
                self.metric = keras.metrics.Mean()
            self.metric.update_state(image)


def schedules(steps):
    for step in range(1000):
        print(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)(step))


def losses(batches):
    for batch in batches:
        print(keras.losses.MeanSquaredError()(batch, batch))
