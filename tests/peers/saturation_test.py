"""Static int8 models on processors whose kernels add two neighbouring products in 16 bits (`_saturation`): by
default no two weights can leave them, whichever runtime adds, and what ONNX Runtime and OpenVINO compute with
their optimizations is what the file means.

The first is read off every file, on any processor. The runtimes are asked on this one, and ONNX Runtime also on
an emulated one of 2013.
"""

import _peers

import platform
import shutil
import subprocess
import sys

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _fold import GraphReader, attributes_of
from _models import EXAMPLES, helper, info, model_of, real_models, session_of
from _openvino import compiled_by_openvino
from _saturation import IN_REALS, has_bad_pair, in_onnxruntime, in_openvino, judged
from static_affine_models_test import INT8, by_onnxruntime, by_quadrant, optimized, samples_of, save

SAME = 0.5  # dB that a runtime may lose of what the file means
CALIBRATION, EVALUATION = 8, 32  # samples
NO_IR = "OpenVINO's IR has no counterpart"
SETTINGS = {
    "default": (),
    "unsigned": ("--unsigned-activations",),
    "tensor": ("--weights", "tensor"),
    "asymmetric": ("--weights", "tensor", "--asymmetric-weights"),
    "mse": ("--weight-encoding", "mse"),
    "for OpenVINO": ("--kernels", "openvino"),
    "for ONNX Runtime": ("--kernels", "onnxruntime"),
    "7 bits": ("--saturation", "7bit"),
    "u8": ("--unsigned-weights",),
}
ALLOWING = ("--saturation", "allow")


# --- the weights of a file --------------------------------------------------------------------------


def rows_in_orders(node, codes):
    """By runtime: rows in which neighbours, 2i and 2i + 1, are added."""
    attributes = attributes_of(node)
    if node.op_type in ("MatMul", "Gemm"):
        rows = codes if attributes.get("transB") else np.swapaxes(np.atleast_2d(codes.T).T, -1, -2)
        yield "onnxruntime", rows.reshape(-1, rows.shape[-1])
        yield "openvino", rows.reshape(-1, rows.shape[-1])
    elif node.op_type == "Conv":
        taps_last = np.moveaxis(codes, 1, -1)
        channels, groups = codes.shape[1], attributes.get("group", 1)
        flat = taps_last.reshape(len(codes), -1)
        if channels > 1 or groups != len(codes):
            yield "onnxruntime", flat
            if groups > 1:
                yield "openvino", flat
        if channels > 1:
            yield "openvino", taps_last.reshape(-1, channels)  # an odd one out in each tap
    elif node.op_type == "ConvTranspose" and attributes.get("group", 1) == 1:
        yield "openvino", np.moveaxis(codes, 0, -1).reshape(-1, len(codes))


def inexact_weights(path, runtimes=("onnxruntime", "openvino")):
    """Names of products with a bad pair, and how many products were looked at."""
    model = onnx.load(path)
    reader = GraphReader(model)
    bad, count = set(), 0
    for node in model.graph.node:
        if node.op_type not in ("MatMul", "Gemm", "Conv", "ConvTranspose"):
            continue
        weight = reader.fold(node.input[1])
        if weight is None or "codes" not in weight:
            continue
        count += 1
        if weight["codes"].max() > 127:  # unsigned: sums of 32 bits
            continue
        for runtime, rows in rows_in_orders(node, weight["codes"]):
            if runtime in runtimes and has_bad_pair(rows):
                bad.add(node.name or node.output[0])
    return bad, count


# --- quantizing -------------------------------------------------------------------------------------


