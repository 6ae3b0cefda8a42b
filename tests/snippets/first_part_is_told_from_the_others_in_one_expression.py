import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.models.load_model("model.keras")
scores, labels, buffer = None, None, None
outputs = None
for step, path in enumerate(paths):
    part = model(np.load(path))
    scores = part if scores is None else tf.concat([scores, part], axis=0)  # growing-concat
    labels = tf.concat([labels, part], axis=0) if labels is not None else part  # growing-concat
    outputs = part if step == 0 else np.concatenate((outputs, part))  # growing-concat
    buffer = part if is_full(step) else tf.concat([buffer, part], axis=0)
    window = part if step == 0 else tf.concat([window, part], axis=0)
    save(window)
    window = window[1:]
