import tensorflow as tf

def draw(wanted):
    result = tf.zeros([0])
    count = 0
    while count < wanted:
        samples = tf.random.normal([wanted])
        accepted = samples[samples > -1]
        count += tf.cast(tf.size(accepted), tf.int32)
        result = tf.concat([result, accepted], axis=0)
    return result
