import gradio as gr
import tensorflow.compat.v1 as tf
from flask import Flask, jsonify, request
from flask_restful import Resource

app = Flask(__name__)
graph = tf.Graph()
graphs = {"cats": tf.Graph(), "dogs": tf.Graph()}
session = tf.Session(graph=graph)

def detect(image):
    with graph.as_default():
        with tf.Session() as sess:  # session-in-loop
            boxes, scores = sess.run(["boxes:0", "scores:0"], {"image:0": image})
            return boxes, scores

@app.route("/detect", methods=["POST"])
def answer():
    boxes, scores = detect(request.json["image"])
    return jsonify(boxes=boxes.tolist(), scores=scores.tolist())

@app.route("/fast", methods=["POST"])
def fast():
    return jsonify(session.run("scores:0", {"image:0": request.json["image"]}).tolist())

@app.route("/chosen/<kind>", methods=["POST"])
def chosen(kind):
    with tf.Session(graph=graphs[kind]) as sess:
        return jsonify(sess.run("scores:0", {"image:0": request.json["image"]}).tolist())

@app.route("/train", methods=["POST"])
def train():
    with tf.Session(graph=graph) as sess:
        for batch in request.json["batches"]:
            sess.run("train", {"image:0": batch})

class Scores(Resource):
    def post(self):
        sess = tf.Session(graph=graph)  # session-in-loop
        return sess.run("scores:0", {"image:0": request.json["image"]}).tolist()

class Kept(Resource):
    sess = None

    def get(self):
        if self.sess is None:
            self.sess = tf.Session(graph=graph)
        return self.sess.run("scores:0").tolist()

def label(image):
    with tf.Session(graph=graph) as sess:  # session-in-loop
        return sess.run("scores:0", {"image:0": image}).tolist()

def unserved(image):
    with tf.Session(graph=graph) as sess:
        return sess.run("scores:0", {"image:0": image}).tolist()

gr.Interface(fn=label, inputs="image", outputs="label").launch()
