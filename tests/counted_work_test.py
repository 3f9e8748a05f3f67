"""Guards speed by counted work: instructions for a node, or for a weight, on fixed inputs.

    counted_work_test.py ENGINE_COUNT NUMERICS_COUNT     programs of benchmarks/

Time depends on the machine and on its other work; instructions under callgrind do not, since valgrind
shows programs the same processor (with AVX2) on any x86-64. LIMITS are what was counted when a limit was
last set, plus 5 %; who makes something faster lowers them, who needs more says why.
"""

import os
import pathlib
import platform
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benchmarks"))

import counting  # noqa: E402

PHASES = "quadrant::v0::analyze(*"
QUANTIZE = "quadrant::v0::quantize_weights(quadrant::v0::ElementType*"

# Instructions a node, of 10,000.
# Since 2026-11-25 with the stack protector (3.4 % on chain and transformer) and all of a room compiled at
# once (2.4 %). Since 2026-11-27 weight-only asks the table of operations what a product's operands are (5 %
# on wide). Since 2026-11-28 operands may be taken together, a graph says what it can hold, hooks read what their
# scheme prepared, and weights behind moves may have any number format (15 % on chain, 7 to 10 % on the others).
# Since 2026-12-01 tables of constraints lie in one piece (5 % less).
ENGINE_LIMITS = {"chain": 7584, "wide": 3638, "diamonds": 6604, "transformer": 5454}
# Instructions a weight, of 65,536.
NUMERICS_LIMITS = {
    "int8_rows": 3.11,
    "int8_columns": 2.96,
    "int8_row_blocks": 5.09,
    "int8_column_blocks": 3.63,
    "int4_row_blocks": 5.60,
    "int4_row_blocks_mse": 149.2,
}
LARGEST_GROWTH = 0.02  # of a node's instructions, for ten times the nodes


def main():
    engine, numerics = sys.argv[1:]
    if shutil.which("valgrind") is None or platform.machine() != "x86_64":
        print("needs valgrind, on x86-64")
        sys.exit(1 if os.environ.get("CI") else 77)
    failures = []
    passed = 0

    def check(what, actual, limit):
        nonlocal passed
        print(f"{what}: {actual:.3f} of {limit:.3f}")
        if actual <= limit:
            passed += 1
        else:
            failures.append(what)

    for shape, limit in ENGINE_LIMITS.items():
        nodes, instructions = counting.count(engine, PHASES, shape, 10_000)
        check(f"{shape}, instructions a node", instructions / nodes, limit)
        more_nodes, more = counting.count(engine, PHASES, shape, 100_000)
        growth = (more / more_nodes) / (instructions / nodes) - 1
        check(f"{shape}, growth for ten times the nodes", growth, LARGEST_GROWTH)
    for case, limit in NUMERICS_LIMITS.items():
        weights, instructions = counting.count(numerics, QUANTIZE, case)
        check(f"{case}, instructions a weight", instructions / weights, limit)
    for failure in failures:
        print(f"too much: {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
