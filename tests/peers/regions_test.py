"""Weights in the bodies of If, Loop and Scan are weights like any: they are found by name, quantized, and
what is written is right in ONNX Runtime.
"""

import _peers

import json

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _nodes import nodes_of
from _region_models import MODELS

OPSETS = (11, 13, 16, 21)
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
# Relative to the largest number: float32 sums in another order, float16 rounded at other places.
TOLERANCES = {np.float32: 2e-5, np.float16: 4e-3}


def done(*arguments):
    result = quadrant(*arguments)
    assert result.returncode == 0, f"{' '.join(map(str, arguments))}: {result.stderr}"
    return result


class Made:
    """A model in a folder, and samples of its inputs."""

    def __init__(self, folder, name, opset, dtype=np.float32):
        self.folder, self.dtype = folder, dtype
        self.model, self.samples = MODELS[name](opset, dtype)
        self.path, self.data = folder / "model.onnx", folder / "samples"
        onnx.save(self.model, self.path)
        self.data.mkdir()
        for i, sample in enumerate(self.samples):
            np.savez(self.data / f"{i}.npz", **sample)

    def in_runtime(self, path):
        """Outputs by sample and name, in ONNX Runtime as it is; the file is valid as ONNX says."""
        onnx.checker.check_model(str(path), full_check=True)
        check_names(onnx.load(path, load_external_data=False).graph, set())
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return [dict(zip(names, session.run(names, sample))) for sample in self.samples]

    def in_interpreter(self, path, *options):
        out = self.folder / "out"
        done("run", path, "--data", self.data, "-o", out, *options)
        results = []
        for i in range(len(self.samples)):
            with np.load(out / f"{i}.npz") as arrays:
                results.append(dict(arrays))
        return results


def check_names(graph, outer):
    """No name is defined twice, or again in a body."""
    own = [tensor.name for tensor in graph.initializer] + [value.name for value in graph.input]
    own += [name for node in graph.node for name in node.output if name]
    assert len(own) == len(set(own)), f"defined twice: {sorted(own)}"
    assert not set(own) & outer, f"defined again in a body: {set(own) & outer}"
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                check_names(attribute.g, outer | set(own))


def graphs_of(graph):
    yield graph
    for node in nodes_of(graph):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield attribute.g


def weights_of(path):
    """(graph's name, tensor) for each float tensor of rank 2 and more."""
    for graph in graphs_of(onnx.load(path).graph):
        for tensor in graph.initializer:
            if tensor.data_type in FLOATS and len(tensor.dims) > 1:
                yield graph.name, tensor


def quantized_share(before, after):
    """Of the bytes of weights, those that are no floats any more."""
    left = {(graph, tensor.name) for graph, tensor in weights_of(after)}
    sizes = [(numpy_helper.to_array(tensor).nbytes, (graph, tensor.name) not in left)
             for graph, tensor in weights_of(before)]
    return sum(size for size, gone in sizes if gone) / sum(size for size, _ in sizes)


def check_close(found, wanted, dtype):
    for sample, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert ours[name].shape == value.shape, f"{sample} {name}: {ours[name].shape}"
            if value.size == 0:
                continue
            error = np.abs(ours[name].astype(np.float64) - value).max()
            largest = np.abs(value.astype(np.float64)).max()
            assert error <= TOLERANCES[dtype] * max(largest, 1), f"{sample} {name}: off by {error}"


def check_noise(found, wanted, least):
    for ours, theirs in zip(found, wanted, strict=True):
        for name, value in theirs.items():
            if value.dtype.kind != "f" or value.size == 0:
                continue
            noise = np.square(ours[name].astype(np.float64) - value).sum()
            ratio = 10 * np.log10(np.square(value.astype(np.float64)).sum() / max(noise, 1e-30))
            assert ratio >= least, f"{name}: {ratio:.1f} dB"


def made(name, opset, dtype, check, *arguments):
    with scratch() as folder:
        check(Made(folder, name, opset, dtype), *arguments)


def check_kept(made):
    """A model that is not changed comes out as it was, also by way of text, and runs the same."""
    text, again, through = (made.folder / name for name in ("m.qd", "again.onnx", "through.onnx"))
    done("convert", made.path, again)
    done("convert", made.path, text)
    done("convert", text, through)
    for path in (again, through):
        assert onnx.load(path).graph == made.model.graph, path.name
    check_close(made.in_interpreter(made.path), made.in_runtime(made.path), made.dtype)


