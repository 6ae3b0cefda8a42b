import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 2])
nearest = tf.argmin(x, 1)
layers = []
for width in (64, 32):
    layers.append(tf.layers.dense(x, width))
all_of_them = tf.concat(layers, 1)
with tf.Session() as session:
    for step in range(500):
        which = session.run(nearest, {x: points})
        means = []
        for k in range(5):
            members = tf.boolean_mask(points, which == k)  # ops-in-loop
            means.append(tf.reduce_mean(members, 0))
        print(session.run(means))
        results = []
        results.append(session.run(all_of_them, {x: points}))
        print(session.run(layers, {x: results[0]}))
