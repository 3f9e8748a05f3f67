"""Real models, quantized weight-only: the numbers of the definition, and of ONNX Runtime.

For every model in examples/models/ and, where that is there, ../shared/models/.
"""

import _peers

import numpy as np
from onnxruntime.quantization import QuantType, quant_utils

from _checks import check_all, check_counts
from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, accuracy, quantize, real_models, run
from _oracle import symmetric_int8
from static_affine_models_test import optimized

LOSS = 0.01  # of top-1 accuracy, at most


def check_model(path):
    with scratch() as folder:
        result = check_all(path, folder / "quantized.onnx")
        for name in sorted(set(result.weights) - set(result.axis_of)):
            print(f"{path.stem}: {name} {list(result.weights[name].array.shape)} stays in float: "
                  f"{result.left_in_float()[name]}")
        assert result.axis_of, "nothing is quantized"
        check_counts(result)
        check_optimised(result.target)
        for name, axis in result.axis_of.items():
            assert axis is not None, f"{name}: no axis"
            check_against_onnxruntime(name, result.weights[name].array, axis)


def check_optimised(path):
    """ONNX Runtime may fuse and reorder what it likes, which rounds differently; not more than that."""
    plain, optimised = run(path), run(path, optimised=True)
    for i, (a, b) in enumerate(zip(plain, optimised)):
        if a.dtype.kind == "f":
            error = np.abs(a - b).max() / np.abs(a).max()
            assert error < 1e-3, f"output {i} is off by {error:.2e} when optimised"


def check_against_onnxruntime(name, weight, axis):
    """ONNX Runtime's own quantizer, channel by channel as its quantize_static calls it, agrees with the
    oracle; the oracle agrees with the file."""
    codes, scales = symmetric_int8(weight, axis)
    for i, channel in enumerate(np.moveaxis(weight, axis, 0)):
        zero_point, scale, theirs = quant_utils.quantize_data(
            channel, QuantType.QInt8.tensor_type, symmetric=True)[-3:]
        ours = np.moveaxis(codes, axis, 0)[i]
        assert zero_point == 0 and scale == scales[i], f"{name}: scales[{i}] {scale} {scales[i]}"
        assert np.array_equal(theirs.reshape(ours.shape), ours), f"{name}: codes of channel {i}"


def check_accuracy(path):
    with scratch() as folder, np.load(path.with_suffix(".npz")) as test_set:
        quantize(path, folder / "quantized.onnx")
        before = accuracy(path, test_set)
        after = accuracy(folder / "quantized.onnx", test_set)
        assert after >= before - LOSS, f"{before:.2%} became {after:.2%}"
        print(f"{path.stem}: accuracy {before:.2%}, quantized {after:.2%}")


def check_same_bytes(path):
    """The same file from each run, for any number of threads, and from a plan that was saved."""
    with scratch() as folder:
        plan = folder / "plan.json"
        done = quadrant("plan", path, "--scheme", "weight-only", "-o", plan)
        assert done.returncode == 0, done.stderr
        for i, options in enumerate(([], ["--threads", 1], ["--threads", 7], ["--plan", plan])):
            quantize(path, folder / f"{i}.onnx", *options)
            same = (folder / f"{i}.onnx").read_bytes() == (folder / "0.onnx").read_bytes()
            assert same, f"other bytes with {options}"


def test_same_bytes():
    for path in real_models():
        yield path.stem, check_same_bytes, path


def test_model():
    for path in real_models():
        yield path.stem, check_model, path


def check_rounded(path):
    """As many products as the command says become MatMulNBits, which rounds their data; or one less:
    of a product with the addition behind it, whose operand has two dimensions, it makes a Gemm."""
    for options in ((), ("--granularity", "tensor"), ("--bits", 4, "--block-size", 32)):
        with scratch() as folder:
            said = quantize(path, folder / "m.onnx", *options)["written"]["rounded_products"]
            _, counts = optimized(folder / "m.onnx", folder, {})
            made = counts["MatMulNBits"]
            assert said - 1 <= made <= said, f"{options}: {said} said, {made} made"


def test_rounded_products():
    if _peers.NEWEST_OPSET < 26:  # before release 1.25 these are blocks of 4 bits alone
        return
    for path in real_models():
        yield path.stem, check_rounded, path


def test_accuracy():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_accuracy, path


if __name__ == "__main__":
    run_tests(globals())
