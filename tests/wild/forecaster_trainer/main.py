import argparse

import keras
import numpy as np

from net import Forecaster
from trainer import Trainer


def windows(series, width):
    x = np.lib.stride_tricks.sliding_window_view(series[:-1], width)
    return x.astype("float32"), series[width:].astype("float32")[:, None]


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--width", type=int, default=16)
    args = p.parse_args(argv)

    keras.utils.set_random_seed(9)
    t = np.arange(700)
    series = np.sin(t / 8.0) + 0.4 * np.sin(t / 3.0) + np.random.default_rng(9).normal(0, 0.05, t.size)
    x, y = windows(series, args.width)

    trainer = Trainer(Forecaster(units=32), keras.optimizers.Adam(3e-3))
    trainer.fit(x[:600], y[:600], epochs=args.epochs, batch_size=16)
    for epoch, loss in enumerate(trainer.losses, 1):
        print(f"epoch {epoch}: {loss:.3f}")
    print(f"test mse {trainer.score(x[600:], y[600:]):.3f}")


if __name__ == "__main__":
    main()
