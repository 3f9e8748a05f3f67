"""OpenVINO's IR files: what is read and written again computes the same to the last bit; what is
quantized here runs there, with the numbers that ONNX Runtime gets.
"""

import _peers

import sys
from xml.etree import ElementTree

import numpy as np
import openvino
from openvino import opset13 as ops

from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, SHARED, random_feeds, session_of
from _openvino import compiled_by_openvino

core = openvino.Core()


def feeds_of(model, seed=0):
    """Inputs in order; open dimensions are 2. Wide enough to reach both ends of quantized ranges."""
    rng = np.random.default_rng(seed)
    feeds = []
    for port in model.inputs:
        shape = [d.get_length() if d.is_static else 2 for d in port.partial_shape]
        dtype = port.element_type.to_dtype()
        reals = rng.normal(0, 3, shape) if np.issubdtype(dtype, np.floating) else None
        feeds.append(np.asarray(rng.integers(0, 3, shape) if reals is None else reals, dtype))
    return feeds


def outputs_of(model, feeds, **settings):
    made = compiled_by_openvino(model, **settings)
    results = made(feeds)
    return [np.array(results[i]) for i in range(len(made.outputs))]


def convert(source, target, *options):
    done = quadrant("convert", source, target, *options)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
    return done.stdout


# --- there and back -----------------------------------------------------------------------------------


def check_round_trip(path):
    with scratch() as folder:
        convert(path, folder / "again.xml")
        before, after = core.read_model(str(path)), core.read_model(str(folder / "again.xml"))
        assert len(before.inputs) == len(after.inputs) and len(before.outputs) == len(after.outputs)
        for old, new in zip(before.inputs + before.outputs, after.inputs + after.outputs):
            assert old.element_type == new.element_type, f"{old} became {new}"
            assert old.partial_shape == new.partial_shape, f"{old} became {new}"
            assert old.names <= new.names, f"{old.names} became {new.names}"
        feeds = feeds_of(before)
        for i, (old, new) in enumerate(zip(outputs_of(before, feeds), outputs_of(after, feeds))):
            assert np.array_equal(old, new, equal_nan=True), f"output {i} differs"


def check_adapter(path):
    """`--runtime openvino` computes what OpenVINO does."""
    model = core.read_model(str(path))
    feeds = feeds_of(model)
    with scratch() as folder:
        (folder / "data").mkdir()
        names = [port.node.get_friendly_name() for port in model.inputs]
        np.savez(folder / "data" / "sample.npz", **dict(zip(names, feeds)))
        done = quadrant("run", path, "--data", folder / "data", "-o", folder / "out", "--runtime", "openvino")
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
        with np.load(folder / "out" / "sample.npz") as arrays:
            found = list(arrays.values())
        wanted = outputs_of(model, feeds)
        assert len(found) == len(wanted), f"{len(found)} outputs"
        for i, (one, other) in enumerate(zip(found, wanted)):
            assert one.dtype == other.dtype and np.array_equal(one, other), f"output {i} differs"
        done = quadrant("compare", path, path, "--data", folder / "data", "--runtime", "openvino")
        assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"


def check_model(*arguments):
    """A model that was made here, through its file: written again, and run by the adapter."""
    with scratch() as folder:
        openvino.save_model(openvino.Model(*arguments), folder / "model.xml", compress_to_fp16=False)
        check_round_trip(folder / "model.xml")
        check_adapter(folder / "model.xml")


def test_real_models_there_and_back():
    for path in sorted(SHARED.glob("*.xml")) if SHARED.is_dir() else []:
        yield path.name, check_round_trip, path


def random_constant(rng, *shape):
    return ops.constant(rng.normal(0, 1, shape).astype(np.float32))


def test_compressed_weights_there_and_back():
    rng = np.random.default_rng(1)
    x = ops.parameter([-1, 3, 8, 8], np.float32, name="x")
    weights = ops.constant(rng.normal(0, 1, (4, 3, 3, 3)).astype(np.float32))
    y = ops.convolution(x, weights, [2, 1], [1, 0], [0, 1], [1, 1])
    y.output(0).set_names({"y", "also,y"})
    with scratch() as folder:
        openvino.save_model(openvino.Model([ops.swish(y)], [x], "m"), folder / "model.xml")
        check_round_trip(folder / "model.xml")


def test_loops_and_branches_there_and_back():
    rng = np.random.default_rng(2)
    x = ops.parameter([2, 5, 4], np.float32, name="x")
    start = ops.parameter([2, 1, 4], np.float32, name="start")
    piece = ops.parameter([2, 1, 4], np.float32)
    state = ops.parameter([2, 1, 4], np.float32)
    update = ops.tanh(ops.add(ops.multiply(piece, random_constant(rng, 1, 1, 4)), state))
    body = openvino.Model([update], [piece, state], "body")
    loop = ops.tensor_iterator()
    loop.set_body(body)
    loop.set_sliced_input(piece, x.output(0), 0, 1, 1, -1, 1)
    loop.set_merged_input(state, start.output(0), update.output(0))
    last = loop.get_iter_value(update.output(0), -1)
    check_model([ops.relu(last)], [x, start], "m")

    condition = ops.parameter([], np.bool_, name="condition")
    y = ops.parameter([3], np.float32, name="y")
    branches = []
    for factor in (2, -3):
        inner = ops.parameter([3], np.float32)
        scaled = ops.multiply(inner, ops.constant(np.full(3, factor, np.float32)))
        branches.append((openvino.Model([scaled], [inner], "branch"), inner, scaled))
    choice = ops.if_op(condition.output(0))
    (then, then_in, then_out), (other, other_in, other_out) = branches
    choice.set_then_body(then)
    choice.set_else_body(other)
    choice.set_input(y.output(0), then_in, other_in)
    choice.set_output(then.results[0], other.results[0])
    check_model([choice.output(0)], [condition, y], "m")


