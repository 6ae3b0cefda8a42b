"""TensorFlow is told to use a single thread for each op, on a machine that may have many.

**Why**

`intra_op_parallelism_threads` is the number of threads that one matrix product, one convolution or one reduction is
split over. With 1 a program on the CPU leaves all cores but one idle: on 2 cores it computes at half the speed, on 16
at a small fraction. The setting often comes along with a recipe for repeatable results, or for saving memory, which it
hardly does.

**Instead**

Leave it out (or 0): TensorFlow takes as many threads as there are cores. For repeatable results use
`tf.config.experimental.enable_op_determinism()` and `keras.utils.set_random_seed(seed)`, which keep the threads.

**Not when**

Many processes share the machine and each is to keep to one core: workers of a server, of a cluster job, of
reinforcement learning. Or results must be equal to the last bit on a TensorFlow older than 2.8. The other settings that
are told of (`inter_op_parallelism_threads=1`, `device_count={"CPU": 1}`, `OMP_NUM_THREADS=1`) leave an op's threads as
they are in TensorFlow's own builds, and are not reported. The fix is tried before it is written: sums that several
threads share may differ in the last digits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named
from hotloop.rules.comments import is_chosen, said_nearby
from hotloop.rules.loops import outside_loops
from hotloop.source.heat import number
from hotloop.source.module import Call, Context, Module, Scope, last_name, place_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
PARALLEL = True
MUCH = 0.1  # of the run that TensorFlow computed: with less there is nothing to gain

FIELD = "intra_op_parallelism_threads"
VARIABLE = "TF_NUM_INTRAOP_THREADS"
SETTERS = {
    "tf.ConfigProto", "tf.config.threading.set_intra_op_parallelism_threads", "os.environ.setdefault", "os.putenv",
}  # fmt: skip
MESSAGE = (
    "{what} lets each op use one thread only, so all cores but one stay idle. "
    "Leave it out; for repeatable results use `tf.config.experimental.enable_op_determinism()`."
)

# Programs of which several run side by side, or that only feed a GPU.
SHARED = re.compile(
    rb"\b(multiprocessing|mpi4py|horovod|ray|celery|gunicorn|uwsgi|ProcessPoolExecutor|flask|fastapi|django|streamlit"
    rb"|uvicorn|dask|pyspark|SLURM\w*|subprocess|joblib|gpu_options|use_per_session_threads|set_memory_growth)\b"
)
REPEATABLE = re.compile(rb"(?i)PYTHONHASHSEED|TF_DETERMINISTIC|enable_op_determinism|reproduc|determinis|repeatab")
MEANT = re.compile(
    rb"(?i)reproduc|determinis|(single|one) (core|cpu|thread)|limit|restrict|memory|worker|conflict|process"
)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        settings: list[tuple[ast.stmt | ast.expr, Context]] = [*_calls(module, project), *_assignments(module, project)]
        for node, where in settings:
            aside = SHARED.search(module.data) or REPEATABLE.search(module.data)
            excused = aside or is_chosen(where) or said_nearby(module, node.lineno, MEANT)
            confidence: Confidence = "low" if excused else "medium"
            message = MESSAGE.format(what=f"`{_short(node)}`")
            yield RULE.finding(place_of(module, node), message, **outside_loops(where, confidence))


def _short(node: ast.stmt | ast.expr) -> str:
    if isinstance(node, ast.Call) and any(k.arg == FIELD for k in node.keywords):
        return f"{ast.unparse(node.func)}({FIELD}=1)"
    text = ast.unparse(node)
    return text if len(text) <= 70 else text[:67] + "..."


def _calls(module: Module, project: Project) -> Iterator[tuple[ast.expr, Context]]:
    for call, name in named(module, project, SETTERS):
        value = _threads(call, name, project)
        if value is not None and _is_one(value, call.where.scope, project):
            yield call.node, call.where


def _threads(call: Call, name: str, project: Project) -> ast.expr | None:
    """The number of threads that a call sets."""
    if name == "tf.ConfigProto":
        return next((k.value for k in call.node.keywords if k.arg == FIELD), None)
    if name == "tf.config.threading.set_intra_op_parallelism_threads":
        return call.argument(0, "num_threads")
    if len(call.node.args) == 2 and _is_variable(call.node.args[0], call.where.scope, project):
        return call.node.args[1]
    return None


def _assignments(module: Module, project: Project) -> Iterator[tuple[ast.stmt, Context]]:
    """`config.intra_op_parallelism_threads = 1` and `os.environ["TF_NUM_INTRAOP_THREADS"] = "1"`."""
    if FIELD.encode() not in module.data and b"environ" not in module.data:
        return
    for node, where in module.contexts.items():
        if not isinstance(node, ast.Assign):
            continue
        if any(_is_setting(t, where.scope, project) for t in node.targets) and _is_one(
            node.value, where.scope, project
        ):
            yield node, where


def _is_setting(target: ast.expr, scope: Scope, project: Project) -> bool:
    if isinstance(target, ast.Attribute):
        return target.attr == FIELD and project.name_of(target.value, scope) == "tf.ConfigProto()"
    if isinstance(target, ast.Subscript) and last_name(target.value) == "environ":
        return project.name_of(target.value, scope) == "os.environ" and _is_variable(target.slice, scope, project)
    return False


def _is_variable(expr: ast.expr, scope: Scope, project: Project) -> bool:
    value = project.resolve(expr, scope)
    return value is not None and value.constant == VARIABLE


def _is_one(expr: ast.expr, scope: Scope, project: Project) -> bool:
    value = project.resolve(expr, scope)
    if value is not None and value.constant == "1":
        return True
    return number(expr, scope, project) == 1


def diagnose(recording: Recording) -> Iterator[Finding]:
    cpus = measured.cpus(recording)
    compute = measured.computing(recording)
    for event in recording.of_kind("threads"):
        single = bool(event.examples) and event.examples[-1].get("intra") == 1
        if single and cpus > 1 and compute > MUCH * recording.seconds:
            yield measured.told(
                RULE, recording, event.place, compute * (1 - 1 / cpus),
                f"{words.duration(compute)} were spent computing on one of {cpus} cores {{cost}}. Leave the switch "
                "out; for repeatable results use `tf.config.experimental.enable_op_determinism()`.",
                None,
                [Evidence("computing", compute, "s"), Evidence("cores", cpus)],
                confidence="medium",
            )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.switches import take_out

    return take_out(finding, project, FIELD).fix("let each op use all cores", "verify")
