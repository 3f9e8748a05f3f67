#!/usr/bin/env python3
"""Quantizes float models with each option of weight_only and writes what it costs and gives into
docs/schemes/weight_only.md.

    .venv/bin/python scripts/options_table.py [--models DIR --inputs DIR]

The release build has to be there. Inputs are those of accuracy_table.py.
"""

import argparse
import pathlib
import sys
import tempfile

from accuracy_table import quantize, run, samples_of, session_of, sqnr
from model_table import ROOT, add_arguments, float_models, markdown_table, replace_between

PAGE = ROOT / "docs" / "schemes" / "weight_only.md"
BLOCKS = ("--bits", "4", "--block-size", "32")
# No option of the command: what ONNX Runtime computes by default. The others are what the files mean.
ROUNDED = (None,)
SETTINGS = {
    "8 bits, tensor": ("--granularity", "tensor"),
    "8 bits, channel": (),
    "8 bits, channel, behind": ("--form", "behind"),
    "8 bits, channel, data rounded": ROUNDED,
    "4 bits, channel": ("--bits", "4"),
    "4 bits, block 32": BLOCKS,
    "... data rounded": (*BLOCKS, *ROUNDED),
    "... mse": (*BLOCKS, "--clip", "mse"),
    "... signed scale": (*BLOCKS, "--signed-scale"),
    "... signed scale, mse": (*BLOCKS, "--signed-scale", "--clip", "mse"),
    "... asymmetric": (*BLOCKS, "--asymmetric"),
    "... asymmetric, mse": (*BLOCKS, "--asymmetric", "--clip", "mse"),
    "... asymmetric, mse, behind": (*BLOCKS, "--asymmetric", "--clip", "mse", "--form", "behind"),
    "... asymmetric, mse, float16 scales": (*BLOCKS, "--asymmetric", "--clip", "mse", "--scales",
                                            "float16"),
    "... asymmetric, mse, MatMulNBits": (*BLOCKS, "--asymmetric", "--clip", "mse", "--format",
                                         "matmulnbits"),
}


def measure(command, model, inputs, folder):
    """For each setting: how many times smaller the file is, the SQNR, and the share of the eligible
    bytes that is quantized."""
    before = session_of(model)
    samples = samples_of(model, before, inputs)
    floats = run(before, samples.feeds)
    for options in SETTINGS.values():
        target = folder / model.name
        summary = quantize(command, model, target, *filter(None, options))["summary"]
        ratio = summary["file_bytes_before"] / summary["file_bytes_after"]
        share = summary["eligible_quantized"]["bytes"] / summary["eligible"]["bytes"]
        yield ratio, sqnr(floats, run(session_of(target, None in options), samples.feeds)), share


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    options = parser.parse_args()
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in float_models(options):
            columns[model.stem] = list(measure(options.command, model, options.inputs,
                                               pathlib.Path(folder)))
            print(model.stem, " ".join(f"{ratio:.2f}:{db:.1f}:{share:.1%}"
                                       for ratio, db, share in columns[model.stem]), flush=True)
    rows = []
    for i, setting in enumerate(SETTINGS):
        cells = [column[i] for column in columns.values()]
        rows.append((setting, f"{min(share for _, _, share in cells):.1%}",
                     *(f"{db:.1f} dB, {ratio:.1f}x" for ratio, db, _ in cells)))
    table = markdown_table(("setting", "eligible bytes quantized", *columns), rows)
    PAGE.write_text(replace_between(PAGE, "options", table))


if __name__ == "__main__":
    sys.exit(main())
