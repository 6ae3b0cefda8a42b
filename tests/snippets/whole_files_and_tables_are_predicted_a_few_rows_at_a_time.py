import glob

import cv2
import numpy as np
import pandas as pd
import tensorflow as tf

model = tf.keras.models.load_model("model.keras")

scores = []
for path in sorted(glob.glob("test/*.npy")):
    x = np.load(path)
    x = x.astype("float32") / 255.0
    scores.append(model.predict(x, batch_size=64))

for path in sorted(glob.glob("tables/*.csv")):
    table = pd.read_csv(path).dropna()
    scores.append(model.predict(table[["a", "b"]].to_numpy(np.float32)))

for path in glob.glob("videos/*.mp4"):
    video, frames = cv2.VideoCapture(path), []
    while True:
        more, frame = video.read()
        if not more:
            break
        frames.append(cv2.resize(frame, (224, 224)))
    frames = []
    for name in sorted(glob.glob(path + "/*.jpg")):
        frames.append(cv2.imread(name))
    scores.append(model.predict(np.stack(frames)))

for path in glob.glob("slides/*"):
    tiles = tf.io.gfile.glob(path + "/*.png")
    images = np.array([cv2.imread(tile) for tile in tiles])
    scores.append(model.predict(images, verbose=0))


def blocks(rows, size):
    block = []
    for row in rows:
        block.append(row)
        if len(block) == size:
            yield np.stack(block)
            block = []


for block in blocks(open("rows.txt"), 512):
    scores.append(model.predict(block, batch_size=64))

# One at a time all the same.

for path in glob.glob("images/*.jpg"):
    image = cv2.imread(path)
    scores.append(model.predict(image[None], batch_size=64))  # predict-in-loop
    one = [image]
    scores.append(model.predict(np.array(one)))  # predict-in-loop
