#!/usr/bin/env python3
"""Writes what the interpreter computes into docs/interpreter.md: the operations, their cases, and how
many of ONNX's node tests they pass.

    .venv/bin/python scripts/interpreter_table.py

The release build has to be there, or the environment variable QUADRANT name the command.
"""

import collections
import re
import sys

from model_table import ROOT, markdown_table, replace_between

sys.path.insert(0, str(ROOT / "tests" / "peers"))
from _nodes import node_tests, operations, problems_of, split_tests

PAGE = ROOT / "docs" / "interpreter.md"
CASES = ROOT / "tests" / "runtime" / "ops"


def about(text):
    """The first sentence of a file of cases, without the operation's name."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("# "):
            break
        lines.append(line[2:])
    sentence = re.split(r"\.(?= [A-Z]|$)", " ".join(lines))[0]
    return re.sub(r"^[\w:]+: ", "", sentence).replace("|", "\\|")


def row(entry, passed):
    file = CASES / f"{entry['operation'].replace(':', '_')}.txt"
    text = file.read_text()
    checks = len(re.findall(r"^(?:expect|refused)\(", text, flags=re.MULTILINE))
    link = f"[{checks}](../{file.relative_to(ROOT)})"
    count = str(passed[entry["onnx"]]) if passed[entry["onnx"]] else ""
    return (f"`{entry['operation']}`", about(text), link, count)


def main():
    chosen, _, _ = split_tests(node_tests())
    passed = collections.Counter()
    for test, problem in zip(chosen, problems_of(chosen)):
        if problem:
            sys.exit(f"{test.name} does not pass: run tests/peers/interpreter_nodes_test.py")
        passed.update(test.operators)
    rows = [row(entry, passed) for entry in operations()]
    table = markdown_table(("operation", "computes", "cases", "node tests"), rows,
                           left=("operation", "computes"))
    PAGE.write_text(replace_between(PAGE, "operations", table))


if __name__ == "__main__":
    sys.exit(main())
