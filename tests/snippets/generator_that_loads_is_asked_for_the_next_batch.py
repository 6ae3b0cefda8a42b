import cv2
import numpy as np
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")

def pictures(paths):
    while True:
        chosen = np.random.choice(paths, 32)
        yield np.stack([cv2.imread(path) for path in chosen]), chosen  # input-not-overlapped

def loaded_once(path):
    x = np.load(path)
    while True:
        chosen = np.random.permutation(len(x))[:32]
        yield x[chosen], x[chosen]

def train(paths, steps):
    batches = pictures(paths)
    for step in range(steps):
        x, y = next(batches)
        model.train_on_batch(x, y)

class Trainer:
    def __init__(self):
        self.batches = loaded_once("x.npy")

    def train(self, steps):
        for step in range(steps):
            x, y = next(self.batches)
            model.train_on_batch(x, y)

def train_on_arrays(epochs):
    for epoch in range(epochs):
        for x, y in loaded_once("y.npy"):
            model.train_on_batch(x, y)

def looked_at(paths, steps):
    batches = pictures(paths)
    for step in range(steps):
        print(next(batches))
