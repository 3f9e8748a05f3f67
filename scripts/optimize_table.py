#!/usr/bin/env python3
"""Quantizes float models by default, by `quadrant optimize`, and in every way of a grid, and writes what is
left at the outputs, on samples that no call has seen, into docs/optimize.md.

    .venv/bin/python scripts/optimize_table.py                        the example models
    .venv/bin/python scripts/optimize_table.py --models DIR --inputs DIR --table public

Every second sample is for the calls, of large inputs 16; ONNX Runtime judges on the others. Models and
inputs are those of scripts/accuracy_table.py. The release build has to be there. --grid FILE keeps what
the grid came to, for the next time; without files that are kept, the grid takes most of the time.
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
HEADER = ("model", "samples", "default", "optimize", "best of the grid", "with", "tries", "of the grid",
          "seconds", "of the grid", "good enough: left in float", "SQNR")


def grid():
    """Names of settings, and the options of each."""
    for parts in itertools.product(ACTIVATIONS.items(), WEIGHTS.items(), STEPS.items()):
        yield ", ".join(name for name, _ in parts if name), sum((options for _, options in parts), ())


def optimized(command, model, target, samples, *options):
    done = subprocess.run([str(command), "optimize", str(model), "-o", str(target), "--calibration",
                           str(samples), "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def of_grid(options, model, target, samples, judged):
    """What each of its settings came to, and all seconds. Kept beside the others where that is asked for."""
    kept = os.environ.get("QUADRANT_GRID")
    file = pathlib.Path(kept) / f"{model.stem}.json" if kept else None
    if file and file.is_file():
        return json.loads(file.read_text())
    found, start = {}, time.monotonic()
    for name, settings in grid():
        by_quadrant(options.command, model, target, samples, *settings)
        found[name] = judged(target)
    result = {"found": found, "seconds": time.monotonic() - start}
    if file:
        file.write_text(json.dumps(result))
    return result


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

    results = of_grid(options, model, target, samples, judged)
    best = max(results["found"], key=results["found"].get)
    print(model.stem, sorted(((round(v, 2), k) for k, v in results["found"].items()), reverse=True)[:8])
    return [Row((model.stem, decibels(results["found"]["minmax"]), decibels(results["found"][best]), best))]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure)
