"""Prints `passed failed skipped` of one JUnit report of CTest.

A program of doctest cases, or one that ends with `N passed, N failed`, counts as its cases, any other
test as one.
"""

import re
import sys
import xml.etree.ElementTree

CASES = re.compile(
    r"^(?:\[doctest\] test cases:\s*\d+ \|\s*)?(\d+) passed(?: \||,)\s*(\d+) failed", re.MULTILINE
)


def tally(report):
    passed = failed = skipped = 0
    for test in xml.etree.ElementTree.parse(report).iter("testcase"):
        status = test.get("status")
        if status == "notrun":
            # CTest reports a program that was not built like one that asked to be skipped.
            if test.find("skipped").get("message", "").startswith("SKIP_"):
                skipped += 1
            else:
                failed += 1
            continue
        cases = CASES.search(test.findtext("system-out", ""))
        good, bad = map(int, cases.groups()) if cases else (0, 0)
        if status == "run":
            passed += good or 1
        else:
            passed += good
            failed += bad or 1  # a crash, a leak: no case is to blame
    return passed, failed, skipped


if __name__ == "__main__":
    print(*tally(sys.argv[1]))
