"""How much an element of a pipeline weighs, as far as source shows the shape of its images."""

from __future__ import annotations

import ast

from hotloop.source.heat import number
from hotloop.source.module import Call, Scope
from hotloop.source.project import Project
from hotloop.source.stages import Pipeline, Stage
from hotloop.source.work import calls_in

CHANNELS, FLOAT = 3, 4
RESIZES = {"tf.image.resize", "tf.image.resize_with_pad", "tf.image.resize_with_crop_or_pad", "tf.image.random_crop",
           "keras.ops.image.resize", "tf.image.resize_images", "tf.ensure_shape", "keras.layers.Resizing",
           "tf.image.resize_image_with_crop_or_pad", "tf.image.resize_bilinear", "cv2.resize"}  # fmt: skip
KEEPS = {"take", "skip", "shard", "cache", "prefetch", "repeat", "with_options", "filter", "shuffle", "ignore_errors"}


def element_bytes(pipeline: Pipeline, at: Stage, project: Project) -> float | None:
    """What one element weighs at that stage, where shapes are visible; None when they are not."""
    each = source_bytes(pipeline, project)
    for stage in pipeline.before(at):
        if stage.name == "map":
            changed = mapped_bytes(stage.function, project) if stage.function is not None else None
            each = changed if changed is not None else each
        elif stage.name in ("batch", "padded_batch"):
            size = stage.argument(0, "batch_size")
            count = number(size, stage.call.where.scope, project) if size is not None else None
            each = each * count if each is not None and count is not None else None
        elif stage.name not in KEEPS:
            each = None
    return each


def source_bytes(pipeline: Pipeline, project: Project) -> float | None:
    if pipeline.kind != "image_dataset_from_directory" or pipeline.origin is None:
        return None
    origin = pipeline.origin
    size = origin.argument(99, "image_size")
    pixels = _area(size, origin, project) if size is not None else 256.0 * 256.0
    batch = origin.argument(99, "batch_size")
    if isinstance(batch, ast.Constant) and batch.value is None:
        count: float | None = 1.0
    else:
        count = number(batch, origin.where.scope, project) if batch is not None else 32.0
    return None if pixels is None or count is None else pixels * CHANNELS * FLOAT * count


def mapped_bytes(function: Scope, project: Project) -> float | None:
    """The weight of the largest image that a function resizes to."""
    found: list[float] = []
    for scope in _reached(function, project):
        for call in calls_in(scope):
            name = project.name_of(call.node.func, call.where.scope)
            if name in RESIZES:
                size = call.argument(1, "size") or call.argument(99, "dsize")
                pixels = _area(size, call, project) if size is not None else None
                if pixels is not None:
                    found.append(pixels * CHANNELS * FLOAT)
    return max(found, default=None)


def _reached(function: Scope, project: Project) -> list[Scope]:
    """The function and those of the project that it calls."""
    found, queue = [function], [function]
    while queue and len(found) < 12:
        for call in calls_in(queue.pop()):
            value = project.resolve(call.node.func, call.where.scope)
            if value is not None and value.kind == "function" and value.scope is not None and value.scope not in found:
                found.append(value.scope)
                queue.append(value.scope)
    return found


def _area(size: ast.expr, call: Call, project: Project) -> float | None:
    """Height times width of `[h, w]`, `(h, w, 3)`, or a name that holds one."""
    if isinstance(size, ast.Name):
        found = project.literal(size.id, call.where.scope)
        if found is None:
            return None
        size, scope = found
    else:
        scope = call.where.scope
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult) and isinstance(size.left, ast.List | ast.Tuple):
        side = number(size.left.elts[0], scope, project) if size.left.elts else None
        return side * side if side is not None else None
    if not isinstance(size, ast.List | ast.Tuple) or len(size.elts) < 2:
        return None
    height, width = (number(part, scope, project) for part in size.elts[:2])
    return height * width if height is not None and width is not None else None
