import abc
import tensorflow as tf

class Trainer(abc.ABC):
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam()
        self.compiled = tf.function(self.compiled_step)

    @abc.abstractmethod
    def train_step(self, batch):
        ...

    def compiled_step(self, batch):
        raise NotImplementedError

    @tf.function
    def whole_step(self, batch):
        return self.part_of_step(batch)

    def run(self, batches, epochs):
        for epoch in range(epochs):
            for batch in batches:
                loss = self.train_step(batch)
                self.metric_step(batch)
                self.compiled(batch)
                self.compiled_step(batch)
                self.whole_step(batch)
            print(epoch, float(loss))

class Middle(Trainer):
    def update(self, tape, loss):
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

class Segmentation(Middle):
    def train_step(self, batch):
        with tf.GradientTape() as tape:  # eager-training-step
            loss = tf.reduce_mean(self.model(batch))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def metric_step(self, batch):
        with tf.GradientTape() as tape:  # eager-training-step
            loss = tf.reduce_max(self.model(batch))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

    def compiled_step(self, batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(batch))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

    def part_of_step(self, batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(batch))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

class Alone:
    def train_step(self, batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(batch))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
