"""What fixes make of source, and what they leave alone and why. No TensorFlow: `tests/tf` runs the results."""

from __future__ import annotations

import ast
import textwrap

import pytest

from hotloop.check import check
from hotloop.fix import Mended, mend
from hotloop.model import Refusal
from hotloop.rules import Rule, all_rules, find_rule
from hotloop.rules.specimens import plain, specimen
from hotloop.source import project_of
from hotloop.source.rewrite import apply_edits

FUNCTION, NUMBER = "function-in-loop", "python-number-argument"
PREDICT, EAGER = "predict-in-loop", "eager-training-step"
FIXED = [rule for rule in all_rules() if rule.check and rule.fix]


def text(source: str) -> bytes:
    return textwrap.dedent(source).lstrip("\n").encode()


def mended(rule: Rule, contents: dict[str, bytes]) -> Mended:
    """Every fix of a rule, after asking what must hold of each and of all together."""
    project = project_of(contents)
    for finding in check(project, [rule])[0]:
        answer = rule.fix(finding, project) if rule.fix else None
        if isinstance(answer, Refusal):
            assert answer.reason
            assert answer.place.path in contents
            assert 1 <= answer.place.line <= contents[answer.place.path].count(b"\n") + 1
            continue
        assert answer is not None
        assert answer.safety == "verify"
        for path in {edit.path for edit in answer.edits}:
            ast.parse(apply_edits(contents[path], [e for e in answer.edits if e.path == path]))
    result = mend(contents, [rule])
    again = mend(result.contents, [rule])
    assert again.contents == result.contents
    assert not again.done
    return result


def refusals(rule: str, source: str) -> list[tuple[int, str]]:
    before = {"program.py": text(source)}
    result = mended(find_rule(rule), before)
    assert result.contents == before, "it was changed"
    return [(refusal.place.line, refusal.reason) for _, refusal in result.refusals]


def rewritten(rule: str, before: bytes) -> bytes:
    result = mended(find_rule(rule), {"program.py": before})
    assert result.refusals == []
    assert not [f for f in check(project_of(result.contents), [find_rule(rule)])[0] if f.confidence != "low"]
    return result.contents["program.py"]


# -- left alone ----------------------------------------------------------------------------------------------

