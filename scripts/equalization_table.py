#!/usr/bin/env python3
"""Quantizes models with one scale for each weight, as they are and equalized, with high biases absorbed
and biases corrected, and writes what each brings into docs/schemes/static_affine.md.

    .venv/bin/python scripts/equalization_table.py                     the example model
    .venv/bin/python scripts/equalization_table.py --models DIR --inputs DIR --table public

`digits_cnn, uneven` is examples/models/digits_cnn.onnx with its ReLU6 made ReLU, and each channel between
two layers divided by a random factor on one side and multiplied by it on the other: the same function,
with weights as uneven as those of MobileNets that were trained for long. The release build has to be
there.
"""

import numpy as np
import onnx
from onnx import numpy_helper

import accuracy_table as tables
from model_table import Row, write_table
from static_affine import PAGE, by_quadrant, decibels, prepared

STEPS = {"none": (), "cle": ("--optimize", "cle"), "cle, hba": ("--optimize", "cle,hba"),
         "cle, hba, bc": ("--optimize", "cle,hba,bc")}
LARGEST_FACTOR = 64
CALIBRATION_SAMPLES = 16
HEADER = ("model", "figure", "float", *STEPS)


def uneven(model, target):
    """The same function with uneven channels, and ReLU instead of ReLU6."""
    loaded = onnx.load(model)
    graph = loaded.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    random = np.random.default_rng(0)

    def scale(name, factors):
        data = numpy_helper.to_array(weights[name])
        weights[name].CopyFrom(numpy_helper.from_array((data * factors).astype(data.dtype), name))

    for node in graph.node:
        if node.op_type != "Clip":
            continue
        node.op_type = "Relu"
        del node.input[1:]
        del node.attribute[:]
    for node in graph.node:
        # normalization -> relu -> the one convolution behind
        if node.op_type != "BatchNormalization" or len(readers[node.output[0]]) != 1:
            continue
        relu = readers[node.output[0]][0]
        behind = readers.get(relu.output[0], [])
        if relu.op_type != "Relu" or len(behind) != 1 or behind[0].op_type != "Conv":
            continue
        weight = behind[0].input[1]
        channels = numpy_helper.to_array(weights[node.input[1]]).size
        factors = np.exp(random.uniform(-1, 1, channels) * np.log(LARGEST_FACTOR)) ** 0.5
        scale(node.input[1], factors)
        scale(node.input[2], factors)
        shape = numpy_helper.to_array(weights[weight]).shape
        is_depthwise = shape[1] == 1 and shape[0] == channels
        scale(weight, 1 / factors.reshape((-1, 1, 1, 1) if is_depthwise else (1, -1, 1, 1)))
    onnx.save(loaded, target)


def rows_of(options, model, samples_of, name, folder):
    """`samples_of`: the model whose samples are to be taken."""
    session = tables.session_of(model)
    samples, _, evaluation, data = prepared(samples_of, session, options.inputs, folder,
                                            CALIBRATION_SAMPLES)
    floats = tables.run(session, evaluation)
    all_floats = tables.run(session, samples.feeds)
    noise, right = [name, "SQNR", ""], [name, "top-1", tables.top1(samples, all_floats)]
    for step in STEPS.values():
        target = folder / "quantized.onnx"
        by_quadrant(options.command, model, target, data, "--weights", "tensor", *step)
        quantized = tables.session_of(target)
        noise.append(decibels(tables.sqnr(floats, tables.run(quantized, evaluation))))
        right.append(tables.top1(samples, tables.run(quantized, samples.feeds)))
    return [Row(noise)] if samples.labels is None else [Row(noise), Row(right)]


def measure(options, model, folder):
    if all(node.op_type != "Conv" for node in onnx.load(model).graph.node):
        return []
    rows = rows_of(options, model, model, model.stem, folder)
    if model.stem == "digits_cnn":
        made = folder / "uneven.onnx"
        uneven(model, made)
        rows += rows_of(options, made, model, f"{model.stem}, uneven", folder)
    return rows


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, name="{} equalization")
