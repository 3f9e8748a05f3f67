#!/usr/bin/env python3
"""Holds the time model of docs/scaling.md against runs on hosts whose links carry so many bits a second, and writes into
the page how far it is off, and what it says of machines that are not here.

    .venv/bin/python scripts/network_table.py [--repeat 3] [--scale 1]

Hosts are network namespaces of this machine (tests/adapters/mpi/_hosts.py: root is needed), each with a rank of one thread;
links are limited by tc's token buckets. The model's coefficients are fitted on runs of one host, of two whose links are not
limited, and of two at 200 Mbit/s. From them follow the times at other rates and on other numbers of hosts, which are
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
COMMANDS = (Command("calibrate", (), 150, 64, 2000), Command("calibrate --moments", ("--moments",), 8, 1024, 48))


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


def fit(measured, of):
    """Least squares of relative errors: (a, b, d) of each command, and the one c that is the network's."""
    rows, width = [], 3 * len(of) + 1
    for (command, run), seconds in measured.items():
        if run not in FITTED:
            continue
        row, at = np.zeros(width), 3 * list(of).index(command)
        row[at:at + 3], row[-1] = np.split(np.array(terms(run, command.samples, of[command])), [3])
        rows.append(row / seconds)
    # Columns of like size: some are of bytes.
    matrix = np.array(rows)
    scale = np.abs(matrix).max(axis=0)
    found = np.linalg.lstsq(matrix / scale, np.ones(len(rows)), rcond=None)[0] / scale
    return {command: np.append(found[3 * i:3 * i + 3], found[-1]) for i, command in enumerate(of)}


def measure(commands, repeat, binary, folder):
    """Seconds of each run of each command, and bytes of their tables."""
    hosts = _hosts.Hosts(4, folder)
    best, size = {}, {}
    try:
        for command in commands:
            at = folder / command.name.replace(" ", "")
            at.mkdir()
            make_model(at / "model.onnx", command.columns, command.layers)
            for parts in (1, 2):
                make_samples(at / f"data{parts}", command.samples * parts // 2, command.columns)
        for _ in range(repeat):
            for rate in dict.fromkeys(run.rate for run in (*FITTED, *PREDICTED)):
                hosts.set_rate(rate)
                for command in commands:
                    at = folder / command.name.replace(" ", "")
                    for run in (run for run in (*FITTED, *PREDICTED) if run.rate == rate):
                        start = time.monotonic()
                        subprocess.run(hosts.command(run.hosts, binary, "calibrate", at / "model.onnx", "--data",
                                                     at / f"data{run.parts}", "-o", at / "out", "--threads", "1", *command.options,
                                                     seconds=300),
                                       check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
                        seconds = time.monotonic() - start
                        best[command, run] = min(seconds, best.get((command, run), seconds))
                        size[command] = (at / "out").stat().st_size
                        print(command.name, run, f"{seconds:.2f}", file=sys.stderr, flush=True)
    finally:
        hosts.close()
    return best, size


def tables(best, size):
    """What goes into the page."""
    fitted = fit(best, size)
    rows, errors = [], {}
    for (command, run), seconds in best.items():
        model = float(np.dot(terms(run, command.samples, size[command]), fitted[command]))
        if run in PREDICTED:
            errors[command, run] = model / seconds - 1
        rate = "not limited" if run.rate is None else f"{run.rate // MBIT:,} Mbit/s"
        rows.append((command.name, rate, str(run.hosts), str(command.samples * run.parts // 2), f"{seconds:.2f}", f"{model:.2f}",
                     f"{100 * (model / seconds - 1):+.0f} %" if run in PREDICTED else "fitted"))
    text = markdown_table(("command", "links", "hosts", "samples", "measured, s", "model, s", "model is off by"), sorted(rows),
                          left=("command",))
    network = next(iter(fitted.values()))[3]
    text += f"\n\nFitted: c = {network:.2f};\n\n" + markdown_table(
        ("command", "M, MB", "a, s", "b, ms", "d, ms a MB"),
        [(command.name, f"{size[command] / 1e6:.1f}", f"{a:.2f}", f"{1000 * b:.2f}", f"{1e9 * d:.1f}")
         for command, (a, b, d, _) in fitted.items()], left=("command",))
    return text, beyond(fitted, max(abs(error) for error in errors.values()))


def beyond(fitted, error):
    """1,000 ranks, links of 10 GB/s."""
    ranks, bytes_a_second = 1000, 10 ** 10
    statistics, moments = fitted.values()
    rows = []
    for what, size, (_, _, merging, network) in (("statistics of 2,000 values", 60 * 10 ** 6, statistics),
                                                 ("second moments, 4 GB", 4 * 10 ** 9, moments)):
        way = [1e-2 * round(100 * size * steps(ranks) * each) for each in (merging, network / bytes_a_second)]
        rows.append((what, f"{size / 1e6:,.0f}", f"{way[0]:,.1f}", f"{way[1]:,.1f}"))
    return (markdown_table(("tables", "M, MB", "parsing, merging, printing, s", "under way, s"), rows, left=("tables",)) +
            f"\n\nOn what was measured above the model was off by {100 * error:.0f} % at most.")


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
        best, size = measure(commands, options.repeat, options.build / "bin" / "quadrant-mpi", pathlib.Path(folder))
    for name, text in zip(("network", "beyond"), tables(best, size)):
        print(text)
        if not options.print:
            PAGE.write_text(replace_between(PAGE, name, text))


if __name__ == "__main__":
    main()
