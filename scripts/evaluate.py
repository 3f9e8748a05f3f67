"""Prints size and accuracy of the example models, float and int8, as one table.

    evaluate.py MODELS QUANTIZED

For each MODELS/NAME.onnx there are QUANTIZED/NAME.int8.onnx and the test set MODELS/NAME.npz: arrays
named like the model's inputs, and `labels`. Accuracy is mean(argmax(first output, last axis) ==
labels).
"""

import pathlib
import sys

import no_amx
import numpy as np
import onnxruntime

HEADER = ("model", "float size", "int8 size", "ratio", "float accuracy", "int8 accuracy")


def accuracy(model, test_set):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone: the table is the output
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    labels = test_set["labels"]
    inputs = {info.name: test_set[info.name] for info in session.get_inputs()}
    batch = session.get_inputs()[0].shape[0]
    if not isinstance(batch, int):
        batch = len(labels)  # a symbolic dimension: all samples at once
    correct = 0
    for first in range(0, len(labels), batch):
        samples = slice(first, first + batch)
        (output, *_) = session.run(None, {name: data[samples] for name, data in inputs.items()})
        correct += np.sum(np.argmax(output, axis=-1) == labels[samples])
    return correct / labels.size


def row(model, quantized, test_set):
    before, after = model.stat().st_size, quantized.stat().st_size
    return (
        model.stem,
        f"{before:,} B",
        f"{after:,} B",
        f"{before / after:.2f}",
        f"{accuracy(model, test_set):.2%}",
        f"{accuracy(quantized, test_set):.2%}",
    )


def main(models, quantized):
    rows = [HEADER]
    for model in sorted(pathlib.Path(models).glob("*.onnx")):
        with np.load(model.with_suffix(".npz")) as test_set:
            rows.append(row(model, pathlib.Path(quantized) / f"{model.stem}.int8.onnx", test_set))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name, *figures in rows:
        cells = [name.ljust(widths[0]), *(f.rjust(w) for f, w in zip(figures, widths[1:]))]
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
