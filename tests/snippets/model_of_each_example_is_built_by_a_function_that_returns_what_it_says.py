import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

samples = np.random.rand(500, 30)

def score(sample):
    net = tf.keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(1)])  # model-built-in-loop
    net.build((None, 30))
    net.set_weights(np.load("weights.npy", allow_pickle=True))
    return net(sample[None, :]).numpy()[0, 0]

def part(sample):
    net = tf.keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(1)])
    net.build((None, 30))
    return net.layers[0]

def pair(sample):
    net = tf.keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(1)])
    return {"net": net, "sample": sample}

scores = [score(sample) for sample in samples]
parts = [part(sample) for sample in samples]
pairs = [pair(sample) for sample in samples]
