"""A model or a heavy computation runs in double precision, which nothing in the program asks for.

**Why**

Double precision moves twice the bytes and does half the arithmetic per instruction: matrix products, convolutions and
recurrent layers take two to three times as long, and far more on most GPUs. It comes in by accident: NumPy makes
float64 unless told otherwise, TensorFlow keeps the type of what it is given, and `set_floatx("float64")` is a common
way to silence the complaint about mixed types that follows.

**Instead**

Convert the data once, `x = x.astype("float32")`, `tf.constant(x, tf.float32)` or `rng.standard_normal(shape,
dtype=np.float32)`, and leave Keras at float32.

**Not when**

The result needs the digits: ill-conditioned linear algebra, second derivatives, differential equations, physics. Then
double precision is right; say so on the line. Handing float64 arrays to a float32 Keras model costs next to nothing
(Keras converts them), and neither do scalars or small matrices: those are not reported. The fix is shown and never
applied: whether the digits are needed, only you can say.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, measured
from hotloop.rules.calls import named, spelled_like
from hotloop.rules.comments import is_chosen, said_nearby
from hotloop.rules.double_precision.arrays import MAKERS, is_asked_for, multiplied
from hotloop.rules.loops import outside_loops
from hotloop.source.module import Call, Module, Scope

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
MUCH = 0.1  # of the run that TensorFlow computed: with less there is nothing to gain
SAVED = 0.5  # at least: products and convolutions take two to three times as long

SETTERS = {
    "keras.backend.set_floatx", "keras.config.set_floatx", "keras.config.set_dtype_policy",
    "keras.mixed_precision.set_global_policy", "keras.mixed_precision.set_dtype_policy",
    "keras.mixed_precision.experimental.set_policy",
}  # fmt: skip
HEAVY_LAYER = r"(\w*Conv\w+|Dense|EinsumDense|\w*LSTM|\w*GRU|SimpleRNN|MultiHeadAttention|\w*Attention)$"
HEAVY_LAYERS = re.compile(r"keras\.layers\." + HEAVY_LAYER)
CONVOLUTIONS = re.compile(
    rb"\b(\w*Conv[123]D\w*|LSTM|GRU|MultiHeadAttention|ResNet\w*|VGG\w*|MobileNet\w*|EfficientNet\w*)\b"
)
SPELLED = {name.rpartition(".")[2] for name in (*SETTERS, *MAKERS)}

# Words of fields and libraries that need the digits, and of people who say so.
NEEDS_DIGITS = re.compile(
    rb"(?i)scipy\.(optimize|integrate|linalg|sparse)|from scipy import (optimize|integrate|linalg|sparse)"
    rb"|tensorflow_probability|gpflow|deepxde|sciann|quantum|qubit|hamiltonian|eigen|eigvals|\beigh?\b"
    rb"|\bpinns?\b|physics[-_ ]informed"
    rb"|l[-_]?bfgs|cholesky|complex128|hessian|jacobian|lorenz|\b(o|p)des?\b|odeint|differential[-_ ]equation"
    rb"|navier|molecul|orthonormal|gaussian[-_ ]process"
)
SAYS_SO = re.compile(
    rb"(?i)(?<!double-)precis|digits|stabil|accura|underflow|overflow|\bnan\b|need|requir|must|important"
)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for call in spelled_like(module, project, _may_be_double):
            value = project.at_sight(call.node.func, call.where.scope)
            name = value.name if value else ""
            found: tuple[str, Confidence] | None = None
            if name in SETTERS:
                found = _setting(call, module, project)
            elif HEAVY_LAYERS.match(name):
                found = _layer(call, name, project)
            elif name in MAKERS:
                found = multiplied(call, name, project)
            if found:
                message, confidence = found
                sure: Confidence = "low" if _is_excused(module, call.place.line) else confidence
                yield RULE.finding(call.place, message, **outside_loops(call.where, sure))


def _is_excused(module: Module, line: int) -> bool:
    return said_nearby(module, line, SAYS_SO) or NEEDS_DIGITS.search(module.data) is not None


def meant(finding: Finding, project: Project) -> bool:
    """The words that excuse it in the source excuse it in a run; so does an array that was asked to be of doubles."""
    module, line = project.modules[finding.place.path], finding.place.line
    if _is_excused(module, line):
        return True
    sets_all = any(call.place.line == line for call, _ in named(module, project, SETTERS))
    return not sets_all and is_asked_for(module, line, project)


@functools.cache
def _may_be_double(last: str) -> bool:
    return last in SPELLED or re.match(HEAVY_LAYER, last) is not None


def _setting(call: Call, module: Module, project: Project) -> tuple[str, Confidence] | None:
    """`set_floatx("float64")`: every layer from here on."""
    value = call.argument(0, "value") or call.argument(0, "policy") or call.argument(0, "dtype_policy")
    if value is None or not _is_double(value, call.where.scope, project) or _undone(call, project):
        return None
    what = ast.unparse(call.node)
    message = (
        f"`{what}` makes all of Keras compute in double precision, at half the speed or less. "
        "Leave it at float32 and convert the data once with `astype('float32')`."
    )
    sure: Confidence = "high" if CONVOLUTIONS.search(module.data) else "medium"
    return message, "low" if is_chosen(call.where) else sure


def _undone(call: Call, project: Project) -> bool:
    """Whether the file sets another type afterwards."""
    for other, _ in named(call.where.scope.module, project, SETTERS):
        if other.node.lineno > call.node.lineno:
            value = other.argument(0, "value")
            known = project.resolve(value, other.where.scope) if value is not None else None
            if known and known.constant in ("float32", "float16", "mixed_float16"):
                return True
    return False


def _layer(call: Call, name: str, project: Project) -> tuple[str, Confidence] | None:
    kind = next((k.value for k in call.node.keywords if k.arg == "dtype"), None)
    if kind is None or not _is_double(kind, call.where.scope, project):
        return None
    layer = name.rpartition(".")[2]
    return (
        f"This `{layer}` layer computes in double precision, at half the speed or less. Leave out its `dtype`: "
        "Keras converts float64 input by itself.",
        "medium",
    )


def _is_double(expr: ast.expr, scope: Scope, project: Project) -> bool:
    value = project.resolve(expr, scope)
    if value is None:
        return False
    return value.constant in ("float64", "double") or value.name in (
        "tf.float64", "tf.double", "np.float64", "np.double", "tf.dtypes.float64", "float", "np.float_",
    )  # fmt: skip


def diagnose(recording: Recording) -> Iterator[Finding]:
    compute = measured.computing(recording)
    for event in recording.of_kind("floatx"):
        if event.subject == "float64" and compute > MUCH * recording.seconds:
            yield measured.told(
                RULE, recording, event.place, compute * SAVED,
                f"Keras was set to double precision, and {words.duration(compute)} were spent computing: float32 takes "
                "half of that or less {cost}. Leave Keras at float32 and convert the data once.",
                None,
                [Evidence("computing", compute, "s")],
                confidence="medium",
            )  # fmt: skip
    if not any(recording.of_kind("floatx")):
        yield from _come_in(recording)


def _come_in(recording: Recording) -> Iterator[Finding]:
    """Doubles of NumPy's that become tensors as they are; where equations are solved, the digits are needed."""
    arrays = list(recording.of_kind("doubles.array"))
    traces = [event for event in recording.events if event.kind.startswith("trace.")]
    functions = {event.subject for event in traces if "doubles.multiplied" in event.totals}
    if not arrays or any(recording.of_kind("doubles.solved")) or any("doubles.solved" in e.totals for e in traces):
        return
    calls = [event for event in recording.of_kind("call") if event.subject in functions]
    compiled = sum(
        max(0.0, call.seconds - measured.tracing(recording, call, first_run=True) - call.count * measured.CALL)
        for call in calls
    )
    spent = sum(event.seconds for event in recording.of_kind("doubles.multiplied")) + compiled
    if spent <= MUCH * recording.seconds:
        return
    most = max(arrays, key=lambda event: event.totals.get("bytes", 0.0))
    yield measured.told(
        RULE, recording, most.place, spent * SAVED,
        f"NumPy's doubles become a tensor here, and {words.duration(spent)} were spent multiplying doubles: float32 "
        "takes half of that or less {cost}. Convert the data once: `x.astype(\"float32\")`.",
        measured.loop_of(recording, most),
        [Evidence("multiplying", spent, "s")],
        confidence="medium",
    )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    """Shown only: whether the digits are needed is not for a program to say."""
    from hotloop.rules.moving import call_at, tensorflow_name
    from hotloop.rules.switches import take_out
    from hotloop.source.splice import Splice

    call = call_at(project.modules[finding.place.path], finding.place)
    name = project.name_of(call.node.func, call.where.scope)
    if name not in MAKERS:
        title = "compute in float32" if name in SETTERS else "let the layer compute in float32"
        return take_out(finding, project, "dtype").fix(title, "advice")
    splice = Splice(call.where.scope.module)
    splice.add_argument(call.node, f"dtype={tensorflow_name(call.where.scope)}.float32")
    return splice.fix("make the tensor float32", "advice")
