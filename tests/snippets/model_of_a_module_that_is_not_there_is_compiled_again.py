import numpy as np
from tensorflow.keras.optimizers import Adam
from nets import build_model

model = build_model()
rate = 1e-3
for epoch in range(200):
    model.compile(loss="mse", optimizer=Adam(learning_rate=rate))  # compile-in-loop
    model.fit(x, y, batch_size=32)
    rate *= 0.98
