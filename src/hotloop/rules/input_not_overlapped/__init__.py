"""Loading and training take turns, where they could run at the same time.

**Why**

While a step computes, the next batch can be read and decoded. TensorFlow does that of its own accord for tf.data (it
adds a prefetch at the end), unless options switch it off; it cannot for files that Python reads between two steps of
the training loop. Then each step waits for its input: twice the time where both take equally long.

**Instead**

Read files in a pipeline: `tf.data.Dataset.from_tensor_slices(paths).map(load, num_parallel_calls=tf.data.AUTOTUNE)
.batch(32)`, and loop over that. Drop the options that switch optimisation off, or end the pipeline with
`.prefetch(tf.data.AUTOTUNE)`; call `enable_debug_mode` only to debug.

**Not when**

Loading takes no time beside the step, or what is loaded next depends on the step's result. The fix takes the switches
out, and is tried before it is written; a loop that reads files itself has to be rewritten by hand, because a pipeline
must be told types and shapes that only you know.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hotloop import words
from hotloop.model import Confidence, Evidence, Finding, Fix, Recording
from hotloop.rules import Rule, feeding, measured
from hotloop.rules.comments import is_chosen
from hotloop.rules.loops import InLoop, each, in_loop, outside_loops
from hotloop.source.flow import varies
from hotloop.source.module import Call, Context, Loop, Module, place_of
from hotloop.source.pipelines import pipelines
from hotloop.source.project import loops_of

if TYPE_CHECKING:
    from hotloop.source import Project

RULE = Rule(__name__)
PARALLEL = True

# Measured on 2.21: each of them takes the prefetch away, and the time of input and step add up.
SWITCHES = {"inject_prefetch", "apply_default_optimizations"}
ASKED = re.compile(r"imread|load|open|fromfile|genfromtxt|dcmread|read|enable_debug_mode")  # before names are resolved
LOADS = re.compile(
    r"^(cv2|imageio(\.v[23])?|skimage\.io|matplotlib\.(image|pyplot)|scipy\.misc|tifffile|plt|mpimg)\.imread$"
    r"|^PIL\.Image\.open$|^keras\.(utils|preprocessing\.image)\.load_img$|^np\.(load|loadtxt|genfromtxt|fromfile)$"
    r"|^(librosa\.load|soundfile\.read|nibabel\.load|pydicom\.dcmread|scipy\.io\.loadmat|scipy\.io\.wavfile\.read)$"
)
COMPILED = re.compile(r"train|step|update|learn")  # what a compiled training step is called
STEPS = {"train_on_batch", "train_step", "training_step"}


def check(project: Project) -> Iterator[Finding]:
    for module in project.modules.values():
        yield from _switched_off(module, project)
        for call in module.calls_of(*filter(ASKED.search, module.called)):
            name = project.name_at_sight(call.node.func, call.where.scope)
            if name == "tf.data.experimental.enable_debug_mode" and not is_chosen(call.where):
                message = (
                    "`enable_debug_mode` makes every tf.data stage run in Python, one element at a time, and nothing "
                    "ahead. Take it out when you are done debugging."
                )
                yield RULE.finding(call.place, message, **outside_loops(call.where, "high"))
            elif LOADS.search(name):
                yield from _between_steps(call, name, project)


# -- options ----------------------------------------------------------------------------------------------------------


def _switched_off(module: Module, project: Project) -> Iterator[Finding]:
    if b"autotune" not in module.data and b"experimental_optimization" not in module.data:
        return
    for node, where in module.contexts.items():
        if not isinstance(node, ast.Assign) or not _is_false(node.value):
            continue
        for target in node.targets:
            switch = _switch(target, where, project)
            if switch is not None and not _prefetches(module, project) and not _is_chosen(where):
                message = (
                    f"`{switch} = False` takes away the prefetch that TensorFlow adds, so that loading and training "
                    "take turns. Drop it, or end the pipeline with `.prefetch(tf.data.AUTOTUNE)`."
                )
                place = place_of(module, node)
                yield RULE.finding(place, message, **outside_loops(where, "medium" if where.tests else "high"))


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _switch(target: ast.expr, where: Context, project: Project) -> str | None:
    """`options.autotune.enabled`, `options.experimental_optimization.inject_prefetch`, of tf.data's own options."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Attribute):
        return None
    tuned = target.attr == "enabled" and target.value.attr == "autotune"
    if not tuned and not (target.attr in SWITCHES and target.value.attr == "experimental_optimization"):
        return None
    owner = project.name_of(target.value.value, where.scope)
    return f"{target.value.attr}.{target.attr}" if owner in ("tf.data.Options()", "") else None


def _prefetches(module: Module, project: Project) -> bool:
    """Whether the pipelines with options here say `prefetch` themselves."""
    chains = pipelines(module, project)
    with_options = [p for p in chains if "with_options" in p.names]
    return any("prefetch" in p.names for p in with_options or chains)


def _is_chosen(where: Context) -> bool:
    """Whether the `if` it stands in prefetches otherwise: whoever wrote that knew what is given up here."""
    choices = (n for n in where.scope.module.contexts if isinstance(n, ast.If) and n.test in where.tests)
    inner = (node for choice in choices for node in ast.walk(choice))
    return any(isinstance(node, ast.Attribute) and node.attr == "prefetch" for node in inner)


