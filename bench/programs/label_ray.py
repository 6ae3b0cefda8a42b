"""Ray Data with an actor written by hand: tasks decode and scale, one actor holds the network."""

import sys
import time

import numpy as np
import ray
from label_turns import row, take_turns

MODEL, SIZE, BATCH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False


def load(batch):
    import tensorflow as tf

    images = []
    for path in batch["path"]:
        pixels = tf.io.decode_jpeg(tf.io.read_file(str(path)), channels=3)
        resized = tf.compat.v1.image.resize_bilinear(tf.expand_dims(pixels, 0), [SIZE, SIZE])[0]
        images.append((resized / 255.0).numpy())
    return {"path": batch["path"], "image": np.stack(images)}


class Labeller:
    def __init__(self):
        import tensorflow as tf

        graph_def = tf.compat.v1.GraphDef()
        with open(MODEL, "rb") as f:
            graph_def.ParseFromString(f.read())
        wrapped = tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(graph_def, name=""), [])
        self.network = wrapped.prune("input:0", "Identity:0")

    def __call__(self, batch):
        import tensorflow as tf

        return {"path": batch["path"], "scores": self.network(tf.constant(batch["image"])).numpy()}


def label(paths, output):
    """Counted from the first batch on: Ray starts its workers anew for each turn."""
    data = ray.data.from_items([{"path": path} for path in paths], override_num_blocks=max(1, len(paths) // BATCH))
    data = data.map_batches(load, batch_size=BATCH)
    data = data.map_batches(Labeller, batch_size=BATCH, compute=ray.data.ActorPoolStrategy(size=1))
    first = counted = 0
    with open(output, "w") as f:
        for batch in data.iter_batches(batch_size=BATCH):
            for path, scores in zip(batch["path"], batch["scores"]):
                f.write(row(str(path), scores) + "\n")
            counted += len(batch["path"]) if first else 0
            first = first or time.perf_counter()
    return {"images": counted, "seconds": time.perf_counter() - first}


take_turns(label)
