"""Never run: near misses and odd spellings."""

import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.keras import backend as K

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
y = tf.placeholder(tf.float32, [None, 1])
w = tf.Variable(tf.zeros([4, 1]))
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
accuracy = tf.reduce_mean(tf.matmul(x, w))
train_op = tf.train.AdamOptimizer().minimize(loss)
learning_rate = K.variable(0.1)
sess = tf.Session()


def train_and_look(batches):
    for bx, by in batches:
        sess.run(train_op, feed_dict={x: bx, y: by})
        c = sess.run(loss, feed_dict={x: bx, y: by})  # expect: fetch-per-step
        print(c)


def train_between_prints(batches):
    with tf.Session() as session:
        for bx, by in batches:
            feed = {x: bx, y: by}
            c = session.run(loss, feed)
            print("loss", c)
            a = session.run(accuracy, feed)  # expect: fetch-per-step
            print("accuracy", a)


class Trainer:
    def __init__(self):
        self.session = tf.Session()

    def step(self, bx, by):
        self.session.run([train_op], feed_dict={x: bx, y: by})
        c, a = self.session.run([loss, accuracy], feed_dict={x: bx, y: by})  # expect: fetch-per-step
        return c, a

    def train(self, batches):
        for bx, by in batches:
            self.step(bx, by)


def passed_in(sess, batches):
    while True:
        bx = next(batches)
        first = sess.run(accuracy, {x: bx})
        second = sess.run(w, {x: bx})  # expect: fetch-per-step
        print(first, second)


def backend(batches):
    for batch in batches:
        print(K.get_value(learning_rate))  # expect: fetch-per-step
        rate = tf2.keras.backend.eval(w)  # expect: fetch-per-step
    return rate


def at_once(batches):
    for bx, by in batches:
        _, c = sess.run([train_op, loss], feed_dict={x: bx, y: by})
        print(c)


def other_data(batches, tx, ty):
    for bx, by in batches:
        sess.run(train_op, feed_dict={x: bx, y: by})
        print(sess.run(loss, feed_dict={x: tx, y: ty}))


def fed_with_the_result(batches):
    for bx in batches:
        bx = sess.run(accuracy, feed_dict={x: bx})
        out = sess.run(loss, feed_dict={x: bx})
        print(out)


def two_updates(batches, train_d, train_g):
    for bx in batches:
        sess.run(train_d, feed_dict={x: bx})
        sess.run(train_g, feed_dict={x: bx})


def before_and_after(batches):
    for bx in batches:
        before = sess.run(loss, feed_dict={x: bx})
        sess.run(train_op, feed_dict={x: bx})
        after = sess.run(loss, feed_dict={x: bx})
        print(after - before)


def seldom(batches):
    for step, bx in enumerate(batches):
        sess.run(train_op, feed_dict={x: bx})
        if step % 100 == 0:
            c = sess.run(loss, feed_dict={x: bx})
            a = sess.run(accuracy, feed_dict={x: bx})
            print(c, a)


def next_elements(images, labels):
    # Without a feed each run may draw the next element: two runs are two draws.
    while True:
        a = sess.run(images)
        b = sess.run(labels)
        print(a, b)


def once(bx):
    c = sess.run(loss, feed_dict={x: bx})
    a = sess.run(accuracy, feed_dict={x: bx})
    return c, a


def few(bx):
    for i in range(3):
        c = sess.run(loss, feed_dict={x: bx})
        a = sess.run(accuracy, feed_dict={x: bx})
        print(c, a)


def changed_between(batches):
    for bx in batches:
        c = sess.run(loss, feed_dict={x: bx})
        bx = bx + 1
        a = sess.run(accuracy, feed_dict={x: bx})
        print(c, a)


def other_runs(batches, runner):
    for bx in batches:
        runner.run(loss, {x: bx})
        runner.run(accuracy, {x: bx})


def needed_in_python(model, batches):
    for batch in batches:
        print(model(batch).numpy())


def twice_on_purpose(batches, g_optim, g_sum):
    for bx in batches:
        _, summary = sess.run([g_optim, g_sum], feed_dict={x: bx})
        _, summary = sess.run([g_optim, g_sum], feed_dict={x: bx})
        print(summary)
