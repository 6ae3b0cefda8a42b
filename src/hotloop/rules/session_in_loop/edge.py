"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow.compat import v1
from tensorflow.compat.v1 import Session as S

make = tf.compat.v1.Session


def aliased(images, graph):
    for image in images:
        sess = make(graph=graph)  # expect: session-in-loop
        sess.run("out:0", {"in:0": image})
        sess.close()


def imported_name(paths):
    return [S().run("out:0", {"in:0": path}) for path in paths]  # expect: session-in-loop


class Labeller:
    def __init__(self, graph):
        self.graph = graph

    def label(self, image):
        with v1.Session(graph=self.graph) as sess:  # expect: session-in-loop
            return sess.run("out:0", {"in:0": image})

    def label_all(self, images):
        return {name: self.label(image) for name, image in images.items()}


def interactive():
    while True:
        sess = v1.InteractiveSession()  # expect: session-in-loop, session-kept-open
        sess.run("out:0")


def few():
    for seed in range(3):
        with v1.Session() as sess:
            sess.run("train")


def per_fold(folds):
    for fold in folds:
        with v1.Session() as sess:
            sess.run("train", {"in:0": fold})


def retry():
    while True:
        try:
            sess = v1.Session("grpc://worker")
            break
        except ConnectionError:
            continue
    return sess


class Lazy:
    sess = None

    def label(self, image):
        if self.sess is None:
            self.sess = v1.Session()
        return self.sess.run("out:0", {"in:0": image})

    def label_all(self, images):
        return [self.label(image) for image in images]


def around(images):
    with v1.Session() as sess:
        for image in images:
            sess.run("out:0", {"in:0": image})


def value_of(tensor):
    if tf.executing_eagerly():
        return tensor.numpy()
    else:
        with tf.compat.v1.Session() as sess:
            return sess.run(tensor)


def values_of(images):
    # Written for both modes: today the session is never opened.
    return [value_of(image) for image in images]


def value_in_graph(tensor):
    with tf.compat.v1.Session() as sess:
        return sess.run(tensor)


def values_in_either(images):
    for image in images:
        print(image.numpy() if tf.executing_eagerly() else image)
        if not tf.compat.v1.executing_eagerly():
            value_in_graph(image)


def requests_session(urls):
    import requests

    for url in urls:
        with requests.Session() as session:
            session.get(url)
