#!/usr/bin/env python3
"""Encodes weights of three distributions in every number format, writes how near they come into
docs/accuracy.md, and draws docs/formats.svg of it.

    python3 scripts/formats_table.py

The release build has to be there, with its benchmarks.
"""

import json
import subprocess
import sys

from formats_picture import picture
from model_table import ROOT, markdown_table, replace_between

PAGE = ROOT / "docs" / "accuracy.md"
PICTURE = ROOT / "docs" / "formats.svg"
COMMAND = ROOT / "build" / "release" / "bin" / "quadrant_encode_bench"


def measured(command):
    """(format, distribution, rule): counters."""
    done = subprocess.run([command, "--benchmark_format=json", "--benchmark_min_time=0.01"],
                          capture_output=True, text=True, check=True)
    return {tuple(each["name"].rsplit("/", 2)): each for each in json.loads(done.stdout)["benchmarks"]}


def rows(found):
    for name in dict.fromkeys(name for name, *_ in found):
        of = {key[1:]: each for key, each in found.items() if key[0] == name}
        best = of["gauss", "search"]
        bound = f"{best['bound_db']:.2f}" if best["bound_db"] < 200 else ""
        yield (f"`{name}`", f"{best['bits']:.2f}", f"{of['gauss', 'usual']['sqnr_db']:.2f}",
               *(f"{of[kind, 'search']['sqnr_db']:.2f}" for kind in ("gauss", "laplace", "t4")), bound)


def normal(found):
    """What the picture shows: (format, bits, dB)."""
    return [(name, each["bits"], each["sqnr_db"]) for (name, *which), each in found.items()
            if which == ["gauss", "search"]]


def main():
    found = measured(sys.argv[1] if len(sys.argv) > 1 else COMMAND)
    table = markdown_table(("format", "bits", "usual rule", "normal", "Laplace", "Student t4", "bound"),
                           rows(found), left=("format",))
    PAGE.write_text(replace_between(PAGE, "formats", table))
    PICTURE.write_text(picture(normal(found)))


if __name__ == "__main__":
    sys.exit(main())
