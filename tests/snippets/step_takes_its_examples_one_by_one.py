import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(states, targets):
    with tf.GradientTape() as tape:
        loss = 0.0
        for i in range(64):
            values = model(tf.expand_dims(states[i], 0))[0]  # example-loop-in-step
            loss += tf.square(targets[i] - tf.reduce_max(values))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def rolled_out(state):
    for i in range(64):  # unrolled-loop
        state = model(tf.expand_dims(state, 0))[0]
    return state
