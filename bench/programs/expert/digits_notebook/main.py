#!/usr/bin/env python
# coding: utf-8

# # Tiny digits
# 
# Quick CNN on home-made digits, then look at which ones it gets wrong.

# In[1]:


import os
import tempfile
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Dense, Flatten, Input
from tensorflow.keras.models import Model, load_model

tf.keras.utils.set_random_seed(0)


# In[2]:


# 5x3 glyphs
glyphs = ["111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001",
          "111100111001111", "111100111101111", "111001001001001", "111101111101111", "111101111001111"]
rng = np.random.RandomState(0)

def draw(d):
    im = rng.normal(0, 0.3, size=(12, 12))
    r, c = rng.randint(2, 5), rng.randint(3, 6)
    im[r:r+5, c:c+3] += np.array(list(glyphs[d]), dtype=float).reshape(5, 3)
    return im

labels = rng.randint(0, 10, size=900)
images = np.array([draw(d) for d in labels], dtype="float32")
X_train, y_train = images[:850, ..., None], labels[:850]
X_test, y_test = images[850:], labels[850:]
X_train.shape, X_test.shape


# In[3]:


inp = Input((12, 12, 1))
h = Conv2D(16, 3, activation="relu")(inp)
h = Conv2D(16, 3, activation="relu")(h)
out = Dense(10, activation="softmax")(Flatten()(h))
model = Model(inp, out)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=8, batch_size=32, verbose=0)


# In[4]:


ckpt = os.path.join(tempfile.mkdtemp(), "digits.keras")
model.save(ckpt)
model = load_model(ckpt)
os.remove(ckpt)


# In[5]:


preds = []
wrong = []
all_probs = model.predict(X_test[..., None], verbose=0)
for i, img in enumerate(X_test):
    p = all_probs[i]
    preds.append(p.argmax())
    if p.argmax() != y_test[i]:
        wrong.append(i)


# In[6]:


print("accuracy:", round(float(np.mean(np.array(preds) == y_test)), 3))
print("first mistakes:", wrong[:5])


# In[ ]:




