import tensorflow as tf

options = dict(optimizer="adam", run_eagerly=True)


def dice_loss(truth, predicted):
    total = 0.0
    for step in range(320):  # unrolled-loop
        shared = tf.reduce_sum(truth[:, step] * predicted[:, step])
        total += 2.0 * shared / (tf.reduce_sum(truth[:, step]) + tf.reduce_sum(predicted[:, step]) + 1.0)
    return 1.0 - total / 320


def mean_error(truth, predicted):
    total = 0.0
    for step in range(320):  # unrolled-loop
        total += tf.reduce_mean(tf.abs(truth[:, step] - predicted[:, step]))
    return total / 320


model = tf.keras.Sequential([tf.keras.layers.LSTM(32, return_sequences=True), tf.keras.layers.Dense(1)])
model.compile("adam", loss=dice_loss, metrics=["mae", mean_error])
model.fit(tf.zeros((640, 320, 3)), tf.zeros((640, 320, 1)), batch_size=32)
model.compile(**options)  # run-eagerly