def test_models_are_kept_and_run():
    for name in MODELS:
        for opset in OPSETS:
            for dtype in TOLERANCES:
                yield f"{name} opset {opset} {dtype.__name__}", made, name, opset, dtype, check_kept


# Options, and the least ratio of signal to noise.
SETTINGS = {
    "8 bits": ([], 30),
    "8 bits behind": (["--form", "behind"], 30),
    "asymmetric": (["--asymmetric", "--granularity", "tensor"], 20),
    "4 bits in blocks": (["--bits", "4", "--block-size", "32"], 9),
    "4 bits, MatMulNBits": (["--bits", "4", "--block-size", "32", "--format", "matmulnbits"], 9),
    "signed scales": (["--bits", "4", "--block-size", "16", "--signed-scale"], 9),
    "NF4": (["--type", "nf4"], 9),
}
# Which token comes next is chance where one bit decides: what follows is another text then.
LEAST_OF_DECODER = 3
# Blocks of 64 of a filter for one channel would be a scale for each weight: they stay float.
SHARE_OF_NF4 = 0.9


def check_quantized(made, options, least, share=0.95):
    path = made.folder / "small.onnx"
    done("quantize", made.path, "-o", path, "--scheme", "weight-only", *options)
    found = quantized_share(made.path, path)
    assert found >= share, f"{found:.1%} of the weights' bytes"
    found = made.in_runtime(path)
    check_noise(found, made.in_runtime(made.path), least)
    check_close(made.in_interpreter(path), found, made.dtype)


def test_weights_are_quantized():
    for name in MODELS:
        for opset in OPSETS:
            for dtype in TOLERANCES:
                yield (f"{name} opset {opset} {dtype.__name__}", made, name, opset, dtype,
                       check_quantized, *SETTINGS["8 bits"])
        for setting, (options, least) in list(SETTINGS.items())[1:]:
            for opset in (11, 21):
                yield (f"{name} {setting}, opset {opset}", made, name, opset, np.float32,
                       check_quantized, options, LEAST_OF_DECODER if name == "decoder" else least,
                       SHARE_OF_NF4 if setting == "NF4" else 0.95)


def check_external(made):
    path = made.folder / "small.onnx"
    onnx.save(made.model, made.path, save_as_external_data=True, location="weights.bin",
              size_threshold=64, all_tensors_to_one_file=True)
    check_quantized(made, [], 30)
    assert path.stat().st_size > 0


def test_data_files():
    yield "decoder", made, "decoder", 13, np.float32, check_external


INNER = "node_result/then_branch/conv.weight"


def check_names_of_weights(made):
    path = made.folder / "small.onnx"
    done("quantize", made.path, "-o", path, "--scheme", "weight-only", "--exclude", INNER)
    left = {(graph, tensor.name) for graph, tensor in weights_of(path)}
    assert ("fast", "conv.weight") in left and ("slow", "conv.weight") not in left, left
    made.in_runtime(path)
    done("quantize", made.path, "-o", path, "--scheme", "weight-only", "--include", INNER)
    left = {(graph, tensor.name) for graph, tensor in weights_of(path)}
    assert ("fast", "conv.weight") not in left and ("slow", "conv.weight") in left, left
    made.in_runtime(path)
    explained = done("explain", made.path, INNER, "--scheme", "weight-only").stdout
    assert "node_features" in explained, explained
    plan = made.folder / "plan.json"
    done("plan", made.path, "--scheme", "weight-only", "-o", plan)
    assert INNER in plan.read_text()


def check_budget(made):
    path = made.folder / "small.onnx"
    done("quantize", made.path, "-o", path, "--scheme", "weight-only", "--target-bits", "6",
         "--data", made.data)
    bits = 8 * sum(numpy_helper.to_array(tensor).nbytes
                   for graph in graphs_of(onnx.load(path).graph)
                   for tensor in graph.initializer) / sum(
        numpy_helper.to_array(tensor).size for _, tensor in weights_of(made.path))
    assert bits < 9, f"{bits} bits a weight"
    made.in_runtime(path)


def test_names_and_budgets():
    yield "names", made, "voice", 13, np.float32, check_names_of_weights
    yield "budget", made, "voice", 13, np.float32, check_budget


