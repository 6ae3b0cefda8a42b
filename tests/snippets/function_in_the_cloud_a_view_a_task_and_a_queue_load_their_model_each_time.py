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
