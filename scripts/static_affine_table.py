#!/usr/bin/env python3
"""Quantizes float models statically, with ONNX Runtime's quantize_static and with ours, on the same
samples, and writes both side by side into docs/schemes/static_affine.md.

    .venv/bin/python scripts/static_affine_table.py                     the example models
    .venv/bin/python scripts/static_affine_table.py --models DIR --inputs DIR --table public

Every second sample is for calibration, the others are what is measured. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import logging
import shutil
import subprocess

import no_amx
import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat,
                                      QuantType, quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

import accuracy_table as tables
from model_table import Row, write_table
from static_affine import PAGE, by_quadrant, decibels, prepared

OLDEST_OPSET = 13
CORRECTION_SAMPLES = 16  # of those for calibration: correcting biases is slow
# Of these the best on the samples for calibration is measured on the others.
SETTINGS = {
    "minmax": (),
    "mse": ("--encoding", "mse"),
    "cle, bc": ("--optimize", "cle,bc"),
    "mse, cle, bc": ("--encoding", "mse", "--optimize", "cle,bc"),
}
HEADER = ("model", "inputs", "products in integers: ONNX Runtime", "ours", "SQNR: ONNX Runtime",
          "ONNX Runtime, preprocessed", "ours", "ours, best settings")


# --- quantizing --------------------------------------------------------------------------------------


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def with_channels(path):
    """The model, in an opset in which a scale for each channel can be said."""
    model = onnx.load(path)
    if next(i.version for i in model.opset_import if not i.domain) < OLDEST_OPSET:
        model = onnx.version_converter.convert_version(model, OLDEST_OPSET)
    return model


def preprocessed(path, target):
    """The model after the tool's own step of folding normalizations and the like.

    Around it is done what the two steps of the tool need to work on old models: initializers are no
    inputs, and biases that would become rows are vectors, which scales for each channel fit.
    """
    model = with_channels(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)  # before, initializers had to be inputs
    onnx.save(model, target)
    quant_pre_process(str(target), str(target), skip_symbolic_shape=True)
    model = onnx.load(target)
    biases = {node.input[2] for node in model.graph.node
              if node.op_type == "Gemm" and len(node.input) > 2}
    for tensor in model.graph.initializer:
        if tensor.name in biases and len(tensor.dims) == 2 and tensor.dims[0] == 1:
            del tensor.dims[0]
    onnx.save(model, target)
    return model


def by_onnxruntime(model, target, feeds, is_preprocessed=False, **options):
    """Int8 as ours is by default; None, or why it could not."""
    try:
        if is_preprocessed:
            loaded = preprocessed(model, target.with_suffix(".prepared.onnx"))
        else:
            loaded = with_channels(model)
        quantize_static(loaded, str(target), Reader(feeds), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QInt8,
                        weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.MinMax,
                        extra_options={"ForceQuantizeNoInputCheck": False}, **options)
        tables.run(tables.session_of(target), feeds[:1])
    except Exception as error:  # whatever it does not know how to do
        return str(error).splitlines()[0]
    return None


# --- measuring ---------------------------------------------------------------------------------------

PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}


def integer_share(path, feed):
    """The share of multiply-accumulates between operands that are both dequantized."""
    model = onnx.load(path)
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    products = [node for node in graph.node if node.op_type in PRODUCTS]
    known = {value.name for value in graph.output}
    added = [node.output[0] for node in products if node.output[0] not in known]
    wanted = {name for node in products for name in node.input[:2]} - known - set(added)
    wanted &= set(makers)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in [*added, *sorted(wanted)])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    shapes = {name: value.shape for name, value in zip(names, session.run(None, feed))}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    shapes |= {name: data.shape for name, data in feed.items()}
    total = integer = 0
    for node in products:
        data, weight, result = (shapes[name] for name in (*node.input[:2], node.output[0]))
        if node.op_type == "Conv":
            work = np.prod(result) * np.prod(weight[1:])
        elif node.op_type == "ConvTranspose":
            work = np.prod(data) * np.prod(weight[1:])
        else:
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            work = np.prod(result) * data[-2 if transposed else -1]
        total += work
        if all(name in makers and makers[name].op_type == "DequantizeLinear"
               for name in node.input[:2]):
            integer += work
    return integer / total if total else 0.0


def best_setting(command, model, session, data, statistics, calibration, folder):
    """The name of the setting that is best on samples for calibration, and its model."""
    few = folder / "few"
    few.mkdir()
    for path in sorted(data.iterdir())[:CORRECTION_SAMPLES]:
        shutil.copy(path, few)
    floats = tables.run(session, calibration)
    found = {}
    for i, (name, options) in enumerate(SETTINGS.items()):
        target = folder / f"setting{i}.onnx"
        by_quadrant(command, model, target, few if "--optimize" in options else statistics, *options)
        found[name] = tables.sqnr(floats, tables.run(tables.session_of(target), calibration)), target
    return max(((name, target) for name, (_, target) in found.items()),
               key=lambda entry: found[entry[0]][0])


def measure(options, model, folder):
    command, session = options.command, tables.session_of(model)
    samples, calibration, evaluation, data = prepared(model, session, options.inputs, folder)
    statistics = folder / "statistics.json"
    subprocess.run([str(command), "calibrate", str(model), "--data", str(data), "-o",
                    str(statistics)], capture_output=True, check=True)
    theirs, prepared_theirs, ours = (folder / f"{name}.onnx" for name in ("theirs", "pre", "ours"))
    refusal = by_onnxruntime(model, theirs, calibration)
    refusal_prepared = by_onnxruntime(model, prepared_theirs, calibration, is_preprocessed=True)
    by_quadrant(command, model, ours, statistics)
    setting, best = best_setting(command, model, session, data, statistics, calibration, folder)
    floats = tables.run(session, evaluation)
    noise = lambda path: tables.sqnr(floats, tables.run(tables.session_of(path), evaluation))
    share = lambda path: f"{integer_share(path, evaluation[0]):.1%}"
    figures = [None if refusal else noise(theirs),
               None if refusal_prepared else noise(prepared_theirs), noise(ours), noise(best)]
    cells = (model.stem, f"{len(calibration)} + {len(evaluation)}, {samples.origin}",
             "-" if refusal else share(theirs), share(ours), *map(decibels, figures[:3]),
             f"{decibels(figures[3])}: {setting}")
    notes = [f"- `{model.stem}`{how}: what ONNX Runtime's tool makes of it does not run: {why}"
             for how, why in (("", refusal), (", preprocessed", refusal_prepared)) if why]
    if refusal == refusal_prepared:
        del notes[1:]
    return [Row(cells, notes, figures)]


def averages(rows):
    notes = []
    figures = np.array([row.figures for row in rows], np.float64)  # NaN where there is none
    for column, name in ((0, "ONNX Runtime's"), (1, "ONNX Runtime's, preprocessed")):
        gains = figures[:, 2:] - figures[:, column:column + 1]
        gains = gains[np.isfinite(gains).all(axis=1)]
        if not len(gains):
            continue
        ours, best = np.mean(gains, axis=0)
        notes.append(f"- On average over the models that both quantize, ours is {ours:+.2f} dB beside "
                     f"{name}, with the best settings {best:+.2f} dB.")
    return notes


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)  # errors alone
    write_table(__doc__, PAGE, HEADER, measure, closing=averages)
