"""Never run: near misses and odd spellings."""

import tensorflow as tf
from tensorflow.compat import v1
from tensorflow.compat.v1 import Session as S


def appended(images, graph):
    opened = []
    for image in images:
        opened.append(v1.Session(graph=graph))  # expect: session-in-loop, session-kept-open
    return opened


def in_a_dict(paths):
    by_path = {}
    for path in paths:
        sess = S()  # expect: session-in-loop
        by_path[path] = sess  # expect: session-kept-open
        sess.run("out:0", {"in:0": path})


def with_its_graph(files):
    found = []
    for file in files:
        graph = tf.Graph()
        session = v1.Session(graph=graph)  # expect: session-in-loop
        found.append((graph, session))  # expect: session-kept-open
    return found


def comprehension(images):
    sessions = [v1.Session() for image in images]  # expect: session-in-loop, session-kept-open
    return sessions


def interactive(images):
    for image in images:
        sess = v1.InteractiveSession()  # expect: session-in-loop, session-kept-open
        sess.run("out:0", {"in:0": image})


class Detector:
    def __init__(self, graph):
        self.sess = v1.Session(graph=graph)  # expect: session-in-loop


def one_per_frame(frames, graph):
    detectors = []
    for frame in frames:
        detectors.append(Detector(graph))  # expect: session-kept-open
    return detectors


def open_session(path):
    session = v1.Session()  # expect: session-in-loop
    session.run("load", {"path:0": path})
    return session


def opened_by_a_function(paths):
    kept = []
    for path in paths:
        kept.append(open_session(path))  # expect: session-kept-open
    return kept


class Server:
    def __init__(self):
        self.sessions = {}

    def serve(self):
        while True:
            request = self.queue.get()
            self.sessions[request] = v1.Session()  # expect: session-in-loop, session-kept-open


# Dropped or closed: costly, but nothing piles up.


def dropped(images):
    for image in images:
        sess = v1.Session()  # expect: session-in-loop
        sess.run("out:0", {"in:0": image})


def closed(images):
    for image in images:
        sess = v1.Session()  # expect: session-in-loop
        sess.run("out:0", {"in:0": image})
        sess.close()


def interactive_closed(images):
    for image in images:
        sess = v1.InteractiveSession()  # expect: session-in-loop
        sess.run("out:0", {"in:0": image})
        sess.close()


def in_a_block(images):
    results = []
    for image in images:
        with v1.Session() as sess:  # expect: session-in-loop
            results.append(sess.run("out:0", {"in:0": image}))
    return results


def results_kept(images):
    results = []
    for image in images:
        sess = v1.Session()  # expect: session-in-loop
        results.append(sess.run("out:0", {"in:0": image}))
    return results


def closed_at_the_end(images):
    workers = []
    for image in images:
        workers.append(v1.Session())  # expect: session-in-loop
    for worker in workers:
        worker.close()


def taken_out(images):
    queue = []
    for image in images:
        queue.append(v1.Session())  # expect: session-in-loop
        if len(queue) > 2:
            queue.pop().close()


class Closing:
    def __init__(self):
        self.session = v1.Session()  # expect: session-in-loop

    def close(self):
        self.session.close()


def closing_objects(images):
    return [Closing() for image in images]


def object_dropped(images, graph):
    for image in images:
        detector = Detector(graph)
        detector.sess.run("out:0", {"in:0": image})


def step_list(images):
    for image in images:
        local = []
        local.append(v1.Session())  # expect: session-in-loop
        local[0].run("out:0")


# One, or a few.


def once(images):
    opened = [v1.Session()]
    for image in images:
        opened[0].run("out:0", {"in:0": image})


def one_per_device():
    sessions = []
    for device in range(4):
        sessions.append(v1.Session())
    return sessions


def remembered(images, cache):
    for image in images:
        if image.shape not in cache:
            cache[image.shape] = v1.Session()
        cache[image.shape].run("out:0")
