import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 8])
z = tf.placeholder(tf.float32, [None, 8])
picture = tf.layers.dense(z, 8)
real, fake = tf.reduce_mean(tf.layers.dense(x, 1)), tf.reduce_mean(tf.layers.dense(picture, 1))
sess = tf.Session()

scores, feed = [], {}
for batch in batches:
    # Noise of its own for each.
    scores.append(sess.run(real, {x: batch, z: np.random.normal(size=(64, 8))}))
    scores.append(sess.run(fake, {x: batch, z: np.random.normal(size=(64, 8))}))

for batch in batches:
    feed[x] = batch
    scores.append(sess.run(real, feed))
    feed[x] = batch[::-1]
    scores.append(sess.run(fake, feed))

for batch in batches:
    # Two samples of the same.
    scores.append(sess.run(picture, {z: batch}) - sess.run(picture, {z: batch}))

for batch in batches:
    score = sess.run(real, {x: batch})
    best = score if score > 0 else sess.run(fake, {x: batch})
    print(best, [sess.run(fake, {x: batch}) for _ in range(3)])

for model in models:
    print(model.eval(batches), model.eval({"batches": batches}), real.eval(feed_dict={x: batches[0]}))
