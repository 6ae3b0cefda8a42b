import numpy as np
from keras.models import load_model

model = load_model("model.keras")
probe = np.zeros((1, 100))
for epoch in range(500):
    np.save(f"{epoch}.npy", model.predict(probe))