def check_visits(made):
    """What the body computes is seen in each of the trips, and what goes into the first trip is not: the
    range is that of all states that ONNX Runtime has on the way."""
    path = made.folder / "stats.json"
    done("calibrate", made.path, "--data", made.data, "-o", path)
    values = {entry["value"]: entry for entry in json.loads(path.read_text())["values"]}
    states, trips = [], 0
    for sample in made.samples:
        for trip in range(sample["trips"]):
            session = onnxruntime.InferenceSession(made.model.SerializeToString(),
                                                   providers=["CPUExecutionProvider"])
            last = session.run(["last_memory"], {**sample, "trips": np.array(trip + 1, np.int64)})
            states.append(last[0])
            trips += 1
    inner = values["node_last_token/body/memory_out"]
    assert inner["samples"] == trips == 6, inner["samples"]
    assert np.isclose(inner["min"], np.min(states), atol=1e-5), inner["min"]
    assert np.isclose(inner["max"], np.max(states), atol=1e-5), inner["max"]


def check_static(made):
    """Values in bodies are calibrated and quantized like others, where they were seen."""
    path = made.folder / "static.onnx"
    done("quantize", made.path, "-o", path, "--scheme", "static-affine", "--calibration", made.data)
    inner = [node for graph in list(graphs_of(onnx.load(path).graph))[1:] for node in graph.node
             if node.op_type == "QuantizeLinear"]
    assert inner, "no activation in a body is quantized"
    check_noise(made.in_runtime(path), made.in_runtime(made.path), 15)


def check_layers(made):
    """Layers in bodies are compared visit by visit."""
    path = made.folder / "small.onnx"
    done("quantize", made.path, "-o", path, "--scheme", "weight-only")
    report = done("compare", made.path, path, "--data", made.data, "--layers", "--json").stdout
    layers = {layer["name"]: layer for layer in json.loads(report)["comparison"]["layers"]}
    assert layers["node_last/body/h_out"]["sqnr_db"] > 30, layers["node_last/body/h_out"]


def check_out_of_reach(made):
    """A runtime that does not show bodies says so, and calibrates the rest."""
    stats = made.folder / "stats.json"
    said = done("calibrate", made.path, "--data", made.data, "--runtime", "openvino", "-o", stats).stderr
    assert "this runtime does not show them" in said, said
    names = [entry["value"] for entry in json.loads(stats.read_text())["values"]]
    assert names and not any("/" in name and "_branch/" in name for name in names), names
    said = done("compare", made.path, made.path, "--data", made.data, "--runtime", "openvino", "--layers").stderr
    assert "layers are not compared" in said, said


def test_values_in_bodies():
    yield "OpenVINO, voice", made, "voice", 13, np.float32, check_out_of_reach
    yield "static, voice", made, "voice", 13, np.float32, check_static
    yield "static, scan", made, "scan", 13, np.float32, check_static
    yield "layers", made, "scan", 13, np.float32, check_layers


def check_shadow(opset, name):
    """ONNX forbids a body's initializer the name of a value outside, and runtimes differ in which they read."""
    with scratch() as folder:
        random = np.random.default_rng(3)
        outer, inner = (random.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
        branch = helper.make_graph([helper.make_node("MatMul", ["h", name], ["t"])], "then", [],
                                   [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
                                   [numpy_helper.from_array(inner, name)])
        other = helper.make_graph([helper.make_node("Neg", ["h"], ["e"])], "else", [],
                                  [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)])
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("If", ["c"], ["y"], "choice", then_branch=branch, else_branch=other)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8]),
                                               helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(outer, "w")])
        path, made = folder / "model.onnx", folder / "made.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
        said = done("convert", path, made).stderr
        is_told = "'w': an initializer of 'choice/then_branch' is called as a value outside" in said
        assert is_told == (name == "w"), said
        x = random.standard_normal((2, 8)).astype(np.float32)
        session = onnxruntime.InferenceSession(str(made), providers=["CPUExecutionProvider"])
        found = session.run(None, {"x": x, "c": np.array(True)})[0]
        assert np.allclose(found, x @ outer @ inner, rtol=1e-4, atol=1e-4), np.abs(found - x @ outer @ inner).max()


def test_names_of_bodies_and_around():
    for opset in (13, 17):
        for name in ("w", "v"):
            yield f"opset {opset}, {name}", check_shadow, opset, name


def test_calibration_counts_every_visit():
    yield "decoder", made, "decoder", 13, np.float32, check_visits


if __name__ == "__main__":
    run_tests(globals())
