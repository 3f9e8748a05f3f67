"""What is written for `fake_quantize` that cannot be codes, in LiteRT: the interpreter's bits."""

import _peers

import json

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _fake_quantize import Node, bits, interpreted, nodes, run_model, write_text
from _litert import operators_of, run_litert

ARITHMETIC = {"SUB", "DIV", "MUL", "ROUND", "ADD", "MAXIMUM", "MINIMUM", "GREATER", "LESS_EQUAL",
              "SELECT_V2"}


def converted(source, target):
    """The reasons why a fake_quantize is no codes, by its result's name."""
    done = quadrant("convert", source, target, "--json")
    assert done.returncode == 0, done.stderr
    remarks = [remark.split(": ", 2) for remark in json.loads(done.stdout)["remarks"]]
    return {remark[1]: remark[2] for remark in remarks if remark[0] == "fake_quantize"}


def feeds_of(all_nodes):
    return {name: array for node in all_nodes for name, array in node.feeds().items()}


def run_written(path, all_nodes, optimised=False):
    results = run_litert(path, feeds_of(all_nodes), optimised)
    return [results[node.name] for node in all_nodes]


def check_bits(all_nodes, optimised=False):
    """Bounds are inputs: computed, for all that the model knows."""
    with scratch() as folder:
        write_text(folder / "model.qd", all_nodes)
        reasons = converted(folder / "model.qd", folder / "model.tflite")
        assert list(reasons) == [node.name for node in all_nodes], reasons
        assert set(operators_of(folder / "model.tflite")) <= ARITHMETIC | {"RESHAPE"}
        found = run_written(folder / "model.tflite", all_nodes, optimised)
    for node, got, wanted in zip(all_nodes, found, interpreted(all_nodes)):
        assert got.shape == wanted.shape, node.name
        known = ~np.isnan(wanted)
        assert np.array_equal(~np.isnan(got), known), node.name
        assert np.array_equal(bits(got)[known], bits(wanted)[known]), (node.name, node.levels)


def test_bits():
    for optimised in (False, True):
        yield f"optimised={optimised}", check_bits, nodes(), optimised


def test_bounds_that_begin_at_an_axis():
    case = Node(np.random.default_rng(21), 0, (4, 6, 50), [(4, 1, 1)] * 4, "pdpd", 256)
    case.bounds = [bound.reshape(4) for bound in case.bounds]
    check_bits([case])


def test_five_axes():
    case = Node(np.random.default_rng(23), 0, (2, 3, 4, 5, 6), [(3, 1, 1, 6)] * 4, "numpy", 300)
    check_bits([case])


def test_nan_and_infinities():
    cases = nodes()
    for node in cases:
        node.x = np.resize(np.float32([np.nan, np.inf, -np.inf, -0.0]), node.x.shape)
    check_bits(cases)


def constant(name, values):
    values = np.asarray(values, np.float32)
    shape = "".join(f"{n}x" for n in values.shape)
    return f"%{name}: tensor<{shape}f32> = constant() [{', '.join(map(str, values.ravel()))}]\n"


# Constant bounds that are no codes: part of the reason, levels, and the low and high ends of input and
# output.
NO_CODES = (
    ("more than 8 bits", 1000, (-1, 1, -1, 1)),
    ("zero", 256, (-1, 1, -1, 1)),
    ("zero", 256, (0, 2.55, 1, 3.55)),
    ("axes", 256, ([[0], [1]], [[2.5, 3, 4]], [[0], [1]], [[2.5, 3, 4]])),
)


def check_constant_bounds(part, levels, bounds):
    text = "graph {opset = 21}\n%x: tensor<2x3xf32> = input()\n"
    text += "".join(constant(name, values) for name, values in zip("abcd", bounds))
    text += (f"%y: tensor<2x3xf32> = fake_quantize(%x, %a, %b, %c, %d) {{levels = {levels}}}\n"
             'output(%y) {name = "y"}\n')
    x = np.linspace(-2, 5, 6, dtype=np.float32).reshape(2, 3)
    with scratch() as folder:
        (folder / "model.qd").write_text(text)
        # The same by way of both formats that have a fake_quantize.
        converted(folder / "model.qd", folder / "model.xml")
        for i, source in enumerate(("model.qd", "model.xml")):
            reasons = converted(folder / source, folder / f"{i}.tflite")
            assert len(reasons) == 1 and part in reasons["y"], reasons
        found = [run_litert(folder / f"{i}.tflite", {"x": x})["y"] for i in range(2)]
        np.savez(folder / "sample.npz", x=x)
        done = quadrant("run", folder / "model.qd", "--data", folder / "sample.npz", "-o", folder / "out")
        assert done.returncode == 0, done.stderr
        with np.load(folder / "out" / "sample.npz") as arrays:
            wanted = arrays["y"]
    assert all(np.array_equal(bits(array), bits(wanted)) for array in found), (found, wanted)


