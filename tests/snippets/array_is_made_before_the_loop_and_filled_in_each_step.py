import numpy as np
from keras.models import load_model

model = load_model("model.keras")
x = np.zeros((1, 40, 27))
for i in range(500):
    x[0, i % 40, 1] = 1
    print(model.predict(x)[0].argmax())  # predict-in-loop
