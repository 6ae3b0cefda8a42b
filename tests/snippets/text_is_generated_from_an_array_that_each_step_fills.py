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
