#!/usr/bin/env python3
"""Quantizes float models statically, with weights of 8 bits, of 7, and of 8 with scales that keep sums of two
products in 16 bits, and writes what each loses into docs/schemes/static_affine.md.

    .venv/bin/python scripts/saturation_table.py                     the example models
    .venv/bin/python scripts/saturation_table.py --models DIR --inputs DIR --table public

Every second sample is for calibration, the others are what is measured. Models and inputs are those of
scripts/accuracy_table.py. What kernels on x86 without VNNI compute is emulated by the command, on any
processor. The release build has to be there.
"""

import json
import subprocess

import no_amx
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import accuracy_table as tables
from model_table import Row, write_table
from static_affine import PAGE, by_quadrant, prepared

WAYS = ("allow", "7bit", "avoid")
RUNTIMES = ("onnxruntime-avx2", "openvino-avx2")
MOST_SAMPLES = 16  # that are measured: emulating takes its time
HEADER = ("model", "inputs", "pairs that can saturate at 8 bits", "weights", "outputs, data real",
          "outputs in ONNX Runtime", "outputs in OpenVINO")


# --- weights ---------------------------------------------------------------------------------------


def weights_of(path):
    """Those that products read, as real numbers, by name."""
    model = onnx.load(path)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    makers = {node.output[0]: node for node in model.graph.node}
    weights = {}
    for node in model.graph.node:
        if node.op_type not in ("Conv", "Gemm", "MatMul"):
            continue
        maker = makers.get(node.input[1])
        if node.input[1] in tensors:
            weights[node.input[1]] = tensors[node.input[1]].astype(np.float64)
        if maker is None or maker.op_type != "DequantizeLinear" or maker.input[0] not in tensors:
            continue
        codes, scale = (tensors[name].astype(np.float64) for name in maker.input[:2])
        axis = next((a.i for a in maker.attribute if a.name == "axis"), 1)
        if scale.ndim:
            scale = scale.reshape([-1 if i == axis % codes.ndim else 1 for i in range(codes.ndim)])
        weights[node.input[1]] = codes * scale
    return weights


def weight_decibels(floats, path):
    """The mean over products whose weights are codes."""
    found = weights_of(path)
    noise = {name: np.sum((floats[name] - found[name]) ** 2) for name in found.keys() & floats.keys()}
    return np.mean([10 * np.log10(np.sum(floats[name] ** 2) / noise[name]) for name in noise if noise[name]])


def with_real_activations(path, target):
    """Writes the model without rounding of what it computes: of each pair of conversions, limits are left."""
    model = onnx.load(path)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    makers = {node.output[0]: node for node in model.graph.node}
    for node in list(model.graph.node):
        maker = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if maker is None or maker.op_type != "QuantizeLinear":
            continue
        scale, zero = (tensors[name] for name in maker.input[1:3])
        range_ = np.iinfo(zero.dtype)
        bounds = [(end - int(zero)) * scale for end in (range_.min, range_.max)]
        names = [f"{node.output[0]} {end}" for end in ("low", "high")]
        model.graph.initializer.extend(numpy_helper.from_array(np.asarray(bound, scale.dtype), name)
                                       for bound, name in zip(bounds, names))
        place = list(model.graph.node).index(node)
        model.graph.node.remove(node)
        model.graph.node.insert(place, helper.make_node("Clip", [maker.input[0], *names], node.output))
    onnx.save(model, target)
    return target


# --- outputs ---------------------------------------------------------------------------------------


def emulated(options, model, quantized, data, runtime):
    """SQNR of the worst output."""
    done = subprocess.run([str(options.command), "compare", str(model), str(quantized), "--data",
                           str(data), "--runtime", runtime, "--json"],
                          capture_output=True, text=True, check=True)
    outputs = json.loads(done.stdout)["comparison"]["outputs"]
    return min(output["sqnr_db"] for output in outputs if output["sqnr_db"] is not None)


def saturating(options, quantized):
    shown = json.loads(subprocess.run([str(options.command), "placement", str(quantized), "--json"],
                                      capture_output=True, text=True, check=True).stdout)
    counts = [np.array([product[runtime][key] for product in shown["sums_in_16_bits"]
                        for runtime in ("onnxruntime", "openvino")]) for key in ("inexact", "pairs")]
    return counts[0].sum() / counts[1].sum() if len(counts[1]) else None


def measure(options, model, folder):
    session = tables.session_of(model)
    samples, calibration, evaluation, data = prepared(model, session, options.inputs, folder)
    statistics = folder / "statistics.json"
    subprocess.run([str(options.command), "calibrate", str(model), "--data", str(data), "-o",
                    str(statistics)], capture_output=True, check=True)
    evaluation = evaluation[:MOST_SAMPLES]
    judged = folder / "judged"
    judged.mkdir()
    for i, feed in enumerate(evaluation):
        np.savez(judged / f"{i}.npz", **feed)
    paths = {way: folder / f"{way}.onnx" for way in (*WAYS, "float")}
    for way in WAYS:
        by_quadrant(options.command, model, paths[way], statistics, "--unsigned-activations",
                    "--saturation", way)
    by_quadrant(options.command, model, paths["float"], statistics, "--exclude", ".")
    part = saturating(options, paths["allow"])
    if part is None:
        return []
    floats = tables.run(session, evaluation)
    weights = weights_of(paths["float"])
    real = {way: with_real_activations(paths[way], folder / f"{way}.real.onnx") for way in WAYS}
    figures = [[weight_decibels(weights, paths[way]) for way in WAYS],
               [tables.sqnr(floats, tables.run(tables.session_of(real[way]), evaluation)) for way in WAYS]]
    figures += [[emulated(options, model, paths[way], judged, runtime) for way in WAYS]
                for runtime in RUNTIMES]
    cells = (model.stem, f"{len(calibration)} + {len(evaluation)}, {samples.origin}", f"{part:.1%}",
             *(" / ".join(f"{value:.1f}" for value in way) for way in figures))
    return [Row(cells, figures=figures)]


def closed(rows):
    """Median and mean of what is kept, over the models that lose by 7 bits."""
    figures = np.array([row.figures for row in rows])  # by model, column, way
    lines = ["- Each: 8 bits / 7 bits / 8 bits with scales that keep sums in 16 bits, in dB."]
    for column, what in enumerate(("weights", "outputs, data real")):
        full, narrow, kept = figures[:, column].T
        loses = full - narrow > 0.5
        parts = ((kept - narrow) / (full - narrow))[loses]
        lines.append(f"- Of what 7 bits lose, the scales keep {np.median(parts):.0%} in the median, "
                     f"{np.mean(parts):.0%} on average ({what}; {loses.sum()} of {len(rows)} models lose by 7 bits).")
    return lines


if __name__ == "__main__":
    onnxruntime.set_default_logger_severity(3)  # errors alone
    write_table(__doc__, PAGE, HEADER, measure, name="{} saturation", closing=closed)
