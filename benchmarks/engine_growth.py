#!/usr/bin/env python3
"""Instructions that phases 1 to 3 take for each node, as graphs grow tenfold: a linear engine keeps
them. Needs valgrind.

    engine_growth.py PROGRAM [LARGEST]     PROGRAM: build/release/bin/quadrant_engine_count
"""

import sys

import counting

SHAPES = ("chain", "wide", "diamonds", "transformer")
SMALLEST = 1_000
PHASES = "quadrant::v0::analyze(*"


def main():
    program = sys.argv[1]
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    print(f"{'graph':12} {'nodes':>9} {'instructions/node':>18} {'to a tenth':>11}")
    for shape in SHAPES:
        before = None
        nodes = SMALLEST
        while nodes <= largest:
            actual, instructions = counting.count(program, PHASES, shape, nodes)
            per_node = instructions / actual
            growth = f"{per_node / before - 1:+.2%}" if before else ""
            print(f"{shape:12} {actual:9} {per_node:18.1f} {growth:>11}", flush=True)
            before = per_node
            nodes *= 10


if __name__ == "__main__":
    main()
