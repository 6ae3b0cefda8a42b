"""Never run, and never named: whether steps take longer and longer can only be seen while the program runs."""

import tensorflow as tf

seen = []
for step in range(1000):
    seen.append(float(tf.square(float(step))))
    print(max(seen))
