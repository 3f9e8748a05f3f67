"""`quadrant run --runtime openvino`: each real value of real models, float and quantized, against ONNX
Runtime; models that it would compute otherwise are refused.
"""

import _peers

import sys

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, SHARED, quantize, random_feeds, real_models, session_of


def with_inner_values(path):
    """The model with all reals that it computes as outputs, as far as their types are known."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    outputs = {value.name for value in model.graph.output}
    computed = {name for node in model.graph.node for name in node.output}
    for value in model.graph.value_info:
        real = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        if real and value.name in computed - outputs:
            model.graph.output.append(value)
    return model


def run_in_openvino(folder, model, feeds):
    onnx.save(model, folder / "model.onnx")
    (folder / "data").mkdir()
    np.savez(folder / "data" / "sample.npz", **feeds)
    return quadrant("run", folder / "model.onnx", "--data", folder / "data", "-o", folder / "out",
                    "--runtime", "openvino")


def outputs_of(model, feeds):
    with scratch() as folder:
        done = run_in_openvino(folder, model, feeds)
        assert done.returncode == 0, done.stderr
        with np.load(folder / "out" / "sample.npz") as arrays:
            return dict(arrays)


def check_refused(model):
    with scratch() as folder:
        done = run_in_openvino(folder, model, random_feeds(session_of(model)))
        assert done.returncode == 4 and "lengths of sequences" in done.stderr, done.stderr


def distance(found, wanted):
    """The largest difference; relative to the largest value, or to 0.01 where all are smaller."""
    differs = found != wanted  # infinities may be the same
    if not differs.any():
        return 0
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.01)
    return np.abs(found[differs] - wanted[differs]).max() / largest


def has_lengths(model):
    """Recurrent layers with lengths of sequences: OpenVINO ignores those where shapes are open."""
    return any(node.op_type in ("RNN", "GRU", "LSTM") and len(node.input) > 4 and node.input[4]
               for node in model.graph.node)


def check_outputs(model, tolerance):
    if has_lengths(model):
        check_refused(model)
        return
    session = session_of(model)
    feeds = random_feeds(session)
    names = [value.name for value in session.get_outputs()]
    found = outputs_of(model, feeds)
    assert sorted(found) == sorted(names), sorted(found)
    for name, wanted in zip(names, session.run(None, feeds)):
        assert found[name].shape == wanted.shape and found[name].dtype == wanted.dtype, name
        if wanted.dtype == np.float32:
            assert distance(found[name], wanted) <= tolerance, (name, distance(found[name], wanted))


def check_quantized(path, *options):
    with scratch() as folder:
        quantize(path, folder / "quantized.onnx", *options)
        check_outputs(with_inner_values(folder / "quantized.onnx"), 1e-3)


def test_float():
    for path in real_models():
        yield path.stem, lambda p: check_outputs(with_inner_values(p), 1e-3), path


def test_weight_only():
    for path in real_models():
        yield f"{path.stem}-8", check_quantized, path
        yield f"{path.stem}-4", check_quantized, path, "--bits", 4, "--block-size", 16


def test_quantized_activations():
    """A code that lies between two others may go either way, and is seen in what is computed from it."""
    path = SHARED / "resnet8_cifar10_int8_qdq.onnx"
    if path.is_file():
        yield path.stem, lambda p: check_outputs(onnx.load(p), 2e-2), path


def is_built_in():
    with scratch() as folder:
        done = quadrant("run", EXAMPLES / "digits_cnn.onnx", "--random", 1, "-o", folder,
                        "--runtime", "openvino")
        return "built without OpenVINO" not in done.stderr


if __name__ == "__main__":
    if not is_built_in():
        print("peer missing: the command was built without OpenVINO")
        sys.exit(77)
    run_tests(globals())
