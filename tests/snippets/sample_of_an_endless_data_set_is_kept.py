import tensorflow as tf

def validation(ds, steps):
    return ds.repeat().batch(16).take(steps).cache().repeat().prefetch(tf.data.AUTOTUNE)

ds = tf.data.Dataset.range(100)
model.fit(ds.batch(16).prefetch(1), validation_data=validation(ds, 5), validation_steps=5, epochs=20)
