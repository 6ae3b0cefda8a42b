import numpy as np
from tensorflow.keras import backend as K
from tensorflow.keras.models import load_model

model = load_model("model.h5")
inner = model.get_layer("inner")
images = np.load("images.npy")

for image in images:
    look = K.function([model.input], [inner.output])  # model-built-in-loop
    print(look([image[None]])[0].mean())

once = K.function([model.input], [inner.output])
for image in images:
    print(once([image[None]])[0].mean())

for layer in model.layers[:5]:
    print(K.function([model.input], [layer.output])([images])[0].mean())
