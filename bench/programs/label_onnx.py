"""ONNX Runtime on the same network (converted by tf2onnx), OpenCV decoding ahead in a pool of threads."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import onnxruntime
from label_turns import row, take_turns

MODEL, SIZE, BATCH = sys.argv[1].replace(".pb", ".onnx"), int(sys.argv[2]), int(sys.argv[3])
cv2.setNumThreads(1)
session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
(wanted,) = (found.name for found in session.get_inputs())


def load(path):
    image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    return cv2.resize(image, (SIZE, SIZE)).astype(np.float32) / 255.0


def label(paths, output):
    chunks = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
    with open(output, "w") as f, ThreadPoolExecutor(os.cpu_count()) as pool:
        ahead = [list(map(lambda path: pool.submit(load, path), chunk)) for chunk in chunks[:2]]
        for number, chunk in enumerate(chunks):
            images = np.stack([waiting.result() for waiting in ahead.pop(0)])
            ahead += [[pool.submit(load, path) for path in later] for later in chunks[number + 2 : number + 3]]
            for path, scores in zip(chunk, session.run(None, {wanted: images})[0]):
                f.write(row(path, scores) + "\n")


take_turns(label)
