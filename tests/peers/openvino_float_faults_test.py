"""What OpenVINO computes wrongly, or refuses, of real numbers: that its installed release still does so with the same
operators as it reads them from ONNX, and that what is written here goes around it.
"""

import _peers  # noqa: F401  (settings of the peers)

import numpy as np
import onnx
import openvino

from _command import quadrant, run_tests, scratch
from _models import helper, model_of, session_of
from _openvino import compiled_by_openvino

RANDOM = np.random.default_rng(11)
THREE, FOUR = (6, 8, 5), (2, 3, 4, 8)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def behind(op, reader, *lists, opset=17, **attributes):
    """The reduction, and what one loop is made of with it."""
    nodes = [helper.make_node(op, ["x"], ["r"], **attributes), helper.make_node("Tanh", ["r"], ["t"])]
    nodes.append(helper.make_node(reader, ["t", "list"], ["y"]))
    return THREE, nodes, {"list": lists[0]}


def slopes(rank):
    shape = FOUR[-rank:]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("PRelu", ["m", "slopes"], ["y"])]
    return shape, nodes, {"w": numbers(8, 8), "slopes": numbers(shape[1], *[1] * (rank - 2))}


def average(extents, **attributes):
    node = helper.make_node("AveragePool", ["x"], ["y"], ceil_mode=1, count_include_pad=1, **attributes)
    return (2, 3, *extents), [node], {}


LIST = np.geomspace(.1, 10, 8, dtype=np.float32).reshape(8, 1)
FAULTS = {
    "scales behind a global mean": lambda: behind("GlobalAveragePool", "Mul", LIST),
    "shifts behind a global maximum": lambda: behind("GlobalMaxPool", "Add", LIST),
    "slopes behind a mean": lambda: behind("ReduceMean", "PRelu", LIST, axes=[2]),
    "quotients behind a sum of squares": lambda: behind("ReduceSumSquare", "Div", LIST, axes=[2]),
    "scales behind a logarithm of a sum": lambda: behind("ReduceLogSum", "Mul", LIST, axes=[2]),
    "shifts behind a mean whose axis goes": lambda: behind("ReduceMean", "Sub", LIST.ravel(), axes=[2], keepdims=0),
    "slopes a channel behind a product": lambda: slopes(4),
    "an average along one axis": lambda: average([11], kernel_shape=[4], strides=[3], pads=[1, 0]),
    "an average along two": lambda: average([7, 7], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 0, 1]),
    "an average along three": lambda: average([6] * 3, kernel_shape=[4] * 3, strides=[3] * 3, pads=[1] * 6),
}
NO_FAULTS = {  # beside them
    "slopes a channel behind a product of three axes": lambda: slopes(3),
    "an average of whole windows": lambda: average([11], kernel_shape=[4], strides=[3], pads=[1, 1]),
    "an average without pads": lambda: average([12], kernel_shape=[4], strides=[3]),
}


def is_near(found, wanted):
    return found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


def check(made, is_faulty):
    shape, nodes, constants = made
    x = np.abs(numbers(*shape)) + np.float32(.1) if nodes[0].op_type == "ReduceLogSum" else numbers(*shape)
    value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
    with scratch() as folder:
        onnx.save(model_of(nodes, [value("x", shape)], [value("y", None)], constants, 17), folder / "model.onnx")
        wanted = session_of(folder / "model.onnx").run(None, {"x": x})[0]
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        found = np.array(compiled_by_openvino(folder / "model.xml")([x])[0])
        assert is_near(found, wanted), f"{np.abs(found - wanted).max()} off"
        try:
            faulty = np.array(compiled_by_openvino(folder / "model.onnx")([x])[0])
        except RuntimeError:
            faulty = np.full(1, np.nan)
    assert is_near(faulty, wanted) != is_faulty, f"OpenVINO {openvino.__version__}: take the way around away"


def test_faults_are_there_and_gone_around():
    for name, make in FAULTS.items():
        yield name, check, make(), True
    for name, make in NO_FAULTS.items():
        yield name, check, make(), False


def test_averages_over_open_extents_are_refused():
    shape, nodes, _ = average([7, 7], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 0, 1])
    value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
    with scratch() as folder:
        onnx.save(model_of(nodes, [value("x", [*shape[:2], "h", "w"])], [value("y", None)], {}, 17),
                  folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
    assert done.returncode == 4 and "open extents" in done.stderr, done.stderr


def test_an_input_there_and_back():
    """Where the casts are all, the result would be read from the array that an earlier call was given."""
    value = lambda name, extents, kind=1: helper.make_tensor_value_info(name, kind, extents)
    nodes = [helper.make_node("Cast", ["x"], ["half"], to=10), helper.make_node("Cast", ["half"], ["y"], to=1)]
    with scratch() as folder:
        onnx.save(model_of(nodes, [value("x", [1, 8, "h", 12])], [value("y", None)], {}, 17), folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        compiled = compiled_by_openvino(folder / "model.xml", INFERENCE_NUM_THREADS=1)
        for height in 7, 7, 7, 7, 14, 7:
            x = numbers(1, 8, height, 12)
            np.testing.assert_allclose(np.array(compiled([x.copy()])[0]), x, atol=2e-3)


if __name__ == "__main__":
    run_tests(globals())
