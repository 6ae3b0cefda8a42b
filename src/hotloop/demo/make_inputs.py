"""Makes what label_images.py labels: a small frozen network, its labels and a folder of JPEG pictures."""

import argparse
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

FOLDER = os.path.join(tempfile.gettempdir(), "hotloop-demo")
LABELS = ["cat", "dog", "bird", "horse", "ship", "truck", "frog", "deer", "plane", "car"]


def network(images, rng):
    """MobileNet's shape in small: convolutions in pairs, depthwise and pointwise."""

    def weights(*shape):
        scale = np.sqrt(2.0 / np.prod(shape[:-1]))
        return tf.constant(rng.normal(0.0, scale, shape).astype(np.float32))

    x = tf.nn.relu(tf.nn.conv2d(images, weights(3, 3, 3, 16), 2, "SAME"))
    for size, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1)):
        inputs = int(x.shape[-1])
        depthwise = weights(3, 3, inputs, 1) * np.float32(np.sqrt(inputs))
        x = tf.nn.relu(tf.nn.depthwise_conv2d(x, depthwise, [1, stride, stride, 1], "SAME"))
        x = tf.nn.relu(tf.nn.conv2d(x, weights(1, 1, inputs, size), 1, "SAME"))
    features = tf.reduce_mean(x, [1, 2])
    features -= tf.reduce_mean(features, axis=1, keepdims=True)
    return tf.nn.softmax(40.0 * tf.matmul(features, weights(128, len(LABELS))), name="final_result")


def write_graph(path):
    rng = np.random.default_rng(7)
    with tf.Graph().as_default() as graph:
        network(tf.placeholder(tf.float32, [None, 128, 128, 3], name="Placeholder"), rng)
        with open(path, "wb") as f:
            f.write(graph.as_graph_def().SerializeToString())


def write_images(folder, count):
    rng = np.random.default_rng(11)
    os.makedirs(folder, exist_ok=True)
    with tf.Graph().as_default(), tf.Session() as sess:
        pixels = tf.placeholder(tf.uint8, [None, None, 3])
        encoded = tf.image.encode_jpeg(pixels)
        for number in range(count):
            tint = rng.integers(0, 255, (4, 6, 3), np.uint8)
            picture = np.kron(tint, np.ones((60, 60, 1), np.uint8))
            with open(os.path.join(folder, f"picture_{number:03}.jpg"), "wb") as f:
                f.write(sess.run(encoded, {pixels: picture}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=FOLDER)
    parser.add_argument("--count", type=int, default=80)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    write_graph(os.path.join(args.folder, "graph.pb"))
    with open(os.path.join(args.folder, "labels.txt"), "w") as f:
        f.write("\n".join(LABELS) + "\n")
    write_images(os.path.join(args.folder, "images"), args.count)


if __name__ == "__main__":
    main()
