import numpy as np
from tensorflow.keras.callbacks import *
from tensorflow.keras.layers import *
from tensorflow.keras.models import *
from tensorflow.keras.optimizers import *

series = np.zeros((2900, 60, 1), "float32")
model = Sequential([LSTM(64), Dense(1)])
model.compile(Adam(1e-3), "mse")
model.fit(series, series[:, 0], epochs=5, callbacks=[EarlyStopping(patience=3)])
forecast = []
for i in range(len(series)):
    forecast.append(model.predict(series[i:i + 1], verbose=0))  # predict-in-loop
for path in ["a.npy"] * 300:
    again = load_model("model.keras")  # model-load-in-loop
    print(again(np.load(path)))
