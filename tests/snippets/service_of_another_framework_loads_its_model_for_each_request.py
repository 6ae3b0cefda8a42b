from fastapi import Depends, FastAPI
import gradio as gr
from flask_restful import Resource
import tensorflow as tf
from tornado.web import RequestHandler

app = FastAPI()

def load():
    return tf.keras.models.load_model("model.keras")  # model-load-in-loop

@app.post("/predict")
def predict(rows: list, model=Depends(load)):
    return {"y": model(rows).numpy().tolist()}

class Predict(Resource):
    def __init__(self):
        self.model = tf.keras.models.load_model("model.keras")

    def post(self):
        answer = {}
        answer["y"] = classify([1.0])
        return answer

class Handler(RequestHandler):
    def initialize(self, model):
        self.model = model

    def get(self):
        self.write(str(self.model([1.0])))

    def put(self):
        model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
        self.write(str(model([1.0])))

class Other:
    def get(self):
        return tf.keras.models.load_model("model.keras")

def classify(rows):
    model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
    return model(rows)

def caption(image):
    model = tf.saved_model.load("caption")  # model-load-in-loop
    return model(image)

with gr.Blocks() as demo:
    button = gr.Button()
    button.click(caption, inputs=gr.Image(), outputs=gr.Text())
