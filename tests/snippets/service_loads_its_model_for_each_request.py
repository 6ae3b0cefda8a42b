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
