#!/usr/bin/env python3
"""Quantizes float models by default, by `quadrant optimize`, and in every way of a grid, and writes what is
left at the outputs, on samples that no call has seen, into docs/optimize.md.

    .venv/bin/python scripts/optimize_table.py                        the example models
    .venv/bin/python scripts/optimize_table.py --models DIR --inputs DIR --table public

Every second sample is for the calls, of large inputs 16; ONNX Runtime judges on the others. Models and
inputs are those of scripts/accuracy_table.py. The release build has to be there. Where QUADRANT_GRID names a
folder, what the grid comes to, which takes most of the time, is kept there for the next time.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

import accuracy_table as tables
from model_table import ROOT, Row, write_table
from static_affine import by_quadrant, decibels, prepared

PAGE = ROOT / "docs" / "optimize.md"
ACTIVATIONS = {
    "minmax": (),
    "percentile 99.99": ("--activation-encoding", "percentile"),
    "percentile 99.9": ("--activation-encoding", "percentile", "--percentile", "99.9"),
    "mse": ("--activation-encoding", "mse"),
}
WEIGHTS = {"": (), "weights mse": ("--weight-encoding", "mse")}
STEPS = {"": (), "bc": ("--optimize", "bc"), "cle, hba": ("--optimize", "cle,hba"),
         "cle, hba, bc": ("--optimize", "cle,hba,bc")}
LARGE, FEW = 1 << 14, 16  # numbers in a sample, samples
UNREACHED = "200"  # dB
HEADER = ("model", "samples", "default", "best of the grid", "optimize, without floats", "tries", "tries of the grid",
          "seconds", "seconds of the grid", "optimize", "products in float")


def grid():
    """Names of settings, and the options of each."""
    for parts in itertools.product(ACTIVATIONS.items(), WEIGHTS.items(), STEPS.items()):
        yield ", ".join(name for name, _ in parts if name), sum((options for _, options in parts), ())


def optimized(command, model, target, samples, *options):
    """The document that the command prints, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([str(command), "optimize", str(model), "-o", str(target), "--calibration",
                           str(samples), "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), time.monotonic() - start


def of_grid(command, model, target, samples, judged):
    """What each of its settings comes to, and all seconds."""
    folder = os.environ.get("QUADRANT_GRID")
    kept = pathlib.Path(folder) / f"{model.stem}.json" if folder else None
    if kept and kept.is_file():
        return json.loads(kept.read_text())
    found, start = {}, time.monotonic()
    for name, settings in grid():
        by_quadrant(command, model, target, samples, *settings)
        found[name] = judged(target)
    results = {"found": found, "seconds": time.monotonic() - start}
    if kept:
        kept.write_text(json.dumps(results))
    return results


def measure(options, model, folder):
    session = tables.session_of(model)
    _, calibration, evaluation, samples = prepared(model, session, options.inputs, folder)
    if sum(data.size for data in calibration[0].values()) > LARGE:
        for file in sorted(samples.iterdir(), key=lambda file: int(file.stem))[FEW:]:
            file.unlink()
        evaluation = evaluation[:FEW]
    floats = tables.run(session, evaluation)
    target = folder / model.name

    def judged(path):
        return float(tables.sqnr(floats, tables.run(tables.session_of(path), evaluation)))

    searched, seconds = optimized(options.command, model, target, samples, "--accept-sqnr", UNREACHED,
                                  "--most-float", "0")
    found = judged(target)
    whole, _ = optimized(options.command, model, target, samples)
    with_floats = judged(target)
    best = next(attempt for attempt in whole["attempts"] if attempt["is_written"])
    results = of_grid(options.command, model, target, samples, judged)
    name, most = max(results["found"].items(), key=lambda each: each[1])
    default = results["found"]["minmax"]
    counts = f"{len(list(samples.iterdir()))} + {len(evaluation)}"
    cells = (model.stem, counts, decibels(default), f"{decibels(most)}: {name}", decibels(found),
             str(len(searched["attempts"])), str(len(results["found"])), f"{seconds:.1f}",
             f"{results['seconds']:.1f}", decibels(with_floats), str(len(best["excluded"])))
    return [Row(cells, figures=[default, most, found])]


def closing(rows):
    """How far the search gets, on average and at the worst."""
    gains = [row.figures[2] - row.figures[0] for row in rows]
    gaps = [row.figures[2] - row.figures[1] for row in rows]
    return [f"- Beside the default: {sum(gains) / len(gains):+.2f} dB on average, {min(gains):+.2f} dB at the worst.",
            f"- Beside the best of the grid, which is chosen on the samples that judge: "
            f"{sum(gaps) / len(gaps):+.2f} dB on average, {min(gaps):+.2f} dB at the worst."]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, closing=closing)
