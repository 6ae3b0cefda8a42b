"""Small programs around what the fixes change, by number: carried values, shadowing, exceptions, odd layout."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

STEPS = 5  # which the source does not tell: a loop of a few steps would be nobody's trouble


@dataclass(frozen=True)
class Part:
    """Code that goes before the loop, into it (after which `y` is a number), and behind it."""

    before: str
    inside: str
    after: str = ""


def program(number: int) -> str:
    """The same number is the same program. It needs TensorFlow, or what stands in for it, and prints what it found."""
    dice = random.Random(number)
    part = dice.choice(PARTS)(dice)
    body = _steps(dice, part)
    count = f"count = int('{STEPS}')"
    lines = ["import numpy as np", "import tensorflow as tf", "", count, "", *_frame(dice, part, body)]
    text = "\n".join(lines) + "\n"
    return _spelled(dice, text)


def _steps(dice: random.Random, part: Part) -> list[str]:
    """The statements of a step, with what makes moving them dangerous."""
    inside = part.inside.split("\n")
    if dice.random() < 0.15:
        inside = ["try:", *_indented(inside), "except ZeroDivisionError:", "    y = -1.0"]
    elif dice.random() < 0.15:
        inside = ["if i % 2 == 0:", *_indented(inside), "else:", "    y = 0.5"]
    elif dice.random() < 0.15:
        inside = ["for j in range(2):", *_indented(inside)]
    elif dice.random() < 0.1:
        inside = ["match i % 2:", "    case 0:", *_indented(_indented(inside)), "    case _:", "        y = 1.5"]
    before = dice.sample(NOISE, dice.randrange(3))
    behind = dice.sample(NOISE, dice.randrange(2))
    return [*before, "# größer: a comment that belongs to what follows", *inside, "total = total + float(y)", *behind]


NOISE = (
    "scale = scale + 1.0  # carried from step to step",
    "if i == 3:\n    continue",
    "if total > 40.0:\n    break",
    "if (half := i / 2) > 1.0:\n    scale = half",
    "x = x * 2.0",
    "text = 'a # b'; scale -= 0.5",
    "double, triple = triple, double",
    "names.append(f'{i}: {scale:.2f}')",
)


def _frame(dice: random.Random, part: Part, body: list[str]) -> list[str]:
    """Where the loop stands: in the module, a function, a method, a nested function, a generator."""
    start = ["total, scale, y, names = 0.0, 2.0, 0.0, []", "x = tf.constant([1.0, 2.0, 3.0])"]
    functions = ["def double(v):", "    return v * 2.0", "", "def triple(v):", "    return v * 3.0", ""]
    head = dice.choice(["for i in range(count):", "for i, w in enumerate(np.arange(count)):", "while i < count - 1:"])
    step = ["i += 1"] if head.startswith("while") else []
    before = [*start, *(["i = -1"] if step else []), *part.before.split("\n")]
    lines = [line for text in body for line in text.split("\n")]
    loop = [head, *_indented([*step, *lines]), *part.after.split("\n")]
    ending = "f'{total:.4f} {scale:.2f} {len(names)}'"
    match dice.randrange(5):
        case 0:
            return [*functions, *before, *loop, f"print({ending})"]
        case 1:
            inner = _indented(["double, triple = triple, double", *before, *loop, f"return {ending}"])
            return [*functions[:0], "def run(double, triple):", *inner, "", *functions, "print(run(double, triple))"]
        case 2:
            inner = _indented(_indented([*functions, *before, *loop, f"return {ending}"]))
            return ["class Job:", "    def run(self):", *inner, "", "print(Job().run())"]
        case 3:
            inner = _indented([*functions, *before, *loop, f"yield {ending}"])
            return ["def results():", *inner, "", "for result in results():", "    print(result)"]
        case _:
            inner = _indented([*functions, *before, "def work():", "    return scale", *loop, f"return {ending}"])
            return ["async def run():", *inner, "", "import asyncio", "print(asyncio.run(run()))"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {part}" for line in lines for part in line.split("\n")]


def _spelled(dice: random.Random, text: str) -> str:
    """Tabs, form feeds, other line endings, no newline at the end."""
    if dice.random() < 0.15:
        text = text.replace("    ", "\t")
    if dice.random() < 0.1:
        text = text.replace("import tensorflow as tf\n", "import tensorflow as tf\n\f\n", 1)
    if dice.random() < 0.15:
        text = text.replace("\n", "\r\n")
    return text.rstrip("\r\n") if dice.random() < 0.1 else text


# -- what is wrong in them ---------------------------------------------------------------------------------------------


def _function(dice: random.Random) -> Part:
    free = dice.choice(["v * 2.0", "v * scale", "v + i", "double(v)", "v + tf.reduce_sum(x)"])
    made = dice.choice(
        [
            f"y = tf.reduce_sum(tf.function(lambda v: {free})(x))",
            "step = tf.function(double)\ny = tf.reduce_sum(step(x))",
            f"@tf.function\ndef step(v):\n    return {free}\ny = tf.reduce_sum(step(x))",
        ]
    )
    return Part("", made)


def _number(dice: random.Random) -> Part:
    argument = dice.choice(["i", "float(i)", "scale", "k=i", "i % 2"])
    return Part("@tf.function\ndef power(v, k):\n    return v * k", f"y = tf.reduce_sum(power(x, {argument}))")


def _concat(dice: random.Random) -> Part:
    look = dice.choice(["y = 1.0", "y = tf.reduce_sum(seen)", "y = seen.shape[0]"])
    grown = dice.choice(["seen = tf.concat([seen, x], 0)", "seen = tf.concat([seen, [scale, float(i)]], axis=0)"])
    after = dice.choice(["total = total + float(tf.reduce_sum(seen))", "print(seen.shape)"])
    return Part("seen = tf.zeros([0])", f"{grown}\n{look}", after)


def _kept(dice: random.Random) -> Part:
    use = dice.choice(["float(losses[-1])", "len(losses)", "sum(float(loss) for loss in losses)"])
    kept = dice.choice(["losses.append(tf.reduce_sum(x * scale))", "loss = x * float(i)\nlosses.append(loss)"])
    return Part("losses = []", f"{kept}\ny = i", f"total = total + {use if 'sum(x' in kept else 'len(losses)'}")


def _dataset(dice: random.Random) -> Part:
    made = f"tf.data.Dataset.range({dice.choice(['6', 'i + 2'])}){_stages(dice)}"
    loop = "for element in data.take(3):\n    y = tf.reduce_sum(tf.cast(element, tf.float32))"
    if dice.random() < 0.4:
        return Part(f"data = {made.replace('i + 2', '6')}", loop)
    return Part("", f"data = {made}\n{loop}")


def _stages(dice: random.Random) -> str:
    element = [".map(double)", ".filter(lambda v: v % 2 == 0)", ".take(5)", ".cache()", ".repeat(2)", ".prefetch(1)"]
    stages = [stage.replace("double", "lambda v: v + 1") for stage in dice.sample(element, dice.randrange(3))]
    batched = dice.choice([[], [".batch(2)"], [".batch(2)", ".unbatch()"], [".batch(2)", ".map(lambda v: v * 2)"]])
    tail = dice.sample([".prefetch(2)", ".cache()", ".take(2)", ".repeat(2)"], dice.randrange(2))
    return "".join([*stages, *batched, *tail])


def _pipeline(dice: random.Random) -> Part:
    """Stages in an order that costs: a cache behind what it should precede, a batch that is undone."""
    add = dice.choice(["lambda v: v + 1", "lambda v: v * v", "lambda v: tf.cast(v, tf.float32) * scale"])
    stages = dice.sample([f".map({add})", ".take(7)", ".skip(1)", ".prefetch(1)", ".repeat(2)"], dice.randrange(1, 4))
    worse = dice.choice(
        [".batch(2).unbatch()", ".repeat(3).cache()", ".cache().take(4)", ".repeat(2).batch(3).cache()"]
    )
    stages.insert(dice.randrange(len(stages) + 1), worse)
    made = f"data = tf.data.Dataset.range(9){''.join(stages)}"
    loop = "for element in data:\n    y = y + tf.reduce_sum(tf.cast(element, tf.float32))"
    return Part(made, loop) if dice.random() < 0.7 else Part("", f"{made}\n{loop}")


def _rows(dice: random.Random) -> Part:
    made = dice.choice(["tf.reduce_sum(m[r])", "tf.reduce_max(m[r] * scale)", "m[r][0]"])
    return Part("m = tf.constant([[1.0, 2.0], [3.0, 4.0]])", f"rows = [{made} for r in range(2)]\ny = rows[i % 2]")


def _unrolled(dice: random.Random) -> Part:
    work = dice.choice(["v = v + k", "v = v * 1.5", "v = tf.add(v, 1.0)"])
    spin = f"@tf.function\ndef spin(v):\n    for k in range(60):\n        {work}\n    return v"
    return Part(spin, "y = tf.reduce_sum(spin(x))")


PARTS: tuple[Callable[[random.Random], Part], ...] = (
    _function,
    _number,
    _concat,
    _kept,
    _dataset,
    _pipeline,
    _rows,
    _unrolled,
)
