import tensorflow as tf

def residual(model, t, x):
    with tf.GradientTape(persistent=True) as second:
        second.watch([t, x])
        with tf.GradientTape(persistent=True) as first:
            first.watch([t, x])
            u = model(tf.concat([t, x], 1))
        ut, ux = first.gradient(u, t), first.gradient(u, x)
    return ut + u * ux - second.gradient(ux, x)

def train(model, optimizer):
    for epoch in range(5000):
        t, x = tf.random.uniform([256, 1]), tf.random.uniform([256, 1])
        with tf.GradientTape() as tape:  # eager-training-step
            loss = tf.reduce_mean(residual(model, t, x) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
