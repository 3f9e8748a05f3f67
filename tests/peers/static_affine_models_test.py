"""Real models, quantized by static_affine in each of its settings: files are valid, run in ONNX Runtime
with its optimizations and without, and in OpenVINO, and compute what our interpreter computes.

A code is the nearest one to a value that sums of floats give, and each runtime rounds those in its
own way. Where a value lies between two codes either is right, and what is computed from it differs by
a step. Few values do, so that the difference between two runtimes is small beside the noise of
quantization, which every value has; and kernels that compute in integers are as near to the float model
as those that compute in float.

For every model in examples/models/ and, where that is there, ../shared/models/.
"""

import _peers

import collections
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from _command import ROOT, quadrant, run_tests, scratch
from _models import SHARED, real_models, session_of
from _saturation import ended_product, in_onnxruntime, judged, product_in_onnxruntime
from openvino_test import is_built_in

sys.path.insert(0, str(ROOT / "scripts"))
import accuracy_table as tables
import static_affine
from static_affine_table import PRODUCTS

INPUTS = SHARED / "inputs" if SHARED.is_dir() else None
SAMPLES = 2     # to calibrate with, and to compare
BETWEEN = 0.25  # of the noise of quantization: what two runtimes may differ by
INTEGERS = 1.5  # times that noise: what a runtime may have with integer kernels
FLOATS = 1e-8   # of the power of an output: what rounding of floats may be

SETTINGS = {
    "default": (),
    "tensor": ("--weights", "tensor"),
    "asymmetric": ("--weights", "tensor", "--asymmetric-weights"),
    "as SNPE": ("--profile", "snpe", "--weights", "tensor", "--weight-encoding", "adjusted-weights",
                "--asymmetric-weights", "--unsigned-activations", "--bias-bits", "8",
                "--saturation", "avoid"),
    "16 bits": ("--activation-bits", 16),
    "4-bit weights": ("--weight-bits", 4),
    "unsigned": ("--unsigned-activations",),
    "8-bit biases": ("--bias-bits", 8),
    "enhanced": ("--use-enhanced",),
    "codes outside": ("--quantized-inputs", "--quantized-outputs"),
}
if _peers.OLDEST:
    SETTINGS = {name: SETTINGS[name] for name in ("default", "4-bit weights", "16 bits")}
# Of the others, ONNX Runtime computes convolutions in float.
INTEGER_SETTINGS = ("default", "tensor", "asymmetric", "unsigned", "enhanced", "codes outside")
# Without this, ONNX Runtime does not use kernels of int8 activations on x86 for all operations.
INT8 = {"session.qdqisint8allowed": "1"}
# Then it makes this of int8, and has no kernel for it.
NO_INT8_KERNEL = "Failed to find kernel for DepthToSpace"


# --- running ---------------------------------------------------------------------------------------


def samples_of(path):
    """Those to calibrate with, and others."""
    session = tables.session_of(path)
    samples = tables.samples_of(path, session, INPUTS, static_affine.WINDOWS)
    return static_affine.halves(list(static_affine.one_by_one(session, samples.feeds)))


def save(feeds, folder):
    folder.mkdir()
    for i, feed in enumerate(feeds):
        np.savez(folder / f"{i}.npz", **feed)
    return folder


def by_quadrant(model, data, target, *options):
    done = quadrant("run", model, "--data", data, "-o", target, *options)
    assert done.returncode == 0, done.stderr.strip()
    return [dict(np.load(path)) for path in sorted(target.glob("*.npz"))]


def by_onnxruntime(session, feeds):
    names = [value.name for value in session.get_outputs()]
    return [dict(zip(names, session.run(None, feed))) for feed in feeds]


def optimized(path, folder, entries):
    """A session with all optimizations, and how many nodes of each type it made of the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(folder / "optimized.onnx").graph.node
    return session, collections.Counter(node.op_type for node in nodes)


class Borders:
    """The inputs and outputs of a model that are codes, and what those mean."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        readers = {node.input[0]: node for node in graph.node if node.input}
        makers = {name: node for node in graph.node for name in node.output}
        self.inputs = {name: self.parameters(readers, name, lambda node: node.output[0])
                       for name in self.codes(graph.input)}
        self.outputs = {name: self.parameters(makers, name, lambda node: node.input[0])
                        for name in self.codes(graph.output)}

    @staticmethod
    def codes(values):
        return [value.name for value in values
                if value.type.tensor_type.elem_type == onnx.TensorProto.INT8]

    def parameters(self, nodes, name, beside):
        """Of the operator behind or in front of the value; codes may be moved between."""
        while nodes[name].op_type not in ("QuantizeLinear", "DequantizeLinear"):
            name = beside(nodes[name])
        return [self.arrays[parameter] for parameter in nodes[name].input[1:]]

    def fed(self, feed):
        """What the model takes for real values."""
        return {name: quantized(data, *self.inputs[name]) if name in self.inputs else data
                for name, data in feed.items()}

    def meant(self, runs):
        """The real values that outputs stand for."""
        return [{name: dequantized(data, *self.outputs[name]) if name in self.outputs else data
                 for name, data in run.items()} for run in runs]


def quantized(data, scale, zero_point):
    return np.clip(np.rint(data / scale) + zero_point, -128, 127).astype(np.int8)


def dequantized(codes, scale, zero_point):
    return (codes - zero_point.astype(np.float32)) * scale


