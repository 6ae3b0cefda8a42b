import numpy as np
import tensorflow as tf


class GumbelTrainer:
    """Learns a categorical distribution with the Gumbel-softmax trick, annealing the temperature."""

    def __init__(self, target, steps=90, lr=0.5, tau=2.0, tau_min=0.4, decay=0.985):
        self.target = tf.constant(target, tf.float32)
        self.logits = tf.Variable(tf.zeros([len(target)]))
        self.steps = steps
        self.lr = lr
        self.tau = tau
        self.tau_min = tau_min
        self.decay = decay
        self.history = []

    @tf.function
    def update(self, noise, tau):
        with tf.GradientTape() as tape:
            sample = tf.nn.softmax((self.logits + noise) / tau)
            mean = tf.reduce_mean(sample, axis=0)
            loss = tf.reduce_sum(tf.square(mean - self.target))
        grad = tape.gradient(loss, self.logits)
        self.logits.assign_sub(self.lr * grad)
        return loss

    def fit(self, rng):
        for _ in range(self.steps):
            noise = tf.constant(rng.gumbel(size=(256, self.target.shape[0])), tf.float32)
            loss = self.update(noise, tf.constant(self.tau, tf.float32))
            self.history.append(float(loss))
            self.anneal()
        return self

    def anneal(self):
        self.tau = max(self.tau_min, self.tau * self.decay)


if __name__ == "__main__":
    target = [0.1, 0.2, 0.05, 0.4, 0.25]
    trainer = GumbelTrainer(target).fit(np.random.default_rng(5))
    probs = tf.nn.softmax(trainer.logits).numpy()
    print("learned ", " ".join("%.2f" % p for p in probs))
    print("loss %.3f -> %.3f" % (trainer.history[0], trainer.history[-1]))
    print("tau %.3f" % trainer.tau)
