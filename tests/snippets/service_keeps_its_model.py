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
