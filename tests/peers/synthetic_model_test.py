"""The model of the benchmarks, small: it and what is made of it run in ONNX Runtime, in both float types."""

import _peers

import sys

import numpy as np

from _command import ROOT, run_tests, scratch
from _models import quantize, session_of

sys.path.insert(0, str(ROOT / "benchmarks"))
import synthetic_model  # noqa: E402

HIDDEN, INNER, TOKENS = 64, 160, 5


def run(model, element):
    """What the layer adds to its input."""
    x = np.random.default_rng(1).standard_normal((1, TOKENS, HIDDEN)).astype(element)
    return session_of(model).run(None, {"x": x})[0].astype(np.float64) - x


def sqnr(exact, found):
    noise = max(((exact - found) ** 2).sum(), 1e-30)
    return 10 * np.log10((exact ** 2).sum() / noise)


def check_runs(element):
    with scratch() as folder:
        model = folder / "model.onnx"
        # So small that it has one layer.
        weights = synthetic_model.write(model, 1e-6, HIDDEN, INNER, element)
        assert weights == (4 * HIDDEN * HIDDEN + 3 * HIDDEN * INNER) * np.dtype(element).itemsize
        exact = run(model, element)
        found = {}
        for name, options in {"int8": [],
                              "int4": ["--bits", 4, "--block-size", 32, "--signed-scale"],
                              "nbits": ["--bits", 4, "--block-size", 32, "--signed-scale",
                                        "--format", "matmulnbits"]}.items():
            quantize(model, folder / f"{name}.onnx", *options)
            found[name] = run(folder / f"{name}.onnx", element)
        # Of normal numbers, codes of 8 bits and channels lose 41 dB, of 4 bits and blocks 21; two products
        # one behind the other add 3, and float16 rounds the sums.
        assert sqnr(exact, found["int8"]) > 36, sqnr(exact, found["int8"])
        assert sqnr(exact, found["int4"]) > 17, sqnr(exact, found["int4"])
        # Two ways to write the same codes and scales.
        same = sqnr(found["int4"], found["nbits"])
        assert same > (100 if element == "float32" else 45), same


def test_runs():
    for element in ("float32", "float16"):
        yield element, check_runs, element


if __name__ == "__main__":
    run_tests(globals())
