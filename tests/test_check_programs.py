"""Short programs as people write them: `check` names the lines that end in `# rule-name`, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hotloop.cli import main

MARK = re.compile(r"#\s+((?:[a-z]+-)+[a-z]+)\s*$")

PROGRAMS = {
    "samples are drawn until there are enough": """
import tensorflow as tf

def draw(wanted):
    result = tf.zeros([0])
    count = 0
    while count < wanted:
        samples = tf.random.normal([wanted])
        accepted = samples[samples > -1]
        count += tf.cast(tf.size(accepted), tf.int32)
        result = tf.concat([result, accepted], axis=0)
    return result
""",
    "a model is compiled for each resolution": """
import tensorflow as tf

def train(model, dataset_train):
    for resolution, info in dataset_train.items():
        model.compile(optimizer="adam", loss="mse")
        model.fit(info["data"], epochs=info["epochs"])
""",
    "a file of each path of a dict": """
import tensorflow as tf

def classify(labels):
    for path, label in labels.items():
        model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
        print(label, model(read(path)))
""",
    "a summary for each of a few names": """
import tensorflow.compat.v1 as tf

def write(writer, summaries):
    with tf.Session() as sess:
        for name, summary in summaries.items():
            writer.add_summary(tf.summary.text(name, tf.constant(summary)).eval())
""",
    "a session for each checkpoint that training saves": """
import time
import tensorflow.compat.v1 as tf

seen = None
while True:
    latest = tf.train.latest_checkpoint("train")
    if latest != seen:
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            saver.restore(sess, latest)
            evaluate(sess)
        seen = latest
    time.sleep(60)
""",
    "a session for each shard, which reads all of it": """
import tensorflow.compat.v1 as tf

def records(path):
    following = tf.data.TFRecordDataset(path).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        while True:
            try:
                yield sess.run(following)
            except tf.errors.OutOfRangeError:
                break

def count(paths):
    return sum(1 for path in paths for _ in records(path))
""",
    "code that is switched off": """
import tensorflow as tf

def evaluate(dataset, step):
    for batch in dataset:
        step(batch)
        debug = False
        if debug:
            tf.keras.models.load_model("saved").summary()
""",
    "an iterator for each host": """
import tensorflow.compat.v1 as tf

def iterators(dataset, hosts):
    found = []
    for batch_index, host_id in enumerate(hosts):
        with tf.device(host_id):
            found.append(dataset.make_initializable_iterator())
    return found
""",
    "a session for each model that a folder has": """
import tensorflow.compat.v1 as tf

def averages(folder, min_steps):
    for model in stepfiles_iterator(folder, min_steps):
        values = variables_of(model)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, folder)
        tf.reset_default_graph()
""",
    "a sample of an endless data set is kept": """
import tensorflow as tf

def validation(ds, steps):
    return ds.repeat().batch(16).take(steps).cache().repeat().prefetch(tf.data.AUTOTUNE)

ds = tf.data.Dataset.range(100)
model.fit(ds.batch(16).prefetch(1), validation_data=validation(ds, 5), validation_steps=5, epochs=20)
""",
    "a graph that each step puts together is imported": """
import tensorflow.compat.v1 as tf

def reloaded(graph):
    graph_def = graph.as_graph_def(add_shapes=True)
    with tf.Graph().as_default() as inferred:
        tf.import_graph_def(graph_def, name="")
    return inferred

def settled(graph):
    changed = True
    while changed:
        changed = any(infer(op) for op in graph.get_operations())
        graph = reloaded(graph)
    return graph
""",
    "a graph that was written out before the loop is imported in each step": """
import tensorflow.compat.v1 as tf

graph_def = graph.as_graph_def()
for path in paths:
    with tf.Graph().as_default() as again:
        tf.import_graph_def(graph_def, name="")  # model-load-in-loop
        show(again, path)
""",
    "a column for each of some data sets": """
import tensorflow as tf

def predictions(models, datasets, points):
    columns = points
    for tag in datasets:
        columns = tf.concat([columns, models[tag](points)], 1)
    return columns
""",
    "examples of any length come from a generator": """
import tensorflow as tf

class Texts:
    def to_dataset(self):
        def gen():
            for at, tokens in enumerate(self.x):
                yield tokens, self.y[at]

        shapes = (tf.TensorShape([None]), tf.TensorShape([]))
        return tf.data.Dataset.from_generator(gen, (tf.int32, tf.int32), shapes).padded_batch(8, shapes).prefetch(1)