# -- Python in the training loop --------------------------------------------------------------------------------------


def _between_steps(call: Call, name: str, project: Project) -> Iterator[Finding]:
    for loop, chain in _training_loops(call, project):
        data = call.node.args[0] if call.node.args else None
        once = not chain or call.where.loop is None
        if data is not None and once and not varies(data, call.where.scope, loop, chain, project, calls_vary=True):
            continue
        found = in_loop(project, call.where)
        confidence: Confidence = "low" if found is not None and found.confidence == "low" else "medium"
        told = InLoop(loop, chain, "hot", confidence)
        message = (
            f"`{name}` loads files {each(told, call.place)}, and the training step there waits for it. Load them in a "
            "tf.data pipeline, which works ahead and on all cores."
        )
        fields = {**outside_loops(call.where, confidence), **{k: told.where[k] for k in ("loop", "chain")}}
        yield RULE.finding(call.place, message, **fields)
        return


def _training_loops(call: Call, project: Project) -> Iterator[tuple[Loop, tuple[Call, ...]]]:
    """Loops in which both the loading and a training step run; those over a generator that loads come first.

    One that loads everything before it yields in a loop of its own loads once.
    """
    if call.where.scope.yields and call.where.loop is not None:
        for made in project.callers(call.where.scope):
            yield from ((loop, (made,)) for loop in _over(made) if _trains(loop, project))
    for running in project.running(call.where):
        for at, (loop, chain) in enumerate(zip(running.loops, running.chains, strict=True)):
            again = (made for made in chain if any(made not in inner for inner in running.chains[:at]))
            yield from ((over, chain) for made in again for over in _over(made) if _trains(over, project))
            if _trains(loop, project):
                yield loop, chain


def _over(made: Call) -> Iterator[Loop]:
    """The loops over what a call yields: `for x, y in batches(paths):`, or those that ask it for the `next`."""
    module, statement = made.where.scope.module, made.where.statement
    for loop in module.loops:
        if loop.iterable is not None and any(node is made.node for node in ast.walk(loop.iterable)):
            yield loop
    if isinstance(statement, ast.Assign) and statement.value is made.node:
        kept = {ast.unparse(target) for target in statement.targets}
        for call in module.calls_of("next"):
            if call.node.args and ast.unparse(call.node.args[0]) in kept and _is_in_sight(call, made):
                yield from loops_of(call.where)


def _is_in_sight(call: Call, made: Call) -> bool:
    """Whether both speak of the same name: in one function, or of an attribute."""
    return isinstance(call.node.args[0], ast.Attribute) or call.where.scope is made.where.scope


def _trains(loop: Loop, project: Project) -> bool:
    """Whether the loop's own body makes a training step."""
    for call in loop.where.scope.module.calls:
        if loop not in loops_of(call.where):
            continue
        last = call.last
        if last in STEPS or (last == "run" and _runs_training(call)):
            return True
        value = project.resolve(call.node.func, call.where.scope) if COMPILED.search(last) else None
        if value is not None and value.kind == "traced":
            return True
    return False


def _runs_training(call: Call) -> bool:
    """`sess.run(train_op, feed_dict={...})`."""
    fed = any(k.arg == "feed_dict" for k in call.node.keywords) or len(call.node.args) > 1
    return (
        fed and bool(call.node.args) and bool(re.search(r"train|optimi[sz]er|\bstep", ast.unparse(call.node.args[0])))
    )


def diagnose(recording: Recording) -> Iterator[Finding]:
    """Of options alone: nothing shows that Python read a file between two steps."""
    switches = [
        event for event in recording.of_kind("option") if event.subject in (*SWITCHES, "enabled") and event.stack
    ]
    if not switches or any(event.subject == "Prefetch" for event in recording.of_kind("dataset")):
        return
    for loop, waited in feeding.waits(recording):
        tracing = sum(s.seconds for s in measured.within(recording, loop) if s.phase == "trace")
        asleep = feeding.slept(recording, loop)
        saved = min(waited, loop.seconds - asleep - waited - tracing)  # the shorter of the two hides behind the other
        if saved < feeding.WAITS * (loop.seconds - asleep):
            continue
        yield measured.told(
            RULE, recording, switches[-1].place, saved,
            f"The loop on line {loop.place.line} waited {words.duration(waited)} for its data, and computed nothing "
            f"meanwhile {{cost}}: `{switches[-1].subject} = False` takes away the prefetch that TensorFlow adds. Drop "
            "it, or end the pipeline with `.prefetch(tf.data.AUTOTUNE)`.",
            loop,
            [Evidence("loop waited", waited, "s")],
        )  # fmt: skip


def fix(finding: Finding, project: Project) -> Fix:
    from hotloop.rules.switches import setting_at, take_out
    from hotloop.source.rewrite import Refused

    node = setting_at(finding, project)
    if isinstance(node, ast.Call) and not ast.unparse(node.func).endswith("enable_debug_mode"):
        raise Refused("what a pipeline should load, of which type and shape, cannot be seen: write it by hand", node)
    return take_out(finding, project).fix("let TensorFlow load ahead", "verify")
