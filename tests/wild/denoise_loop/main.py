import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, layers, optimizers


def build_model(length: int) -> Model:
    inputs = Input((length, 1))
    x = layers.Conv1D(8, 5, padding="same", activation="relu")(inputs)
    x = layers.Dropout(0.1, seed=2)(x)
    x = layers.Conv1D(8, 5, padding="same", activation="relu")(x)
    return Model(inputs, layers.Conv1D(1, 5, padding="same")(x))


class Denoiser:
    def __init__(self, length: int = 64, lr: float = 0.01) -> None:
        self.model = build_model(length)
        self.optimizer = optimizers.SGD(learning_rate=lr, momentum=0.9)
        self.train_step = tf.function(self._train_step)

    def _train_step(self, noisy, clean, training):
        with tf.GradientTape() as tape:
            restored = self.model(noisy, training=training)
            loss = tf.reduce_mean(tf.square(restored - clean))
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, variables))
        return loss

    def train(self, dataset, validation, epochs: int = 5) -> None:
        noisy_val, clean_val = validation
        for epoch in range(epochs):
            total, batches = 0.0, 0
            for noisy, clean in dataset:
                total += float(self.train_step(noisy, clean, training=True))
                batches += 1
            restored = self.model.predict(noisy_val, verbose=0)
            error = np.mean((restored - clean_val) ** 2)
            self.optimizer.learning_rate.assign(self.optimizer.learning_rate * 0.8)
            print(f"epoch {epoch}  train {total / batches:.3f}  val {error:.3f}")


def signals(count: int, length: int = 64):
    rng = np.random.default_rng(2)
    phase = rng.uniform(0, 6.28, (count, 1))
    clean = np.sin(np.linspace(0, 9, length)[None] + phase)[..., None].astype("float32")
    return clean + rng.normal(0, 0.3, clean.shape).astype("float32"), clean


def main() -> None:
    tf.keras.utils.set_random_seed(2)
    noisy, clean = signals(760)
    dataset = tf.data.Dataset.from_tensor_slices((noisy[:600], clean[:600])).batch(20)
    Denoiser().train(dataset, (noisy[600:], clean[600:]))


if __name__ == "__main__":
    main()
