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

import argparse
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import accuracy_table as tables
import static_affine_table as static

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


def measure(command, model, samples_of, inputs, name, folder):
    """`samples_of`: the model whose samples are to be taken."""
    session = tables.session_of(model)
    samples, _, evaluation, data = static.prepared(samples_of, session, inputs, folder,
                                                   CALIBRATION_SAMPLES)
    floats = tables.run(session, evaluation)
    all_floats = tables.run(session, samples.feeds)
    noise, right = [name, "SQNR", ""], [name, "top-1", tables.top1(samples, all_floats)]
    for options in STEPS.values():
        target = folder / "quantized.onnx"
        static.by_quadrant(command, model, target, data, "--weights", "tensor", *options)
        quantized = tables.session_of(target)
        noise.append(static.decibels(tables.sqnr(floats, tables.run(quantized, evaluation))))
        right.append(tables.top1(samples, tables.run(quantized, samples.feeds)))
    return [noise] if samples.labels is None else [noise, right]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables.add_arguments(parser)
    parser.add_argument("--table", default="examples", help="which table of the page to replace")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    options = parser.parse_args()
    rows = []
    for model in tables.float_models(options):
        operations = {node.op_type for node in onnx.load(model).graph.node}
        if "Conv" not in operations:
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            found = measure(options.command, model, model, options.inputs, model.stem, folder)
            if model.stem == "digits_cnn":
                made = folder / "uneven.onnx"
                uneven(model, made)
                found += measure(options.command, made, model, options.inputs,
                                 f"{model.stem}, uneven", folder)
        rows += found
        print("\n".join("  ".join(row) for row in found), flush=True)
    if not options.dry_run:
        page = static.PAGE
        page.write_text(tables.replace_between(page, f"{options.table} equalization",
                                               tables.markdown_table(HEADER, rows)))


if __name__ == "__main__":
    main()
