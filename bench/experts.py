"""Slow programs and what somebody who knows TensorFlow makes of each by hand, as files that replace some."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from public import PROGRAMS
from surroundings import HERE

from hotloop.model import Recording
from hotloop.rules import all_rules
from hotloop.rules.specimens import plain, program, specimen
from hotloop.source.notebooks import to_python

ROOT = HERE.parent
WILD = ROOT / "tests" / "wild"
EXPERT = HERE / "programs" / "expert"  # files that replace those of the same name in tests/wild, and the demo
GUILT = re.compile(rb"  # guilty: .*")
DEMO = ROOT / "src" / "hotloop" / "demo" / "label_images.py"

Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    name: str
    kind: str  # specimen, wild (written here the way people write), demo, public
    program: str
    slow: Files
    expert: Files
    seen: Recording | None = None  # of the slow one, where only a run shows what is wrong


def cases(public: Path | None = None) -> Iterator[Case]:
    for rule in all_rules():
        if rule.fix and rule.measured == "speed":
            slow, fast = (plain(specimen(rule, side)) for side in ("slow", "fast"))
            run = program(rule, "slow")
            expert = {re.sub("^fast", "slow", path): fast[path] for path in fast}
            seen = None if rule.check else Recording.load(rule.folder / "slow.json.gz")
            yield Case(rule.name, "specimen", run, slow, expert, seen)
    for folder in sorted(EXPERT.iterdir()):
        demo = folder.name == DEMO.stem
        slow = {
            path.name: GUILT.sub(b"", path.read_bytes())
            for path in ([DEMO] if demo else (WILD / folder.name).glob("*.py"))
        }
        expert = slow | {path.name: path.read_bytes() for path in folder.glob("*.py")}
        yield Case(folder.name, "demo" if demo else "wild", DEMO.name if demo else "main.py", slow, expert)
    if public is not None:
        yield from _notebooks(public)
        for one in PROGRAMS:
            yield Case(one.name, "public", one.program, *one.versions(public))


# -- a public repository, which has to be there: nothing of it is kept here --------------------------------------------

NOTEBOOKS = "aymericdamien+TensorFlow-Examples/tensorflow_v2/notebooks"
NAMES = (
    *("2_BasicModels/linear_regression", "2_BasicModels/logistic_regression"),
    *("3_NeuralNetworks/autoencoder", "3_NeuralNetworks/bidirectional_rnn", "3_NeuralNetworks/convolutional_network"),
    *("3_NeuralNetworks/convolutional_network_raw", "3_NeuralNetworks/dynamic_rnn", "3_NeuralNetworks/neural_network"),
    *("3_NeuralNetworks/neural_network_raw", "3_NeuralNetworks/recurrent_network", "4_Utils/build_custom_layers"),
)
STEPS = 60
DIGITS = """
import types
def _digits():
    r = np.random.RandomState(0)
    x, y = r.randint(0, 256, (2000, 28, 28)).astype("uint8"), r.randint(0, 10, 2000).astype("uint8")
    return (x[:1500], y[:1500]), (x[1500:], y[1500:])
mnist = types.SimpleNamespace(load_data=_digits)
"""


def _notebooks(public: Path) -> Iterator[Case]:
    """Tutorials of an eager training step, run short on made-up digits; the expert compiles the step."""
    for name in NAMES:
        text = to_python((public / NOTEBOOKS / f"{name}.ipynb").read_bytes())[0].decode()
        text = text.partition("import matplotlib")[0]
        text = re.sub(r"(?m)^from tensorflow.keras.datasets import mnist$", DIGITS, text)
        text = re.sub(r"(?m)^(training_steps =) \d+", rf"\1 {STEPS}", text)
        text = re.sub(r"(?m)^(display_step =) \d+", rf"\1 {STEPS // 4}", text)
        expert = text.replace("def run_optimization", "@tf.function\ndef run_optimization", 1)
        yield Case(name, "public", "main.py", {"main.py": text.encode()}, {"main.py": expert.encode()})
