"""Programs whose repetition is on purpose, or cannot be moved: hotloop must leave them as they are."""

from __future__ import annotations

import pytest

from hotloop.mending import mend
from hotloop.rules import all_rules

HEAD = "import keras\nimport tensorflow.compat.v1 as tf\n"

LEFT_ALONE = {
    "the value comes from a queue": "while True:\n    p = q.get()\n    x = tf.image.decode_jpeg(tf.read_file(p), name=p)\n    s.run(x)",
    "a frame from a camera": "while True:\n    ok, jpeg = cam.read()\n    sess.run(tf.image.decode_jpeg(f(jpeg)))",
    "the path comes from a call": "for x in data:\n    path = next_path()\n    m = keras.models.load_model(path)\n    m(x)",
    "the path is set in a dict": "for p in paths:\n    st['p'] = p\n    m = keras.models.load_model(st['p'])\n    m(p)",
    "the path is set on an object": "for p in paths:\n    a.p = p\n    m = keras.models.load_model(a.p)\n    m(p)",
    "a global is set by a call": (
        "cur = ''\ndef pick(p):\n    global cur\n    cur = p\n"
        "for p in paths:\n    pick(p)\n    m = keras.models.load_model(cur)\n    m(p)"
    ),
    "the model is trained by its caller": (
        "def get():\n    return keras.models.load_model('m')\nfor u in users:\n    m = get()\n    m.fit(u.x)"
    ),
    "the model is handed to what trains it": (
        "def train(m, x):\n    m.fit(x)\nfor x in batches:\n    m = keras.models.load_model('m')\n    train(m, x)"
    ),
    "a restore that resets": "saver = tf.train.Saver()\nfor b in batches:\n    saver.restore(s, 'c')\n    s.run(step, {x: b})",
    "saved and loaded again": "for b in batches:\n    m0.save('m')\n    m = keras.models.load_model('m')\n    m(b)",
    "loop-carried": "m = keras.models.load_model('a')\nfor i in images:\n    m(i)\n    m = keras.models.load_model('b')",
    "the graph is reset": (
        "def build(n):\n    return tf.zeros([n])\n"
        "for n in images:\n    tf.reset_default_graph()\n    y = build(n)\n    with tf.Session() as s:\n        s.run(y)"
    ),
    "a with that also opens the step's file": (
        "for p in paths:\n    with tf.Session(graph=G) as s, open(p) as f:\n        s.run('x', {'i:0': f.read()})"
    ),
    "the fed name moves on": (
        "with tf.Session() as s:\n    for p in paths:\n        d = tf.read_file(p)\n        p = p.upper()\n        s.run(d)"
    ),
    "a nested loop around the session": (
        "for i in images:\n    for k in scales:\n        with tf.Session(graph=G) as s:\n            s.run('x', {'i:0': k})\n"
    ),
    "a rate that a function lowers": (
        "st = {'lr': 0.1}\nw = tf.Variable(1.0)\ndef decay():\n    st['lr'] *= 0.9\n"
        "for x in batches:\n    decay()\n    with tf.GradientTape() as t:\n        loss = (w - x) ** 2\n"
        "    w.assign_sub(st['lr'] * t.gradient(loss, w))"
    ),
    "suppressed": "for i in images:\n    m = keras.models.load_model('m')  # hotloop: ignore[model-load-in-loop]\n    m(i)",
}
MENDED = {
    "a config that cannot be a key stays inside": (
        "CONFIG = tf.ConfigProto()\ndef f(i):\n    with tf.Session(graph=G, config=CONFIG) as s:\n"
        "        return s.run('x', {'i:0': i})\nfor i in images:\n    f(i)",
        "def session_for(graph):\n    return tf.Session(graph=graph, config=CONFIG)\n",
    ),
    "a union of dicts is fed": (
        "sess = tf.Session()\ndef f(sess, p):\n    d = tf.read_file(p)\n    return sess.run(d, {a: 1} | extra)\nfor p in paths:\n    f(sess, p)",
        "sess.run(d, {**({a: 1} | extra), p_input: p})",
    ),
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_repeats_on_purpose_is_left_alone(body: str) -> None:
    source = f"{HEAD}{body}\n".encode()
    mended = mend({"p.py": source}, all_rules())
    done = [fix.title for _, fix in mended.done]
    assert mended.contents["p.py"] == source, done
    assert not [refusal for _, refusal in mended.refusals if "defect" in refusal.reason]


@pytest.mark.parametrize(("body", "part"), MENDED.values(), ids=MENDED)
def test_what_may_move_moves(body: str, part: str) -> None:
    text = mend({"p.py": f"{HEAD}{body}\n".encode()}, all_rules()).contents["p.py"].decode()
    assert part in text
    compile(text, "p.py", "exec")


def test_an_import_goes_below_the_docstring_and_the_future() -> None:
    source = (
        b'"""Doc."""\nfrom __future__ import annotations\ntry:\n    import tensorflow.compat.v1 as tf\n'
        b"except ImportError:\n    tf = None\n\n\ndef f(i):\n    with tf.Session(graph=G) as s:\n"
        b"        return s.run('x', {'i:0': i})\n\n\nfor i in images:\n    f(i)\n"
    )
    text = mend({"p.py": source}, all_rules()).contents["p.py"].decode()
    assert text.startswith('"""Doc."""\nfrom __future__ import annotations\nimport functools\n')
    compile(text, "p.py", "exec")