def test_constant_bounds():
    for case in NO_CODES:
        yield case[0], check_constant_bounds, *case


def test_openvino_operator_of_an_onnx_file():
    make = onnx.helper
    ends = {"low": -1.0, "high": 1.0}
    node = make.make_node("FakeQuantize", ["x", "low", "high", "low", "high"], ["y"], levels=256,
                          domain="org.openvinotoolkit")
    info = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2, 3)) for name in "xy"]
    graph = make.make_graph([node], "g", info[:1], info[1:],
                            [make.make_tensor(name, onnx.TensorProto.FLOAT, (), [end])
                             for name, end in ends.items()])
    imports = [make.make_opsetid("", 17), make.make_opsetid("org.openvinotoolkit", 1)]
    x = np.float32([[-3, -1, -0.5], [0, 0.3, 2]])
    steps = np.round((np.clip(x, -1, 1) + 1) / 2 * 255)
    with scratch() as folder:
        onnx.save(make.make_model(graph, opset_imports=imports), folder / "model.onnx")
        converted(folder / "model.onnx", folder / "model.tflite")
        found = run_litert(folder / "model.tflite", {"x": x})["y"]
    assert np.allclose(found, steps / 255 * 2 - 1, atol=1e-6), found


NEIGHBOURS = """graph {opset = 21}
%x: tensor<1x2x6x6xf32> = input()
%low: tensor<f32> = constant() [-1.28]
%high: tensor<f32> = constant() [1.27]
%one: tensor<f32> = constant() [1]
%minus: tensor<f32> = constant() [-1]
%xq: tensor<1x2x6x6xf32> = fake_quantize(%x, %low, %high, %low, %high) {levels = 256}
%w: tensor<2x2x1x1xf32> = constant() [0.3, -0.2, 0.7, 0.4]
%least: tensor<2x1x1x1xf32> = constant() [-0.3, -0.7]
%most: tensor<2x1x1x1xf32> = constant() [0.3, 0.7]
%wq: tensor<2x2x1x1xf32> = fake_quantize(%w, %least, %most, %least, %most) {levels = 255}
%c: tensor<1x2x6x6xf32> = conv(%xq, %wq)
%cq: tensor<1x2x6x6xf32> = fake_quantize(%c, %low, %high, %low, %high) {levels = 256}
%d: tensor<1x2x6x6xf32> = fake_quantize(%cq, %minus, %one, %minus, %one) {levels = 1000}
output(%d) {name = "d"}
"""


def test_neighbours_on_codes():
    x = np.random.default_rng(24).uniform(-1.5, 1.5, (1, 2, 6, 6)).astype(np.float32)
    with scratch() as folder:
        (folder / "model.qd").write_text(NEIGHBOURS)
        reasons = converted(folder / "model.qd", folder / "model.tflite")
        assert list(reasons) == ["d"], reasons
        operators = operators_of(folder / "model.tflite")
        assert operators["QUANTIZE"] == operators["CONV_2D"] == operators["DEQUANTIZE"] == 1, operators
        found = run_litert(folder / "model.tflite", {"x": x})["d"]
        np.savez(folder / "sample.npz", x=x)
        done = quadrant("run", folder / "model.qd", "--data", folder / "sample.npz", "-o", folder / "out")
        assert done.returncode == 0, done.stderr
        with np.load(folder / "out" / "sample.npz") as arrays:
            wanted = arrays["d"]
    # A result of the convolution that lies on a tie goes either way.
    difference = np.abs(found - wanted)
    assert difference.max() <= 0.0101 and np.mean(difference > 1e-6) < 0.05, difference.max()


if __name__ == "__main__":
    run_tests(globals())
