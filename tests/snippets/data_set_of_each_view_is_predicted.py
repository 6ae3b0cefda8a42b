"""A whole data set for each call, which a module that is not at hand makes: there the fixed cost disappears."""

import tensorflow as tf
from rendering import load_scene, make_loader

model = tf.keras.models.load_model("field.h5")
images, scene = load_scene("kitchen")

for i in range(len(images)):
    rays = scene.create_dataset_for_render(images[i])
    print(model.predict(x=rays))
    test_ds = scene.rays(images[i])
    print(model.predict(test_ds))
    print(model.predict(make_loader(images[i])))
    print(model.predict(scene.pixels(images[i])))  # predict-in-loop
    few_ds = tf.squeeze(scene.few(images[i]), axis=0)
    print(model.predict(few_ds))  # predict-in-loop
