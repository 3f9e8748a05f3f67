#!/usr/bin/env python3
"""Turns float ONNX models into float and int8 IRs, runs them in OpenVINO side by side, and writes what
came of it into docs/formats/openvino.md.

    .venv/bin/python scripts/openvino_table.py                     the example models
    .venv/bin/python scripts/openvino_table.py --models DIR --inputs DIR --table public

Runs take turns; the ratios are of the fastest of each. Where the CPU has bfloat16, OpenVINO computes
float models in it unless it is told to use float32: the table has both. Models and inputs are those of
scripts/accuracy_table.py. The release build has to be there.
"""

import subprocess

import numpy as np
import openvino

import accuracy_table as tables
from int8_speed_table import fastest
from model_table import ROOT, Row, write_table
from static_affine import by_quadrant, decibels, prepared

PAGE = ROOT / "docs" / "formats" / "openvino.md"
HEADER = ("model", "inputs", "float IR", "int8 IR", "products on integers", "SQNR: QDQ in ONNX Runtime",
          "int8 IR in OpenVINO", "float32 time / int8 time", "default float time / int8 time")
PRODUCTS = ("Convolution", "FullyConnected", "MatMul")


class Network:
    """An IR on the CPU, fed by the names of the ONNX model that it was made of."""

    def __init__(self, path, **settings):
        core = openvino.Core()
        self.compiled = core.compile_model(core.read_model(str(path)), "CPU",
                                           {"PERFORMANCE_HINT": "LATENCY", **settings})
        self.request = self.compiled.create_infer_request()

    def __call__(self, feed):
        return self.request.infer(feed)

    def run(self, feeds, names):
        runs = [{name: np.array(results[name]) for name in names}
                for results in map(self.request.infer, feeds)]
        return {name: [one[name] for one in runs] for name in names}

    def products(self):
        """(on integers, all) of what computes sums of products."""
        facts = [node.get_rt_info() for node in self.compiled.get_runtime_model().get_ops()]
        types = [fact["runtimePrecision"].astype(str) for fact in facts
                 if fact["layerType"].astype(str) in PRODUCTS]
        return sum(kind in ("u8", "i8") for kind in types), len(types)


def convert(command, model, target, *options):
    subprocess.run([str(command), "convert", str(model), str(target), *map(str, options)],
                   capture_output=True, check=True)
    return Network(target)


def bytes_of(path):
    return path.stat().st_size + path.with_suffix(".bin").stat().st_size


def measure(options, model, folder):
    command = options.command
    session = tables.session_of(model)
    samples, calibration, evaluation, data = prepared(model, session, options.inputs, folder)
    floats = tables.run(session, evaluation)
    qdq = folder / "qdq.onnx"
    by_quadrant(command, model, qdq, data, "--kernels", "openvino")  # the plan of the IR
    try:
        whole = convert(command, model, folder / "float.xml")
        quantized = convert(command, model, folder / "int8.xml", "--scheme", "static-affine",
                            "--calibration", data)
    except (subprocess.CalledProcessError, RuntimeError) as error:
        reason = (getattr(error, "stderr", b"") or str(error).encode()).decode().strip()
        return [Row((model.stem, *["-"] * (len(HEADER) - 1)),
                    [f"- `{model.stem}`: {reason.splitlines()[-1].split('.xml: ')[-1]}"])]
    on_integers, products = quantized.products()
    in_float32 = Network(folder / "float.xml", INFERENCE_PRECISION_HINT="f32")
    times = fastest([in_float32, whole, quantized], evaluation[0])
    figures = [tables.sqnr(floats, tables.run(tables.session_of(qdq), evaluation)),
               tables.sqnr(floats, quantized.run(evaluation, floats))]
    cells = (model.stem, f"{len(calibration)} + {len(evaluation)}, {samples.origin}",
             tables.megabytes(bytes_of(folder / "float.xml")),
             tables.megabytes(bytes_of(folder / "int8.xml")), f"{on_integers} of {products}",
             *map(decibels, figures), f"{times[0] / times[2]:.2f}", f"{times[1] / times[2]:.2f}")
    return [Row(cells)]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure)
