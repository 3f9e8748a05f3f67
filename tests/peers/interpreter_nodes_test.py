"""The interpreter passes ONNX's own tests of all operators that it claims to compute.

A test is left out where it has an operator that the interpreter does not claim (`quadrant list
operations`), or inputs or outputs that the library does not read; how many, and why, is printed.
"""

import _peers

import re

from _command import ROOT, run_tests
from _nodes import (EXCEPTIONS, check_refused, node_tests, operations, problems_of, split_tests,
                    unclaimed_tests)

def check(problem):
    if problem:
        raise problem


def test_node():
    chosen, _, left_out = split_tests(node_tests())
    print(f"{left_out.total()} tests left out:",
          ", ".join(f"{reason} {count}" for reason, count in left_out.most_common()))
    for test, problem in zip(chosen, problems_of(chosen)):
        yield test.name, check, problem


def test_left_out_operators_are_refused():
    found = unclaimed_tests(node_tests())
    assert {"CausalConvWithState", "LinearAttention"} <= found.keys(), found.keys()
    for operator, test in sorted(found.items()):
        yield operator, check_refused, operator, test


def test_exceptions_are_needed():
    _, excepted, _ = split_tests(node_tests())
    assert len(excepted) == len(EXCEPTIONS), "an exception names no test"
    for test, problem in zip(excepted, problems_of(excepted)):
        assert problem, f"{test.name} passes: it is no exception"


def test_page_lists_what_is_claimed():
    page = (ROOT / "docs" / "interpreter.md").read_text()
    table = page.partition("<!-- table: operations -->")[2].partition("<!-- end: operations -->")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)
    assert listed == [entry["operation"] for entry in operations()], "run scripts/interpreter_table.py"
    assert f"\n{len(listed)} operations: " in page, f"the page does not say {len(listed)}"


if __name__ == "__main__":
    run_tests(globals())
