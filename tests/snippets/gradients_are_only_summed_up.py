import numpy as np
import tensorflow as tf

model = tf.keras.models.load_model("task_a.keras")
images = np.load("images.npy")


def fisher(model, images, n=2000):
    total = [tf.zeros_like(w) for w in model.trainable_weights]
    for _ in range(n):
        i = np.random.randint(len(images))
        with tf.GradientTape() as tape:  # eager-training-step
            likely = tf.math.log(tf.reduce_max(model(images[i : i + 1])))
        for k, gradient in enumerate(tape.gradient(likely, model.trainable_weights)):
            total[k] += gradient**2
    return [part / n for part in total]


@tf.function
def squared(model, image):
    with tf.GradientTape() as tape:
        likely = tf.math.log(tf.reduce_max(model(image)))
    return [gradient**2 for gradient in tape.gradient(likely, model.trainable_weights)]


def compiled(model, images, n=2000):
    total = [tf.zeros_like(w) for w in model.trainable_weights]
    for image in images[:n]:
        total = [part + one for part, one in zip(total, squared(model, image[None]))]
    return total


def looked_at_once(model, image):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(image))
    return [tf.norm(gradient) for gradient in tape.gradient(loss, model.trainable_weights)]


def of_the_image(model, image):
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = tf.reduce_mean(model(image))
    return tape.gradient(loss, image)


print(fisher(model, images), compiled(model, images), looked_at_once(model, images[:1]))
print([of_the_image(model, tf.constant(image[None])) for image in images])
for seed in range(5):
    print(seed, looked_at_once(model, images[seed : seed + 1]))
