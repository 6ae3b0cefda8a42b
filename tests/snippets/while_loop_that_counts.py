import tensorflow as tf

class Integrator(tf.Module):
    def __init__(self, steps):
        self.steps = steps

    @tf.function
    def __call__(self, y):
        i = 0
        while i < self.steps:  # unrolled-loop
            y = y + 0.01 * tf.sin(y)
            i += 1
        return y

    @tf.function
    def of_a_tensor(self, y):
        i = tf.constant(0)
        while i < self.steps:
            y = y + 0.01 * tf.sin(y)
            i += 1
        return y

    @tf.function
    def until_it_is_small(self, y):
        i = 0
        while i < self.steps:
            y = y + 0.01 * tf.sin(y)
            if tf.norm(y) < 1.0:
                i += 1
        return y

Integrator(1000)(tf.ones([64]))

tries = 0
while tries < 3:
    model = tf.keras.models.load_model("model.keras")
    tries += 1

step = 0
while step < 5000:
    model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
    step += 1

missed = 0
while missed < 5:
    model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
    if model([[1.0]]) < 0.5:
        missed += 1

@tf.function
def backwards(x):
    t = 1000
    while t > 0:  # unrolled-loop
        x = x - 0.001 * tf.tanh(x)
        t -= 1
    return x
