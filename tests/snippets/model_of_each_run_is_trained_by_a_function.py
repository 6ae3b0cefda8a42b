import numpy as np
import tensorflow as tf

x, y = np.zeros((100, 3)), np.zeros(100)

def train_and_evaluate(model):
    model.compile("adam", "mse")
    model.fit(x, y, epochs=5)
    return model.evaluate(x, y)

def ask(model):
    return model(x)

def few():
    scores = []
    for _ in range(20):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        score = train_and_evaluate(model)
        scores.append(score)
    return scores

def many():
    scores = []
    for _ in range(5000):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])  # model-built-in-loop
        score = train_and_evaluate(model)
        scores.append(score)
    return scores

def asked():
    for _ in range(20):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])  # model-built-in-loop
        answer = ask(model)
        print(answer)