class Case:
    def __init__(self, path, folder, samples=None):
        """`samples`: to calibrate with, and others."""
        self.path, self.folder = path, folder
        calibration, evaluation = samples or samples_of(path)
        self.feeds = evaluation[:EVALUATION]
        self.data = save(calibration[:CALIBRATION], folder / "data")
        self.statistics = folder / "statistics.json"
        done = quadrant("calibrate", path, "--data", self.data, "-o", self.statistics)
        assert done.returncode == 0, done.stderr
        self.floats = reals(by_onnxruntime(session_of(path), self.feeds))

    def quantize(self, *options, name="quantized.onnx"):
        """None where the format has no such model."""
        target = self.folder / name
        done = quadrant("convert", self.path, target, "--scheme", "static-affine", "--calibration",
                        self.statistics, *options)
        if NO_IR in done.stderr:
            return print(f"{self.path.stem}: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return target

    def decibels(self, runs):
        noise = np.sum((reals(runs) - self.floats) ** 2)
        return 10 * np.log10(np.sum(self.floats ** 2) / noise) if noise else np.inf


def reals(runs):
    return np.concatenate([np.ravel(value) for run in runs for value in run.values()
                           if value.dtype.kind == "f"]).astype(np.float64)


def check_weights(path):
    with scratch() as folder:
        case = Case(path, folder)
        problems, found = [], {}
        allowing = case.quantize(*ALLOWING, name="allowing.onnx")
        bad, products = inexact_weights(allowing)
        assert bad, "no pair of the weights could leave 16 bits anyway"
        for setting, options in SETTINGS.items():
            runtimes = {"for OpenVINO": ("openvino",), "for ONNX Runtime": ("onnxruntime",)}.get(
                setting, ("onnxruntime", "openvino"))
            bad, count = inexact_weights(case.quantize(*options), runtimes)
            found[setting] = count
            # In OpenVINO's plans some data stay real numbers, and their products with them.
            assert count == products or setting == "for OpenVINO" and 0 < count, (setting, count, products)
            if bad:
                problems.append(f"{setting}: {sorted(bad)}")
        assert not problems, "\n  ".join(problems)
        print(f"{path.stem}: {found}")
        for_vnni = case.quantize("--target-cpu", "vnni", name="for_vnni.onnx")
        assert for_vnni.read_bytes() == allowing.read_bytes(), "--target-cpu vnni gives something up"


def check_onnxruntime(path):
    with scratch() as folder:
        case = Case(path, folder)
        for options in (), ("--unsigned-weights",):
            model = case.quantize("--unsigned-activations", *options)
            meant = case.decibels(by_onnxruntime(session_of(model), case.feeds))
            for name, entries in (("by default", {}), ("with int8", INT8)):
                session, _ = optimized(model, folder, entries)
                found = case.decibels(by_onnxruntime(session, case.feeds))
                assert found > meant - SAME, f"{name} {options}: {found:.2f} dB, where the file means {meant:.2f}"


def by_openvino(path, feeds, **settings):
    compiled = compiled_by_openvino(path, **settings)
    return [{i: value for i, value in enumerate(compiled(feed).values())} for feed in feeds]


def check_openvino(path, samples=None):
    with scratch() as folder:
        case = Case(path, folder, samples)
        model = case.quantize(name="quantized.xml")
        judged[f"models that are {'read' if model else 'not written'} by OpenVINO"] += 1
        if model is None:
            return
        meant = case.decibels(by_openvino(model, case.feeds, **IN_REALS))
        found = case.decibels(by_openvino(model, case.feeds))
        assert found > meant - SAME, f"{found:.2f} dB, where the file means {meant:.2f}"


def check_groups(groups, inputs, outputs, kernel):
    """A convolution of so many inputs and outputs a group, of large positive numbers."""
    rng = np.random.default_rng(1)
    shape = (1, groups * inputs, *(256 if len(kernel) == 1 else 16 for _ in kernel))
    w = rng.uniform(-1, 1, (groups * outputs, inputs, *kernel)).astype(np.float32)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], group=groups)], [info("x", shape)],
                     [info("y", None)], {"w": w})
    feeds = [{"x": rng.uniform(0, 1, shape).astype(np.float32)} for _ in range(CALIBRATION)]
    with scratch() as folder:
        onnx.save(model, folder / "model.onnx")
        check_openvino(folder / "model.onnx", (feeds, feeds))


