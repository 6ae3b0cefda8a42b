"""Never run: near misses and odd spellings."""

import numpy as np
import tensorflow as tf
from tensorflow import concat
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(2)])


def begun_with_none(dataset):
    outputs = None
    for x in dataset:
        y = model(x)
        if outputs is None:
            outputs = y
        else:
            outputs = tf.concat([outputs, y], 0)  # expect: growing-concat
    return outputs


def begun_at_the_first(dataset):
    for i, x in enumerate(dataset):
        if i == 0:
            predictions = model(x).numpy()
        else:
            predictions = np.concatenate((predictions, model(x).numpy()), axis=0)  # expect: growing-concat
    return predictions


def arrays(batches):
    labels, scores = np.empty((0,)), np.empty((0, 2))
    for x, y in batches:
        scores = np.vstack([scores, model.predict_on_batch(x)])  # expect: growing-concat
        labels = np.append(labels, y)  # expect: growing-concat
    return labels, scores


class History:
    def __init__(self):
        self.seen = tf.zeros([0, 2])

    def gather(self, batches):
        for batch in batches:
            self.seen = concat(axis=0, values=[self.seen, model(batch)])  # expect: growing-concat


def keyed(batches):
    found = {"out": tf.zeros([0, 2])}
    for batch in batches:
        found["out"] = tf.concat([found["out"], model(batch)], axis=0)  # expect: growing-concat
    return found


def only_looked_at(batches):
    rows = tf.zeros([0, 2])
    while True:
        rows = tf.concat([rows, model(next(batches))], axis=0)  # expect: growing-concat
        print(rows.shape)
        if len(rows) > 10_000:
            break
    return rows


@tf.function
def compiled(n):
    rows = tf.zeros([0, 2])
    for i in tf.range(n):
        rows = tf.concat([rows, tf.ones([1, 2])], 0)  # expect: growing-concat
    return rows


def autoregressive(tokens, length):
    for step in range(200):
        logits = model(tokens)
        tokens = tf.concat([tokens, tf.argmax(logits, -1)[:, None]], axis=1)
    return tokens


def sliding_window(frames, window):
    for frame in frames:
        window = tf.concat([window[1:], frame[None]], axis=0)
        print(model(window))


def cut_each_step(batches):
    recent = tf.zeros([0, 2])
    for batch in batches:
        recent = tf.concat([recent, model(batch)], axis=0)
        recent = recent[-100:]


def fresh_each_step(batches):
    for x, y in batches:
        both = model(x)
        both = tf.concat([both, y], axis=0)
        print(both)


def few_parts(x):
    out = model(x)
    for i in range(4):
        out = tf.concat([out, out[:, i : i + 1]], axis=1)
    return out


class Dense(keras.layers.Layer):
    def call(self, x):
        for layer in self.blocks:
            x = tf.concat([x, layer(x)], axis=-1)
        return x


def listed(batches):
    parts = []
    for batch in batches:
        parts.append(model(batch))
    return tf.concat(parts, axis=0)


def two_others(batches):
    for x, y in batches:
        both = tf.concat([x, y], axis=0)
        model(both)


def padded_per_example(texts):
    for text in texts:
        row = text
        for _ in range(3):
            row = np.append(row, 0)
        model(row)


def datasets(files):
    whole = tf.data.Dataset.range(0)
    for file in files:
        whole = whole.concatenate(tf.data.TFRecordDataset(file))
    return whole


def last_thing(batches):
    rows = tf.zeros([0, 2])
    for batch in batches:
        if batch is not None:
            rows = tf.concat([rows, batch], axis=0)
            break
    return rows


def one_per_key(episode, steps):
    for key in steps.keys():
        episode[key] = np.concatenate((episode[key], [0.0]))


def until_enough(sample, n):
    points = np.empty((0, 2))
    while len(points) < n:
        points = np.vstack((points, sample(n)))
    return points[:n]


def one_per_image(found, outputs):
    for output in outputs:
        index = output["index"]
        found[index] = np.append(found[index], output["boxes"])


def greedy(ids):
    for _ in range(500):
        ids = tf.concat([ids, tf.argmax(model(ids)[:, -1:], -1)], 1)  # what is added is made of all so far
    return ids


def averages(history):
    for _ in range(200):
        history = tf.concat([history, [tf.reduce_mean(history[-3:]) + 1.0]], 0)
    return history
