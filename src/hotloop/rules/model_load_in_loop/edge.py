"""Never run: near misses and odd spellings."""

import functools

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.models import load_model
from tensorflow.python.platform import gfile


def inline(images):
    for image in images:
        model = load_model("model.h5")  # expect: model-load-in-loop
        model(image)


def saved_model(paths):
    return [tf.saved_model.load("export")(path) for path in paths]  # expect: model-load-in-loop


def create_graph():
    with gfile.FastGFile("graph.pb", "rb") as f:
        graph_def = tf.compat.v1.GraphDef()
        graph_def.ParseFromString(f.read())
        tf.import_graph_def(graph_def, name="")  # expect: model-load-in-loop


def run_inference_on_image(image):
    create_graph()
    with tf.compat.v1.Session() as sess:  # expect: session-in-loop
        return sess.run("softmax:0", {"DecodeJpeg/contents:0": image})


def main(files):
    for file in files:
        run_inference_on_image(open(file, "rb").read())


class Server:
    def handle(self, request):
        net = keras.models.load_model(self.path)  # expect: model-load-in-loop
        return net(request)

    def serve(self):
        while True:
            self.handle(self.socket.recv())


def weights_of_the_same_file(images):
    model = keras.Sequential([keras.layers.Dense(1)])
    for image in images:
        model.load_weights("model.weights.h5")  # expect: model-load-in-loop
        model(image)


def restored(images):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    for image in images:
        checkpoint.restore("ckpt-1").expect_partial()  # expect: model-load-in-loop


def read_again(images):
    for image in images:
        print(tf.train.load_variable("ckpt-1", "weights") + image)  # expect: model-load-in-loop


def newest_checkpoint(folder):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    while True:
        path = tf.train.latest_checkpoint(folder)
        checkpoint.restore(path)


def weights_of_each_epoch(data):
    model = keras.Sequential([keras.layers.Dense(1)])
    for epoch in range(100):
        model.load_weights(f"epoch-{epoch}.weights.h5")
        model.evaluate(data)


def each_checkpoint(paths, data):
    for path in paths:
        model = load_model(path)
        print(model.evaluate(data))


def named_by_step(data):
    for step in range(100):
        model = load_model(f"ckpt-{step}")
        print(model.evaluate(data))


@functools.lru_cache(maxsize=None)
def cached():
    return load_model("model.h5")


def uses_cached(images):
    return [cached()(image) for image in images]


class Once:
    def __init__(self):
        self.model = load_model("model.h5")

    def label(self, image):
        return self.model(image)


def uses_once(images):
    labeller = Once()
    return [labeller.label(image) for image in images]


def ensemble(images):
    for name in ["a.h5", "b.h5"]:
        model = load_model(name)
        model(images)


def json_is_no_model(files):
    import json

    return [json.load(open(file)) for file in files]


def from_the_hub(texts):
    from transformers import AutoTokenizer, TFAutoModel

    for text in texts:
        tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
        bert = TFAutoModel.from_pretrained("bert-base-uncased")  # expect: model-load-in-loop
        bert(**tokenizer(text))
