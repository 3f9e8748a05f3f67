#!/usr/bin/env python3
"""Holds the time model of docs/scaling.md against runs on hosts whose links carry so many bits a second, and writes into
the page how far it is off, and what it says of machines that are not here.

    .venv/bin/python scripts/network_table.py [--repeat 3] [--scale 1]

Hosts are network namespaces of this machine (tests/adapters/mpi/_hosts.py: root is needed), each with a rank of one thread;
links are limited by tc's token buckets. The model's coefficients are fitted on runs of one host, of two whose links are not
limited, and of two at 200 Mbit/s; what starting so many ranks takes is measured by itself. From these follow the times at other rates and on other numbers of hosts, which are
measured besides. Each figure is the best of the repetitions, which take turns: of use on a machine that does nothing else.
The release build has to be there, with MPI.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.optimize

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "adapters" / "mpi"))

import _hosts
from model_table import markdown_table, replace_between
from scaling_table import ENVIRONMENT, make_model, make_samples

PAGE = ROOT / "docs" / "scaling.md"
MBIT, GBIT = 10 ** 6, 10 ** 9


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    options: tuple
    layers: int
    columns: int
    samples: int


# Many small values, whose statistics are texts; few wide layers, whose second moments are numbers.
COMMANDS = (Command("calibrate", (), 150, 64, 400), Command("calibrate --moments", ("--moments",), 8, 1024, 48))


@dataclasses.dataclass(frozen=True)
class Run:
    hosts: int
    parts: int  # of the samples, in halves
    rate: int | None  # bits a second


FITTED = (Run(1, 1, None), Run(1, 2, None), Run(2, 1, None), Run(2, 2, None), Run(2, 1, 200 * MBIT), Run(2, 2, 200 * MBIT))
PREDICTED = (Run(2, 2, 100 * MBIT), Run(2, 2, GBIT), Run(4, 2, 100 * MBIT), Run(4, 2, GBIT))


def steps(ranks):
    """Of the tree, one way."""
    return (ranks - 1).bit_length()


def terms(run, samples, size):
    """What the coefficients a, b, d and c of the model are multiplied by. Ranks that share a core take turns."""
    turns = max(1, run.hosts / os.cpu_count())
    return [1, -(-samples * run.parts // 2 // run.hosts) * turns, size * steps(run.hosts),
            size * steps(run.hosts) * 8 / run.rate if run.rate else 0]


def fit(measured, size, starting):
    """Least squares of relative errors, of numbers that are not negative: (a, b, d, c) of each command, with a less the
    starting; the c, which is the network's, is one."""
    commands, rows, shares = list(size), [], []
    for (command, run), seconds in measured.items():
        if run not in FITTED:
            continue
        row, at = np.zeros(3 * len(commands) + 1), 3 * commands.index(command)
        *row[at:at + 3], row[-1] = terms(run, command.samples, size[command])
        rows.append(row / seconds)
        shares.append(1 - starting[run.hosts] / seconds)
    matrix = np.array(rows)
    units = matrix.max(axis=0)  # some columns are of bytes
    found = scipy.optimize.nnls(matrix / units, np.array(shares))[0] / units
    return {command: np.append(found[3 * i:3 * i + 3], found[-1]) for i, command in enumerate(commands)}


