#!/usr/bin/env python3
"""Gives float models budgets of size and writes what becomes of their outputs into docs/budgets.md.

    .venv/bin/python scripts/target_bits_table.py [--models DIR ... --inputs DIR]

The release build has to be there. Inputs are those of accuracy_table.py, half of them to measure errors on,
the other half, which the command does not see, for the table. With --without-samples the command sees none:
that table is printed, and the page stays.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from accuracy_table import difference, run, samples_of, session_of, sqnr
from model_table import ROOT, add_arguments, float_models, markdown_table, replace_between

PAGE = ROOT / "docs" / "budgets.md"
SIGNED = ("--bits", "4", "--signed-scale", "--clip", "mse", "--scales", "float16", "--block-size")
UNIFORM = {size: (*SIGNED, str(size)) for size in (64, 32, 16)}
RULES = ("uniform", "lowest-error", "hull", "search")
ROWS = 16  # of the only feed, in a part of it
SAMPLES = 128  # at most
POSITIONS = 2048  # of tokens, at most: each is a prediction
WINDOWS = 32  # of each picture, for models of small pictures
SMALL = 64 * 64  # pixels
HEADER = ("model", "target", "bits", "left", "uniform", "lowest error first", "greedy", "search", "behind")


def most_feeds(feed):
    """How many like this one are enough."""
    rows = max(1, min(value.shape[0] for value in feed.values()))
    first = next(iter(feed.values()))
    if np.issubdtype(first.dtype, np.integer):
        return POSITIONS // first.size
    return SAMPLES // rows


def halves(feeds):
    """Feeds to measure errors on, and others."""
    if len(feeds) < 2:
        rows = min(value.shape[0] for value in feeds[0].values())
        is_of_tokens = np.issubdtype(next(iter(feeds[0].values())).dtype, np.integer)
        part = max(1, min(ROWS // 4 if is_of_tokens else ROWS, rows // 2))
        cut = [{name: data[first:first + part] for name, data in feeds[0].items()}
               for first in range(0, rows, part)]
        feeds = cut if len(cut) > 1 else feeds * 2
    feeds = feeds[:max(2, most_feeds(feeds[0]))]
    return feeds[::2], feeds[1::2]


def quantize(command, model, target, *options):
    done = subprocess.run([str(command), "quantize", str(model), "-o", str(target), "--scheme",
                           "weight-only", "--json", *options], capture_output=True, text=True)
    if done.returncode == 4:
        return None
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def windows_of(session):
    """How many windows of each picture the model is given, if it is given pictures."""
    extents = [n for n in session.get_inputs()[0].shape if isinstance(n, int)]
    return WINDOWS if np.prod(extents, dtype=np.int64) <= 3 * SMALL else 4


def show(decibels, best):
    if decibels is None:
        return "-"
    text = f"{decibels:.2f}"
    return f"**{text}**" if decibels == best else text


def behind(floats, outputs):
    """By how much the search is behind the best of the others, and how sure that is; nothing where it is not."""
    others = [found for rule, found in outputs.items() if rule != "search" and found is not None]
    decibels, error = difference(floats, outputs["search"], max(others, key=lambda found: sqnr(floats, found)))
    return f"{-decibels:.2f} ± {error:.2f}" if decibels < 0 else ""


def save(feeds, folder):
    folder.mkdir()
    for i, feed in enumerate(feeds):
        np.savez(folder / f"{i:03}.npz", **feed)
    return folder


def measure(options, model, folder):
    session = session_of(model)
    known, unseen = halves(samples_of(model, session, options.inputs, windows_of(session)).feeds)
    samples = () if options.without_samples else ("--data", str(save(known, folder / "samples")))
    floats = run(session, unseen)
    target = folder / model.name

    def outputs_of(*settings):
        document = quantize(options.command, model, target, *settings)
        return document, run(session_of(target), unseen) if document else None

    sizes = {}
    for block, settings in UNIFORM.items():
        document, outputs = outputs_of(*settings)
        sizes[f"4 bits, blocks of {block}"] = (document["written"]["model_bytes"], outputs)
    document = quantize(options.command, model, target)
    middle = (sizes["4 bits, blocks of 16"][0] + document["written"]["model_bytes"]) // 2
    sizes["between 4 and 8 bits"] = (middle, None)
    for name, (size, uniform) in sizes.items():
        outputs = {}
        for rule in RULES:
            if rule == "uniform" and uniform is not None:
                outputs[rule] = uniform
                continue
            extra = ("--budget-rounds", str(options.rounds), "--measure", options.measure)
            document, outputs[rule] = outputs_of("--target-size", str(size), *samples, "--budget-rule", rule, *extra)
        budget = document["budget"]  # of the search, which is the last one
        figures = {rule: found and sqnr(floats, found) for rule, found in outputs.items()}
        best = max(value for value in figures.values() if value is not None)
        left = f"{budget['unused']:.2%}"
        if budget["unused"] > 0.01:
            left += " (none fits)" if budget["refused_upgrades"] == 0 else " (no gain)"
        yield (model.stem, f"{name}, {size / 1e3:.1f} kB", f"{budget['bits']:.2f}", left,
               *(show(figures[rule], best) for rule in RULES), behind(floats, outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=3, help="see --budget-rounds")
    parser.add_argument("--measure", default="scaled", help="as the command's")
    parser.add_argument("--without-samples", action="store_true", help="the command sees none")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    parser.add_argument("--only", help="models whose name contains this")
    options = parser.parse_args()
    rows = []
    for model in float_models(options):
        if options.only and options.only not in model.stem:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in measure(options, model, pathlib.Path(folder)):
                print("  ".join(row), flush=True)
                rows.append(row)
    table = markdown_table(HEADER, rows, left=("model", "target"))
    if options.dry_run or options.without_samples:
        print(table)
    else:
        PAGE.write_text(replace_between(PAGE, "targets", table))


if __name__ == "__main__":
    sys.exit(main())