def check_emulation(path):
    """What the command says of such processors is what comes out of this one, with weights that saturate."""
    with scratch() as folder:
        case = Case(path, folder)
        options = ("--unsigned-activations", "--kernels", "openvino", *ALLOWING)
        onnx_file, ir = (case.quantize(*options, name=f"allowing.{ending}") for ending in ("onnx", "xml"))
        feeds = case.feeds[:8]
        data = save(feeds, folder / "judged")
        for name, saturates, model, run in (
                ("onnxruntime", in_onnxruntime(), onnx_file,
                 lambda: by_onnxruntime(optimized(onnx_file, folder, {})[0], feeds)),
                ("openvino", in_openvino(), ir, lambda: by_openvino(ir, feeds))):
            meant, ours = (reals(by_quadrant(onnx_file, data, folder / f"{name} {runtime}", "--runtime", runtime))
                           for runtime in ("interpreter", f"{name}-avx2"))
            lost = np.linalg.norm(ours - meant)
            assert lost > 0.02 * np.linalg.norm(meant), f"{name}: nothing saturates"
            judged[f"{name}'s saturation {'is compared' if saturates else 'is not there to compare'}"] += 1
            if saturates:
                beside = np.linalg.norm(reals(run()) - ours) / lost
                print(f"{path.stem}, {name}: beside the emulation by {beside:.3f} of what is lost")
                assert beside < 0.3, beside


def test_weights():
    for path in real_models():
        yield path.stem, check_weights, path


def test_onnxruntime():
    judged[f"ONNX Runtime's sums here {'end at 16 bits' if in_onnxruntime() else 'have 32 bits'}"] += 1
    for path in real_models():
        yield path.stem, check_onnxruntime, path


def test_openvino():
    judged[f"OpenVINO's sums here {'end at 16 bits' if in_openvino() else 'have 32 bits'}"] += 1
    for path in real_models():
        yield path.stem, check_openvino, path


def test_groups():
    for kernel in (9,), (3, 3), (1, 9):
        for groups, inputs, outputs in (8, 1, 1), (4, 1, 2), (2, 1, 5), (2, 3, 4), (3, 2, 2), (4, 4, 4):
            yield f"{groups} of {inputs} to {outputs}, {kernel}", check_groups, groups, inputs, outputs, kernel


def test_emulation():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_emulation, path


# --- on a processor that adds in 16 bits, whatever this one does --------------------------------------

RUN = """
import sys
import numpy as np
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
if sys.argv[3] == "as meant":
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
with np.load(sys.argv[2]) as feed:
    sys.stdout.buffer.write(np.ascontiguousarray(session.run(None, dict(feed))[0]).tobytes())
"""


def on_haswell(model, feed, how):
    done = subprocess.run(["qemu-x86_64", "-cpu", "Haswell", sys.executable, "-c", RUN, str(model), str(feed), how],
                          capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, np.float32).astype(np.float64)


def test_emulated_processor():
    assert platform.machine() != "x86_64" or shutil.which("qemu-x86_64"), "no qemu-x86_64"
    if platform.machine() != "x86_64":
        return
    with scratch() as folder:
        case = Case(EXAMPLES / "digits_cnn.onnx", folder)
        feed = sorted(case.data.glob("*.npz"))[0]
        lost, beside = {}, {}
        for name, options in (("avoid", ()), ("allow", ALLOWING)):
            model = case.quantize("--unsigned-activations", *options, name=f"{name}.onnx")
            meant, found = (on_haswell(model, feed, how) for how in ("as meant", "optimized"))
            ours = reals(by_quadrant(model, case.data, folder / f"as {name}", "--runtime",
                                     "onnxruntime-avx2")[:1])
            lost[name], beside[name] = (np.linalg.norm(found - other) / np.linalg.norm(meant)
                                        for other in (meant, ours))
        print(f"of the result is lost: {lost}; beside the command's emulation: {beside}")
        assert lost["avoid"] < 0.02 and lost["allow"] > 2 * lost["avoid"], lost
        assert max(beside.values()) < 0.02, beside


if __name__ == "__main__":
    run_tests(globals())
