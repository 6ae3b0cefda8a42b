import tensorflow as tf

class Diffusion(tf.keras.Model):
    def __init__(self, network, timesteps):
        super().__init__()
        self.network = network
        self.timesteps = timesteps

    def generate(self, count):
        samples = tf.random.normal((count, 32, 32, 3))
        for t in reversed(range(0, self.timesteps)):
            noise = self.network.predict([samples, tf.fill(count, t)], verbose=0)  # predict-in-loop
            samples = samples - noise
        return samples

network = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3)])
Diffusion(network, 1000).generate(16)
