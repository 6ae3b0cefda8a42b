import tensorflow as tf

def classify(labels):
    for path, label in labels.items():
        model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
        print(label, model(read(path)))