def timed(call):
    start = time.monotonic()
    subprocess.run(call, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def measure(commands, repeat, binary, folder):
    """Seconds of each run of each command, bytes of their tables, and seconds in which so many ranks start and end."""
    hosts = _hosts.Hosts(4, folder)
    best, size, starting = {}, {}, {}
    try:
        for command in commands:
            at = folder / command.name.replace(" ", "")
            at.mkdir()
            make_model(at / "model.onnx", command.columns, command.layers)
            for parts in (1, 2):
                make_samples(at / f"data{parts}", command.samples * parts // 2, command.columns)
        for _ in range(repeat):
            hosts.set_rate(None)
            for ranks in dict.fromkeys(run.hosts for run in (*FITTED, *PREDICTED)):
                seconds = timed(hosts.command(ranks, binary, "--version"))
                starting[ranks] = min(seconds, starting.get(ranks, seconds))
            for rate in dict.fromkeys(run.rate for run in (*FITTED, *PREDICTED)):
                hosts.set_rate(rate)
                for command in commands:
                    at = folder / command.name.replace(" ", "")
                    for run in (run for run in (*FITTED, *PREDICTED) if run.rate == rate):
                        seconds = timed(hosts.command(run.hosts, binary, "calibrate", at / "model.onnx", "--data",
                                                      at / f"data{run.parts}", "-o", at / "out", "--threads", "1",
                                                      *command.options, seconds=300))
                        best[command, run] = min(seconds, best.get((command, run), seconds))
                        size[command] = (at / "out").stat().st_size
                        print(command.name, run, f"{seconds:.2f}", file=sys.stderr, flush=True)
    finally:
        hosts.close()
    return best, size, starting


def tables(best, size, starting):
    """What goes into the page."""
    fitted, rows, errors = fit(best, size, starting), [], []
    order = sorted(best, key=lambda case: (case[0].name, -(case[1].rate or 10 * GBIT), case[1].hosts, case[1].parts))
    for command, run in order:
        seconds = best[command, run]
        model = starting[run.hosts] + float(np.dot(terms(run, command.samples, size[command]), fitted[command]))
        off = "fitted"
        if run in PREDICTED:
            errors.append(model / seconds - 1)
            off = f"{100 * errors[-1]:+.1f} %"
        rate = "not limited" if run.rate is None else f"{run.rate // MBIT:,} Mbit/s"
        rows.append((command.name, rate, str(run.hosts), str(command.samples * run.parts // 2), f"{seconds:.2f}", f"{model:.2f}", off))
    coefficients = [(command.name, f"{size[command] / 1e6:.1f}", f"{a:.2f}", f"{1000 * b:.2f}", f"{1e9 * d:.1f}", f"{c:.2f}")
                    for command, (a, b, d, c) in fitted.items()]
    starts = ", ".join(f"{ranks} in {seconds:.2f} s" for ranks, seconds in sorted(starting.items()))
    left = ("command", "links")
    parts = (markdown_table(("command", "links", "hosts", "samples", "measured, s", "model, s", "model is off by"), rows, left),
             f"Ranks start and end: {starts}. Fitted, besides, with M, the bytes of the tables:",
             markdown_table(("command", "M, MB", "a, s", "b, ms", "d, ms a MB", "c"), coefficients, left))
    return "\n\n".join(parts), beyond(fitted, max(map(abs, errors)))


def beyond(fitted, error):
    """What 1,000 ranks need besides their own samples and weights, where links carry 10 GB a second."""
    ranks, bytes_a_second = 1000, 10 ** 10
    rows = []
    for what, size, (_, _, merging, network) in zip(("statistics of 2,000 values", "second moments that sums hold at most"),
                                                    (60 * 10 ** 6, 4 * 10 ** 9), fitted.values()):
        rows.append((what, f"{size // 10 ** 6:,}", *(f"{size * steps(ranks) * each:.1f}"
                                                     for each in (merging, network / bytes_a_second))))
    return (markdown_table(("tables", "M, MB", "reading, merging, printing, s", "under way, s"), rows, left=("tables",)) +
            f"\n\nOf what was measured and not fitted the model is off by {100 * error:.0f} % at most.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the samples and layers; less, to try the script")
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    options = parser.parse_args()
    reason = _hosts.missing()
    if reason is not None:
        sys.exit(reason)
    commands = [dataclasses.replace(command, layers=round(command.layers * options.scale),
                                    samples=2 * round(command.samples * options.scale / 2)) for command in COMMANDS]
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(commands, options.repeat, options.build / "bin" / "quadrant-mpi", pathlib.Path(folder))
    for name, text in zip(("network", "beyond"), tables(*measured)):
        print(text)
        if not options.print:
            PAGE.write_text(replace_between(PAGE, name, text))


if __name__ == "__main__":
    main()
