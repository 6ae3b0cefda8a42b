import tensorflow as tf

@tf.function
def denoised(x, sigma):
    return x - sigma * tf.tanh(x)

@tf.function
def settled(x):
    return x + 1.0

def sample(shape, sigmas, steps):
    data = tf.data.Dataset.from_tensor_slices(tf.random.uniform(shape)).batch(8)
    for batch in data:
        for sigma in sigmas:
            for step in range(steps):
                batch = denoised(batch, sigma)
        print(batch)

def settle(x, steps):
    for step in range(steps):
        x = settled(x)
    return x

def anneal(x, steps):
    rate = 0.1
    for step in range(steps):
        rate = rate * 0.99
        x = denoised(x, rate)  # python-number-argument
    return x

sample([80, 3], [0.3, 0.2, 0.1], 100)
settle(tf.zeros([3]), 100)
anneal(tf.zeros([3]), 100)
