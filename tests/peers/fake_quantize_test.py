"""`fake_quantize` in the interpreter, against OpenVINO's own FakeQuantize on the same 10^5 numbers.

OpenVINO has two: the definition, which its core evaluates and which the interpreter is to meet bit by
bit, and its CPU plugin, which multiplies by reciprocals (`x * scale + shift`) and so may round a number
near the middle of two levels to the other one. The first is compared exactly, the second is bounded.

The environment variable ONNX_ROUNDTRIP names a tool; that of tests/io/onnx/from_text_main.cpp lies
beside it.
"""

import _peers

import subprocess
import sys

import ml_dtypes
import numpy as np

from _command import run_tests, scratch
from _fake_quantize import Differences, bits, interpreted, nodes, run_model, write_text
from _openvino import compiled_by_openvino
from _text import tool
from openvino_test import is_built_in

try:
    import openvino as ov
    from openvino import opset13
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)


def openvino_model(all_nodes, constant_bounds, element=ov.Type.f32):
    """A model with a result for each node; inputs are X, and the bounds where they are not constant."""
    inputs, results = [], []
    for node in all_nodes:
        operands = [opset13.parameter(list(node.x.shape), element)]
        inputs.append(operands[0])
        for bound in node.bounds:
            if constant_bounds:
                operands.append(opset13.constant(bound))
            else:
                operands.append(opset13.parameter(list(bound.shape), element))
                inputs.append(operands[-1])
        # The plugin fails on `none`: it makes scalars of output bounds.
        broadcast = "numpy" if constant_bounds else node.broadcast
        results.append(opset13.fake_quantize(*operands, levels=node.levels, auto_broadcast=broadcast))
    return ov.Model(results, inputs, "cases")


def defined(all_nodes, element=ov.Type.f32):
    """What OpenVINO's core evaluates."""
    return evaluated(openvino_model(all_nodes, False, element), all_nodes)


def evaluated(model, all_nodes):
    arrays = [np.array(array, order="C") for node in all_nodes for array in node.feeds().values()]
    results = [ov.Tensor(np.zeros_like(node.x)) for node in all_nodes]
    assert model.evaluate(results, [ov.Tensor(array) for array in arrays])
    return [result.data.copy() for result in results]


def on_cpu(all_nodes):
    model = compiled_by_openvino(openvino_model(all_nodes, True))
    results = model([node.x for node in all_nodes])
    return [results[i] for i in range(len(all_nodes))]


def test_definition():
    """Every bit, in all ranges: forwards, reversed, without length."""
    cases = nodes()
    different = sum(int(np.count_nonzero(bits(found) != bits(wanted)))
                    for found, wanted in zip(interpreted(cases), defined(cases)))
    count = sum(node.x.size for node in cases)
    print(f"of {count} numbers, {count - different} are the definition's, bit by bit")
    assert count >= 10**5 and different == 0, different


def test_ends_infinities_and_nan():
    cases = nodes()
    for node in cases:
        low, high = (np.broadcast_to(np.float32(bound), node.x.shape) for bound in node.aligned()[:2])
        few = np.arange(node.x.size).reshape(node.x.shape) % 8
        node.x = np.select(
            [few == i for i in range(7)],
            [low, high, np.nextafter(low, np.float32(9)), np.nextafter(high, np.float32(9)),
             np.float32(np.nan), np.float32(np.inf), np.float32(-np.inf)], np.float32(-0.0))
    for node, found, wanted in zip(cases, interpreted(cases), defined(cases)):
        assert np.array_equal(found, wanted, equal_nan=True), (node.name, node.levels)


def test_float16():
    """Computed in float32 and rounded once, by both."""
    cases = nodes(np.float16)
    for node, found, wanted in zip(cases, interpreted(cases, "f16"), defined(cases, ov.Type.f16)):
        assert np.array_equal(bits(found), bits(wanted)), (node.name, node.levels)


def test_bfloat16():
    """Computed in float32, and rounded by the interpreter to the nearest, by OpenVINO in a way of its own:
    where the last bit that is kept is 0, down."""
    cases = nodes()
    for node in cases:
        node.x, *node.bounds = (array.astype(ml_dtypes.bfloat16).astype(np.float32)
                                for array in (node.x, *node.bounds))
    wide = defined(cases)
    with scratch() as folder:
        write_text(folder / "model.qd", cases, "bf16")
        ours = run_model(folder, "model.qd", cases, "--convert")
    for node, found, wanted in zip(cases, ours, wide):
        assert np.array_equal(found, wanted.astype(ml_dtypes.bfloat16).astype(np.float32)), node.name

    def tensor(array):
        made = ov.Tensor(ov.Type.bf16, array.shape)
        bits(made.data)[...] = bits(array.astype(ml_dtypes.bfloat16))
        return made

    model = openvino_model(cases, False, ov.Type.bf16)
    results = [tensor(node.x) for node in cases]
    assert model.evaluate(results, [tensor(a) for node in cases for a in node.feeds().values()])
    for node, result, wanted in zip(cases, results, wide):
        rounded = (bits(wanted) + ((bits(wanted) & 0x10000) >> 1)) >> 16
        assert np.array_equal(bits(result.data), rounded), node.name


def test_operator_in_onnx():
    """OpenVINO's FakeQuantize in an ONNX file, which both read."""
    cases = [node for node in nodes() if node.broadcast != "pdpd"]
    wanted = defined(cases)
    with scratch() as folder:
        write_text(folder / "model.qd", cases)
        subprocess.run([tool(), folder / "model.qd", folder / "model.onnx", "--fake-quantize"],
                       check=True, capture_output=True)
        theirs = evaluated(ov.Core().read_model(folder / "model.onnx"), cases)
        ours = run_model(folder, "model.onnx", cases)
    for node, one, other, value in zip(cases, theirs, ours, wanted):
        assert np.array_equal(bits(one), bits(value)), node.name
        assert np.array_equal(bits(other), bits(value)), node.name


def test_cpu_plugin():
    """It computes something else where input bounds are reversed, and where the four bounds have
    different axes; and it gives results the rank of the bounds, where that is larger."""
    cases = [node for node in nodes()
             if len({bound.shape for bound in node.bounds}) < 4 and node.bounds[0].ndim <= node.x.ndim]
    differences = Differences(2)
    for node, ours, plugin in zip(cases, interpreted(cases), on_cpu(cases)):
        low, high = node.aligned()[:2]
        differences.check(node, plugin, ours, low < high)
    print("the CPU plugin:", differences)


def test_adapter():
    """`--runtime openvino`: elementary operators, right for all kinds of bounds."""
    if not is_built_in():
        print("--runtime openvino: the command was built without it")
        return
    cases = nodes()
    differences = Differences(3)
    with scratch() as folder:
        write_text(folder / "model.qd", cases)
        found = run_model(folder, "model.qd", cases, "--runtime", "openvino")
    for node, ours, theirs in zip(cases, interpreted(cases), found):
        differences.check(node, theirs, ours)
    print("--runtime openvino:", differences)


if __name__ == "__main__":
    run_tests(globals())
