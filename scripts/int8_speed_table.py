#!/usr/bin/env python3
"""Times float models and what static_affine makes of them, side by side, and writes the ratios into
docs/schemes/static_affine.md.

    .venv/bin/python scripts/int8_speed_table.py                     the example models
    .venv/bin/python scripts/int8_speed_table.py --models DIR --inputs DIR --table public

Runs of both models take turns; the ratio is of the fastest of each. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import openvino

import accuracy_table as tables
import static_affine_table as static

ROUNDS = 30
CALIBRATION_SAMPLES = 4
SETTINGS = {"int8": (), "uint8": ("--unsigned-activations",)}
HEADER = ("model", "ONNX Runtime, int8", "ONNX Runtime, uint8", "OpenVINO, int8", "OpenVINO, uint8")


def by_onnxruntime(path):
    session = tables.session_of(path)
    return lambda feed: session.run(None, feed)


def by_openvino(path):
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    return lambda feed: request.infer(feed)


def fastest(runners, feed):
    """The least time of each, in turns."""
    least = [float("inf")] * len(runners)
    for run in runners:
        run(feed)
    for _ in range(ROUNDS):
        for i, run in enumerate(runners):
            start = time.perf_counter()
            run(feed)
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def measure(command, model, inputs, folder):
    session = tables.session_of(model)
    _, _, evaluation, data = static.prepared(model, session, inputs, folder, CALIBRATION_SAMPLES)
    paths = {"float": model}
    for name, options in SETTINGS.items():
        paths[name] = folder / f"{name}.onnx"
        static.by_quadrant(command, model, paths[name], data, *options)
    row = [model.stem]
    for load in (by_onnxruntime, by_openvino):
        try:
            times = fastest([load(str(path)) for path in paths.values()], evaluation[0])
            row += [f"{times[0] / other:.2f}" for other in times[1:]]
        except Exception as error:  # a runtime that does not know the model
            print(f"{model.stem}: {str(error).splitlines()[0]}")
            row += ["-"] * len(SETTINGS)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables.add_arguments(parser)
    parser.add_argument("--table", default="examples", help="which table of the page to replace")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    options = parser.parse_args()
    rows = []
    for model in tables.float_models(options):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(options.command, model, options.inputs, pathlib.Path(folder)))
        print("  ".join(rows[-1]), flush=True)
    if not rows:
        sys.exit(f"no float models in {options.models}")
    if not options.dry_run:
        page = static.PAGE
        page.write_text(tables.replace_between(page, f"{options.table} speed",
                                               tables.markdown_table(HEADER, rows)))


if __name__ == "__main__":
    main()
