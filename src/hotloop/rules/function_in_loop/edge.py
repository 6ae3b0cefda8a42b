"""Never run: near misses and odd spellings."""

import functools

import tensorflow as tf


def called(batches, f):
    for batch in batches:
        g = tf.function(f)  # expect: function-in-loop
        g(batch)


def called_at_once(batches, model):
    for batch in batches:
        tf.function(model)(batch)  # expect: function-in-loop


def as_lambda(batches):
    return [tf.function(lambda x: x * 2)(batch) for batch in batches]  # expect: function-in-loop


def with_options(batches):
    while True:

        @tf.function(jit_compile=True)  # expect: function-in-loop
        def double(x):
            return x * 2

        double(next(batches))


class Stepper(tf.Module):
    @tf.function
    def step(self, x):
        return x + 1


def object_per_step(batches):
    for batch in batches:
        stepper = Stepper()  # expect: function-in-loop
        stepper.step(batch)


def make_update(rate):
    @tf.function  # expect: function-in-loop
    def update(x):
        return x * rate

    return update


def through_a_call(batches):
    for batch in batches:
        update = make_update(0.1)
        update(batch)


def captured(batches):
    # Rebuilt because it must see the new scale: moved as it is, it would keep the first.
    for i, batch in enumerate(batches):
        scale = tf.constant(1.0 + i)

        @tf.function  # expect: function-in-loop
        def scaled(x):
            return x * scale

        scaled(batch)


def per_task(tasks):
    for config in tasks:

        @tf.function
        def train(x):
            return x * config.rate

        for batch in config.data:
            train(batch)


def once(batches):
    step = tf.function(lambda x: x + 1)
    for batch in batches:
        step(batch)


def kept(batches, functions={}):
    for batch in batches:
        key = batch.shape
        if key not in functions:
            functions[key] = tf.function(lambda x: x + 1)
        functions[key](batch)


@functools.cache
def make_once():
    return tf.function(lambda x: x + 1)


def uses_made_once(batches):
    for batch in batches:
        make_once()(batch)


def one_object(batches):
    stepper = Stepper()
    for batch in batches:
        stepper.step(batch)


class Called:
    @tf.function
    def __call__(self, x):
        return x * 2


def object_called_per_step(batches):
    for batch in batches:
        called = Called()  # expect: function-in-loop
        called(batch)


def one_object_called(batches):
    called = Called()
    for batch in batches:
        called(batch)
