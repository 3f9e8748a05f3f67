#!/usr/bin/env python3
"""Stores weights in 4 bits with each rule for a scale, and writes what is left at the outputs into
docs/accuracy.md.

    .venv/bin/python scripts/four_bits_table.py [--models DIR --inputs DIR]

The release build has to be there. Inputs are those of accuracy_table.py; models of --models come after
the examples.
"""

import argparse
import pathlib
import sys
import tempfile

from accuracy_table import PAGE, quantize, run, samples_of, session_of, sqnr
from model_table import add_arguments, float_models, markdown_table, replace_between

GROUPS = {
    "A scale for each channel": (),
    "Blocks of 128": ("--block-size", "128"),
    "Blocks of 32": ("--block-size", "32"),
}
RULES = {
    "absmax": ("--clip", "absmax"),
    "minmax": ("--clip", "minmax"),
    "mse": ("--clip", "mse"),
    "signed absmax": ("--signed-scale", "--clip", "absmax"),
    "signed mse": ("--signed-scale", "--clip", "mse"),
    "asymmetric minmax": ("--asymmetric", "--clip", "minmax"),
    "asymmetric mse": ("--asymmetric", "--clip", "mse"),
}


def measure(command, model, inputs, folder):
    """SQNR in dB by group and rule."""
    before = session_of(model, rounds_data=False)
    samples = samples_of(model, before, inputs)
    floats = run(before, samples.feeds)
    found = {}
    for group, of_group in GROUPS.items():
        for rule, of_rule in RULES.items():
            target = folder / model.name
            quantize(command, model, target, "--bits", "4", *of_group, *of_rule)
            found[group, rule] = sqnr(floats, run(session_of(target, rounds_data=False), samples.feeds))
    return found


def table_of(group, by_model):
    """The rules side by side, with their mean, and how far each is behind the best of a kind at the worst."""
    found = {name: {rule: each[group, rule] for rule in RULES} for name, each in by_model.items()}
    rows = [(name, *(f"{each[rule]:.1f}" for rule in RULES)) for name, each in found.items()]
    rows.append(("mean", *(f"{sum(each[rule] for each in found.values()) / len(found):.1f}" for rule in RULES)))
    rows.append(("farthest behind the best",
                 *(f"{min(each[rule] - max(each.values()) for each in found.values()):.1f}" for rule in RULES)))
    return markdown_table(("model", *RULES), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    options = parser.parse_args()
    by_model = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in float_models(options):
            by_model[model.stem] = measure(options.command, model, options.inputs, pathlib.Path(folder))
            print(model.stem, {key: round(db, 1) for key, db in by_model[model.stem].items()}, flush=True)
    tables = [f"{group}:\n\n{table_of(group, by_model)}" for group in GROUPS]
    PAGE.write_text(replace_between(PAGE, "four bits", "\n\n".join(tables)))


if __name__ == "__main__":
    sys.exit(main())
