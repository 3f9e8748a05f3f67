"""The ways in which ONNX files say what a weight is: to each command they are the same weight. As an
initializer, listed among the inputs as in old files, in a Constant node, which may have text beside it,
and behind an Identity.
"""

import _peers

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _models import run

SHAPES = {"w1": (32, 16, 3, 3), "w2": (48, 32, 3, 3)}


def weights():
    rng = np.random.default_rng(2)
    return {name: rng.standard_normal(shape).astype(np.float32) / 8 for name, shape in SHAPES.items()}


def constant_node(name, value, doc_string=""):
    node = helper.make_node("Constant", [], [name], name=f"{name}_node", value=numpy_helper.from_array(value, name))
    node.doc_string = doc_string
    return node


def model_of(form):
    nodes, initializers, inputs, read = [], [], [], {name: name for name in SHAPES}
    for name, value in weights().items():
        if form in ("constant", "documented constant", "constant behind identity"):
            nodes.append(constant_node(name, value, "where it came from" if form == "documented constant" else ""))
        else:
            initializers.append(numpy_helper.from_array(value, name))
        if form == "listed input":
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))
        if form.endswith("behind identity"):
            read[name] = f"{name}_same"
            nodes.append(helper.make_node("Identity", [name], [read[name]]))
    nodes += [helper.make_node("Conv", ["x", read["w1"]], ["c"]), helper.make_node("Relu", ["c"], ["r"]),
              helper.make_node("Conv", ["r", read["w2"]], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 12]),
                                           *inputs],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 48, 8, 8])], initializers)
    # Files of IR 3 list initializers among the inputs, of opset 8 and older.
    old = form == "listed input"
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8 if old else 17)],
                             ir_version=3 if old else 8)


FORMS = ("initializer", "listed input", "constant", "documented constant", "initializer behind identity",
         "constant behind identity")
COMMANDS = {
    "int8": ("--scheme", "weight-only"),
    "int4": ("--scheme", "weight-only", "--bits", "4", "--block-size", "32"),
    "bits": ("--scheme", "weight-only", "--target-bits", "6"),
    "bits by data": ("--scheme", "weight-only", "--target-bits", "6", "--random", "2"),
    "static": ("--scheme", "static-affine", "--calibration", "samples"),
    "external": ("--scheme", "weight-only", "--exclude", "w", "--external-data"),
}


def inputs():
    return np.random.default_rng(7).standard_normal((1, 16, 12, 12)).astype(np.float32)


def made(form, options, folder):
    """Bytes of the file and its data, and the outputs."""
    onnx.save(model_of(form), folder / "m.onnx")
    (folder / "samples").mkdir(exist_ok=True)
    np.save(folder / "samples" / "0.npy", inputs())
    options = [folder / "samples" if option == "samples" else option for option in options]
    done = quadrant("quantize", folder / "m.onnx", "-o", folder / "q.onnx", *options)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(folder / "q.onnx"))
    size = sum(path.stat().st_size for path in folder.iterdir() if path.name.startswith("q."))
    return size, (folder / "q.onnx").stat().st_size, run(folder / "q.onnx", {"x": inputs()})[0]


def check(form, command):
    with scratch() as one, scratch() as other:
        size, alone, found = made(form, COMMANDS[command], one)
        wanted_size, wanted_alone, wanted = made("initializer", COMMANDS[command], other)
        # Names and nodes differ, weights do not.
        assert abs(size - wanted_size) < 2000, (size, wanted_size)
        assert abs(alone - wanted_alone) < 2000, (alone, wanted_alone)
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), abs(found - wanted).max()


def test_forms_of_constants():
    for form, command in itertools.product(FORMS[1:], COMMANDS):
        yield f"{form}, {command}", check, form, command


if __name__ == "__main__":
    run_tests(globals())
