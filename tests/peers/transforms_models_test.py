"""Float models compute in ONNX Runtime what they did before their normalizations were folded, and before
their channels were equalized: to 1e-5 of an output's largest magnitude.

For every float model in examples/models/ and, where that is there, ../shared/models/.
"""

import _peers

import collections

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _models import random_feeds, real_models, session_of

TOLERANCE = 1e-5  # of the largest magnitude of an output
SEEDS = (0, 1, 2)
# Normal noise is small for models of pixels from 0 to 255.
SIZES = {"yolox_nano": 128}
STEPS = {"folded": (), "equalized": ("--optimize", "cle")}


def is_float(path):
    types = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    return not types & {"QuantizeLinear", "DequantizeLinear"}


def runs(path, feeds):
    """Outputs by name, without ONNX Runtime's optimizations, of each."""
    session = session_of(path)
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(None, feed))) for feed in feeds]


def feeds_of(path):
    session = session_of(path)
    size = SIZES.get(path.stem, 1)
    return [{name: (value * size).astype(value.dtype)
             for name, value in random_feeds(session, seed).items()} for seed in SEEDS]


def check_step(path, options):
    feeds = feeds_of(path)
    with scratch() as folder:
        target = folder / "transformed.onnx"
        done = quadrant("transform", path, "-o", target, *options)
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(target, full_check=True)
        before, after = runs(path, feeds), runs(target, feeds)
        left = collections.Counter(node.op_type for node in onnx.load(target).graph.node)
    print(f"{path.stem}: {left['BatchNormalization']} batch normalizations left; {done.stderr.strip()}")
    for first, second in zip(before, after):
        assert first.keys() == second.keys()
        for name, wanted in first.items():
            found = second[name]
            assert found.shape == wanted.shape and found.dtype == wanted.dtype, name
            if wanted.dtype.kind != "f":
                assert np.array_equal(found, wanted), name
                continue
            largest = np.abs(wanted.astype(np.float64)).max(initial=0)
            error = np.abs(found.astype(np.float64) - wanted).max(initial=0)
            assert error <= TOLERANCE * largest, f"{name} is off by {error / largest:.2e} of its largest"


def test_step():
    for path in real_models():
        if not is_float(path):
            continue
        for name, options in STEPS.items():
            yield f"{path.stem}, {name}", check_step, path, options


if __name__ == "__main__":
    run_tests(globals())
