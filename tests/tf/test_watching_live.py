"""Watching from inside a process that goes on: what happened in the block is told, and nothing of us stays behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SERVICE = """\
import json, sys
import keras
import numpy as np
import tensorflow as tf
import hotloop

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
images = np.ones((12, 8), "float32")

def attributes():
    from tensorflow.python.client import session
    from tensorflow.python.eager import context
    from tensorflow.python.pywrap_tfe import TFE_Py_FastPathExecute
    return [keras.Model.predict, keras.Model.fit, keras.layers.Layer.__init__, session.BaseSession.run,
            context.Context.call_function, TFE_Py_FastPathExecute, tf.GradientTape.gradient, list(sys.meta_path)]

def serve():
    found = []
    for image in images:
        found.append(model.predict(image[None], verbose=0))
    return found

before = attributes()
with hotloop.watch() as w:
    serve()
    mid = len(w.recording.events)
    total = 0.0
    for row in tf.data.Dataset.range(7):
        total += float(row)
    try:
        with hotloop.watch():
            pass
    except Exception as error:
        print("refused", error)
serve()
again = attributes()
w.report("json", "report.json")
w.report()
with hotloop.watch() as second:
    serve()
print([is_same is was for is_same, was in zip(before[:-1], again)], before[-1] == again[-1], mid > 0)
print(second.recording.meta["unseen"], sum(e.count for e in second.recording.of_kind("predict")))
try:
    with hotloop.watch() as failing:
        1 / 0
except ZeroDivisionError:
    print(failing.recording.exit)
"""


def test_a_service_is_watched_for_a_while_and_then_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
    done = subprocess.run([sys.executable, "service.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    found = [(finding["rule"], finding["place"]["line"], finding["loop"]["line"]) for finding in report["findings"]]
    assert ("predict-in-loop", 20, 19) in found
    loops = {(loop["run"]["place"]["line"], loop["run"]["kind"]): loop["run"]["steps"] for loop in report["loops"]}
    assert loops[19, "for"] == 12
    assert any(note.startswith("Watched from inside") for note in report["notes"])
    assert "predict-in-loop" in done.stdout
    assert "refused this process is being watched already" in done.stdout
    assert "[True, True, True, True, True, True, True] True True" in done.stdout
    assert done.stdout.splitlines()[-2].endswith("] 12")
    assert done.stdout.splitlines()[-1] == "Exit(code=0, signal=None, exception='ZeroDivisionError: division by zero')"