# --- comparing -------------------------------------------------------------------------------------


def power(runs, others=None):
    """Of each real output, or of the difference to those of other runs."""
    found = {}
    for name, first in runs[0].items():
        pairs = zip(runs, others) if others else ((run, {name: 0}) for run in runs)
        if first.dtype.kind == "f":
            found[name] = sum(np.sum((a[name].astype(np.float64) - b[name])**2) for a, b in pairs)
    return found


def check_close(what, found, wanted, noise, share, rounding=None):
    """`rounding`: power of what rounding may add, by output."""
    apart = power(found, wanted)
    signal = power(wanted)
    for name, noise_power in noise.items():
        allowed = share * noise_power + FLOATS * signal[name] + (rounding or {}).get(name, 0)
        assert apart[name] <= allowed, (
            f"{what}: {name} differs by {apart[name] / max(noise_power, 1e-300):.2g} of the noise")


def one_step_lower(found, borders):
    """The power of outputs that are codes and a step too low, each of them: what rounding down, where a
    float kernel would round to nearest, may add to what integer kernels in front of it do."""
    return {name: sum(run[name].size for run in found) * float(scale) ** 2
            for name, (scale, _) in borders.outputs.items()}


class Case:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.feeds = samples_of(path)[0][:SAMPLES]
        self.data = save(self.feeds, folder / "data")
        self.statistics = folder / "statistics.json"
        done = quadrant("calibrate", path, "--data", self.data, "-o", self.statistics)
        assert done.returncode == 0, done.stderr
        self.floats = by_onnxruntime(session_of(path), self.feeds)
        self.convolutions = sum(node.op_type == "Conv" for node in onnx.load(path).graph.node)
        self.target = folder / "quantized.onnx"

    def quantize(self, setting):
        done = quadrant("quantize", self.path, "-o", self.target, "--scheme", "static-affine",
                        "--calibration", self.statistics, *SETTINGS[setting])
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(self.target, full_check=True)

    def check(self, setting):
        self.quantize(setting)
        borders = Borders(self.target)
        feeds = [borders.fed(feed) for feed in self.feeds]
        data = save(feeds, self.folder / f"data {setting}")
        plain = borders.meant(by_onnxruntime(session_of(self.target), feeds))
        noise = power(plain, self.floats)
        ours = by_quadrant(self.target, data, self.folder / f"ours {setting}")
        check_close(f"{setting}, interpreter", borders.meant(ours), plain, noise, BETWEEN)
        for name, entries in (("by default", {}), ("with int8", INT8)):
            try:
                session, counts = optimized(self.target, self.folder, entries)
            except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as problem:
                assert entries and NO_INT8_KERNEL in str(problem), problem
                print(f"{self.path.stem}, {setting}, {name}: {NO_INT8_KERNEL}")
                continue
            print(f"{self.path.stem}, {setting}, {name}: {of_interest(counts)}")
            faster = borders.meant(by_onnxruntime(session, feeds))
            down = one_step_lower(faster, borders) if counts["QLinearSoftmax"] else None
            check_close(f"{setting}, optimized {name}", faster, self.floats, noise, INTEGERS, down)
            # Else 16 bits would be rounded to 8.
            assert setting != "16 bits" or counts["MatMulNBits"] == 0, counts
            if setting in INTEGER_SETTINGS and (entries or setting == "unsigned"):
                assert counts["Conv"] + counts["FusedConv"] == 0, counts
                assert counts["QLinearConv"] == self.convolutions, counts
        if self.convolutions and setting == "default" and is_built_in():
            theirs = by_quadrant(self.target, data, self.folder / "openvino", "--runtime", "openvino")
            check_close("OpenVINO", theirs, self.floats, noise, INTEGERS)


def of_interest(counts):
    kinds = [kind for kind in sorted(counts) if kind.startswith("Q") or "Integer" in kind
             or kind in (*PRODUCTS, "FusedConv", "FusedGemm", "MatMulNBits", "DequantizeLinear")]
    return ", ".join(f"{counts[kind]} {kind}" for kind in kinds)


def check_model(path):
    problems = []
    with scratch() as folder:
        case = Case(path, folder)
        for setting in SETTINGS:
            try:
                case.check(setting)
            except AssertionError as problem:
                problems.append(str(problem))
    assert not problems, "\n  ".join(problems)


def test_integer_products():
    """Of ONNX Runtime itself: where these are wrong, all that follows is."""
    rng = np.random.default_rng(1)
    for columns in range(1, 80):
        rows, depth = rng.integers(1, 200, 2)
        a = rng.integers(0, 256, (rows, depth), dtype=np.uint8)
        for kind in np.uint8, np.int8:
            limits = np.iinfo(kind)
            b = rng.integers(limits.min, limits.max + 1, (depth, columns)).astype(kind)
            ends = kind is np.int8 and in_onnxruntime()
            judged[f"products {'that end at 16 bits' if ends else 'that are exact'}"] += 1
            wanted = ended_product(a, b) if ends else a.astype(np.int64) @ b
            assert np.array_equal(product_in_onnxruntime(a, b), wanted), (
                f"{rows} x {depth} by {depth} x {columns} of {kind.__name__}")


def test_model():
    for path in real_models():
        yield path.stem, check_model, path


if __name__ == "__main__":
    run_tests(globals())
