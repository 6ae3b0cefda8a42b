import tensorflow as tf

def ask(old, new):
    for image in images:
        old, new = new, old
        path = old
        new = path
        model = tf.keras.models.load_model(path)  # model-load-in-loop
        print(model(image))
