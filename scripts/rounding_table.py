#!/usr/bin/env python3
"""Rounds weights to the nearest codes and by second moments of what they are multiplied by, and writes
what is left at the outputs, on samples that nothing was fitted on, into docs/rounding.md.

    .venv/bin/python scripts/rounding_table.py                        the example models
    .venv/bin/python scripts/rounding_table.py --models DIR --inputs DIR --table public

Samples are those of accuracy_table.py, every second one for rounding, of large inputs 8. The release
build has to be there.
"""

import pathlib

import accuracy_table as tables
from model_table import Row, ROOT, gains_over_first, write_table
from static_affine import decibels, fewer_where_large, prepared

PAGE = ROOT / "docs" / "rounding.md"
TYPES = {
    "8 bits, channels": ("--bits", "8"),
    "4 bits, channels": ("--bits", "4"),
    "4 bits, blocks of 32": ("--bits", "4", "--block-size", "32", "--asymmetric"),
    "3 bits, blocks of 32": ("--type", "int3", "--block-size", "32"),
}
ROUNDINGS = {
    "nearest": None,
    "weighted": ("--rounding", "weighted"),
    "feedback": ("--rounding", "feedback"),
    "descent": ("--rounding", "descent"),
    "descent, bc": ("--rounding", "descent", "--optimize", "bc"),
}
HEADER = ("model", "setting", *ROUNDINGS)


def measure(options, model, folder):
    session = tables.session_of(model, rounds_data=False)
    _, calibration, evaluation, samples = prepared(model, session, options.inputs, folder)
    evaluation = fewer_where_large(samples, calibration, evaluation)
    floats = tables.run(session, evaluation)
    rows = []
    for setting, of_type in TYPES.items():
        found = []
        for of_rounding in ROUNDINGS.values():
            target = folder / pathlib.Path(model).name
            calibrated = () if of_rounding is None else ("--calibration", str(samples), *of_rounding)
            tables.quantize(options.command, model, target, *of_type, *calibrated)
            made = tables.run(tables.session_of(target, rounds_data=False), evaluation)
            found.append(tables.sqnr(floats, made))
        rows.append(Row((model.stem, setting, *map(decibels, found)), figures=found))
    return rows


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, closing=gains_over_first(ROUNDINGS))
