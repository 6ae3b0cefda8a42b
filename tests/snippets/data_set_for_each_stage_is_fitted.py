import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
paths = tf.io.gfile.glob("images/*.jpg")


def make(size):
    return tf.data.Dataset.from_tensor_slices(paths).repeat(size).batch(32)


for path in paths:
    model.fit(make(len(path)), epochs=1)
