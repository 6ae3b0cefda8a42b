import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
logits = tf.layers.dense(x, 10)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(30):
        losses, accuracies = [], []
        for i in range(0, len(images), 100):
            feed = {x: images[i : i + 100], y: labels[i : i + 100]}
            sess.run(train_op, feed_dict=feed)
            losses.append(sess.run(loss, feed_dict=feed))
            accuracies.append(sess.run(accuracy, feed_dict=feed))  # fetch-per-step
        print(epoch, np.mean(losses), np.mean(accuracies), sess.run(accuracy, {x: test_images, y: test_labels}))

    total = 0.0
    for bx, by in test_batches:
        total += sess.run(loss, {x: bx, y: by})
        print("accuracy", sess.run(accuracy, {x: bx, y: by}))  # fetch-per-step

    for bx, by in test_batches:
        print(loss.eval(feed_dict={x: bx, y: by}), accuracy.eval(feed_dict={x: bx, y: by}))  # fetch-per-step
