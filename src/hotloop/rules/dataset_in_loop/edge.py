"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow.data import Dataset

x_train, y_train = [], []
dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(100).batch(32)


def take_one(ds):
    return next(iter(ds))  # expect: dataset-in-loop


def through_a_call(steps):
    for step in range(steps):
        batch = take_one(dataset)
        print(batch)


def forever():
    while True:
        x, y = next(iter(dataset.prefetch(1)))  # expect: dataset-in-loop
        print(x, y)


def as_numpy(steps):
    for step in range(steps):
        print(next(dataset.as_numpy_iterator()))  # expect: dataset-in-loop


def in_a_comprehension(steps):
    return [next(iter(dataset)) for step in range(steps)]  # expect: dataset-in-loop


def old_style(steps):
    for step in range(steps):
        iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)  # expect: dataset-in-loop
        print(iterator.get_next())


def old_method(sess, steps):
    for step in range(steps):
        print(sess.run(dataset.make_one_shot_iterator().get_next()))  # expect: dataset-in-loop


def built_for_one_element(steps):
    for step in range(steps):
        ds = Dataset.from_tensor_slices(x_train).shuffle(1000).batch(8)  # expect: dataset-in-loop
        print(next(iter(ds)))


class Agent:
    def __init__(self, replay):
        self.memory = tf.data.Dataset.from_tensor_slices(replay).batch(64)

    def learn(self, steps):
        for step in range(steps):
            print(next(iter(self.memory)))  # expect: dataset-in-loop


# -- silent ----------------------------------------------------------------------------------------------------


def one_iterator(steps):
    batches = iter(dataset.repeat())
    for step in range(steps):
        print(next(batches))


def per_epoch(epochs, fit):
    for epoch in range(epochs):
        ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(100).batch(32)
        for x, y in ds:
            fit(x, y)


def per_fold(folds, model):
    for train, test in folds:
        ds = tf.data.Dataset.from_tensor_slices(train).batch(32)
        model.fit(ds, epochs=3)


def per_part(shards):
    for shard in shards:
        first = next(iter(tf.data.TFRecordDataset(shard)))
        print(first)


def collected(names):
    return [tf.data.TFRecordDataset(name) for name in names]


def look_once():
    images, labels = next(iter(dataset))
    for image in images:
        print(image, labels)


def other_iterators(rows):
    for row in rows:
        print(next(iter(row)))


def of_each(datasets):
    for ds in datasets:
        print(next(iter(ds.batch(3).prefetch(1))))


def seldom(step, steps):
    for step in range(steps):
        if step % 1000 == 0:
            print(next(iter(dataset)))


def a_few():
    for i in range(3):
        print(next(iter(dataset)))


@tf.function
def traced(n):
    for i in range(n):
        print(next(iter(dataset)))


def old_style_per_epoch(epochs):
    for epoch in range(epochs):
        iterator = dataset.make_one_shot_iterator()
        while True:
            try:
                print(iterator.get_next())
            except tf.errors.OutOfRangeError:
                break


def a_look_per_epoch(epochs, fit):
    for epoch in range(epochs):
        fit(dataset)
        print(next(iter(dataset)))
