"""`hotloop label` from the loaded model on: the job as the command runs it, rows to a file."""

import sys
import time

import psutil
from hotloop.label.job import label as label_all
from hotloop.label.job import prepared
from hotloop.label.options import Options
from hotloop.label.rows import to_json
from label_turns import cpu, take_turns

MODEL, IMAGES, PARTS = sys.argv[1], int(sys.argv[3]), 100
predictor, rows = prepared(Options(MODEL), IMAGES)
process = psutil.Process()


def label(paths, output):
    marks = []

    def step(done, total):
        """A hundred times on the way: how far, when, at what cost, with how much memory."""
        if done * PARTS >= (len(marks) + 1) * total:
            marks.append([done, time.perf_counter() - started, cpu(), process.memory_info().rss])

    with open(output, "w") as f:

        def sink(made):
            f.writelines(to_json(row) + "\n" for row in made)

        started = time.perf_counter()
        label_all(predictor, rows, paths, 0, sink, False, step, time.perf_counter)
    return {"marks": marks, "batch": predictor.batch}


take_turns(label)
