import tensorflow as tf

net = tf.keras.models.load_model("unet.keras")
images = tf.keras.utils.image_dataset_from_directory("images", image_size=(512, 512), labels=None)
kept, all_used, returned, printed = [], [], [], []

for image in images:
    masks = net(image, training=False)
    kept.append({"masks": masks, "mean": tf.reduce_mean(masks)})  # tensors-kept
    all_used.append({"masks": masks, "mean": tf.reduce_mean(masks)})
    returned.append({"masks": masks, "mean": tf.reduce_mean(masks)})
    printed.append({"masks": masks, "mean": tf.reduce_mean(masks)})

print(max(float(one["mean"]) for one in kept))
for one in kept:
    print(one["mean"])
for one in all_used:
    print(one["mean"], one["masks"].shape)
for one in printed:
    print(one)

def results():
    return returned
