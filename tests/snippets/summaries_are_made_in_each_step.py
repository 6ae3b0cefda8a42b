import tensorflow.compat.v1 as tf

loss = tf.reduce_mean(tf.layers.dense(tf.random_normal([4, 4]), 1))
tf.summary.scalar("loss", loss)
before = tf.summary.merge_all()

with tf.Session() as sess:
    writer = tf.summary.FileWriter("logs", sess.graph)
    for step in range(5000):
        merged = tf.summary.merge_all()  # ops-in-loop
        writer.add_summary(sess.run(merged), step)
    for step in range(5000):
        writer.add_summary(sess.run(before), step)
    for step in range(5000):
        value = sess.run(loss)
        made = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])
        writer.add_summary(made, step)
    for step in range(5000):
        if step % 1000 == 0:
            writer.add_summary(sess.run(tf.summary.merge_all()), step)
