"""Never run: near misses and odd spellings."""

import tensorflow as tf

v1 = tf.compat.v1


def hidden_in_run(sess, x, batches):
    for batch in batches:
        sess.run(tf.reduce_sum(x), {x: batch})  # expect: ops-in-loop


def assigned_each_step(values):
    counter = v1.get_variable("counter", [])
    with v1.Session() as sess:
        for step in range(1000):
            sess.run(counter.assign(step))  # expect: ops-in-loop


def read_tensor(path, sess):
    data = tf.io.read_file(path)  # expect: ops-in-loop
    image = tf.image.decode_jpeg(data, channels=3)
    return sess.run(image)


def reads_all(paths):
    with v1.Session() as sess:
        return [read_tensor(path, sess) for path in paths]


def evaluated(images):
    with v1.Session():
        for image in images:
            print(tf.reduce_mean(image).eval())  # expect: ops-in-loop


def sliced(sess, batches):
    x = v1.placeholder(tf.float32, [None, 8])
    for i, batch in enumerate(batches):
        sess.run(x[i % 8], {x: batch})  # expect: ops-in-loop


def arithmetic(batches):
    x = v1.placeholder(tf.float32, [None, 8])
    loss = tf.reduce_sum(x)
    with v1.Session() as sess:
        for batch in batches:
            scaled = loss / len(batch)  # expect: ops-in-loop
            print(sess.run(scaled, {x: batch}))


def differentiated(sess, x, y, batches):
    for batch in batches:
        sess.run(tf.gradients(y, x), {x: batch})  # expect: ops-in-loop


def minimised(sess, loss, batches):
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    for batch in batches:
        sess.run(optimizer.minimize(loss), {"x:0": batch})  # expect: ops-in-loop


def initialised(batches):
    with v1.Session() as sess:
        for batch in batches:
            sess.run(v1.global_variables_initializer())  # expect: ops-in-loop


def save(sess, path):
    v1.train.Saver().save(sess, path)  # expect: ops-in-loop


def saved_each_epoch(sess, train):
    for epoch in range(100):
        sess.run(train)
        save(sess, f"model-{epoch}")


def one_saver(sess, train):
    saver = v1.train.Saver()
    for epoch in range(100):
        sess.run(train)
        saver.save(sess, "model", global_step=epoch)


def fresh_graphs(paths):
    for path in paths:
        with tf.Graph().as_default():
            saver = v1.train.Saver()
            saver.restore(None, path)


def result_sliced(sess, batches):
    x = v1.placeholder(tf.float32, [None, 8])
    total = tf.reduce_sum(x, axis=0)
    for batch in batches:
        print(sess.run(total, {x: batch})[0] * 2)


def item_of_a_list(sess, batches, losses):
    parts = tf.split(losses, 8)
    tensors = {"loss": losses}
    for i, batch in enumerate(batches):
        sess.run([parts[i % 8], tensors["loss"]], {"x:0": batch})


def built_once(sess, x, batches):
    total = tf.reduce_sum(x)
    for batch in batches:
        sess.run(total, {x: batch})


def builds_layers(x):
    for size in range(50):
        x = tf.nn.relu(tf.matmul(x, tf.ones([size, size])))
    return x


def eager(batches):
    for batch in batches:
        print(tf.reduce_sum(batch).numpy())


def by_name(sess, batches):
    for batch in batches:
        sess.run("softmax:0", {"input:0": batch})


def subprocess_run(commands):
    import subprocess

    for command in commands:
        subprocess.run(command)
