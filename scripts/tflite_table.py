#!/usr/bin/env python3
"""Turns float ONNX models into int8 TFLite ones, runs them in LiteRT, and writes what came of it into
docs/formats/tflite.md.

    .venv/bin/python scripts/tflite_table.py                     the example models
    .venv/bin/python scripts/tflite_table.py --models DIR --inputs DIR --table public

Every second sample is for calibration, the others are what is measured. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import json
import subprocess

import no_amx
import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import accuracy_table as tables
from model_table import ROOT, Row, write_table
from static_affine import by_quadrant, decibels, prepared

PAGE = ROOT / "docs" / "formats" / "tflite.md"
HEADER = ("model", "inputs", "float ONNX", "int8 TFLite", "operations on codes",
          "SQNR: QDQ in ONNX Runtime", "TFLite, float inputs and outputs", "TFLite, int8 ones")


class LiteRt:
    """A TFLite model, fed and read by the names of the ONNX model that it was made of."""

    def __init__(self, path):
        # Its own kernels: those of XNNPACK round requantization in another way.
        self.interpreter = Interpreter(
            model_path=str(path),
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        self.inputs = {detail["name"]: detail for detail in self.interpreter.get_input_details()}
        self.outputs = {detail["name"]: detail for detail in self.interpreter.get_output_details()}

    def __call__(self, feed):
        for name, data in feed.items():
            detail = self.inputs[name]
            if tuple(detail["shape"]) != data.shape:
                self.interpreter.resize_tensor_input(detail["index"], data.shape)
        self.interpreter.allocate_tensors()
        for name, data in feed.items():
            self.interpreter.set_tensor(self.inputs[name]["index"], encoded(data, self.inputs[name]))
        self.interpreter.invoke()
        return {name: decoded(self.interpreter.get_tensor(detail["index"]), detail)
                for name, detail in self.outputs.items()}


def encoded(real, detail):
    scale, zero_point = detail["quantization"]
    if not scale:
        return real
    limits = np.iinfo(detail["dtype"])
    return np.clip(np.rint(real / scale) + zero_point, limits.min, limits.max).astype(detail["dtype"])


def decoded(codes, detail):
    scale, zero_point = detail["quantization"]
    return (codes.astype(np.float32) - zero_point) * np.float32(scale) if scale else codes


def run_litert(path, feeds, names):
    model = LiteRt(path)
    runs = [model(feed) for feed in feeds]
    return {name: [one[name] for one in runs] for name in names}


def convert(command, model, target, statistics, *options):
    """The document that the command prints."""
    done = subprocess.run(
        [str(command), "convert", str(model), str(target), "--scheme", "static-affine",
         "--calibration", str(statistics), "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout), None


def is_convolutional(command, model):
    shown = subprocess.run([str(command), "inspect", str(model), "--json"], capture_output=True,
                           text=True, check=True).stdout
    return "conv" in json.loads(shown)["operations"]


def measure(options, model, folder):
    command = options.command
    if not is_convolutional(command, model):
        return []
    session = tables.session_of(model)
    samples, calibration, evaluation, data = prepared(model, session, options.inputs, folder)
    statistics = folder / "statistics.json"
    subprocess.run([str(command), "calibrate", str(model), "--data", str(data), "-o",
                    str(statistics)], capture_output=True, check=True)
    floats = tables.run(session, evaluation)
    qdq = folder / "qdq.onnx"
    by_quadrant(command, model, qdq, statistics)
    figures = [tables.sqnr(floats, tables.run(tables.session_of(qdq), evaluation))]
    notes, documents, targets = [], [], []
    for borders in ("real", "codes"):
        targets.append(folder / f"{borders}.tflite")
        document, error = convert(command, model, targets[-1], statistics, "--io", borders)
        if error:
            return [Row((model.stem, *["-"] * (len(HEADER) - 1)), [f"- `{model.stem}`: {error}"])]
        documents.append(document)
        figures.append(tables.sqnr(floats, run_litert(targets[-1], evaluation, floats)))
    operations = documents[0]["fused"]["operations"]
    reals = [row for row in operations if not row["on_codes"]]
    for row in reals:
        notes.append(f"- `{model.stem}`: `{row['name']}` ({row['operation']}) in float: "
                     f"{row['reason']}")
    cells = (model.stem, f"{len(calibration)} + {len(evaluation)}, {samples.origin}",
             tables.megabytes(model.stat().st_size), tables.megabytes(targets[0].stat().st_size),
             f"{len(operations) - len(reals)} of {len(operations)}", *map(decibels, figures))
    return [Row(cells, notes, figures)]


if __name__ == "__main__":
    onnxruntime.set_default_logger_severity(3)  # errors alone
    write_table(__doc__, PAGE, HEADER, measure)
