"""Makes the folder of a new rule. Every question that the tests ask of it fails until it is filled in."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hotloop.model import HotloopError

RULES = Path(__file__).resolve().parent.parent / "src" / "hotloop" / "rules"

INIT = '''"""

**Why**

**Instead**

**Not when**

"""

from __future__ import annotations

from collections.abc import Iterator

from hotloop.model import Finding, Fix, Recording
from hotloop.rules import Rule
from hotloop.source import Project
from hotloop.source.rewrite import Refused

RULE = Rule(__name__)


def check(project: Project) -> Iterator[Finding]:
    yield from ()


def diagnose(recording: Recording) -> Iterator[Finding]:
    yield from ()


def fix(finding: Finding, project: Project) -> Fix:
    raise Refused("this rule has no fix yet")
'''

SLOW = """import tensorflow as tf

STEPS = 100

total = 0.0
for step in range(STEPS):
    total += float(tf.square(float(step)))  # expect: {name}
print(total)
"""

FAST = """import tensorflow as tf

STEPS = 100

print(float(tf.reduce_sum(tf.square(tf.range(STEPS, dtype=tf.float32)))))
"""

EDGE = """import tensorflow as tf

tf.square(1.0)  # expect: {name}
"""


def main(arguments: list[str]) -> int:
    try:
        folder = scaffold(arguments[0] if arguments else "", RULES)
    except HotloopError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"made {folder}. Fill it in, then: make rerecord NAME={folder.name.replace('_', '-')} docs test")
    return 0


def scaffold(name: str, rules: Path) -> Path:
    name = name.strip().replace("_", "-")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise HotloopError("name the bad pattern in two words or more: make rule NAME=session-per-image")
    folder = rules / name.replace("-", "_")
    if folder.exists():
        raise HotloopError(f"{folder} is already there.")
    folder.mkdir()
    for file, text in {"__init__.py": INIT, "slow.py": SLOW, "fast.py": FAST, "edge.py": EDGE}.items():
        (folder / file).write_text(text.replace("{name}", name), encoding="utf-8")
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
