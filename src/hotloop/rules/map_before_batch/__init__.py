"""A cheap `map` runs on each element just before `batch`, where it could run once a batch.

**Why**

Calling a `map` function costs some tens of microseconds, however little it computes. A cast or a division of one
element is far cheaper than the call; on a batch the same call does the work of all its elements at once, which is
30 times faster.

**Instead**

Put `batch` before the `map`: `ds.batch(32).map(normalise)`. Arithmetic, casts, `one_hot` and the like work on a batch
as they are; mind an `axis` that counts from the front.

**Not when**

The function decodes, resizes or crops, so that elements have one shape only after it; or it looks at one element at a
time (a condition, a random choice per element). Only the last `map` before `batch` can move. The fix follows each part
of an element through the function and moves the `map` only where no two shapes meet, as `image * weight` would; it is
tried before it is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, inputs, measured
from hotloop.rules.feeding import feeds, line_of, untold
from hotloop.rules.loops import outside_loops
from hotloop.source.heat import number
from hotloop.source.module import Scope
from hotloop.source.pipelines import pipelines
from hotloop.source.stages import Pipeline, Stage

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
blind = untold

SMALL = 8  # a batch: the call is shared by too few
BETWEEN = {"shuffle", "repeat", "prefetch", "with_options"}  # may stand between the two and do not care
COMPUTES = re.compile(
    r"^(tf|keras\.ops)\.(math\.)?(cast|divide|multiply|add|subtract|to_float|to_int32|to_int64|one_hot|clip_by_value|abs"
    r"|sqrt|square|rsqrt|exp|log|log1p|pow|minimum|maximum|sigmoid|tanh|floor|round|sign|greater|less|equal|not_equal"
    r"|greater_equal|less_equal|where|zeros_like|ones_like|floordiv|mod|truediv|divide_no_nan|floormod|negative"
    r"|bitcast|identity|stop_gradient|saturate_cast|logical_and|logical_or|logical_not)$"
    r"|^(tf|keras\.ops)\.(math\.)?(sin|cos|erf|is_nan|expand_dims)$|^tf\.strings\.(lower|upper|strip|join|regex_replace"
    r"|to_number|to_hash_bucket\w*)$|^tf\.lookup\..*\(\)\.lookup$"
    r"|^keras\.layers\.(Rescaling|Normalization|StringLookup|IntegerLookup|TextVectorization|Discretization|Hashing)\(\)$"
    r"|^tf\.image\.convert_image_dtype$|^keras\.utils\.normalize$|^tf\.(io\.)?decode_raw$"
    r"|^keras\.applications\.\w+\.preprocess_input$"
)
HARMLESS = re.compile(
    r"^tf\.(constant|convert_to_tensor|shape)$|^(float|int|len|dict|tuple|list)$|^np\.(float|int|array)"
)


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        for pipeline in pipelines(module, project):
            for stage, batch in _pairs(pipeline):
                if stage.call.where.scope.module is module or batch.call.where.scope.module is module:
                    yield from _judged(pipeline, stage, batch, project)


def _pairs(pipeline: Pipeline) -> Iterator[tuple[Stage, Stage]]:
    """Each `map` with the `batch` that it stands before; what is already a batch is none's business."""
    last: Stage | None = None
    for stage in pipeline.stages:
        if stage.name == "batch":
            if last is not None and not stage.fused:
                yield last, stage
            return
        if stage.name == "map":
            last = stage
        elif stage.name not in BETWEEN:
            last = None


def _judged(pipeline: Pipeline, stage: Stage, batch: Stage, project: Project) -> Iterator[Finding]:
    if stage.function is None or pipeline.kind.endswith(("dataset_from_directory", "make_csv_dataset")):
        return
    if stage.optional or not _vectorises(stage.function, project):
        return
    size = _size(batch, project)
    if size is not None and size < SMALL:
        return
    others = [s for s in pipeline.before(stage) if s.name not in BETWEEN | {"cache", "take", "skip"}]
    sure = pipeline.in_memory and not others and size is not None
    cached = any(s.name == "cache" for s in pipeline.after(batch))  # then it is paid once, in the first epoch
    confidence: Confidence = "low" if cached else "high" if sure else "medium"
    name = stage.function.name
    shown = "a lambda" if name == "<lambda>" else f"`{name}`"
    many = f"the {size:.0f} elements of a batch" if size is not None else "the elements of a batch"
    message = (
        f"`map` calls {shown} on each element, and the call costs more than this little arithmetic. "
        f"Put `batch` before it, so that one call serves {many}."
    )
    yield RULE.finding(stage.place, message, **outside_loops(stage.call.where, confidence))


