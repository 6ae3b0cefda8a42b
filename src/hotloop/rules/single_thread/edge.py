"""Never run: near misses and odd spellings."""

import os

import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow.compat.v1 import ConfigProto
from tensorflow.config import threading as pools

ONE = 1

os.environ["TF_NUM_INTRAOP_THREADS"] = "1"  # expect: single-thread
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")  # expect: single-thread
pools.set_intra_op_parallelism_threads(num_threads=ONE)  # expect: single-thread


def configured():
    config = tf1.ConfigProto()
    config.intra_op_parallelism_threads = 1  # expect: single-thread
    config.inter_op_parallelism_threads = 1
    return tf1.Session(config=config)


def at_once():
    options = ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)  # expect: single-thread
    return tf1.Session(config=options)


class Detector:
    def __init__(self):
        self.config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
        self.config.intra_op_parallelism_threads = ONE  # expect: single-thread


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)  # expect: single-thread


def other_settings():
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return tf1.ConfigProto(device_count={"CPU": 1})


def more_threads(count):
    tf.config.threading.set_intra_op_parallelism_threads(0)
    tf.config.threading.set_intra_op_parallelism_threads(8)
    tf.config.threading.set_intra_op_parallelism_threads(count)
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(count)
    tf1.ConfigProto(intra_op_parallelism_threads=count)


def somebody_elses(onnx):
    options = onnx.SessionOptions()
    options.intra_op_parallelism_threads = 1
    return onnx.ConfigProto(intra_op_parallelism_threads=1)


def on_request(args):
    if args.one_core:
        tf.config.threading.set_intra_op_parallelism_threads(1)


def explained():
    # Eight workers share this machine.
    tf.config.threading.set_intra_op_parallelism_threads(1)


def read_only():
    return tf.config.threading.get_intra_op_parallelism_threads() == 1
