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
