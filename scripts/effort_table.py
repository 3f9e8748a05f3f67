#!/usr/bin/env python3
"""What each word of --effort brings, and what its parts do: outputs on samples that nothing was fitted on,
into docs/rounding.md.

    .venv/bin/python scripts/effort_table.py                        the example models
    .venv/bin/python scripts/effort_table.py --models DIR --inputs DIR --table public

Samples are those of rounding_table.py. The release build has to be there.
"""

import pathlib
import subprocess
import sys
import time

import accuracy_table as tables
from model_table import Row, ROOT, gains_over_first, write_table
from static_affine import decibels, fewer_where_large, prepared

PAGE = ROOT / "docs" / "rounding.md"
BLOCKS = ("--scheme", "weight-only", "--bits", "4", "--block-size", "32", "--asymmetric")
SETTINGS = {
    "4 bits, channels": ("--scheme", "weight-only", "--bits", "4"),
    "4 bits, blocks of 32": BLOCKS,
    "static, 8 bits": ("--scheme", "static-affine"),
}
EFFORTS = {
    "fast": ("--effort", "fast"),
    "balanced": ("--effort", "balanced"),
    "best": ("--effort", "best"),
    "best, migrate": ("--effort", "best", "--optimize", "migrate,bc"),
}
HEADER = ("model", "setting", *EFFORTS, "seconds", "top-1 float", "top-1 best")


def quantize(options, model, target, *settings):
    start = time.monotonic()
    done = subprocess.run([str(options.command), "quantize", str(model), "-o", str(target), *settings],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return time.monotonic() - start


def accuracy(samples, feeds, session):
    """Of all samples, where there are classes."""
    return tables.top1(samples, tables.run(session, feeds)) if samples.labels is not None else "-"


def measure(options, model, folder):
    session = tables.session_of(model, rounds_data=False)
    samples, calibration, evaluation, data = prepared(model, session, options.inputs, folder)
    evaluation = fewer_where_large(data, calibration, evaluation)
    floats = tables.run(session, evaluation)
    rows = []
    for setting, of_setting in SETTINGS.items():
        found, seconds, top1 = [], [], "-"
        for name, of_effort in EFFORTS.items():
            target = folder / pathlib.Path(model).name
            seconds.append(quantize(options, model, target, *of_setting, "--calibration", str(data), *of_effort))
            made = tables.session_of(target, rounds_data=False)
            found.append(tables.sqnr(floats, tables.run(made, evaluation)))
            if name == "best":
                top1 = accuracy(samples, samples.feeds, made)
        rows.append(Row((model.stem, setting, *map(decibels, found),
                         " / ".join(f"{each:.1f}" for each in seconds),
                         accuracy(samples, samples.feeds, session), top1), figures=found))
    return rows


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, name="{} effort", closing=gains_over_first(EFFORTS))
