import tensorflow as tf
from model import Transformer

model = Transformer()

def greedy(source, start, end):
    output = tf.constant([[start]], dtype=tf.int64)
    for i in range(100):
        logits = model([source, output], training=False)
        predicted = tf.argmax(logits[:, -1:, :], axis=-1)
        output = tf.concat([output, predicted], axis=-1)
        if predicted[0, 0] == end:
            break
    return output
