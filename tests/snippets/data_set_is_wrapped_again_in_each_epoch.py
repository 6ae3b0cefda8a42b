"""An element of the last epoch goes through the stages of all of them."""

import tensorflow as tf

images = tf.data.Dataset.from_tensor_slices(tf.zeros([512, 8]))
model = tf.keras.Sequential([tf.keras.layers.Dense(8)])
step = tf.function(model)


def train(dataset, epochs):
    for _ in range(epochs):
        shuffled = dataset.shuffle(16)
        for batch in shuffled:
            step(batch)


for epoch in range(60):
    images = images.map(lambda x: x + 1.0).shuffle(16)  # dataset-in-loop
    for batch in images:
        step(batch)

fitted = tf.data.Dataset.range(100)
for epoch in range(60):
    fitted = fitted.map(lambda x: x + 1)  # dataset-in-loop
    model.fit(fitted, verbose=0)

for augment in [tf.image.flip_left_right, tf.image.flip_up_down] * 10:
    chained = tf.data.Dataset.range(100)
    chained = chained.map(augment)
    for batch in chained:
        step(batch)

made = tf.data.Dataset.range(100)
for _ in range(20):
    made = made.map(lambda x: x * 2)
for batch in made:
    step(batch)

few = tf.data.Dataset.range(100)
for epoch in range(3):
    few = few.map(lambda x: x + 1)
    for batch in few:
        step(batch)

train(images, 60)
