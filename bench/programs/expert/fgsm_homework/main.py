# HW4: adversarial examples (fast gradient sign method)
# Part 2: how many of the test points flip at eps = 0.15 ?
import numpy as np
import tensorflow as tf

from attacks import make_attack

tf.keras.utils.set_random_seed(482)

EPS = 0.15
NUM_ATTACKS = 60


def make_data(n, rng):
    """Four noisy corners of a 20-dim cube."""
    centers = rng.uniform(0.2, 0.8, size=(4, 20))
    y = rng.integers(0, 4, size=n)
    x = np.clip(centers[y] + rng.normal(0, 0.08, size=(n, 20)), 0, 1)
    return x.astype("float32"), y.astype("int64")


def train(x, y):
    model = tf.keras.Sequential([
        tf.keras.layers.Input((20,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(4),
    ])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, epochs=6, batch_size=32, verbose=0)
    return model


def main():
    x, y = make_data(600, np.random.default_rng(482))
    model = train(x[:500], y[:500])
    x_test, y_test = x[500:], y[500:]

    flipped = 0
    moved = 0.0
    attack = make_attack(model, EPS)
    for i in range(NUM_ATTACKS):
        sample = tf.convert_to_tensor(x_test[i:i + 1])
        target = tf.convert_to_tensor(y_test[i:i + 1])
        adv = attack(sample, target)
        before = np.argmax(model(sample)[0])
        after = np.argmax(model(adv)[0])
        flipped += int(before != after)
        moved += float(np.abs(adv - sample).mean())

    print("flipped", flipped, "of", NUM_ATTACKS)
    print("mean shift %.3f" % (moved / NUM_ATTACKS))


main()
