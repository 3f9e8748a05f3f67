#!/usr/bin/env python3
"""Instructions that phases 1 to 3 take for each node, as graphs grow tenfold: a linear engine keeps
them. Needs valgrind.

    engine_growth.py PROGRAM [LARGEST]     PROGRAM: build/release/bin/quadrant_engine_count
"""

import re
import subprocess
import sys
import tempfile

SHAPES = ("chain", "wide", "diamonds", "transformer")
SMALLEST = 1_000


def count(program, shape, nodes):
    """Nodes of the graph, and instructions from the call of analyze to its return."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}",
             "--collect-atstart=no", "--toggle-collect=quadrant::v0::analyze(*",
             program, shape, str(nodes)],
            check=True, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
    return int(done.stdout), instructions


def main():
    program = sys.argv[1]
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    print(f"{'graph':12} {'nodes':>9} {'instructions/node':>18} {'to a tenth':>11}")
    for shape in SHAPES:
        before = None
        nodes = SMALLEST
        while nodes <= largest:
            actual, instructions = count(program, shape, nodes)
            per_node = instructions / actual
            growth = f"{per_node / before - 1:+.2%}" if before else ""
            print(f"{shape:12} {actual:9} {per_node:18.1f} {growth:>11}", flush=True)
            before = per_node
            nodes *= 10


if __name__ == "__main__":
    main()
