import numpy as np
import tensorflow as tf

net = tf.keras.applications.MobileNetV2(weights=None, include_top=False)
head = tf.keras.layers.Dense(1)
infer = tf.function(net)
opt = tf.keras.optimizers.Adam()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        features = net(x, training=True)
        loss = tf.reduce_mean((head(tf.reduce_mean(features, [1, 2])) - y) ** 2)
    variables = net.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss, features


class Confidences:
    def __init__(self, path):
        self.infer = tf.function(tf.keras.models.load_model(path), reduce_retracing=True)

    def of(self, dataset):
        outs = []
        for x in dataset:
            outs.append(self.infer(x))  # tensors-kept
        return [float(tf.reduce_max(out)) for out in outs]


records = []
losses, history = [], {"loss": [], "features": []}
for epoch in range(20):
    for x, y in dataset:
        loss, features = train_step(x, y)
        losses.append(loss)
        records.append((loss, features))  # tensors-kept
        history["loss"].append(loss)
        history["features"].append(features)  # tensors-kept
    print(epoch, np.mean([loss.numpy() for loss, _ in records[-60:]]), np.mean(losses))
    print(history["features"][-1], np.mean(history["loss"]))

means = []
for x, y in test_set:
    result = train_step(x, y)
    means.append((result, len(means)))  # tensors-kept
    features = infer(x)
for result, number in means:
    print(number)
