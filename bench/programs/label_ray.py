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
        self.network(tf.zeros([1, SIZE, SIZE, 3]))
        self.ready = time.time()

    def __call__(self, batch):
        import tensorflow as tf

        scores = self.network(tf.constant(batch["image"])).numpy()
        return {"path": batch["path"], "scores": scores, "ready": np.full(len(scores), self.ready)}


def label(paths, output):
    """Counted from when the actor is ready: Ray starts its workers anew for each turn. What was decoded by then is free."""
    data = ray.data.from_items([{"path": path} for path in paths], override_num_blocks=max(1, len(paths) // BATCH))
    data = data.map_batches(load, batch_size=BATCH, num_cpus=0.5)  # as many as the actor's, and Ray would make one of both
    data = data.map_batches(Labeller, batch_size=BATCH, compute=ray.data.ActorPoolStrategy(size=1))
    with open(output, "w") as f:
        for batch in data.iter_batches(batch_size=BATCH):
            for path, scores in zip(batch["path"], batch["scores"]):
                f.write(row(str(path), scores) + "\n")
    return {"seconds": time.time() - batch["ready"][0]}


take_turns(label)
