import joblib
import pandas as pd
import tensorflow as tf
from tensorflow.keras.preprocessing.sequence import pad_sequences

table = pd.read_csv("texts.csv")
model = tf.keras.models.load_model("model.keras")
scaler, tokenizer = joblib.load("scaler.pkl"), joblib.load("tokenizer.pkl")

table["a"] = table["text"].apply(
    lambda text: model.predict(pad_sequences(tokenizer.texts_to_sequences([text]), maxlen=100))[0][0]  # predict-in-loop
)
table["b"] = table.apply(lambda row: model.predict(scaler.transform([row]))[0][0], axis=1)  # predict-in-loop
whole = pad_sequences(tokenizer.texts_to_sequences(table["text"]), maxlen=100)
table["c"] = model.predict(whole)[:, 0]
for frame in pd.read_csv("more.csv", chunksize=1000):
    frame["a"] = model.predict(scaler.transform(frame))[:, 0]
    frame["b"] = model.predict(frame)[:, 0]
    frame["c"] = model.predict(frame[["x", "y"]])[:, 0]
