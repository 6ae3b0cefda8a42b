import tensorflow as tf

def evaluate(dataset, step):
    for batch in dataset:
        step(batch)
        debug = False
        if debug:
            tf.keras.models.load_model("saved").summary()
