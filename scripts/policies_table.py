#!/usr/bin/env python3
"""Decides on float models by both policies and writes what each gains into docs/selection.md.

    .venv/bin/python scripts/policies_table.py                     the example models
    .venv/bin/python scripts/policies_table.py --models DIR --inputs DIR --table public

Decisions are those of `quadrant plan`: stored weights, activations of 8 bits, and both in one run.
"""

import json
import subprocess
import sys

import accuracy_table as tables
from model_table import ROOT, Row, write_table
from static_affine import prepared

PAGE = ROOT / "docs" / "selection.md"
CALIBRATION_SAMPLES = 2
SETTINGS = {"weight_only": ("--scheme", "weight-only"),
            "static_affine": ("--scheme", "static-affine"),
            "both": ("--mix", "activations=static_affine", "--mix", "weights=weight_only")}
HEADER = ("model", "setting", "unit", "greedy", "optimal", "bound", "greedy's share")


def decide(options, model, policy, arguments):
    done = subprocess.run([str(options.command), "plan", str(model), "--policy", policy, "--json",
                           *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(options, model, folder):
    session = tables.session_of(model)
    _, _, _, data = prepared(model, session, options.inputs, folder, CALIBRATION_SAMPLES)
    rows = []
    for setting, arguments in SETTINGS.items():
        if setting != "weight_only":
            arguments = (*arguments, "--calibration", str(data))
        greedy = decide(options, model, "greedy", arguments)["plan"]["objective"]
        best = decide(options, model, "optimal", arguments)
        optimal = best["plan"]["objective"]
        share = f"{100 * greedy / optimal:.1f} %" if optimal else "-"
        bound = "the same" if best["bound"] == optimal else str(best["bound"])
        rows.append(Row([model.stem, setting, best["gain_unit"], str(greedy), str(optimal), bound,
                         share], figures=[greedy <= optimal, optimal == best["bound"]]))
    return rows


def closing(rows):
    never_below = all(row.figures[0] for row in rows)
    exact = sum(row.figures[1] for row in rows)
    return [f"The optimal policy is {'never' if never_below else 'SOMETIMES'} below greedy; in {exact} of "
            f"{len(rows)} lines it is known that no decision gains more."]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, closing=closing)
