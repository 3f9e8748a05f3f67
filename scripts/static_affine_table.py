#!/usr/bin/env python3
"""Quantizes float models statically, with ONNX Runtime's quantize_static and with ours, on the same
samples, and writes both side by side into docs/schemes/static_affine.md.

    .venv/bin/python scripts/static_affine_table.py                     the example models
    .venv/bin/python scripts/static_affine_table.py --models DIR --inputs DIR --table public

Every second sample is for calibration, the others are what is measured. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import argparse
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat,
                                      QuantType, quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

import accuracy_table as tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "schemes" / "static_affine.md"
MOST_SAMPLES = 64  # of each half
tables.WINDOWS = 64  # of each picture
OLDEST_OPSET = 13  # in which a scale for each channel can be said
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


# --- samples -----------------------------------------------------------------------------------------


def one_by_one(session, feeds):
    """Feeds of one sample each, where the model's batch is free."""
    batch = session.get_inputs()[0].shape[0] if session.get_inputs()[0].shape else 1
    for feed in feeds:
        count = len(next(iter(feed.values())))
        if isinstance(batch, int) or count == 1:
            yield feed
            continue
        for i in range(count):
            yield {name: data[i:i + 1] for name, data in feed.items()}


def halves(feeds):
    """Samples for calibration, and others to measure."""
    chosen = feeds[:: max(1, len(feeds) // (2 * MOST_SAMPLES))]
    return chosen[::2][:MOST_SAMPLES], (chosen[1::2] or chosen)[:MOST_SAMPLES]


def prepared(model, session, inputs, folder, most=MOST_SAMPLES):
    """All samples; those for calibration, of which the folder has files; those to measure."""
    samples = tables.samples_of(model, session, inputs)
    calibration, evaluation = halves(list(one_by_one(session, samples.feeds)))
    data = folder / "samples"
    data.mkdir(exist_ok=True)
    for i, feed in enumerate(calibration[:most]):
        np.savez(data / f"{i}.npz", **feed)
    return samples, calibration[:most], evaluation, data


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


# --- quantizing --------------------------------------------------------------------------------------


def by_onnxruntime(model, target, feeds, preprocessed=False, **options):
    """Int8 as ours is by default; None, or why it could not."""
    try:
        if preprocessed:  # its own step of folding normalizations and the like
            prepared_model = target.with_suffix(".prepared.onnx")
            quant_pre_process(str(model), str(prepared_model), skip_symbolic_shape=True)
            model = prepared_model
        loaded = onnx.load(model)
        if next(i.version for i in loaded.opset_import if not i.domain) < OLDEST_OPSET:
            loaded = onnx.version_converter.convert_version(loaded, OLDEST_OPSET)
        quantize_static(loaded, str(target), Reader(feeds), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QInt8,
                        weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.MinMax,
                        extra_options={"ForceQuantizeNoInputCheck": False}, **options)
        tables.run(tables.session_of(target), feeds[:1])
    except Exception as error:  # whatever it does not know how to do
        return str(error).splitlines()[0]
    return None


def by_quadrant(command, model, target, samples, *options):
    done = subprocess.run([str(command), "quantize", str(model), "-o", str(target), "--scheme",
                           "static-affine", "--calibration", str(samples), "--json", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")


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


def decibels(value):
    return "-" if value is None else f"{value:.2f} dB"


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


def measure(command, model, inputs, folder):
    session = tables.session_of(model)
    samples, calibration, evaluation, data = prepared(model, session, inputs, folder)
    statistics = folder / "statistics.json"
    subprocess.run([str(command), "calibrate", str(model), "--data", str(data), "-o",
                    str(statistics)], capture_output=True, check=True)
    theirs, prepared_theirs, ours = (folder / f"{name}.onnx" for name in ("theirs", "pre", "ours"))
    refusal = by_onnxruntime(model, theirs, calibration)
    is_prepared = not by_onnxruntime(model, prepared_theirs, calibration, preprocessed=True)
    by_quadrant(command, model, ours, statistics)
    setting, best = best_setting(command, model, session, data, statistics, calibration, folder)
    floats = tables.run(session, evaluation)
    noise = lambda path: tables.sqnr(floats, tables.run(tables.session_of(path), evaluation))
    share = lambda path: f"{integer_share(path, evaluation[0]):.1%}"
    found = [None if refusal else noise(theirs), noise(prepared_theirs) if is_prepared else None,
             noise(ours), noise(best)]
    row = (model.stem, f"{len(calibration)} + {len(evaluation)}, {samples.origin}",
           "-" if refusal else share(theirs), share(ours), *map(decibels, found[:3]),
           f"{decibels(found[3])}: {setting}")
    return row, found, refusal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables.add_arguments(parser)
    parser.add_argument("--table", default="examples", help="which table of the page to replace")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows, figures, notes = [], [], []
    for model in tables.float_models(options):
        with tempfile.TemporaryDirectory() as folder:
            row, found, refusal = measure(options.command, model, options.inputs,
                                          pathlib.Path(folder))
        rows.append(row)
        if refusal:
            notes.append(f"- `{model.stem}`: what ONNX Runtime's tool makes of it does not run: {refusal}")
        figures.append(found)
        print("  ".join(row), flush=True)
    figures = np.array(figures, np.float64)  # NaN where there is none
    for column, name in ((0, "ONNX Runtime's"), (1, "ONNX Runtime's, preprocessed")):
        gains = figures[:, 2:] - figures[:, column:column + 1]
        ours, best = np.mean(gains[np.isfinite(gains).all(axis=1)], axis=0)
        notes.append(f"- On average over the models that both quantize, ours is {ours:+.2f} dB beside "
                     f"{name}, with the best settings {best:+.2f} dB.")
    print("\n".join(notes))
    if not options.dry_run:
        content = f"{tables.markdown_table(HEADER, rows)}\n\n" + "\n".join(notes)
        PAGE.write_text(tables.replace_between(PAGE, options.table, content))


if __name__ == "__main__":
    main()
