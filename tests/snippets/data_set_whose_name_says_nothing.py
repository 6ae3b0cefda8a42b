import tensorflow as tf

lessons = tf.data.Dataset.from_tensor_slices((inputs, targets)).shuffle(1000).batch(32).repeat(20)
optimizer = tf.keras.optimizers.Adam()

for given, label in lessons:
    with tf.GradientTape() as tape:  # eager-training-step
        loss = tf.reduce_mean((model(given) - label) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

for number, (given, label) in enumerate(lessons):
    with tf.GradientTape() as tape:  # eager-training-step
        loss = tf.reduce_mean((model(given) - label) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

for label, part in parts:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(part) - label) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

for given, label in lessons.take(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(given) - label) ** 2)
    print(tape.gradient(loss, model.trainable_variables))
