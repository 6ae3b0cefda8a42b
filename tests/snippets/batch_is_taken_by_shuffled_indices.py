import numpy as np
from tensorflow import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = np.load("x.npy"), np.load("y.npy")
for epoch in range(10):
    order = np.random.permutation(len(x))
    for start in range(0, len(x), 256):
        chosen = order[start : start + 256]
        model.fit(x[chosen], y[chosen], epochs=1, verbose=0)  # fit-in-loop
    for start in range(0, len(x), 32):
        model.fit([x[order[start : start + 32]], x[order[start : start + 32]]], y)  # fit-in-loop
for start in range(0, len(x), 256):
    chosen = order[start : start + 256]
    y[chosen] = model.predict(x[chosen])
for split in range(100):
    held_out = order == split
    model.fit(x[~held_out], y[~held_out], verbose=0)
order = order[order]
for epoch in range(100):
    model.predict(x[order])
