import tensorflow.compat.v1 as tf

def activations(files, sess, batch_size=50):
    found = []
    for batch in range(len(files) // batch_size):
        found.append(sess.run("pool:0", {"in:0": files[batch : batch + batch_size]}))
    return found

def statistics(path, sess):
    return activations(tf.gfile.Glob(path), sess)

def score(path):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return statistics(path, sess)

def one(path, sess):
    return sess.run("pool:0", {"in:0": path})

def answer(path):
    with tf.Session() as sess:  # session-in-loop
        return one(path, sess)

while True:
    print(score(input()))

for path in tf.gfile.Glob("*"):
    print(score(path))

for path in tf.gfile.Glob("*"):
    print(answer(path))