def without_first_value(path):
    """Python makes a ReadValue of opset 3, which has one; that of opset 6 may be without."""
    tree = ElementTree.parse(path)
    read = next(layer for layer in tree.iter("layer") if layer.get("type") == "ReadValue")
    read.remove(read.find("input"))
    edges = tree.find("edges")
    edges.remove(next(edge for edge in edges if edge.get("to-layer") == read.get("id")))
    tree.write(path)


def check_states(first, change):
    """A sum that is kept from run to run; watched where it is added up, and where it is assigned."""
    x = ops.parameter([3], np.float32, name="x")
    total = ops.add(ops.read_value(ops.constant(first), "sum", np.float32, [3]), x)
    total.output(0).set_names({"total"})
    kept = ops.assign(total, "sum")
    with scratch() as folder:
        path = folder / "model.xml"
        openvino.save_model(openvino.Model([ops.result(total)], [kept], [x], "m"), path,
                            compress_to_fp16=False)
        change(path)
        for watched in ("total", kept.get_friendly_name()):
            out = folder / f"out_{watched}"
            done = quadrant("run", path, "--random", 3, "-o", out, "--outputs", f"x,{watched}", "--runtime",
                            "openvino")
            assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
            results = sorted(out.glob("*.npz"))
            assert len(results) == 3
            for result in results:
                with np.load(result) as arrays:
                    x_fed, found = arrays.values()
                    assert np.array_equal(found, first + x_fed), result.name


def test_the_adapter_starts_each_sample_anew():
    first = np.arange(3, dtype=np.float32)
    yield "from a constant", check_states, first, lambda path: None
    yield "from nothing", check_states, np.zeros(3, np.float32), without_first_value


def test_operations_that_are_carried_there_and_back():
    rng = np.random.default_rng(3)
    boxes = ops.parameter([1, 20, 4], np.float32, name="boxes")
    scores = ops.parameter([1, 2, 20], np.float32, name="scores")
    picked = ops.multiclass_nms(boxes, scores, sort_result_type="none", output_type="i32", background_class=-1,
                                keep_top_k=5)
    check_model([picked.output(0), picked.output(2)], [boxes, scores], "m")
    x = ops.parameter([1, 4, 6, 6], np.float32, name="x")
    offsets = ops.parameter([1, 18, 4, 4], np.float32, name="offsets")
    y = ops.deformable_convolution(x, offsets, random_constant(rng, 2, 4, 3, 3), [1, 1], [0, 0], [0, 0],
                                   [1, 1])
    check_model([y], [x, offsets], "m")


# --- quantized here, run there -----------------------------------------------------------------------


def data_for(model, folder):
    (folder / "data").mkdir()
    for seed in range(4):
        np.savez(folder / "data" / f"{seed}.npz", **random_feeds(session_of(model), seed))
    return folder / "data"


def integer_layers(path):
    """Of the model that OpenVINO made of it: the types that compute products of integers."""
    layers = []
    for node in compiled_by_openvino(str(path)).get_runtime_model().get_ops():
        facts = node.get_rt_info()
        kind = facts["layerType"].astype(str)
        if kind in ("Convolution", "FullyConnected", "MatMul"):
            layers.append(facts["runtimePrecision"].astype(str))
    return layers


def check_quantized(source, *options, tolerance, wants_integers=False):
    """The IR in OpenVINO and the ONNX file in ONNX Runtime, of the same quantized model. The tolerance
    is relative to the largest output."""
    with scratch() as folder:
        feeds = random_feeds(session_of(source), 7)
        if "static-affine" in options:
            # The same plan for both files: an .xml alone would be for these kernels, too.
            options = (*options, "--calibration", data_for(source, folder), "--kernels", "openvino")
        convert(source, folder / "q.xml", *options)
        convert(source, folder / "q.onnx", *options)
        session = session_of(folder / "q.onnx")
        wanted = session.run(None, feeds)
        model = core.read_model(str(folder / "q.xml"))
        found = outputs_of(model, [feeds[port.get_any_name()] for port in model.inputs])
        for output, (a, b) in enumerate(zip(found, wanted)):
            largest = np.abs(b).max(initial=1e-3)
            worst = np.abs(a.astype(np.float64) - b).max() / largest
            assert worst <= tolerance, f"output {output}: {worst:.2g} of the largest value"
        if wants_integers:
            layers = integer_layers(folder / "q.xml")
            assert any(layer in ("u8", "i8") for layer in layers), f"none on integers: {layers}"


WEIGHTS = {
    "int8 channels": ("--bits", "8"),
    "int4 blocks": ("--bits", "4", "--granularity", "block", "--block-size", "16"),
    "uint8 asymmetric": ("--bits", "8", "--asymmetric"),
}


def test_weights_of_few_bits():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        for name, options in WEIGHTS.items():
            yield (f"{path.stem} {name}", lambda p, o: check_quantized(
                p, "--scheme", "weight-only", *o, tolerance=2e-5), path, options)


def test_static_plans():
    """Roundings of products differ by one step here and there: a step in the last layer is the least
    that can be asked for."""
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield (path.stem, lambda p: check_quantized(
            p, "--scheme", "static-affine", tolerance=0.03, wants_integers=True), path)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
