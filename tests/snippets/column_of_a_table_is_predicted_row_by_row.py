import pandas as pd
import tensorflow as tf

table = pd.read_csv("texts.csv")
model = tf.keras.models.load_model("model.keras")

def score(text):
    rows = tf.keras.preprocessing.sequence.pad_sequences([[ord(c) for c in text]], maxlen=64)
    return model.predict(rows)[0][0]  # predict-in-loop

table["score"] = table["text"].apply(score)
