import tensorflow.compat.v1 as tf

def averages(folder, min_steps):
    for model in stepfiles_iterator(folder, min_steps):
        values = variables_of(model)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, folder)
        tf.reset_default_graph()
