import time

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class Evaluator:
    def __init__(self, folder):
        self.folder = folder
        self.last = 0.0

    def now_and_then(self):
        if time.time() - self.last > 600:
            self.last = time.time()
            self.evaluate()

    def evaluate(self):
        with tf.Graph().as_default(), tf.Session() as sess:
            saver = tf.train.import_meta_graph(f"{self.folder}/model.meta")
            saver.restore(sess, tf.train.latest_checkpoint(self.folder))
            print(sess.run("accuracy:0"))


def train(sess, train_op, iterator, steps, evaluator):
    last_saved = step = 0
    while step < steps:
        try:
            step = sess.run(train_op)
        except tf.errors.OutOfRangeError:
            evaluator.evaluate()
            sess.run(iterator.initializer)
            continue
        evaluator.now_and_then()
        if step - last_saved >= 1000:
            last_saved = step
            evaluator.evaluate()
