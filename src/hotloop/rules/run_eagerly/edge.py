"""Never run: near misses and odd spellings."""

import argparse

import keras
import tensorflow as tf
import tensorflow.compat.v2 as tf2
from tensorflow import config
from tensorflow.keras import layers

EAGER = True
DEBUG = True

net = keras.Sequential([layers.Dense(1)])
net.compile("adam", "mse", run_eagerly=True)  # expect: run-eagerly
net.run_eagerly = True  # expect: run-eagerly


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([layers.Dense(1)])

    def prepare(self):
        self.model.compile(  # expect: run-eagerly
            optimizer=tf.keras.optimizers.Adam(),
            loss="mse",
            run_eagerly=True,
        )


def named(model):
    model.compile(loss="mse", run_eagerly=EAGER)  # expect: run-eagerly


def main():
    tf.config.run_functions_eagerly(True)  # expect: run-eagerly
    tf2.config.experimental_run_functions_eagerly(True)  # expect: run-eagerly
    config.run_functions_eagerly(run_eagerly=True)  # expect: run-eagerly


if __name__ == "__main__":
    net.compile("sgd", "mse", run_eagerly=True)  # expect: run-eagerly


def switched_off(model):
    model.compile("adam", "mse", run_eagerly=False)


def default(model):
    model.compile("adam", "mse", run_eagerly=None)


def by_flag(model):
    arguments = argparse.ArgumentParser().parse_args()
    model.compile("adam", "mse", run_eagerly=arguments.debug)


def by_constant(model):
    model.compile("adam", "mse", run_eagerly=DEBUG)


def by_parameter(model, run_eagerly=True):
    model.compile("adam", "mse", run_eagerly=run_eagerly)


def under_a_flag(model, debug):
    if debug:
        model.compile("adam", "mse", run_eagerly=True)
        tf.config.run_functions_eagerly(True)


def asks():
    return tf.config.functions_run_eagerly()


def switched_back(model, other):
    other.run_eagerly = True
    model(tf.zeros([1, 1]))
    other.run_eagerly = False


def test_a_step_by_hand(model):
    model.compile("adam", "mse", run_eagerly=True)


def settings():
    return {"optimizer": "adam", "run_eagerly": True}
