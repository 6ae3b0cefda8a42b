import tensorflow.compat.v1 as tf

def write(writer, summaries):
    with tf.Session() as sess:
        for name, summary in summaries.items():
            writer.add_summary(tf.summary.text(name, tf.constant(summary)).eval())
