"""A worker that embeds whatever comes in on a queue, then sums up the batch with a little linear algebra."""
import logging
import os
import queue
import tempfile
import threading

import keras
import numpy as np
import tensorflow as tf

log = logging.getLogger("worker")


class Embedder:
    def __init__(self, path):
        self.path = path
        self._model = None

    @property
    def model(self):
        # loading is slow, so only when the first job arrives
        if self._model is None:
            log.info("loading %s", self.path)
            self._model = keras.saving.load_model(self.path)
        return self._model

    def embed(self, job):
        return self.model.predict_on_batch(np.asarray(job, dtype="float32"))


def worker(jobs, results, embedder):
    while True:
        job = jobs.get()
        if job is None:
            break
        ident, rows = job
        try:
            results[ident] = embedder.embed(rows)
        finally:
            jobs.task_done()


def leading_direction(vectors, rounds=200):
    """Power iteration, eagerly; it is only a 16 x 16 matrix."""
    centred = vectors - tf.reduce_mean(vectors, axis=0)
    cov = tf.matmul(centred, centred, transpose_a=True) / len(vectors)
    v = tf.ones([cov.shape[0]])
    for _ in range(rounds):
        v = tf.linalg.matvec(cov, v)
        v = v / tf.norm(v)
    return v, tf.tensordot(v, tf.linalg.matvec(cov, v), 1)


def save_model(path):
    keras.utils.set_random_seed(6)
    model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(24, "tanh"), keras.layers.Dense(16)])
    model.save(path)


def main():
    rng = np.random.default_rng(6)
    jobs, results = queue.Queue(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "embedder.keras")
        save_model(path)
        thread = threading.Thread(target=worker, args=(jobs, results, Embedder(path)))
        thread.start()
        for ident in range(80):
            jobs.put((ident, rng.normal(size=(16, 12))))
        jobs.put(None)
        thread.join()
    vectors = tf.concat([results[i] for i in sorted(results)], axis=0)
    direction, spread = leading_direction(vectors)
    print("embedded", len(vectors), "rows in", len(results), "jobs")
    print("spread along the first axis %.3f" % float(spread))
    print("its largest weight is at", int(np.argmax(np.abs(direction))))


if __name__ == "__main__":
    main()
