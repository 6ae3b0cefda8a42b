"""Never run, and never named: how long a loop waits for its data can only be seen while the program runs."""

import tensorflow as tf

numbers = tf.data.Dataset.range(1000).window(32, shift=1).flat_map(lambda window: window.batch(32))
for batch in numbers.batch(64):
    print(tf.reduce_sum(batch))
