import time
import tensorflow.compat.v1 as tf

seen = None
while True:
    latest = tf.train.latest_checkpoint("train")
    if latest != seen:
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            saver.restore(sess, latest)
            evaluate(sess)
        seen = latest
    time.sleep(60)
