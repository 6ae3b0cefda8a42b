import tensorflow as tf

def predictions(models, datasets, points):
    columns = points
    for tag in datasets:
        columns = tf.concat([columns, models[tag](points)], 1)
    return columns
