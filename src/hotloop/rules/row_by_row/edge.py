"""Never run: near misses and odd spellings."""

import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow import keras
from tensorflow import map_fn
from tensorflow.keras import backend as K

model = keras.Sequential([keras.layers.Dense(1)])
table = tf.random.normal([100, 8])


def scaled(image):
    """One image."""
    image = tf.cast(image, tf.float32)
    return image / 255.0


def by_name(images):
    return map_fn(scaled, images, dtype=tf.float32)  # expect: row-by-row


def by_lambda(x, w):
    return tf.map_fn(lambda row: tf.linalg.matvec(w, row), elems=x)  # expect: row-by-row


def of_keras(x):
    return K.map_fn(lambda row: K.sum(K.square(row)), x)  # expect: row-by-row


def old_spelling(x):
    return tf1.map_fn(fn=lambda pair: pair[0] @ pair[1], elems=(x, x), dtype=tf1.float32)  # expect: row-by-row


def through_another(images):
    return tf.map_fn(lambda image: tf.reduce_mean(scaled(image)), images)  # expect: row-by-row


class Attention(keras.layers.Layer):
    def call(self, inputs):
        return tf.map_fn(self.weigh, inputs)  # expect: row-by-row

    def weigh(self, row):
        return tf.nn.softmax(tf.matmul(row, self.kernel))


def stacked():
    x = tf.random.normal([64, 8])
    return tf.stack([tf.reduce_sum(x[i] * x[i]) for i in range(64)])  # expect: row-by-row


def gathered(n):
    return tf.stack([tf.gather(table, i) for i in range(n_rows(table))])  # expect: row-by-row


def n_rows(x):
    return x.shape[0]


def appended(batch_size):
    x = tf.random.normal([batch_size, 8])
    out = []
    for i in range(batch_size):  # expect: row-by-row
        row = x[i]
        out.append(tf.nn.softmax(row))
    return tf.stack(out)


def elements():
    batch = tf.random.normal([64, 8])
    return tf.stack([example / tf.norm(example) for example in batch])  # expect: row-by-row


def pairs_of_elements(n):
    batch, labels = tf.random.normal([n, 8]), tf.random.normal([n, 8])
    losses = []
    for example, label in zip(batch, labels):  # expect: row-by-row
        losses.append(tf.reduce_mean(tf.square(example - label)))
    return tf.stack(losses)


def decoded(files):
    return tf.map_fn(lambda data: tf.io.decode_jpeg(data, channels=3), files, dtype=tf.uint8)


def resized(images):
    return tf.map_fn(lambda image: tf.image.random_crop(image, [24, 24, 3]), images)


def decides(x):
    return tf.map_fn(lambda row: tf.cond(row[0] > 0, lambda: row, lambda: -row), x)


def branches(x):
    def choose(row):
        if row[0] > 0:
            return row
        return -row

    return tf.map_fn(choose, x)


def variable_length(x, lengths):
    return tf.map_fn(lambda pair: tf.reduce_sum(pair[0][: pair[1]]), (x, lengths), dtype=tf.float32)


def ragged(words):
    return tf.map_fn(lambda row: tf.reduce_sum(row), tf.RaggedTensor.from_row_lengths(words, [1, 2]))


def sparse_places(masks):
    return tf.map_fn(lambda mask: tf.where(mask), masks, dtype=tf.int64)


def masked(x):
    return tf.map_fn(lambda row: tf.boolean_mask(row, row > 0), x)


def sampled(x):
    return tf.map_fn(lambda row: row + tf.random.normal([8]), x)


def vectorised(x):
    return tf.vectorized_map(lambda row: tf.reduce_sum(row), x)


def with_a_model(x):
    return tf.map_fn(lambda row: model(row[None])[0], x)


def for_memory(x, w):
    return tf.map_fn(lambda row: tf.matmul(row, w), x, parallel_iterations=1)


def one_per_layer(x, layers):
    return tf.stack([tf.reduce_sum(layer(x)) for layer in layers])


def one_per_head(x):
    heads = tf.split(x, 12, axis=-1)
    return tf.stack([tf.nn.softmax(heads[i]) for i in range(12)])


def elements_of_parts():
    images = tf.unstack(tf.random.normal([64, 8]))
    return tf.stack([tf.nn.softmax(image) for image in images])


def size_of_gradients(data_loss, weights):
    gradients = tf.gradients(data_loss, weights)
    return tf.stack([tf.norm(sample) for sample in gradients])


def elements_that_choose():
    batch = tf.random.normal([64, 8])
    return tf.stack([tf.boolean_mask(example, example > 0)[0] for example in batch])


def elements_of_what_is_unknown(images):
    return tf.stack([tf.nn.softmax(image) for image in images])


def list_or_tensor():
    data = tf.random.normal([64, 8])
    if isinstance(data, (list, tuple)):
        data = tf.stack([tf.nn.relu(part) for part in data])
    return data


def of_a_list(batch_size, losses):
    return tf.stack([tf.reduce_mean(losses[i]) for i in range(batch_size)])


def counted(n):
    return tf.stack([tf.cast(i * i, tf.float32) for i in range(n)])


def carried(n):
    x = tf.random.normal([100, 8])
    state, out = tf.zeros([8]), []
    for i in range(100):
        state = state * 0.9 + x[i]
        out.append(tf.nn.relu(state))
    return tf.stack(out)


def few():
    x = tf.random.normal([3, 8])
    return tf.stack([tf.reduce_sum(x[i]) for i in range(3)])


def running_sum(x):
    return tf.scan(lambda total, row: total + row, x)
