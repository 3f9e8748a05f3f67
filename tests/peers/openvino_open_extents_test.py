"""Operations on tensors of which some extents are open, as OpenVINO's IR: what ONNX Runtime computes, for whatever
is fed, or refused by the operation's name.
"""

import _peers

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _models import helper, model_of, session_of
from _openvino import compiled_by_openvino

IMAGE = (2, 3, 6, 7)
# Which axes of the image are open.
OPEN = {"batch": (0,), "height": (2,), "pixels": (2, 3), "all": (0, 1, 2, 3)}


def ints(*values):
    return np.array(values, np.int64)


def node(op, *inputs, **attributes):
    return helper.make_node(op, list(inputs), ["y"], **attributes)


def computed(start, end, factors, name="list"):
    """Extents `start` to before `end` of x, each times a factor, behind ones for those before."""
    nodes = [helper.make_node("Shape", ["x"], [f"{name}_all"]),
             helper.make_node("Slice", [f"{name}_all", f"{name}_start", f"{name}_end"], [f"{name}_part"]),
             helper.make_node("Mul", [f"{name}_part", f"{name}_factors"], [name])]
    return nodes, {f"{name}_start": ints(start), f"{name}_end": ints(end), f"{name}_factors": ints(*factors)}


def rows():
    """Name -> (nodes, constants)."""
    weight = np.random.default_rng(1).standard_normal((3, 2, 3, 3)).astype(np.float32)
    filters = np.random.default_rng(2).standard_normal((4, 3, 3, 3)).astype(np.float32)
    made = {
        "reshape": ([node("Reshape", "x", "to")], {"to": ints(0, -1, 7)}),
        "reshape_copies": ([node("Reshape", "x", "to")], {"to": ints(0, 0, -1)}),
        "flatten": ([node("Flatten", "x", axis=2)], {}),
        "expand": ([node("Expand", "x", "to")], {"to": ints(2, 1, 1, 1, 7)}),
        "pad": ([node("Pad", "x", "pads", "two")], {"pads": ints(0, 0, 1, 2, 0, 1, 0, 1), "two": np.float32(2)}),
        "pad_reflect": ([node("Pad", "x", "pads", mode="reflect")], {"pads": ints(0, 0, 1, 2, 0, 0, 2, 1)}),
        "tile": ([node("Tile", "x", "times")], {"times": ints(1, 2, 1, 3)}),
        "resize_factors": ([node("Resize", "x", "", "factors", mode="linear")],
                           {"factors": np.float32([1, 1, 1.5, 2])}),
        "resize_sizes": ([node("Resize", "x", "", "", "sizes", axes=[2, 3])], {"sizes": ints(9, 7)}),
        "global_pool": ([node("GlobalAveragePool", "x")], {}),
        "softmax": ([node("Softmax", "x", axis=1)], {}),
        "reduce": ([node("ReduceMean", "x", "axes")], {"axes": ints(1, -1)}),
        "depth_to_space": ([helper.make_node("Concat", ["x"] * 4, ["c"], axis=1),
                            node("DepthToSpace", "c", blocksize=2)], {}),
    }
    for auto_pad in "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID":
        for stride in 1, 2:
            settings = {"strides": [stride] * 2, "auto_pad": auto_pad}
            made[f"conv_{auto_pad}_{stride}"] = [node("Conv", "x", "w", **settings)], {"w": filters}
            made[f"conv_transpose_{auto_pad}_{stride}"] = [node("ConvTranspose", "x", "w", **settings)], {"w": weight}
            made[f"max_pool_{auto_pad}_{stride}"] = [node("MaxPool", "x", kernel_shape=[3, 3], **settings)], {}
            made[f"average_pool_{auto_pad}_{stride}"] = [
                node("AveragePool", "x", kernel_shape=[3, 2], count_include_pad=1, **settings)], {}
        made[f"conv_transpose_{auto_pad}_shape"] = [
            node("ConvTranspose", "x", "w", strides=[2, 2], auto_pad=auto_pad, output_shape=[12, 13])], {"w": weight}
    made["max_pool_ceil"] = [node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)], {}
    made["max_pool_apart"] = [node("MaxPool", "x", kernel_shape=[2, 2], strides=[3, 3], auto_pad="SAME_UPPER")], {}

    nodes, constants = computed(0, 4, (1, 1, 2, 2))
    made["resize_computed"] = [*nodes, node("Resize", "x", "", "", "list")], constants
    made["expand_computed"] = [*nodes, helper.make_node("ConstantOfShape", ["list"], ["zeros"]),
                               helper.make_node("ReduceMean", ["x"], ["mean"]), node("Add", "zeros", "mean")], constants
    nodes, constants = computed(2, 4, (2, 1))
    made["resize_joined"] = [*nodes, helper.make_node("Slice", ["list_all", "zero", "list_start"], ["front"]),
                             helper.make_node("Concat", ["front", "list"], ["sizes"], axis=0),
                             node("Resize", "x", "", "", "sizes", mode="linear")], constants | {"zero": ints(0)}
    nodes, constants = computed(0, 2, (1, 1))
    made["reshape_joined"] = [*nodes, helper.make_node("Concat", ["list", "rest"], ["to"], axis=0),
                              node("Reshape", "x", "to")], constants | {"rest": ints(-1)}
    made["slice_computed"] = [*nodes, helper.make_node("Gather", ["list", "one"], ["end"]),
                              node("Slice", "x", "zero", "end", "two")], constants | {
                                  "one": ints(1), "zero": ints(0), "two": ints(2)}
    return made


# What is refused, of which open axes, and by which name.
REFUSED = {("max_pool_apart", open_axes): "MaxPool" for open_axes in OPEN}  # runtimes refuse negative pads


def check(name, open_axes, nodes, constants):
    extents = [f"d{axis}" if axis in OPEN[open_axes] else extent for axis, extent in enumerate(IMAGE)]
    model = model_of(nodes, [helper.make_tensor_value_info("x", 1, extents)],
                     [helper.make_empty_tensor_value_info("y")], constants, 18)
    with scratch() as folder:
        onnx.save(model, folder / "model.onnx")
        done = quadrant("convert", folder / "model.onnx", folder / "model.xml")
        if refused := REFUSED.get((name, open_axes)):
            assert done.returncode == 4 and refused in done.stderr, f"{done.returncode}: {done.stderr}"
            return
        assert done.returncode == 0, done.stderr
        compiled = compiled_by_openvino(folder / "model.xml")
        session = session_of(model)
        for seed in range(2):  # the extents that the model was made with, and others
            shape = [extent + seed * (axis in OPEN[open_axes] and axis != 1) for axis, extent in enumerate(IMAGE)]
            x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
            try:
                wanted = session.run(None, {"x": x})[0]
            except Exception:  # what the model does not take there
                continue
            found = np.array(compiled([x])[0])
            assert found.shape == wanted.shape, f"{list(found.shape)}, not {list(wanted.shape)}"
            assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), f"{np.abs(found - wanted).max()} off"


def test_open_extents():
    for name, (nodes, constants) in rows().items():
        for open_axes in OPEN:
            yield f"{name}_{open_axes}", check, name, open_axes, nodes, constants


if __name__ == "__main__":
    run_tests(globals())