""",
    "each variable's gradient is turned by a tape of its own": """
import tensorflow as tf

class Natural:
    def step(self, loss, means):
        with tf.GradientTape() as tape:
            value = loss()
        grads = tape.gradient(value, means)
        for grad, mean in zip(grads, means):
            self.apply(grad, mean)

    def apply(self, grad, mean):
        with tf.GradientTape() as tape:
            eta = transformed(mean)
        mean.assign_sub(tape.gradient(eta, mean, output_gradients=grad))
""",
    "text is generated from an array that each step fills": """
import numpy as np
import keras

model = keras.Sequential([keras.layers.LSTM(32), keras.layers.Dense(50, activation="softmax")])
sentence = [0] * 40
for i in range(400):
    x_pred = np.zeros((1, 40, 50))
    for t, char in enumerate(sentence):
        x_pred[0, t, char] = 1.0
    preds = model.predict(x_pred, verbose=0)[0]  # predict-in-loop
    sentence = sentence[1:] + [int(np.argmax(preds))]
""",
    "an array is made before the loop and filled in each step": """
import numpy as np
from keras.models import load_model

model = load_model("model.keras")
x = np.zeros((1, 40, 27))
for i in range(500):
    x[0, i % 40, 1] = 1
    print(model.predict(x)[0].argmax())  # predict-in-loop
""",
    "the same batch is looked at after each epoch": """
import numpy as np
from keras.models import load_model

model = load_model("model.keras")
probe = np.zeros((1, 100))
for epoch in range(500):
    np.save(f"{epoch}.npy", model.predict(probe))
""",
    "a model of a module that is not there is compiled again": """
import numpy as np
from tensorflow.keras.optimizers import Adam
from nets import build_model

model = build_model()
rate = 1e-3
for epoch in range(200):
    model.compile(loss="mse", optimizer=Adam(learning_rate=rate))  # compile-in-loop
    model.fit(x, y, batch_size=32)
    rate *= 0.98
""",
    "each model has a compiled step of its own": """
import tensorflow as tf
from zoo import MODELS

steps = [tf.function(m.train_step) for m in MODELS]
for model in all_of_them():
    functions.append(tf.function(model))
""",
    "a step is compiled anew for each epoch, or for each fold with a network of its own": """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)

def train(data, epochs=200):
    for epoch in range(epochs):
        @tf.function  # function-in-loop
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        for x, y in data:
            loss = step(x, y)
        print(epoch, float(loss))

def cross_validate(folds):
    for number in range(100):
        net = make_network(number)

        @tf.function
        def score(x):
            return net(x)

        for x in folds[number]:
            print(score(x))
""",
    "a class is given its networks": """
import tensorflow as tf

class Diffusion(tf.keras.Model):
    def __init__(self, network, timesteps):
        super().__init__()
        self.network = network
        self.timesteps = timesteps

    def generate(self, count):
        samples = tf.random.normal((count, 32, 32, 3))
        for t in reversed(range(0, self.timesteps)):
            noise = self.network.predict([samples, tf.fill(count, t)], verbose=0)  # predict-in-loop
            samples = samples - noise
        return samples

network = tf.keras.Sequential([tf.keras.layers.Conv2D(3, 3)])
Diffusion(network, 1000).generate(16)
""",
    "one padded sentence is predicted at a time": """
import numpy as np
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.sequence import pad_sequences

model = Sequential()
seed = "once upon a time"
for _ in range(next_words):
    tokens = tokenizer.texts_to_sequences([seed])[0]
    tokens = pad_sequences([tokens], maxlen=20, padding="pre")
    predicted = np.argmax(model.predict(tokens, verbose=0))  # predict-in-loop
    seed += " " + index_word[predicted]
""",
    "Python draws random numbers for each image of a pipeline": """
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
""",
    "outputs are kept for a mean that is fetched": """
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Conv2D(64, 3)])
outs = []
for batch in dataset:
    out = net(batch)
    outs.append(out)  # tensors-kept
means = [tf.reduce_mean(o).numpy() for o in outs]
""",
    "outputs are kept and all fetched": """
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Conv2D(64, 3)])
outs = []
for batch in dataset:
    outs.append(net(batch))
