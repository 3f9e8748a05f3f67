"""Random whole models through every format, against its runtime: right, or refused by name.

    model_sweep_test.py [--models N] [--seed S] [--only FORMAT,...] [--workers N] [--refusals]

checks the models of the seeds S, S + 1, ..., and prints what is wrong with which; `--refusals`: what was refused,
by reason.
"""

import _peers

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import traceback

import _mlir
from _command import COMMAND
from _sweep_formats import Checks, FORMATS, Finding, Refusal
from _sweep_models import sweep_model

MODELS, SEED = 60, 10097
SECONDS = 120  # for a format of a model

# What is not as it should be, and why: (formats, pattern of kind and message, reason).
OF_OPENVINO = "OpenVINO 2026.4 does not compile, or computes wrongly, what the file means"
KNOWN = (
    ("tflite static-tflite", r"right where LiteRT keeps all tensors",
     "LiteRT's memory planner gives memory away that is still read"),
    ("static-xml", r"GatherTransformation", OF_OPENVINO),
    ("static-xml", r"(scale|data).size\(\).*OC", OF_OPENVINO),
    ("static-onnx", r"LogSoftmax\) \[ShapeInferenceError\].*ConvTranspose",
     "onnx's shape inference knows no images behind a ConvTranspose with output_shape"),
)


def check_model(seed, formats, pipe):
    """Sends (format, outcome, kind, message) for each format, and before it is tried (format, "begins")."""
    pipe.send(("model", "begins"))
    try:
        made = sweep_model(seed)
    except Exception:
        pipe.send(("model", "finding", "the sweep itself", traceback.format_exc()))
        return pipe.send(None)
    if made is None:
        return pipe.send(None)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(made, pathlib.Path(folder))
        for format in formats:
            pipe.send((format, "begins"))
            pipe.send((format, *outcome(checks, format)))
    return pipe.send(None)


def outcome(checks, format):
    try:
        checks.check(format)
        return "right",
    except Refusal as refusal:
        return "refused", "", str(refusal)
    except Finding as finding:
        return "finding", finding.kind, f"{finding} {checks.made.operators()}"
    except Exception:
        return "finding", "the sweep itself", traceback.format_exc()


def results_of(seed, formats):
    """(seed, format, outcome, kind, message) of each format, from a process of its own: a runtime that stops
    or hangs is a finding. Where ONNX Runtime does so for the model itself there is none."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=check_model, args=(seed, formats, theirs))
    process.start()
    theirs.close()
    results, format = [], "model"
    try:
        problem = "it hangs"
        while ours.poll(SECONDS):
            message = ours.recv()
            if message is None:
                return results
            format = message[0]
            if message[1] != "begins":
                results.append((seed, *message))
    except EOFError:
        process.join()
        problem = f"it ends with {process.exitcode}"
    finally:
        process.kill()
        process.join()
    stopped = (seed, format, "finding", "the runtime stops", problem)
    return results if format == "model" else [*results, stopped]


def sweep(seeds, formats, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return [result for results in pool.map(lambda seed: results_of(seed, formats), seeds) for result in results]


def known(result):
    """Why a finding is one that is known; None where it is not."""
    _, format, _, kind, message = result
    text = f"{kind}: {message}"
    return next((why for formats, pattern, why in KNOWN
                 if format in formats.split() and re.search(pattern, text)), None)


def reason(message):
    """What refusals have in common: without what is in quotes, and numbers."""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'...'", message))[:160]


def tally(results):
    """Lines about what was refused, by format and reason."""
    counted = collections.Counter((format, reason(message[0])) for _, format, outcome, _, *message in
                                  (r for r in results if r[2] == "refused"))
    return [f"{count:5} {format}: {why}" for (format, why), count in counted.most_common()]


def table(results):
    """A line for each format: how many models are right, refused, and findings."""
    counted = collections.Counter((result[1], result[2]) for result in results)
    lines = [f"{'':14}{'right':>8}{'refused':>9}{'findings':>10}"]
    for format in dict.fromkeys(result[1] for result in results if result[1] != "model"):
        numbers = [counted[format, outcome] for outcome in ("right", "refused", "finding")]
        lines.append(f"{format:14}{numbers[0]:8}{numbers[1]:9}{numbers[2]:10}")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", help="formats: " + ", ".join(FORMATS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--refusals", action="store_true")
    options = parser.parse_args()
    formats = [format for format in FORMATS if not options.only or format in options.only.split(",")]
    if not COMMAND.is_file():
        sys.exit(f"the command is not there: {COMMAND} (the environment variable QUADRANT names it)")
    _mlir.tool(19, "mlir-opt", "--version")  # ends the test where it is missing
    results = sweep(range(options.seed, options.seed + options.models), formats, options.workers)
    findings = [result for result in results if result[2] == "finding"]
    for result in findings:
        seed, format, _, kind, message = result
        print(f"{seed} {format}: {kind}: {f'known: {known(result)}' if known(result) else message[:600]}")
    findings = [result for result in findings if not known(result)]
    if options.refusals:
        print("\n".join(tally(results)))
    print("\n".join(table(results)))
    print(f"{len(findings)} findings in {options.models} models")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
