import glob

import numpy as np
import tensorflow as tf


class Speech:
    def __init__(self, folder):
        self.mels = sorted(glob.glob(f"{folder}/*-mel.npy"))
        self.pitches = sorted(glob.glob(f"{folder}/*-pitch.npy"))

    def load(self, mel_file, pitch_file):
        mel = tf.numpy_function(np.load, [mel_file], tf.float32)  # python-in-pipeline
        pitch = tf.numpy_function(np.load, [pitch_file], tf.float32)
        energy = tf.numpy_function(np.load, [tf.strings.regex_replace(pitch_file, "pitch", "energy")], tf.float32)
        return mel, pitch, energy

    def batches(self):
        files = tf.data.Dataset.from_tensor_slices((self.mels, self.pitches))
        return files.map(self.load, num_parallel_calls=tf.data.AUTOTUNE).padded_batch(16)


for batch in Speech("data").batches():
    print(batch[0].shape)
