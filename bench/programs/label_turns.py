"""What every labelling program of the bench shares: it waits for its turn, labels the files it is given, says how long."""

import json
import resource
import sys
import time

TOP = 5


def row(path, scores):
    """One line of results: the five best."""
    best = scores.argsort()[-TOP:][::-1]
    return json.dumps({"path": path, "labels": [f"class {index}" for index in best], "scores": [float(scores[index]) for index in best]})


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def take_turns(label):
    """Answers each turn on stdin, {"paths": [...], "output": "..."}, with its images and seconds on stdout.

    `label(paths, output)` may return some of the answer itself, where its start is not to be counted."""
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        turn = json.loads(line)
        started, used = time.perf_counter(), cpu()
        own = label(turn["paths"], turn["output"]) or {}
        answer = {"images": len(turn["paths"]), "seconds": time.perf_counter() - started, "cpu": cpu() - used}
        print(json.dumps(answer | own), file=answers, flush=True)
