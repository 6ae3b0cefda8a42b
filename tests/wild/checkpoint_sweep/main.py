"""Which epoch should we ship? Score every checkpoint of a run on the hold-out set."""
import glob
import os
import tempfile

import numpy as np
from tensorflow import keras
from tensorflow.keras.callbacks import ModelCheckpoint
from tensorflow.keras.models import load_model

CHUNK = 2000


def data(seed=8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7000, 10)).astype("float32")
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3] > 0).astype("float32")
    return (x[:1000], y[:1000]), (x[1000:], y[1000:])


def train(run_dir, x, y):
    keras.utils.set_random_seed(8)
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    save = ModelCheckpoint(os.path.join(run_dir, "epoch-{epoch:02d}.keras"))
    model.fit(x, y, epochs=3, batch_size=50, verbose=0, callbacks=[save])


def predict_in_chunks(model, x):
    # all at once does not fit on the small card
    parts = []
    for start in range(0, len(x), CHUNK):
        parts.append(model.predict(x[start:start + CHUNK], batch_size=500, verbose=0))
    return np.concatenate(parts)


def main():
    (x, y), (x_val, y_val) = data()
    with tempfile.TemporaryDirectory() as run_dir:
        train(run_dir, x, y)
        results = {}
        for path in sorted(glob.glob(os.path.join(run_dir, "*.keras"))):
            model = load_model(path)
            p = predict_in_chunks(model, x_val)
            results[os.path.basename(path)] = float(np.mean((p > 0.5) == (y_val > 0.5)))
    for name, accuracy in results.items():
        print(name, "%.3f" % accuracy)
    print("best:", max(results, key=results.get))


if __name__ == "__main__":
    main()
