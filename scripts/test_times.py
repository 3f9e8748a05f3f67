#!/usr/bin/env python3
"""Writes how long scripts/test took into docs/testing.md: minutes a tier, and each step and test that matters.

    scripts/test_times.py [--column warm|cold] [--dry-run]

From what the last runs left in build/times/; a tier that did not run keeps its figures. The column `cold` is of a run
without a compiler cache; the other one's figures stay as they are. Tests of less than 5 seconds are added up; steps of less than 10 are left out. The
tier `fast` runs within `fresh`, and is not counted twice.
"""

import argparse
import pathlib
import xml.etree.ElementTree

from model_table import ROOT, markdown_table, replace_between

PAGE = ROOT / "docs" / "testing.md"
TIMES = ROOT / "build" / "times"
TIERS = ("fresh", "fast", "peers", "sanitizers", "lint")
WITHIN_FRESH = ("fast",)
LEAST_STEP, LEAST_TEST = 10, 5


def minutes(seconds):
    return f"{seconds / 60:.1f}"


def steps(tier):
    """(step, seconds), in their order; the whole tier is the step `whole`."""
    parts = [TIMES / f"{tier}.tsv"]
    if tier == "fresh":
        parts.insert(0, TIMES / "readme.tsv")
    lines = [line for part in parts if part.is_file() for line in part.read_text().splitlines()]
    return [(step, int(seconds)) for _, step, seconds in (line.split("\t") for line in lines)]


def tests(tier):
    """(test, seconds), the longest first."""
    found = []
    for report in sorted(TIMES.glob(f"{tier}-*.xml")):
        preset = report.stem.removeprefix(f"{tier}-")
        for test in xml.etree.ElementTree.parse(report).iter("testcase"):
            name = test.get("name") if preset == "release" else f"{test.get('name')} ({preset})"
            found.append((name, float(test.get("time", 0))))
    return sorted(found, key=lambda item: -item[1])


def known(name):
    """Rows of a table that is there."""
    text = PAGE.read_text().split(f"<!-- table: {name} -->")[1].split(f"<!-- end: {name} -->")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()[2:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--column", choices=("warm", "cold"), default="warm")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    options = parser.parse_args()
    column = ("warm", "cold").index(options.column)

    before, rows = {row[0]: row[1:] for row in known("tiers")}, []
    for tier in TIERS:
        cells = list(before.get(tier, ["", ""]))
        if (TIMES / f"{tier}.tsv").is_file():
            whole = dict(steps(tier)).get("whole")  # missing where it was interrupted
            cells[column] = minutes(whole) if whole is not None else ""
        rows.append([tier, *cells])
    columns = [[row[place] for row in rows if row[0] not in WITHIN_FRESH] for place in (1, 2)]
    rows.append(["all", *(f"{sum(map(float, cells)):.1f}" if all(cells) else "" for cells in columns)])
    tiers = markdown_table(("tier", "warm", "cold"), rows, left=("tier",))

    details = []
    for tier in TIERS:
        if not (TIMES / f"{tier}.tsv").is_file():  # did not run: its rows stay
            details += [tuple(row) for row in known("steps") if row[0] == tier]
            continue
        for step, seconds in steps(tier):
            if step != "whole" and seconds >= LEAST_STEP:
                details.append((tier, step, str(seconds)))
        rest = 0
        for test, seconds in tests(tier):
            if seconds >= LEAST_TEST:
                details.append((tier, f"· {test}", f"{seconds:.0f}"))
            else:
                rest += seconds
        if rest >= LEAST_STEP:
            details.append((tier, f"· tests of less than {LEAST_TEST} s", f"{rest:.0f}"))
    listing = markdown_table(("tier", "step, or · test", "seconds"), details, left=("tier", "step, or · test"))
    print(tiers, listing, sep="\n\n")
    if not options.dry_run:
        PAGE.write_text(replace_between(PAGE, "tiers", tiers))
        if options.column == "warm":
            PAGE.write_text(replace_between(PAGE, "steps", listing))


if __name__ == "__main__":
    main()
