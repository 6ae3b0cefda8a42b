import tensorflow as tf

model = tf.keras.models.load_model("model.keras")
train_set = tf.data.Dataset.from_tensor_slices(tf.zeros([800, 64])).shuffle(800).batch(8)
other_set = tf.data.Dataset.from_tensor_slices(tf.zeros([800, 64])).batch(8)
first = other_set.take(1)
rows = tf.zeros([100, 3])

def sample(steps):
    for step in range(steps):
        for x in train_set.take(1):  # dataset-in-loop
            model.train_on_batch(x, x)

def left_at_once(steps):
    for step in range(steps):
        for i, x in enumerate(train_set):  # dataset-in-loop
            model.train_on_batch(x, x)
            break

def one():
    for x in first:  # dataset-in-loop
        return x

def by_function(steps):
    for step in range(steps):
        x = one()
        model.train_on_batch(x, x)

def built(steps):
    for step in range(steps):
        data = tf.data.Dataset.from_tensor_slices(rows).shuffle(100).batch(16).take(1)  # dataset-in-loop
        for x in data:
            yield x

def built_and_read_whole(steps):
    for step in range(steps):
        data = tf.data.Dataset.from_tensor_slices(rows).shuffle(100).batch(16).take(50)
        for x in data:
            yield x

def now_and_then(batches):
    for step, x in enumerate(batches):
        model.train_on_batch(x, x)
        if step % 100 == 0:
            for y in other_set.take(1):
                print(model(y))

def after_each_epoch(epochs):
    for epoch in range(epochs):
        model.fit(train_set)
        for y in other_set.take(1):
            print(model(y))

def until_it_is_good(epochs):
    for epoch in range(epochs):
        for x in train_set:
            if model.train_on_batch(x, x) < 0.1:
                break

def some(paths):
    for path in paths:
        for x in tf.data.TFRecordDataset(path).take(1):
            print(path, x)

for x in train_set.take(1):
    print(x)

def in_parts(steps):
    for step in range(steps):
        for x in other_set.skip(step * 10).take(10):  # dataset-in-loop
            model.train_on_batch(x, x)

def in_named_parts(steps):
    for step in range(steps):
        part = train_set.skip(step * 10)  # dataset-in-loop
        for x in part.take(10):
            model.train_on_batch(x, x)

def in_folds(k):
    for fold in range(k):
        for x in other_set.skip(fold * 20).take(20):
            model.train_on_batch(x, x)

def after_the_first(steps):
    for step in range(steps):
        for x in other_set.skip(100):
            model.train_on_batch(x, x)

def shape_of(data):
    for x in data.take(1):
        return x.shape

def described(data):
    return {"shape": shape_of(data)}

def prepared(data):
    return described(data)

def first_of(name):
    for x in tf.data.TFRecordDataset(name).take(1):
        return x

def described_file(name):
    return {"first": first_of(name)}

def prepared_file(name):
    return described_file(name)

for image in range(1000):
    prepared(other_set)
    prepared_file("all.tfrecord")
