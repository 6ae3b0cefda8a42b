"""ONNX Runtime on the same network (converted by tf2onnx), in batches of the size that does best here, OpenCV decoding
ahead in a pool of threads."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import onnxruntime
from label_turns import row, take_turns

MODEL, SIZE, LARGEST = sys.argv[1].replace(".pb", ".onnx"), int(sys.argv[2]), int(sys.argv[3])
cv2.setNumThreads(1)
session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
(wanted,) = (found.name for found in session.get_inputs())


def rate(size):
    batch = np.random.default_rng(0).random((size, SIZE, SIZE, 3), np.float32)
    session.run(None, {wanted: batch})
    started = time.perf_counter()
    for _ in range(LARGEST // size):
        session.run(None, {wanted: batch})
    return LARGEST / (time.perf_counter() - started)


BATCH = max((1, 4, 8, LARGEST), key=rate)


def load(path):
    image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    return cv2.resize(image, (SIZE, SIZE)).astype(np.float32) / 255.0


def label(paths, output):
    chunks = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
    with open(output, "w") as f, ThreadPoolExecutor(os.cpu_count()) as pool:
        ahead = [[pool.submit(load, path) for path in chunk] for chunk in chunks[:2]]
        for number, chunk in enumerate(chunks):
            images = np.stack([waiting.result() for waiting in ahead.pop(0)])
            ahead += [[pool.submit(load, path) for path in later] for later in chunks[number + 2 : number + 3]]
            for path, scores in zip(chunk, session.run(None, {wanted: images})[0]):
                f.write(row(path, scores) + "\n")
    return {"batch": BATCH}


take_turns(label)
