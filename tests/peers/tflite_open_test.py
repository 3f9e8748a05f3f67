"""Operations whose operands have extents that only the run tells: what is written as TFLite gives in
LiteRT what ONNX Runtime gives, for more than one size of what is fed; or it is refused, and the
message names the operation."""

import _peers

import itertools

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _litert import run_litert

RNG = np.random.default_rng(11)


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


N, C, H, W = 2, 4, 6, 8  # what is fed; 4 of each are known
OPEN = {  # which axes are open, by name
    "batch": (0,), "height": (2,), "width": (3,), "image": (2, 3), "batch_image": (0, 2, 3),
    "channels": (1,), "all": (0, 1, 2, 3)}

NEAREST = dict(mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")


def node(kind, operands, results=("y",), **attributes):
    return helper.make_node(kind, list(operands), list(results), **attributes)


def shape_parts(*parts):
    """Nodes that make `size`: each part is a slice of the shape of x (begin, end), perhaps times
    numbers; or a list of numbers."""
    nodes, constants, names = [node("Shape", ["x"], ["s"])], {"zero": ints(0)}, []
    for i, part in enumerate(parts):
        names.append(f"part{i}")
        if isinstance(part, list):
            constants[f"part{i}"] = ints(*part)
            continue
        begin, end, *factor = part
        constants |= {f"b{i}": ints(begin), f"e{i}": ints(end)}
        nodes.append(node("Slice", ["s", f"b{i}", f"e{i}", "zero"], [f"cut{i}" if factor else f"part{i}"]))
        if factor:
            constants[f"f{i}"] = ints(*factor[0])
            nodes.append(node("Mul", [f"cut{i}", f"f{i}"], [f"part{i}"]))
    return [*nodes, node("Concat", names, ["size"], axis=0)], constants


def behind_shape(last, *parts, **constants):
    nodes, more = shape_parts(*parts)
    return [*nodes, *last], more | constants


def simple(kind, *operands, **attributes):
    constants = {f"c{i}": value for i, value in enumerate(operands)}
    return [node(kind, ["x", *constants], **attributes)], constants


W33, W44 = array(5, C, 3, 3), array(C, 5, 4, 4)
OPERATIONS = {
    "resize_twice": ("Resize", *behind_shape([node("Relu", ["x"], ["r"]),
                                              node("Resize", ["r", "", "", "size"], **NEAREST)],
                                             (0, 2), (2, 4, [2, 2]))),
    "resize_to_numbers": ("Resize", *behind_shape([node("Resize", ["x", "", "", "size"], mode="linear",
                                                        coordinate_transformation_mode="half_pixel")],
                                                  (0, 2), [9, 7])),
    "resize_width": ("Resize", *behind_shape([node("Resize", ["x", "", "", "size"], **NEAREST)],
                                             (0, 3), [16])),
    "resize_of_another": ("Resize", *behind_shape(
        [node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
         node("Resize", ["p", "", "", "size"], **NEAREST)], (0, 4))),
    "resize_to_itself": ("Resize", *behind_shape(
        [node("Sigmoid", ["x"], ["g"]), node("Resize", ["g", "", "", "size"], ["u"], **NEAREST),
         node("Neg", ["u"])], (0, 4))),
    "resize_scales": ("Resize", *simple("Resize", np.zeros(0, np.float32), np.float32([1, 1, 2, 2]), **NEAREST)),
    "expand_ones": ("expand", [node("ReduceMean", ["x"], ["m"], axes=[2, 3]), node("Shape", ["x"], ["s"]),
                               node("Expand", ["m", "s"])], {}),
    "expand_both_ways": ("expand", *simple("Expand", ints(1, C, 1, 1))),
    "expand_wider": ("expand", *simple("Expand", ints(3, 1, 1, 1, 1))),
    "pad": ("Pad", *simple("Pad", ints(0, 0, 1, 2, 0, 0, 3, 4))),
    "pad_reflect": ("Pad", *simple("Pad", ints(0, 0, 1, 2, 0, 0, 3, 4), mode="reflect")),
    "reshape_merge": ("reshape", *simple("Reshape", ints(0, C, -1))),
    "reshape_keep": ("reshape", *simple("Reshape", ints(0, 0, -1))),
    "reshape_by_shape": ("reshape", *behind_shape([node("Reshape", ["x", "size"])], (0, 2), [-1])),
    "reshape_and_back": ("reshape", *behind_shape(
        [node("Reshape", ["x", "flat"], ["f"]), node("Relu", ["f"], ["g"]), node("Reshape", ["g", "size"])],
        (0, 4), flat=ints(0, -1))),
    "flatten": ("flatten", *simple("Flatten")),
    "flatten_two": ("flatten", *simple("Flatten", axis=2)),
    "unsqueeze": ("unsqueeze", *simple("Unsqueeze", ints(2, 5))),
    "squeeze": ("squeeze", [node("ReduceMax", ["x"], ["m"], axes=[2]), node("Squeeze", ["m", "two"])],
                {"two": ints(2)}),
    "slice_front": ("slice", *simple("Slice", ints(1), ints(2 ** 40), ints(2))),
    "slice_back": ("slice", *simple("Slice", ints(-3), ints(-1), ints(3))),
    "slice_steps": ("slice", *simple("Slice", ints(0, 1), ints(5, 2 ** 40), ints(2, 3), ints(2, 2))),
    "slice_reversed": ("slice", *simple("Slice", ints(-1), ints(-2 ** 40), ints(2), ints(-1))),
    "slice_to_shape": ("slice", *behind_shape([node("Slice", ["x", "one", "size", "two"])], (2, 3),
                                              one=ints(1), two=ints(2))),
    "split": ("split", [node("Split", ["x", "parts"], ["a", "b"], axis=3), node("Concat", ["b", "a"], axis=3)],
              {"parts": ints(3, 5)}),
    "tile": ("Tile", *simple("Tile", ints(2, 1, 2, 1))),
    "tile_by_shape": ("Tile", *behind_shape([node("Tile", ["x", "size"])], (1, 2), [1, 1, 1])),
    "concat": ("concat", [node("Concat", ["x", "x"], axis=2)], {}),
    "gather_end": ("gather", *simple("Gather", ints(-1, 0), axis=2)),
    "transpose": ("transpose", *simple("Transpose", perm=[3, 1, 0, 2])),
    "conv": ("conv", *simple("Conv", W33, pads=[1, 1, 1, 1], strides=[2, 2])),
    "conv_uneven": ("conv", *simple("Conv", W33, pads=[0, 2, 1, 0])),
    "conv_same_upper": ("conv", *simple("Conv", W33, auto_pad="SAME_UPPER", strides=[2, 2])),
    "conv_same_lower": ("conv", *simple("Conv", W33, auto_pad="SAME_LOWER", strides=[2, 2])),
    "conv_transpose": ("conv_transpose", *simple("ConvTranspose", W44, strides=[2, 2])),
    "conv_transpose_cut": ("conv_transpose", *simple("ConvTranspose", W44, strides=[2, 2], pads=[1, 1, 1, 1])),
    "conv_transpose_same": ("conv_transpose", *simple("ConvTranspose", W44, strides=[2, 2],
                                                      auto_pad="SAME_UPPER")),
    "max_pool": ("MaxPool", *simple("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    "max_pool_ceil": ("MaxPool", *simple("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
    "max_pool_same": ("MaxPool", *simple("MaxPool", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
    "average_pool": ("AveragePool", *simple("AveragePool", kernel_shape=[2, 2], strides=[2, 2])),
    "average_pool_pads": ("AveragePool", *simple("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
    "average_pool_one_side": ("AveragePool", *simple("AveragePool", kernel_shape=[1, 3], pads=[0, 1, 0, 1],
                                                     strides=[1, 2])),
    "average_pool_counted": ("AveragePool", *simple("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                                                    strides=[2, 2], count_include_pad=1)),
    "average_pool_same_counted": ("AveragePool", *simple("AveragePool", kernel_shape=[3, 3], strides=[2, 2],
                                                         auto_pad="SAME_UPPER", count_include_pad=1)),
    "average_pool_ceil": ("AveragePool", *simple("AveragePool", kernel_shape=[3, 3], strides=[2, 2],
                                                 ceil_mode=1)),
    "lp_pool": ("LpPool", *simple("LpPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    "global_pool": ("GlobalAveragePool", *simple("GlobalAveragePool")),
    "depth_to_space": ("DepthToSpace", *simple("DepthToSpace", blocksize=2)),
    "space_to_depth": ("SpaceToDepth", *simple("SpaceToDepth", blocksize=2)),
    "softmax": ("Softmax", *simple("Softmax", axis=2)),
    "mean": ("ReduceMean", *simple("ReduceMean", axes=[2, 3], keepdims=0)),
    "add_row": ("add", *simple("Add", array(1, 1, 8))),
    "fill": ("ConstantOfShape", *behind_shape(
        [node("ConstantOfShape", ["size"], ["z"]), node("Add", ["x", "z"])], (0, 4))),
    "cumulative": ("CumSum", *simple("CumSum", np.array(2, np.int64))),
    "instance_normalization": ("InstanceNormalization", *simple("InstanceNormalization", array(C), array(C))),
}


def save(path, nodes, constants, axes):
    extents = [f"d{i}" if i in axes else size for i, size in enumerate((N, C, H, W))]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check(name, axes, outcomes):
    operation, nodes, constants = OPERATIONS[name]
    with scratch() as folder:
        save(folder / "m.onnx", nodes, constants, axes)
        try:
            session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
        except Exception:
            outcomes["no model"] += 1  # open channels where ONNX knows them, say
            return
        done = quadrant("convert", folder / "m.onnx", folder / "m.tflite")
        if done.returncode != 0:
            assert done.returncode == 4, f"exit code {done.returncode}: {done.stderr}"
            assert operation.lower() in done.stderr.lower(), f"does not name {operation}: {done.stderr}"
            outcomes["refused"] += 1
            return
        # Twice: once as the file's 1s could be taken for the truth, once larger and odd.
        for more in (0, 1, 3):
            shape = [size + more if axis in axes and axis != 1 else size
                     for axis, size in enumerate((N, C, H, W))]
            x = array(*shape)
            try:
                expected = session.run(None, {"x": x})[0]
            except Exception:
                continue  # what ONNX cannot compute of this size
            found = run_litert(folder / "m.tflite", {"x": x})["y"]
            assert found.shape == expected.shape, f"{x.shape}: {found.shape}, not {expected.shape}"
            worst = np.abs(found - expected).max(initial=0)
            assert worst <= 1e-4, f"{x.shape}: {worst} off"
        outcomes["right"] += 1


def test_open_extents():
    outcomes = {"right": 0, "refused": 0, "no model": 0}
    for name, (which, axes) in itertools.product(OPERATIONS, OPEN.items()):
        yield f"{name}_{which}", check, name, axes, outcomes

    def some_of_each():
        assert outcomes["right"] >= 150, outcomes

    yield "most_are_written", some_of_each


if __name__ == "__main__":
    run_tests(globals())
