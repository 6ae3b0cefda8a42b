#!/usr/bin/env python
# coding: utf-8

# In[1]:


import numpy as np
import tensorflow as tf
from tensorflow import keras

np.random.seed(3)
tf.random.set_seed(3)
keras.utils.set_random_seed(3)


# In[2]:


# two moons, without sklearn
n = 400
theta = np.random.rand(n) * np.pi
side = np.random.randint(0, 2, n)
X = np.stack([np.cos(theta) * (1 - 2 * side) + side, np.sin(theta) * (1 - 2 * side) + side * 0.5], 1)
X = (X + np.random.normal(0, 0.1, X.shape)).astype('float32')
y = side.astype('float32')[:, None]
ds = tf.data.Dataset.from_tensor_slices((X, y)).shuffle(n, seed=3).batch(16)


# In[3]:


model = keras.Sequential([
    keras.layers.Dense(24, activation='relu', input_shape=(2,)),
    keras.layers.Dense(24, activation='relu'),
    keras.layers.Dense(1),
])
bce = keras.losses.BinaryCrossentropy(from_logits=True)
optimizer = keras.optimizers.RMSprop(0.01)


# In[4]:


@tf.function
def train_on(xb, yb):
    with tf.GradientTape() as t:
        loss = bce(yb, model(xb, training=True))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(t.gradient(loss, weights), weights))
    return loss


EPOCHS = 6
history = []
for epoch in range(EPOCHS):
    epoch_loss = 0
    for step, (xb, yb) in enumerate(ds):
        loss_value = train_on(xb, yb)
        epoch_loss += loss_value.numpy()
    history.append(epoch_loss / (step + 1))
    print('Epoch %d/%d loss: %.3f' % (epoch + 1, EPOCHS, history[-1]))


# In[5]:


acc = np.mean((model(X).numpy() > 0) == (y > 0.5))
print('accuracy', round(float(acc), 3))
