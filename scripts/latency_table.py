#!/usr/bin/env python3
"""Compares what --gain latency predicts with what ONNX Runtime takes, and writes the ratios into
docs/selection.md.

    .venv/bin/python scripts/latency_table.py                     the example models
    .venv/bin/python scripts/latency_table.py --models DIR --inputs DIR --table public

Float time by time of the quantized model: above 1 is faster. Predicted by the profile that is the
default, of the plan that --gain latency makes; measured on one thread, in turns, the fastest of each.
Models and inputs are those of scripts/accuracy_table.py. The command has to be there.
"""

import json
import subprocess
import sys

import no_amx
import onnxruntime

from int8_speed_table import CALIBRATION_SAMPLES, fastest
from model_table import ROOT, Row, write_table
from static_affine import by_quadrant, prepared

PAGE = ROOT / "docs" / "selection.md"
SETTINGS = {"uint8": ("--unsigned-activations",), "int8": ()}
HEADER = ("model", "setting", "predicted", "measured", "measured, by `operations`")


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # what the models of others have in them is not the point
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def runner(path):
    session = session_of(path)
    return lambda feed: session.run(None, feed)


def said(command, subcommand, model, *options):
    """The JSON document."""
    done = subprocess.run([str(command), subcommand, str(model), "--json", *map(str, options)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def predicted(command, model, statistics, *options):
    plan = said(command, "plan", model, "--scheme", "static-affine", "--calibration", statistics,
                "--gain", "latency", *options)
    return plan["in_float"] / (plan["in_float"] - plan["plan"]["objective"])


def measure(options, model, folder):
    _, _, evaluation, data = prepared(model, session_of(model), options.inputs, folder,
                                      CALIBRATION_SAMPLES)
    statistics = folder / "statistics.json"
    said(options.command, "calibrate", model, "--data", data, "-o", statistics)
    rows = []
    for name, setting in SETTINGS.items():
        paths = [model]
        for gain in ("latency", "operations"):
            paths.append(folder / f"{name}_{gain}.onnx")
            by_quadrant(options.command, model, paths[-1], statistics, *setting, "--gain", gain)
        times = fastest([runner(path) for path in paths], evaluation[0])
        ratios = [predicted(options.command, model, statistics, *setting),
                  *(times[0] / other for other in times[1:])]
        rows.append(Row([model.stem, name, *(f"{ratio:.2f}" for ratio in ratios)]))
    return rows


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, name="{} latency")
