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


def slopes(rank, *between):
    shape = FOUR[-rank:]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), *between,
             helper.make_node("PRelu", ["n" if between else "m", "slopes"], ["y"])]
    return shape, nodes, {"w": numbers(8, 8), "slopes": numbers(shape[1], *[1] * (rank - 2)), "bias": numbers(8)}


def gated():
    """A mean times its sigmoid, times a list."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["r"]), helper.make_node("Sigmoid", ["r"], ["s"]),
             helper.make_node("Mul", ["r", "s"], ["t"]), helper.make_node("Mul", ["t", "list"], ["y"])]
    return THREE, nodes, {"list": LIST}


def by_constants():
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["r"]), helper.make_node("Reshape", ["list", "shape"], ["l"]),
             helper.make_node("Exp", ["l"], ["e"]), helper.make_node("Mul", ["r", "e"], ["y"])]
    return THREE, nodes, {"list": np.log(LIST.ravel()), "shape": np.array([1, 8, 1])}


def over_computed_axes(keepdims):
    """The last one, as OpenVINO computes before it loads the model."""
    nodes = [helper.make_node("NonZero", ["mask"], ["n"]), helper.make_node("Reshape", ["n", "shape"], ["axes"]),
             helper.make_node("ReduceSum", ["x", "axes"], ["r"], keepdims=keepdims),
             helper.make_node("Mul", ["r", "list"], ["y"])]
    return THREE, nodes, {"list": LIST if keepdims else LIST.ravel(), "mask": np.array([0, 0, 1]), "shape": np.array([-1])}


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
    "scales behind a sum over computed axes": lambda: over_computed_axes(1),
    "scales behind a sum whose computed axis goes": lambda: over_computed_axes(0),
    "scales behind a gate": gated,
    "scales that are computed of constants": by_constants,
    "slopes a channel behind a product": lambda: slopes(4),
    "slopes behind a bias in front": lambda: slopes(4, helper.make_node("Add", ["bias", "m"], ["n"])),
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


def written(nodes, shape, constants, *more):
    """Compiled, of the file that is written for inputs x and `more`, and an output y."""
    value = lambda name, extents: helper.make_tensor_value_info(name, 1, extents)
    with scratch() as folder:
        onnx.save(model_of(nodes, [value("x", shape), *more], [value("y", None)], constants, 17), folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        assert done.returncode == 0, done.stderr
        return (compiled_by_openvino(folder / "model.xml", INFERENCE_NUM_THREADS=1),
                session_of(folder / "model.onnx"))


def test_layer_norms_stay_one_kernel():
    """What is stretched over the operand again needs no way around."""
    node = helper.make_node
    nodes = [node("ReduceMean", ["x"], ["m"], axes=[-1]), node("Sub", ["x", "m"], ["d"]),
             node("Pow", ["d", "two"], ["s"]), node("ReduceMean", ["s"], ["v"], axes=[-1]),
             node("Add", ["v", "small"], ["e"]), node("Sqrt", ["e"], ["q"]), node("Div", ["d", "q"], ["n"]),
             node("Mul", ["n", "gamma"], ["g"]), node("Add", ["g", "beta"], ["y"])]
    compiled, _ = written(nodes, [2, 8, 16], {"two": np.float32(2), "small": np.float32(1e-5), "gamma": numbers(16),
                                              "beta": numbers(16)})
    assert any(op.get_rt_info()["layerType"].astype(str) == "MVN" for op in compiled.get_runtime_model().get_ops())


def test_averages_of_float16():
    nodes = [helper.make_node("Cast", ["x"], ["h"], to=10),
             helper.make_node("AveragePool", ["h"], ["p"], kernel_shape=[4], strides=[3], pads=[1, 0], ceil_mode=1,
                              count_include_pad=1),
             helper.make_node("Cast", ["p"], ["y"], to=1)]
    compiled, session = written(nodes, [2, 3, 11], {})
    x = numbers(2, 3, 11)
    np.testing.assert_allclose(np.array(compiled([x])[0]), session.run(None, {"x": x})[0], atol=5e-3)


def test_slopes_of_what_is_no_number():
    compiled, session = written(*[slopes(4)[i] for i in (1, 0, 2)])
    x = numbers(*FOUR)
    x[0, 0, 0, 0] = np.nan
    np.testing.assert_allclose(np.array(compiled([x])[0]), session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)


def test_axes_that_are_given():
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["r"]), helper.make_node("Mul", ["r", "list"], ["y"])]
    compiled, session = written(nodes, THREE, {"list": LIST}, helper.make_tensor_value_info("axes", 7, ["n"]))
    for axes in [2], [-1], [0, -1], []:  # none are all
        feed = {"x": numbers(*THREE), "axes": np.array(axes, np.int64)}
        np.testing.assert_allclose(np.array(compiled(list(feed.values()))[0]), session.run(None, feed)[0],
                                   rtol=1e-4, atol=1e-4)


def check_there_and_back(middle):
    names = ["x", *(f"v{i}" for i in range(len(middle) + 1)), "y"]
    ops = [("Cast", {"to": 10}), *middle, ("Cast", {"to": 1})]
    nodes = [helper.make_node(op, [a], [b], **attributes)
             for (op, attributes), a, b in zip(ops, names[:-1], names[1:], strict=True)]
    compiled, _ = written(nodes, [1, 8, "h", 12], {})
    for height in 7, 7, 7, 7, 14, 7:
        x = numbers(1, 8, height, 12)
        np.testing.assert_allclose(np.array(compiled([x.copy()])[0]), x, atol=2e-3)


def test_an_input_there_and_back():
    """Where the casts are all, the result would be read from the array that an earlier call was given."""
    turn = ("Transpose", {"perm": [0, 1, 3, 2]})
    for middle in [], [("Identity", {})], [turn, turn]:
        yield " ".join(op for op, _ in middle), check_there_and_back, middle


if __name__ == "__main__":
    run_tests(globals())
