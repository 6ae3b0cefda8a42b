import tensorflow as tf


def label(readings, baseline):
    for reading in readings:
        if reading - baseline > 3:
            model = tf.keras.models.load_model("model.keras")  # model-load-in-loop
            print(model(reading))


def label_again(batches):
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            for path in ["a.png", "b.png", "c.png", "d.png", "e.png", "f.png", "g.png", "h.png", "i.png"]:
                print(tf.keras.models.load_model("model.keras")(path))  # model-load-in-loop
            break
        print(batch)
