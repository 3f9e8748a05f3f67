"""What is written for `fake_quantize`, in ONNX Runtime: elementary operators give the interpreter's bits,
QuantizeLinear and DequantizeLinear its level, or, next to the middle of two, the one beside it.
"""

import _peers

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _fake_quantize import Differences, Node, bits, interpreted, nodes, write_text
from _models import session_of

# Low and high end, levels: signed and unsigned codes, all of an integer type's or fewer.
INTERVALS = ((0, 2.55, 256), (-1.28, 1.27, 256), (-1.27, 1.27, 255), (-0.5, 2.05, 256), (0, 1, 2),
             (-0.8, 0.7, 16), (-0.7, 0.7, 15), (0, 0.15, 16), (-3, 0, 4), (-100, 155, 256))


def run_in_onnx_runtime(all_nodes, element="f32", constant_bounds=False):
    """Results, and the types of the operators that gave them."""
    with scratch() as folder:
        write_text(folder / "model.qd", all_nodes, element, constant_bounds)
        done = quadrant("convert", folder / "model.qd", folder / "model.onnx")
        assert done.returncode == 0, done.stderr
        model = onnx.load(folder / "model.onnx")
        operators = {node.op_type for node in model.graph.node}
        session = session_of(model, optimised=True)
        names = {value.name for value in session.get_inputs()}
        feeds = {name: array for node in all_nodes for name, array in node.feeds().items()}
        results = session.run([node.name for node in all_nodes],
                              {name: array for name, array in feeds.items() if name in names})
        return results, operators


def check_bits(kind, element):
    cases = nodes(kind)
    results, operators = run_in_onnx_runtime(cases, element)
    assert "QuantizeLinear" not in operators, operators
    for node, found, wanted in zip(cases, results, interpreted(cases, element)):
        assert found.shape == wanted.shape, node.name
        assert np.array_equal(bits(found), bits(wanted)), (node.name, node.levels)


def test_elementary_operators():
    for kind, element in ((np.float32, "f32"), (np.float64, "f64"), (np.float16, "f16")):
        yield element, check_bits, kind, element


def test_nan_and_infinities():
    cases = nodes()
    for node in cases:
        kinds = np.float32([np.nan, np.inf, -np.inf, -0.0])
        node.x = np.resize(kinds, node.x.shape)
    results, _ = run_in_onnx_runtime(cases)
    for node, found, wanted in zip(cases, results, interpreted(cases)):
        assert np.array_equal(found, wanted, equal_nan=True), node.name


def test_bounds_that_begin_at_an_axis():
    """Bounds [4] of an X [4, 6, 50] by `pdpd`, as inputs and as constants."""
    rng = np.random.default_rng(21)
    case = Node(rng, 0, (4, 6, 50), [(4, 1, 1)] * 4, "pdpd", 256)
    wanted = interpreted([case])[0]
    case.bounds = [bound.reshape(4) for bound in case.bounds]
    assert np.array_equal(interpreted([case])[0], wanted)
    for constant_bounds in (False, True):
        (found,), _ = run_in_onnx_runtime([case], constant_bounds=constant_bounds)
        assert np.array_equal(found, wanted)


def linear_cases(kind=np.float32):
    rng = np.random.default_rng(22)
    cases = []
    for index, (low, high, levels) in enumerate(INTERVALS):
        for shape, bound in (((5000,), ()), ((5, 4, 250), (4, 1)), ((2500, 2), (1, 2))):
            node = Node(rng, len(cases), shape, [bound] * 4, "numpy", levels, kind)
            factors = 2.0 ** rng.integers(-3, 4, bound)
            ends = [np.asarray(end * factors, kind) for end in (low, high)]
            node.bounds = [*ends, *ends]
            node.x = node.numbers(rng, shape).astype(kind)
            cases.append(node)
    return cases


def test_codes_and_scales():
    cases = linear_cases()
    results, operators = run_in_onnx_runtime(cases, constant_bounds=True)
    assert operators == {"QuantizeLinear", "DequantizeLinear", "Clip"}, operators
    differences = Differences(2)
    for node, found, wanted in zip(cases, results, interpreted(cases)):
        differences.check(node, found, wanted)
    print("codes and scales:", differences)


if __name__ == "__main__":
    run_tests(globals())
