"""Scores batches in a session; loss, accuracy and confidence are fetched by a run each."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

STEPS = 60

images = np.random.default_rng(0).random((256 + STEPS, 512), dtype=np.float32)
labels = np.random.default_rng(1).integers(0, 10, 256 + STEPS)

x = tf.placeholder(tf.float32, [None, 512])
y = tf.placeholder(tf.int64, [None])
weights = [tf.constant(np.random.default_rng(i).normal(0, 0.05, (512, 512)).astype("float32")) for i in range(3)]
hidden = x
for weight in weights:
    hidden = tf.nn.relu(tf.matmul(hidden, weight))
logits = hidden[:, :10]
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
confidence = tf.reduce_mean(tf.reduce_max(tf.nn.softmax(logits), axis=1))

totals = np.zeros(3)
with tf.Session() as sess:
    for step in range(STEPS):
        feed = {x: images[step : step + 256], y: labels[step : step + 256]}
        loss_now = sess.run(loss, feed_dict=feed)
        accuracy_now = sess.run(accuracy, feed_dict=feed)  # expect: fetch-per-step
        confidence_now = sess.run(confidence, feed_dict=feed)
        totals += [loss_now, accuracy_now, confidence_now]
print("mean loss, accuracy, confidence", np.round(totals / STEPS, 3))
