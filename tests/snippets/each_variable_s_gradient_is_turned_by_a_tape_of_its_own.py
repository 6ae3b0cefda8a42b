import tensorflow as tf

class Natural:
    def step(self, loss, means):
        with tf.GradientTape() as tape:
            value = loss()
        grads = tape.gradient(value, means)
        for grad, mean in zip(grads, means):
            self.apply(grad, mean)

    def apply(self, grad, mean):
        with tf.GradientTape() as tape:
            eta = transformed(mean)
        mean.assign_sub(tape.gradient(eta, mean, output_gradients=grad))