LEFT_ALONE = {
    "a function that captures what the loop assigns": (
        FUNCTION,
        """
        import tensorflow as tf
        for i, batch in enumerate(batches):
            scale = tf.constant(1.0 + i)
            @tf.function
            def scaled(x):
                return x * scale
            scaled(batch)
        """,
        3,
        "`scaled` reads `scale`, which the loop changes: pass it as an argument first",
    ),
    "a function that reads the loop's own variable": (
        FUNCTION,
        """
        import tensorflow as tf
        for step in range(100):
            @tf.function
            def add(x):
                return x + step
            add(1.0)
        """,
        2,
        "reads `step`",
    ),
    "a function that reads a changing name through another function": (
        FUNCTION,
        """
        import tensorflow as tf
        def loss(x):
            return x * rate
        for step in range(100):
            rate = 1.0 / (step + 1)
            @tf.function
            def update(x):
                return loss(x)
            update(1.0)
        """,
        5,
        "reads `rate`",
    ),
    "a function that reads an object which the loop changes in place": (
        FUNCTION,
        """
        import tensorflow as tf
        for step in range(100):
            config.rate = 1.0 / (step + 1)
            update = tf.function(lambda x: x * config.rate)
            update(1.0)
        """,
        3,
        "reads `config`",
    ),
    "a function that reads a global which another function sets": (
        FUNCTION,
        """
        import tensorflow as tf
        rate = 1.0
        def decay():
            global rate
            rate = rate * 0.9
        for step in range(100):
            update = tf.function(lambda x: x * rate)
            update(1.0)
            decay()
        """,
        3,
        "reads `rate`",
    ),
    "a function whose name means something else as well": (
        FUNCTION,
        """
        import tensorflow as tf
        def update(x):
            return x
        for step in range(100):
            update = tf.function(lambda x: x + 1)
            update(1.0)
        """,
        2,
        "`update` is also given another value on line 2",
    ),
    "a function that is defined under a condition": (
        FUNCTION,
        """
        import tensorflow as tf
        for batch in batches:
            if batch.ready:
                @tf.function
                def double(x):
                    return x * 2
                double(batch)
        """,
        5,
        "in a block within the loop",
    ),
    "a function whose default is computed in each step": (
        FUNCTION,
        """
        import tensorflow as tf
        for batch in batches:
            @tf.function
            def double(x, seed=draw()):
                return x * seed
            double(batch)
        """,
        4,
        "`draw()` is computed anew",
    ),
    "a function that prints while it is traced": (
        FUNCTION,
        """
        import tensorflow as tf
        for batch in batches:
            @tf.function
            def double(x):
                print("doubling")
                return x * 2
            double(batch)
        """,
        5,
        "`print(...)` in `double` must run in Python in each step",
    ),
    "functions that are kept, one per step": (
        FUNCTION,
        """
        import tensorflow as tf
        for batch in batches:
            functions.append(tf.function(model))
        """,
        3,
        "each step hands on its own",
    ),
    "an object per step": (
        FUNCTION,
        """
        import tensorflow as tf
        class Stepper(tf.Module):
            @tf.function
            def step(self, x):
                return x + 1
        for batch in batches:
            stepper = Stepper()
            stepper.step(batch)
        """,
        7,
        "`Stepper()` holds state of its own: make it once before the loop if its state may be kept",
    ),
    "a function made in a function that does more": (
        FUNCTION,
        """
        import tensorflow as tf
        def classify(x):
            f = tf.function(model)
            return f(x)
        for batch in batches:
            classify(batch)
        """,
        3,
        "made anew in each call of `classify`",
    ),
    "a factory whose argument changes": (
        FUNCTION,
        """
        import tensorflow as tf
        def make(rate):
            @tf.function
            def update(x):
                return x * rate
            return update
        for i, batch in enumerate(batches):
            update = make(1.0 / (i + 1))
            update(batch)
        """,
        7,
        "reads `i`",
    ),
    "a number that a range needs": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def repeat(x, n):
            for _ in range(n):
                x = x + 1
            return x
        for i in range(100):
            repeat(1.0, i)
        """,
        4,
        "`repeat` needs `n` as a Python value: `range(n)` on line 4",
    ),
    "a number that a range needs after arithmetic": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def repeat(x, n):
            twice = 2 * n
            for _ in range(twice + 1):
                x = x + 1
            return x
        for i in range(100):
            repeat(1.0, i)
        """,
        5,
        "as a Python value",
    ),
    "a number that is an index": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def pick(x, n):
            return x[:n]
        for i in range(100):
            pick(x, i)
        """,
        4,
        "`pick` needs `n` as a Python value",
    ),
    "a number that decides a branch": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def warm(x, step):
            if step < 10:
                return x * 0.1
            return x
        for i in range(100):
            warm(x, i)
        """,
        4,
        "`step < 10` on line 4",
    ),
    "a number that is a shape": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def widen(x, n):
            return tf.reshape(x, [n, -1])
        for i in range(100):
            widen(x, i)
        """,
        4,
        "as a Python value",
    ),
    "a number in a text": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def named(x, n):
            return tf.identity(x, name=f"x{n}")
        for i in range(100):
            named(x, i)
        """,
        4,
        "as a Python value",
    ),
    "a number for a function nobody knows": (
        NUMBER,
        """
        import tensorflow as tf
        from elsewhere import mystery
        @tf.function
        def handed(x, n):
            return mystery(x, n)
        for i in range(100):
            handed(x, i)
        """,
        5,
        "`mystery(x, n)` on line 5",
    ),
    "a number that is needed in a function further on": (
        NUMBER,
        """
        import tensorflow as tf
        def inner(x, k):
            return x[k]
        @tf.function
        def outer(x, n):
            return inner(x, n)
        for i in range(100):
            outer(x, i)
        """,
        6,
        "(through `inner`)",
    ),
    "a file that does not name tensorflow": (
        NUMBER,
        """
        from tensorflow import function
        @function
        def scaled(x, n):
            return x * n
        for i in range(100):
            scaled(x, i)
        """,
        6,
        "does not import tensorflow itself",
    ),
    "predict with steps": (
        PREDICT,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        for image in images:
            model.predict(image[None], steps=1)
        """,
        4,
        "`predict_on_batch` knows no `steps`",
    ),
    "predict with arguments that are not spelled out": (
        PREDICT,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        for image in images:
            model.predict(image[None], **options)
        """,
        4,
        "not spelled out",
    ),
    "predict of a Python list": (
        PREDICT,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        for image in images:
            model.predict([image])
        """,
        4,
        "`[image]` is a Python list",
    ),
    "predict of a data set": (
        PREDICT,
        """
        import tensorflow as tf
        model = tf.keras.models.load_model("m.keras")
        for image in images:
            data = tf.data.Dataset.from_tensors(image[None])
            model.predict(data)
        """,
        5,
        "`data` is a data set",
    ),
    "a step that prints": (
        EAGER,
        """
        import tensorflow as tf
        def step(x):
            with tf.GradientTape() as tape:
                loss = model(x)
            print(loss)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        for x in dataset:
            step(x)
        """,
        5,
        "`print(...)` in `step` must run in Python in each step: move it out first",
    ),
    "a step that fetches its loss": (
        EAGER,
        """
        import tensorflow as tf
        def step(x):
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
            return loss.numpy()
        for x in dataset:
            step(x)
        """,
        6,
        "`loss.numpy(...)`",
    ),
    "a step that appends to a list around it": (
        EAGER,
        """
        import tensorflow as tf
        losses = []
        def step(x):
            with tf.GradientTape() as tape:
                loss = model(x)
            losses.append(loss)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        for x in dataset:
            step(x)
        """,
        6,
        "`losses.append(...)`",
    ),
    "a step that counts in an attribute": (
        EAGER,
        """
        import tensorflow as tf
        class Trainer:
            def step(self, x):
                with tf.GradientTape() as tape:
                    loss = self.model(x)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.model.weights), self.model.weights))
                self.count += 1
            def fit(self, dataset):
                for x in dataset:
                    self.step(x)
        """,
        7,
        "the assignment to `self.count`",
    ),
    "a step that reads an attribute which changes": (
        EAGER,
        """
        import tensorflow as tf
        class Trainer:
            def step(self, x):
                with tf.GradientTape() as tape:
                    loss = self.rate * self.model(x)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.model.weights), self.model.weights))
            def fit(self, dataset):
                for x in dataset:
                    self.step(x)
                    self.rate = self.rate * 0.9
        """,
        10,
        "`step` reads `self.rate`, which changes on line 10",
    ),
    "a step that reads a global which the loop changes": (
        EAGER,
        """
        import tensorflow as tf
        def step(x):
            with tf.GradientTape() as tape:
                loss = rate * model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        rate = 1.0
        for x in dataset:
            step(x)
            rate *= 0.9
        """,
        9,
        "`step` reads `rate`",
    ),
    "a step that makes its own optimizer": (
        EAGER,
        """
        import tensorflow as tf
        def step(x):
            optimizer = tf.keras.optimizers.Adam()
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        for x in dataset:
            step(x)
        """,
        3,
        "`tf.keras.optimizers.Adam(...)`",
    ),
    "a step that calls a function which logs": (
        EAGER,
        """
        import tensorflow as tf
        def log(loss):
            print(loss)
        def step(x):
            with tf.GradientTape() as tape:
                loss = model(x)
            log(loss)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        for x in dataset:
            step(x)
        """,
        7,
        "`step` calls `log`, and `print(...)`",
    ),
    "a step that is handed a number which changes": (
        EAGER,
        """
        import tensorflow as tf
        def step(x, lr):
            with tf.GradientTape() as tape:
                loss = model(x)
            w.assign_sub(lr * tape.gradient(loss, w))
        lr = 1.0
        for x in dataset:
            step(x, lr)
            lr *= 0.9
        """,
        3,
        "`lr` is a Python number that changes",
    ),
    "a step in the loop with a print before its update": (
        EAGER,
        """
        import tensorflow as tf
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = model(x)
            print(loss)
            grads = tape.gradient(loss, model.weights)
            optimizer.apply_gradients(zip(grads, model.weights))
        """,
        5,
        "`print(...)`",
    ),
    "a step in the loop that reads a counter": (
        EAGER,
        """
        import tensorflow as tf
        for i, x in enumerate(dataset):
            with tf.GradientTape() as tape:
                loss = model(x) / (i + 1)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        """,
        2,
        "`i` is a Python number that changes",
    ),
    "a step in the loop that may skip its update": (
        EAGER,
        """
        import tensorflow as tf
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = model(x)
            if skip:
                continue
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        """,
        6,
        "the `continue` between the tape and the update",
    ),
}


@pytest.mark.parametrize("case", LEFT_ALONE, ids=list(LEFT_ALONE))
def test_a_fix_leaves_alone_and_says_why(case: str) -> None:
    rule, source, line, reason = LEFT_ALONE[case]
    found = refusals(rule, source)
    assert [at for at, _ in found] == [line], found
    assert reason in found[0][1]


# -- rewritten -----------------------------------------------------------------------------------------------

REWRITTEN = {
    "a definition leaves both loops with its comments": (
        FUNCTION,
        """
        import tensorflow as tf

        weights = tf.Variable(1.0)
        # Every epoch.
        for epoch in range(10):
            for batch in batches:
                total = 0  # stays

                # One step,
                # compiled.
                @tf.function
                def update(x):
                    # down the hill
                    weights.assign_sub(x)

                update(batch)
        """,
        """
        import tensorflow as tf

        weights = tf.Variable(1.0)


        # One step,
        # compiled.
        @tf.function
        def update(x):
            # down the hill
            weights.assign_sub(x)


        # Every epoch.
        for epoch in range(10):
            for batch in batches:
                total = 0  # stays

                update(batch)
        """,
    ),
    "a definition leaves only the loop it does not depend on": (
        FUNCTION,
        """
        import tensorflow as tf

        for rate in range(20):
            print(rate)
            for batch in batches:

                @tf.function
                def update(x):
                    return x * rate

                update(batch)
        """,
        """
        import tensorflow as tf

        for rate in range(20):
            print(rate)

            @tf.function
            def update(x):
                return x * rate

            for batch in batches:
                update(batch)
        """,
    ),
    "a definition in a method": (
        FUNCTION,
        """
        import tensorflow as tf

        class Trainer:
            def fit(self, batches):
                for batch in batches:
                    @tf.function
                    def update(x):
                        return self.model(x)
                    update(batch)
        """,
        """
        import tensorflow as tf

        class Trainer:
            def fit(self, batches):
                @tf.function
                def update(x):
                    return self.model(x)

                for batch in batches:
                    update(batch)
        """,
    ),
    "a definition in a function that a loop calls": (
        FUNCTION,
        """
        import tensorflow as tf

        def run_epoch(batches):
            for batch in batches:
                update = tf.function(model)
                update(batch)

        for epoch in range(100):
            run_epoch(data)
        """,
        """
        import tensorflow as tf

        def run_epoch(batches):
            update = tf.function(model)
            for batch in batches:
                update(batch)

        for epoch in range(100):
            run_epoch(data)
        """,
    ),
    "an assignment with its comment": (
        FUNCTION,
        """
        import tensorflow as tf

        while True:
            batch = next(batches)
            # compiled for speed
            step = tf.function(lambda x: x + 1, jit_compile=True)  # fast
            step(batch)
        """,
        """
        import tensorflow as tf

        # compiled for speed
        step = tf.function(lambda x: x + 1, jit_compile=True)  # fast
        while True:
            batch = next(batches)
            step(batch)
        """,
    ),
    "an expression gets a name that is free": (
        FUNCTION,
        """
        import tensorflow as tf

        model_function = None
        for batch in batches:
            if batch.any():
                print(tf.function(model)(batch))
        """,
        """
        import tensorflow as tf

        model_function = None
        model_function_2 = tf.function(model)
        for batch in batches:
            if batch.any():
                print(model_function_2(batch))
        """,
    ),
    "an expression in a comprehension": (
        FUNCTION,
        """
        import tensorflow as tf

        def labels(net, images):
            return [tf.function(net.call)(image) for image in images]
        """,
        """
        import tensorflow as tf

        def labels(net, images):
            call_function = tf.function(net.call)
            return [call_function(image) for image in images]
        """,
    ),
    "a factory's call": (
        FUNCTION,
        """
        import tensorflow as tf

        def make(rate):
            "Makes an update."
            @tf.function
            def update(x):
                return x * rate
            return update

        for batch in batches:
            update = make(0.1)
            update(batch)
        """,
        """
        import tensorflow as tf

        def make(rate):
            "Makes an update."
            @tf.function
            def update(x):
                return x * rate
            return update

        update = make(0.1)
        for batch in batches:
            update(batch)
        """,
    ),
    "numbers by the file's own name of tensorflow": (
        NUMBER,
        """
        import tensorflow

        @tensorflow.function
        def step(x, lr, *, epsilon):
            return x * lr + epsilon

        lr, epsilon = 1.0, 0.5
        for x in batches:
            step(
                x,
                lr,  # falls
                epsilon=(epsilon
                         / 2),
            )
            lr *= 0.9
            epsilon *= 0.9
        step(x, lr, epsilon=1.0)
        """,
        """
        import tensorflow

        @tensorflow.function
        def step(x, lr, *, epsilon):
            return x * lr + epsilon

        lr, epsilon = 1.0, 0.5
        for x in batches:
            step(
                x,
                tensorflow.constant(lr),  # falls
                epsilon=tensorflow.constant(epsilon
                         / 2),
            )
            lr *= 0.9
            epsilon *= 0.9
        step(x, lr, epsilon=1.0)
        """,
    ),
    "a counter that meets floats becomes a float": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def anneal(x, i):
            return x / (i + 1)
        for i in range(100):
            anneal(x, i)
        """,
        """
        import tensorflow as tf
        @tf.function
        def anneal(x, i):
            return x / (i + 1)
        for i in range(100):
            anneal(x, tf.constant(i, tf.float32))
        """,
    ),
    "a counter that TensorFlow counts with stays whole": (
        NUMBER,
        """
        import tensorflow as tf
        @tf.function
        def encode(n):
            return tf.one_hot(n, 10), tf.cast(n, tf.float32) * 2.0
        count = 0
        while True:
            encode(count)
            count += 1
        """,
        """
        import tensorflow as tf
        @tf.function
        def encode(n):
            return tf.one_hot(n, 10), tf.cast(n, tf.float32) * 2.0
        count = 0
        while True:
            encode(tf.constant(count))
            count += 1
        """,
    ),
    "a predict over several lines": (
        PREDICT,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        for image in images:
            scores = model.predict(
                image[None],  # one image
                batch_size=1,
                verbose=0,  # quiet
            )[0]
        """,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        for image in images:
            scores = model.predict_on_batch(
                image[None],  # one image
            )[0]
        """,
    ),
    "a predict by keywords": (
        PREDICT,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        labels = [model.predict(verbose=0, x=image[None]).argmax() for image in images]
        """,
        """
        from tensorflow import keras
        model = keras.models.load_model("m.keras")
        labels = [model.predict_on_batch(x=image[None]).argmax() for image in images]
        """,
    ),
    "a step below the decorators it has": (
        EAGER,
        """
        import tensorflow as tf

        class Trainer:
            # One step.
            @staticmethod
            def step(model, optimizer, x):
                with tf.GradientTape() as tape:
                    loss = model(x)
                if tf.reduce_any(loss > 1.0):
                    tf.print("large")
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
                return loss

        for x in dataset:
            print(float(Trainer.step(model, optimizer, x)))
        """,
        """
        import tensorflow as tf

        class Trainer:
            # One step.
            @staticmethod
            @tf.function
            def step(model, optimizer, x):
                with tf.GradientTape() as tape:
                    loss = model(x)
                if tf.reduce_any(loss > 1.0):
                    tf.print("large")
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
                return loss

        for x in dataset:
            print(float(Trainer.step(model, optimizer, x)))
        """,
    ),
    "a function that takes gradients for its caller": (
        EAGER,
        """
        import tensorflow as tf

        def grad(model, x):
            with tf.GradientTape() as tape:
                loss = model(x)
            return loss, tape.gradient(loss, model.weights)

        for x in dataset:
            loss, grads = grad(model, x)
            optimizer.apply_gradients(zip(grads, model.weights))
        """,
        """
        import tensorflow as tf

        @tf.function
        def grad(model, x):
            with tf.GradientTape() as tape:
                loss = model(x)
            return loss, tape.gradient(loss, model.weights)

        for x in dataset:
            loss, grads = grad(model, x)
            optimizer.apply_gradients(zip(grads, model.weights))
        """,
    ),
    "a step in two loops, what is read later returned": (
        EAGER,
        """
        import tensorflow as tf

        losses = []
        for epoch in range(10):
            for x, y in dataset:
                x = x / 255.0

                # The step itself.
                with tf.GradientTape() as tape:
                    guess = model(x, training=True)
                    loss = tf.reduce_mean((guess - y) ** 2)
                grads = tape.gradient(loss, model.weights)
                # Downhill.
                optimizer.apply_gradients(zip(grads, model.weights))
                losses.append(float(loss))
            print(epoch, guess)
        """,
        """
        import tensorflow as tf

        losses = []


        @tf.function
        def train_step(x, y):
            # The step itself.
            with tf.GradientTape() as tape:
                guess = model(x, training=True)
                loss = tf.reduce_mean((guess - y) ** 2)
            grads = tape.gradient(loss, model.weights)
            # Downhill.
            optimizer.apply_gradients(zip(grads, model.weights))
            return guess, loss


        for epoch in range(10):
            for x, y in dataset:
                x = x / 255.0

                guess, loss = train_step(x, y)
                losses.append(float(loss))
            print(epoch, guess)
        """,
    ),
    "a step that carries a state from one to the next": (
        EAGER,
        """
        import tensorflow as tf

        def train(cell, w, batches):
            state = tf.zeros([1, 4])
            for x in batches:
                with tf.GradientTape() as tape:
                    state = cell(x, state)
                    loss = tf.reduce_sum(state)
                w.assign_sub(tape.gradient(loss, w))
        """,
        """
        import tensorflow as tf

        def train(cell, w, batches):
            state = tf.zeros([1, 4])

            @tf.function
            def train_step(x, state):
                with tf.GradientTape() as tape:
                    state = cell(x, state)
                    loss = tf.reduce_sum(state)
                w.assign_sub(tape.gradient(loss, w))
                return state

            for x in batches:
                state = train_step(x, state)
        """,
    ),
    "a step in a loop per model stays with its model": (
        EAGER,
        """
        import tensorflow as tf

        def train_step():
            pass

        for fold in folds:
            model, optimizer = build(fold)
            for x in fold.batches:
                with tf.GradientTape() as tape:
                    loss = model(x)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        """,
        """
        import tensorflow as tf

        def train_step():
            pass

        for fold in folds:
            model, optimizer = build(fold)

            @tf.function
            def train_step_2(x):
                with tf.GradientTape() as tape:
                    loss = model(x)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

            for x in fold.batches:
                train_step_2(x)
        """,
    ),
    "a step in a function that runs once per epoch": (
        EAGER,
        """
        import tensorflow as tf

        def run_epoch(model, batches):
            for x in batches:
                with tf.GradientTape() as tape:
                    loss = model(x)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
            return loss

        for epoch in range(100):
            run_epoch(net, data)
        """,
        """
        import tensorflow as tf


        @tf.function
        def train_step(model, x):
            with tf.GradientTape() as tape:
                loss = model(x)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
            return loss


        def run_epoch(model, batches):
            for x in batches:
                loss = train_step(model, x)
            return loss

        for epoch in range(100):
            run_epoch(net, data)
        """,
    ),
}


@pytest.mark.parametrize("case", REWRITTEN, ids=list(REWRITTEN))
def test_a_fix_rewrites(case: str) -> None:
    rule, before, after = REWRITTEN[case]
    ast.parse(text(after))
    assert rewritten(rule, text(before)).decode() == text(after).decode()


@pytest.mark.parametrize("case", REWRITTEN, ids=list(REWRITTEN))
def test_line_endings_survive(case: str) -> None:
    rule, before, after = REWRITTEN[case]
    assert rewritten(rule, text(before).replace(b"\n", b"\r\n")) == text(after).replace(b"\n", b"\r\n")


@pytest.mark.parametrize("case", REWRITTEN, ids=list(REWRITTEN))
def test_tabs_survive(case: str) -> None:
    rule, before, after = REWRITTEN[case]
    assert rewritten(rule, text(before).replace(b"    ", b"\t")) == text(after).replace(b"    ", b"\t")


@pytest.mark.parametrize("first", ["for x in batches:", "while True:\n    x = next(batches)"])
@pytest.mark.parametrize("then", ["x = x / 255.0", "x /= 255.0"])
def test_a_batch_that_is_scaled_is_no_number(first: str, then: str) -> None:
    source = f"import tensorflow as tf\nstep = tf.function(lambda x: x + 1)\n{first}\n    {then}\n    step(x)\n"
    assert check(project_of({"program.py": source.encode()}), [find_rule(NUMBER)]) == ([], [])


def test_names_that_are_not_ascii_do_not_shift_the_change() -> None:
    before = 'import tensorflow as tf\nfor bild in bilder:\n    größe = "ü"; n = tf.function(model)(bild)\n'
    after = before.replace("for bild", "model_function = tf.function(model)\nfor bild").replace(
        "n = tf.function(model)(bild)", "n = model_function(bild)"
    )
    assert rewritten(FUNCTION, before.encode()).decode() == after


def test_a_factory_in_another_file_stays_and_its_call_moves() -> None:
    made = text("""
        import tensorflow as tf
        def make():
            return tf.function(lambda x: x + 1)
    """)
    used = text("""
        from made import make
        for batch in batches:
            step = make()
            step(batch)
    """)
    result = mended(find_rule(FUNCTION), {"made.py": made, "used.py": used})
    assert result.refusals == []
    assert result.contents["made.py"] == made
    assert result.contents["used.py"] == text("""
        from made import make
        step = make()
        for batch in batches:
            step(batch)
    """)


@pytest.mark.parametrize("rule", FIXED, ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", ["slow", "edge"])
def test_every_fix_of_a_specimen_parses_and_settles(rule: Rule, name: str) -> None:
    before = plain(specimen(rule, name))
    result = mended(rule, before)
    assert result.done
    for data in result.contents.values():
        ast.parse(data)
