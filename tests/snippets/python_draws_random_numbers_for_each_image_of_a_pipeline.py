import numpy as np
import tensorflow as tf

def augment(image):
    image = image.numpy()
    if np.random.rand() < 0.5:
        image = image[:, ::-1]
    return (image - image.mean()) / image.std()

def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path))
    return tf.py_function(augment, [image], tf.float32)  # python-in-pipeline

train = tf.data.Dataset.list_files("*.jpg").map(load).batch(32)  # serial-map
