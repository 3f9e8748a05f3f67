"""The interpreter computes what ONNX Runtime computes, without its optimizations: for real models, for
what `quantize` makes of them, and for inner values.

For every model in examples/models/ and, where that is there, ../shared/models/.
"""

import _peers

import numpy as np
import onnx
from onnx import helper

from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, SHARED, quantize, random_feeds, real_models, session_of

TOLERANCE = 1e-4  # of the largest magnitude of an output
SEEDS = (0, 1)
# Normal noise is too small for models of pixels from 0 to 255: what is left is the rounding of float32,
# by which ONNX Runtime itself is off by 1.1e-4.
SIZES = {"yolox_nano": 128}
FORMS = {
    "front": (),
    "behind": ("--form", "behind"),
    "blocks": ("--bits", 4, "--block-size", 32, "--asymmetric"),
    "matmulnbits": ("--bits", 4, "--block-size", 32, "--format", "matmulnbits"),
}


def interpreted(model, samples, folder, outputs=()):
    """What `quadrant run` writes for each sample."""
    data, results = folder / "data", folder / "results"
    data.mkdir()
    for i, feeds in enumerate(samples):
        np.savez(data / f"{i}.npz", **feeds)
    wanted = [argument for name in outputs for argument in ("--outputs", name)]
    done = quadrant("run", model, "--data", data, "-o", results, *wanted)
    assert done.returncode == 0, done.stderr.strip()
    for i in range(len(samples)):
        with np.load(results / f"{i}.npz") as arrays:
            yield dict(arrays)


def check_close(name, found, expected):
    assert found.dtype == expected.dtype, f"{name}: {found.dtype} instead of {expected.dtype}"
    assert found.shape == expected.shape, f"{name}: {found.shape} instead of {expected.shape}"
    if expected.dtype.kind != "f" or expected.size == 0:
        assert np.array_equal(found, expected), f"{name}: other integers"
        return
    wide = expected.astype(np.float64)
    finite = np.isfinite(wide)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True), f"{name}: not finite"
    if finite.any():
        largest = np.abs(wide[finite]).max()
        error = np.abs(found.astype(np.float64) - wide)[finite].max()
        assert error <= TOLERANCE * largest, f"{name} is off by {error / largest:.2e} of its largest"


def feeds_of(name, session, seed):
    size = SIZES.get(name, 1)
    return {key: (value * size).astype(value.dtype)
            for key, value in random_feeds(session, seed).items()}


def check_model(name, model, reference=None, outputs=()):
    """`outputs`: values to compare, instead of the model's outputs; `reference` has them."""
    session = session_of(reference or model)
    names = outputs or [output.name for output in session.get_outputs()]
    samples = [feeds_of(name, session, seed) for seed in SEEDS]
    with scratch() as folder:
        for feeds, found in zip(samples, interpreted(model, samples, folder, outputs)):
            for output, expected in zip(names, session.run(list(names), feeds)):
                check_close(output, found[output], expected)


def check_quantized(model, options):
    with scratch() as folder:
        quantize(model, folder / "quantized.onnx", *options)
        check_model(model.stem, folder / "quantized.onnx")


def check_inner_values(path):
    """All results of all nodes, which ONNX Runtime gives when they are outputs."""
    model = onnx.load(path)
    given = {output.name for output in model.graph.output}
    inner = [name for node in model.graph.node for name in node.output if name and name not in given]
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in inner)
    check_model(path.stem, path, model, inner)


def test_model():
    for path in sorted([*EXAMPLES.glob("*.onnx"), *SHARED.glob("*.onnx")]):
        yield path.stem, check_model, path.stem, path


def test_quantized():
    for path in real_models():
        for form, options in FORMS.items():
            yield f"{path.stem}-{form}", check_quantized, path, options


def test_inner_values():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_inner_values, path


if __name__ == "__main__":
    run_tests(globals())