arrays = [o.numpy() for o in outs]
""",
    "a sequence grows by what the model makes of all of it": """
import tensorflow as tf
from model import Transformer

model = Transformer()

def greedy(source, start, end):
    output = tf.constant([[start]], dtype=tf.int64)
    for i in range(100):
        logits = model([source, output], training=False)
        predicted = tf.argmax(logits[:, -1:, :], axis=-1)
        output = tf.concat([output, predicted], axis=-1)
        if predicted[0, 0] == end:
            break
    return output
""",
    "a column of a table is predicted row by row": """
import pandas as pd
import tensorflow as tf

table = pd.read_csv("texts.csv")
model = tf.keras.models.load_model("model.keras")

def score(text):
    rows = tf.keras.preprocessing.sequence.pad_sequences([[ord(c) for c in text]], maxlen=64)
    return model.predict(rows)[0][0]  # predict-in-loop

table["score"] = table["text"].apply(score)
""",
    "a loss is made of derivatives": """
import tensorflow as tf

def residual(model, t, x):
    with tf.GradientTape(persistent=True) as second:
        second.watch([t, x])
        with tf.GradientTape(persistent=True) as first:
            first.watch([t, x])
            u = model(tf.concat([t, x], 1))
        ut, ux = first.gradient(u, t), first.gradient(u, x)
    return ut + u * ux - second.gradient(ux, x)

def train(model, optimizer):
    for epoch in range(5000):
        t, x = tf.random.uniform([256, 1]), tf.random.uniform([256, 1])
        with tf.GradientTape() as tape:  # eager-training-step
            loss = tf.reduce_mean(residual(model, t, x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
""",
    "a service loads its model for each request": """
import os
from flask import Flask, jsonify, request
from tensorflow.keras.models import load_model

app = Flask(__name__)
FOLDER = os.environ.get("MODELS", "models")

def answer(rows):
    path = os.path.join(FOLDER, "model.keras")
    model = load_model(path)  # model-load-in-loop
    return model(rows)

@app.route("/predict", methods=["POST"])
def predict():
    return jsonify(answer(request.json["rows"]))
""",
    "a function in the cloud, a view, a task and a queue load their model each time": """
import functools

from celery import shared_task
from django.http import JsonResponse
import pika
import tensorflow as tf

def lambda_handler(event, context):
    model = tf.keras.models.load_model("/opt/model.keras")  # model-load-in-loop
    return {"body": model.predict([event["x"]]).tolist()}

def view(request):
    model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
    return JsonResponse({"y": float(model.predict([request.GET["x"]])[0])})

@shared_task
def classify(url):
    model = tf.saved_model.load("model")  # model-load-in-loop
    return model(url).numpy().tolist()

def on_message(channel, method, properties, body):
    model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
    print(model.predict([body]))

@functools.lru_cache
def model():
    return tf.keras.models.load_model("model.keras")

def other_view(request):
    return JsonResponse({"y": float(model().predict([request.GET["x"]])[0])})

def chosen_view(request):
    model = tf.keras.models.load_model(request.GET["model"])
    return JsonResponse({"y": float(model.predict([request.GET["x"]])[0])})
""",
    "a service keeps its model": """
from flask import Flask, jsonify, request
from tensorflow.keras.models import load_model

app = Flask(__name__)
model = None

def get_model():
    global model
    if model is None:
        model = load_model("model.keras")
    return model

@app.route("/predict", methods=["POST"])
def predict():
    return jsonify(get_model()(request.json["rows"]))

@app.route("/reload", methods=["POST"])
def reload():
    global model
    model = load_model("model.keras")
    return "ok"

@app.route("/<name>")
def describe(name):
    return load_model(f"models/{name}.keras").to_json()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_check_names_the_marked_lines_and_no_other(name: str, tmp_path: Path) -> None:
    source = PROGRAMS[name]
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    output = tmp_path / "report.json"
    main(["check", str(tmp_path / "program.py"), "--format", "json", "--output", str(output)])
    found = {(f["place"]["line"], f["rule"]) for f in json.loads(output.read_text(encoding="utf-8"))["findings"]}
    marked = {(at, m[1]) for at, line in enumerate(source.split("\n"), 1) if (m := MARK.search(line))}
    assert found == marked