def _size(batch: Stage, project: Project) -> float | None:
    given = batch.argument(0, "batch_size")
    return number(given, batch.call.where.scope, project) if given is not None else None


def _vectorises(function: Scope, project: Project) -> bool:
    """Whether a function is arithmetic that works on a batch as on an element, and nothing else."""
    work = inputs.of(function, project)
    if work is None or work.python:
        return False
    if not all(COMPUTES.search(name) or HARMLESS.search(name) for name in work.calls):
        return False
    if not (any(COMPUTES.search(name) for name in work.calls) or _arithmetic(function)):
        return False
    return not any(_is_per_element(node) for node in ast.walk(function.node))


def _arithmetic(function: Scope) -> bool:
    return any(isinstance(node, ast.BinOp) for node in ast.walk(function.node))


def _is_per_element(node: ast.AST) -> bool:
    """Conditions, loops, positions and shapes: what means something else of a batch."""
    if isinstance(node, ast.If | ast.IfExp | ast.For | ast.While | ast.ListComp | ast.MatMult):
        return True
    if isinstance(node, ast.Subscript):
        return not _is_key(node.slice)
    if isinstance(node, ast.Call):
        given = [k.value for k in node.keywords if k.arg in ("axis", "axes")]
        given += node.args[1:2] if ast.unparse(node.func).endswith("expand_dims") else []
        return any(not isinstance(axis, ast.UnaryOp) for axis in given)
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "get_shape")


def _is_key(index: ast.expr) -> bool:
    """`x["image"]` and `x[..., None]` are the same of an element and of a batch; `x[0]` is not."""
    if isinstance(index, ast.Tuple) and index.elts:
        return isinstance(index.elts[0], ast.Constant) and index.elts[0].value is ...
    return isinstance(index, ast.Name) or (isinstance(index, ast.Constant) and isinstance(index.value, str))


def diagnose(recording: Recording) -> Iterator[Finding]:
    for feed in feeds(recording):
        if feed.cause != "small":
            continue
        elements = feed.nodes[-1].elements
        spent = feed.blocked * feed.share(feed.mapped)
        yield measured.told(
            RULE, recording, line_of(feed.stage("Map", "ParallelMap"), feed.place), spent * (1 - feed.read / elements),
            f"The loop on line {feed.loop.place.line} waited {words.duration(feed.blocked)} {{cost}} for a `map` that "
            f"was called on {words.count(round(elements))} elements one by one, {words.duration(feed.each)} each. "
            "Batch first, then map whole batches.",
            feed.loop,
            [Evidence("elements", round(elements)), Evidence("batches", feed.read),
             Evidence("loop waited", feed.blocked, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.chains import permute, stage_at
    from hotloop.rules.map_before_batch.batchable import require_batchable
    from hotloop.source.rewrite import Refused
    from hotloop.source.splice import Splice

    pipeline, stage = stage_at(finding, "map", project)
    batch = next((later for first, later in _pairs(pipeline) if first is stage), None)
    if stage.function is None or batch is None:
        raise Refused("its function, or the `batch` after it, cannot be seen", stage.call.node)
    if batch.call.where.scope is not stage.call.where.scope:
        raise Refused("`map` and `batch` do not stand in the same function", batch.call.node)
    require_batchable(stage.function, project)
    first = pipeline.stages.index(stage)
    stages = pipeline.stages[first : pipeline.stages.index(batch) + 1]
    splice = Splice(stage.call.where.scope.module)
    permute(splice, stages, [*stages[1:], stage])
    return splice.fix("map whole batches", "verify")
