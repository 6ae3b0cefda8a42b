import tensorflow as tf

class Trainer:
    def __init__(self, model):
        self.model = model
        self.is_compiled = False
        self.done = False

    def run(self, batches):
        for batch in batches:
            self.train_step(batch)

    def forward(self, batch):
        return self.model(batch)

    def train_step(self, batch):
        raise NotImplementedError

class Late(Trainer):
    def train_step(self, batch):
        if self.is_compiled is False:
            self.compiled = tf.function(self.forward)
            self.is_compiled = True
        return self.compiled(batch)

class Always(Trainer):
    def train_step(self, batch):
        compiled = tf.function(self.forward)  # function-in-loop
        return compiled(batch)

class Meta(Trainer):
    @tf.function
    def meta_step(self, tasks):
        losses = []
        for i in range(self.batch_size):
            losses.append(self.loss_of(i)(tasks[i]))
        return tf.reduce_mean(losses)

    def loss_of(self, i):
        @tf.function
        def loss(task):
            return tf.reduce_mean(self.model(task))

        return loss

    def look(self, task):
        print(self.loss_of(0)(task))
