"""Weights whose scales for channels some versions of ONNX Runtime cannot run: those of three axes, and one
that two products read along different axes. Files that say so are valid, and computed right without
optimizations; what their optimizations make of them ends with an error. The command writes one scale for
the tensor there, and this runs with and without.

With --oldest the fault is shown to be there: where it is in no version any more that files are made for, the
command's rule (methods/static_affine/products.cpp) is needless.
"""

import _peers

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _models import run

RNG = np.random.default_rng(5)
W3 = RNG.standard_normal((4, 32, 16)).astype(np.float32)
W2 = RNG.standard_normal((32, 16)).astype(np.float32)

# Nodes, shapes of inputs and outputs, the weight, and the axis of its channels for the first product.
CASES = {
    "three axes": ([("MatMul", ["x", "w"], ["y"], {})], [4, 10, 32], [4, 10, 16], W3, 2),
    "three axes of one": ([("MatMul", ["x", "w"], ["y"], {})], [4, 10, 32], [4, 10, 16], W3[:1], 2),
    "two products": ([("MatMul", ["x", "w"], ["h"], {}), ("Gemm", ["h", "w"], ["y"], {"transB": 1})],
                     [10, 32], [10, 32], W2, 1),
}


def model_of(nodes, x, y, initializers):
    graph = helper.make_graph(
        [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in nodes], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in initializers.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def written_by_hand(nodes, x, y, weight, axis):
    """The same with codes of int8, and a scale for each channel."""
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scale = (np.abs(weight).max(others) / 127).astype(np.float32)
    shape = [-1 if i == axis else 1 for i in range(weight.ndim)]
    codes = np.rint(weight / scale.reshape(shape)).astype(np.int8)
    made = [("DequantizeLinear", ["codes", "scale", "zeros"], ["w"], {"axis": axis})]
    values = {"codes": codes, "scale": scale, "zeros": np.zeros(len(scale), np.int8)}

    def on_codes(value, step):
        values.update({f"{value}_step": np.float32(step), "zero": np.int8(0)})
        made.append(("QuantizeLinear", [value, f"{value}_step", "zero"], [f"{value}_codes"], {}))
        made.append(("DequantizeLinear", [f"{value}_codes", f"{value}_step", "zero"], [f"{value}_real"], {}))

    on_codes("x", .03)
    for i, (op, inputs, outputs, attributes) in enumerate(nodes):
        result = outputs[0] if i + 1 < len(nodes) else "sum"
        made.append((op, [f"{inputs[0]}_real", inputs[1]], [result], attributes))
        on_codes(result, .3 if i == 0 else 3)
    made[-1] = (*made[-1][:2], ["y"], {})
    return model_of(made, x, y, values)


def check_fault(case):
    model = written_by_hand(*CASES[case])
    feeds = {"x": RNG.standard_normal(CASES[case][1]).astype(np.float32)}
    run(model, feeds)
    try:
        run(model, feeds, optimised=True)
    except Exception:  # onnxruntime has no base class for its exceptions
        return
    raise AssertionError("it runs: scales for channels can be written here")


def check_file(case):
    nodes, x, y, weight, _ = CASES[case]
    with scratch() as folder:
        onnx.save(model_of(nodes, x, y, {"w": weight}), folder / "m.onnx")
        (folder / "samples").mkdir()
        for i in range(4):
            np.save(folder / "samples" / f"{i}.npy", RNG.standard_normal(x).astype(np.float32))
        done = quadrant("quantize", folder / "m.onnx", "-o", folder / "q.onnx", "--scheme", "static-affine",
                        "--calibration", folder / "samples")
        assert done.returncode == 0, done.stderr
        assert any(tensor.data_type == TensorProto.INT8 and list(tensor.dims) == list(weight.shape)
                   for tensor in onnx.load(folder / "q.onnx").graph.initializer), "the weight is not in codes"
        feeds = {"x": np.load(folder / "samples" / "0.npy")}
        (want,) = run(folder / "m.onnx", feeds)
        for optimised in (False, True):
            (found,) = run(folder / "q.onnx", feeds, optimised)
            decibels = 10 * np.log10(np.sum(want**2) / np.sum((want - found) ** 2))
            assert decibels > 25, f"{decibels:.1f} dB with optimizations {optimised}"


def test_the_fault_is_there():
    if _peers.OLDEST:
        for case in CASES:
            yield case, check_fault, case


def test_files_run():
    for case in CASES:
        yield case, check_file, case


def check_between_convolutions(op, *arrays, absent=0, **attributes):
    """Of codes, as ONNX Runtime optimizes it."""
    weight = RNG.standard_normal((4, 4, 1, 1)).astype(np.float32)
    x = RNG.standard_normal((1, 4, 12, 12)).astype(np.float32)
    constants = {f"c{i}": array for i, array in enumerate(arrays)}
    names = list(constants)
    nodes = [("Conv", ["x", "w"], ["a"], {}), (op, ["a", *names[:1], *[""] * absent, *names[1:]], ["b"], attributes),
             ("MaxPool", ["b"], ["c"], {"kernel_shape": [1, 2], "strides": [2, 2]}), ("Conv", ["c", "w"], ["y"], {})]
    model = model_of(nodes, x.shape, None, {"w": weight, **constants})
    model.opset_import[0].version = 21
    with scratch() as folder:
        onnx.save(model, folder / "m.onnx")
        np.savez(folder / "s.npz", x=x)
        done = quadrant("quantize", folder / "m.onnx", "-o", folder / "q.onnx", "--scheme", "static-affine",
                        "--calibration", folder / "s.npz")
        assert done.returncode == 0, done.stderr
        wanted, found = (run(folder / name, {"x": x}, optimised=True) for name in ("m.onnx", "q.onnx"))
    error = sum(((a - b) ** 2).sum() for a, b in zip(wanted, found)) / sum((a ** 2).sum() for a in wanted)
    assert error < 1e-2, error


def test_poolings_with_dilations():
    """ONNX Runtime makes a QLinearAveragePool of a pooling between codes, which refuses to be loaded with
    dilations, also those of 1, and of windows of 1."""
    for kernel, dilations in ((3, [1, 1]), (1, [2, 2]), (3, [2, 2]), (2, [1, 3])):
        yield f"{kernel} {dilations}", check_pooling, kernel, dilations


def check_pooling(kernel, dilations):
    check_between_convolutions("AveragePool", kernel_shape=[kernel] * 2, dilations=dilations)


def test_pads_of_some_axes():
    """Where it moves a Transpose across a Pad, ONNX Runtime passes over which axes these are."""
    for mode in "constant", "reflect", "edge":
        for axes in [2], [-1], [3, 2]:
            pads = np.array([1, 2][:len(axes)] + [0, 1][:len(axes)])
            yield f"{mode} {axes}", check_pad, mode, axes, pads


def check_pad(mode, axes, pads):
    check_between_convolutions("Pad", pads, np.array(axes), absent=1, mode=mode)


if __name__ == "__main__":
    run_tests(globals())
