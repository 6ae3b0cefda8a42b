import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import tensorflow_hub as hub

detector = hub.load("https://tfhub.dev/tensorflow/ssd_mobilenet_v2/2")
model = tf.keras.models.load_model("classifier.keras")
table = tf.Variable(tf.zeros((64, 4)))


def count(boxes, scores):
    return [boxes[0][i] for i in range(100) if float(scores[0][i]) > 0.5]


for frame in frames:
    out = detector(frame[None, ...])
    arrays = {key: value.numpy() for key, value in out.items()}
    scores = out["detection_scores"].numpy()[0]
    for i in range(100):
        print(float(arrays["detection_boxes"][0][i][0]), float(scores[i]), int(out["num_detections"][0]))
    print(count(arrays["detection_boxes"], arrays["detection_scores"]))
    predictions = model.predict_on_batch(frame[None, ...])
    print([float(predictions[0][i]) for i in range(1000)])
    heads = model(frame[None, ...])
    print([heads[i].numpy() for i in range(len(heads))])
    print([heads[i][0].numpy() for i in range(len(heads))], [out[key][0].numpy() for key in out])
    pieces = tf.split(frame, 64)
    print([pieces[i].numpy() for i in range(len(pieces))])
    for i in range(9):
        plt.imshow(out["crops"][0][i].numpy())

for episode in range(1000):
    state = env.reset()
    for step in range(200):
        action = np.argmax(table[state, :].numpy())
        state, reward, done, _ = env.step(action)
        table[state, action].assign(reward + 0.9 * table[state, action].numpy())

for batch in batches:
    for step in range(1000):
        values = model(batch)
        print(values[0][step].numpy())
