#!/usr/bin/env python3
"""Times float models and what static_affine makes of them, side by side, and writes the ratios into
docs/schemes/static_affine.md.

    .venv/bin/python scripts/int8_speed_table.py                     the example models
    .venv/bin/python scripts/int8_speed_table.py --models DIR --inputs DIR --table public

Runs of both models take turns; the ratio is of the fastest of each. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import time

import openvino

import accuracy_table as tables
from model_table import Row, write_table
from static_affine import PAGE, by_quadrant, prepared

ROUNDS = 30
CALIBRATION_SAMPLES = 4
SETTINGS = {"int8": (), "uint8": ("--unsigned-activations",)}
HEADER = ("model", "ONNX Runtime, int8", "ONNX Runtime, uint8", "OpenVINO, int8", "OpenVINO, uint8")


def by_onnxruntime(path):
    session = tables.session_of(path)
    return lambda feed: session.run(None, feed)


def by_openvino(path):
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    return lambda feed: request.infer(feed)


def fastest(runners, feed):
    """The least time of each, in turns."""
    least = [float("inf")] * len(runners)
    for run in runners:
        run(feed)
    for _ in range(ROUNDS):
        for i, run in enumerate(runners):
            start = time.perf_counter()
            run(feed)
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def measure(options, model, folder):
    session = tables.session_of(model)
    _, _, evaluation, data = prepared(model, session, options.inputs, folder, CALIBRATION_SAMPLES)
    paths = {"float": model}
    for name, setting in SETTINGS.items():
        paths[name] = folder / f"{name}.onnx"
        by_quadrant(options.command, model, paths[name], data, *setting)
    cells = [model.stem]
    for load in (by_onnxruntime, by_openvino):
        try:
            times = fastest([load(str(path)) for path in paths.values()], evaluation[0])
            cells += [f"{times[0] / other:.2f}" for other in times[1:]]
        except Exception as error:  # a runtime that does not know the model
            print(f"{model.stem}: {str(error).splitlines()[0]}")
            cells += ["-"] * len(SETTINGS)
    return [Row(cells)]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, name="{} speed")
