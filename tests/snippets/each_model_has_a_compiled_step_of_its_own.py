import tensorflow as tf
from zoo import MODELS

steps = [tf.function(m.train_step) for m in MODELS]
for model in all_of_them():
    functions.append(tf.function(model))
