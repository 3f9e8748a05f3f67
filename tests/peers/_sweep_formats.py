"""What the command makes of a model, in each format, against the format's runtime."""

import _litert  # first: these end the test where a runtime is missing
import _mlir

import numpy as np
import onnx

from _command import quadrant
from _mlir_programs import computed
from _models import session_of
from _openvino import compiled_by_openvino
from _sweep_models import distance
from _sweep_simulation import KEEPING, KEEPING_IN_LITERT, Simulation, decibels

MARGIN = 8        # decibels that a file may be behind the simulation
FEW_MARGIN = 15   # where an output has few elements
FEW = 40
HALVED = 6        # decibels that half the levels cost
ENOUGH = 38       # decibels that are always enough
HOPELESS = 8      # of the simulation: then any result will do


class Finding(Exception):
    """Something is wrong; `kind` sorts it."""

    def __init__(self, kind, message=""):
        super().__init__(message)
        self.kind = kind


class Refusal(Exception):
    """Exit code 4, for a reason that names what cannot be."""


# --- runtimes --------------------------------------------------------------------------------------


def by_onnxruntime(path, made, feeds, optimised=False):
    session = session_of(path, optimised)
    names = [value.name for value in session.get_outputs()]
    return [{name: array.copy() for name, array in zip(names, session.run(None, feed))} for feed in feeds]


def by_litert(path, made, feeds):
    return [_litert.run_litert(path, feed) for feed in feeds]


def by_litert_without_planner(path, made, feeds):
    return [_litert.run_litert(path, feed, keeps_all=True) for feed in feeds]


def by_openvino(path, made, feeds):
    compiled = compiled_by_openvino(str(path), INFERENCE_NUM_THREADS=1)
    inputs = [value.name for value in made.inputs]
    for port, name in zip(compiled.inputs, inputs, strict=True):
        if name not in port.get_names():
            raise Finding("name of an input", f"{port.get_names()}, not {name}")
    found = []
    for feed in feeds:
        results = compiled([feed[name].copy() for name in inputs])  # it may write to what it is fed
        found.append({name if name in port.get_names() else f"{port.get_names()}": np.array(results[port])
                      for name, port in zip(made.truths[0], compiled.outputs, strict=True)})
    return found


def by_interpreter(path, made, feeds):
    folder = path.parent / "data"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for i, feed in enumerate(feeds):
        np.savez(folder / f"{i}.npz", **feed)
    command("run", path, "--data", folder, "-o", path.parent / "out", "--threads", 1, made=made)
    found = []
    for i in range(len(feeds)):
        with np.load(path.parent / "out" / f"{i}.npz") as arrays:
            found.append(dict(arrays))
    return found


def by_mlir(path, made, feeds):
    """Runs on the first sample alone."""
    text = path.read_text()
    _mlir.opt(19, text)
    feed, truth = feeds[0], made.truths[0]
    wanted = list(truth.values())
    results = computed(text, [feed[value.name] for value in made.inputs], wanted)
    return [dict(zip(truth, results))]


# --- the command -----------------------------------------------------------------------------------


def command(*arguments, made):
    done = quadrant(*arguments)
    said = done.stderr.strip()
    if done.returncode == 0:
        return done
    if done.returncode != 4:
        raise Finding(f"exit code {done.returncode}", said)
    if not any(name.lower() in said.lower() for name in words_of(made)):
        raise Finding("refused without a name", said)
    raise Refusal(said.split(": ", 2)[-1])


KINDS = {"Add": "add", "Mul": "multiply", "Resize": "resize"}


def words_of(made):
    graph = made.model.graph
    words = {node.op_type for node in graph.node} | {KINDS.get(node.op_type, "") for node in graph.node}
    words |= {"conv_transpose", "batch_norm"}
    words |= {node.name for node in graph.node} | {name for node in graph.node for name in node.output}
    return {word for word in words if len(word) > 1} | {f"{value.name}{end}" for value in graph.input for end in "'_"}


# --- judging ---------------------------------------------------------------------------------------


def check_like(found, truth):
    """The same outputs, of the same types and shapes."""
    if list(found) != list(truth):
        raise Finding("names of outputs", f"{list(found)}, not {list(truth)}")
    for name, wanted in truth.items():
        array = found[name]
        if array.dtype != wanted.dtype:
            raise Finding("type of an output", f"{name}: {array.dtype}, not {wanted.dtype}")
        if array.shape != wanted.shape:
            raise Finding("shape of an output", f"{name}: {array.shape}, not {wanted.shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all() and np.isfinite(wanted).all():
            raise Finding("not finite", name)


def check_equal(found, truth, tolerances):
    check_like(found, truth)
    for name, wanted in truth.items():
        tolerance = tolerances[name]
        if tolerance is None:
            continue
        if wanted.dtype.kind == "f":
            off = distance(found[name], wanted)
            if not off <= tolerance:
                raise Finding("other numbers", f"{name}: {off:.1e} off, {tolerance:.1e} is allowed")
        elif not np.array_equal(found[name], wanted):
            raise Finding("other integers", f"{name}: {found[name].ravel()[:8]}, not {wanted.ravel()[:8]}")


def check_quality(made, found, simulated, skipped, more=0):
    """`more` decibels that it may be behind."""
    for results, truth in zip(found, made.truths, strict=True):
        check_like(results, truth)
    for name, first in made.truths[0].items():
        if first.dtype.kind != "f" or name in skipped:
            continue
        wanted = [truth[name] for truth in made.truths]
        expected = min(decibels(wanted, [results[name] for results in runs]) for runs in simulated)
        ours = decibels(wanted, [results[name] for results in found])
        margin = more + (MARGIN if first.size * len(found) > FEW else FEW_MARGIN)
        if HOPELESS < expected and ours < min(expected - margin, ENOUGH):
            raise Finding("quality", f"{name}: {ours:.1f} dB, the simulation has {expected:.1f}")


# --- a model in all formats ------------------------------------------------------------------------

FLOAT = {  # endings of the files that are made, one of the other, and what runs the last
    "run": ([], by_interpreter), "onnx": (["onnx"], by_onnxruntime), "qd": (["qd"], by_interpreter),
    "tflite": (["tflite"], by_litert), "xml": (["xml"], by_openvino), "mlir": (["mlir"], by_mlir),
    "tflite-onnx": (["tflite", "onnx"], by_onnxruntime), "xml-onnx": (["xml", "onnx"], by_onnxruntime),
}
WEIGHT_ONLY = {"weight-only": by_onnxruntime}
STATIC = {"static-onnx": (["onnx"], by_onnxruntime), "static-tflite": (["tflite"], by_litert),
          "static-xml": (["xml"], by_openvino), "static-xml-onnx": (["xml", "onnx"], by_onnxruntime)}
NEVER_EMPTY = (by_litert, by_litert_without_planner, by_openvino)  # runtimes that take no array without elements
FORMATS = (*FLOAT, "weight-only", *STATIC)


class Checks:
    def __init__(self, made, folder):
        self.made, self.folder = made, folder
        self.source = folder / "model.onnx"
        onnx.save(made.model, self.source)
        self._simulation = None

    def check(self, format):
        """Raises Finding or Refusal."""
        try:
            self.check_in(format)
        except Finding as finding:
            if self.is_right_without_planner(format):
                finding.kind += ", right where LiteRT keeps all tensors"
            elif self.is_wrong_in_openvino(format):
                finding.kind += ", and wrong in OpenVINO from a file that ONNX Runtime computes right"
            raise

    def check_in(self, format, run=None):
        """In the format's runtime, or in another."""
        if format in FLOAT:
            endings, usual = FLOAT[format]
            self.check_float(endings, run or usual)
        elif format == "weight-only":
            self.check_weight_only()
        else:
            endings, usual = STATIC[format]
            self.check_static(endings, run or usual)

    def is_right_without_planner(self, format):
        if format not in ("tflite", "static-tflite"):
            return False
        try:
            self.check_in(format, by_litert_without_planner)
            return True
        except Exception:
            return False

    def is_wrong_in_openvino(self, format):
        """Whether OpenVINO is no better with the .onnx file: what was read, or what is written for ONNX Runtime."""
        if format not in ("xml", "static-xml"):
            return False
        try:
            if format == "static-xml":
                self.check_static(["onnx"], by_onnxruntime)
        except Exception:
            return False
        try:
            if format == "xml":
                self.check_float([], by_openvino)
            else:
                self.check_static(["onnx"], by_openvino)
            return False
        except Exception:
            return True

    def check_float(self, endings, run):
        made, path = self.made, self.source
        for ending in endings:
            source, path = path, self.folder / f"converted.{ending}"
            command("convert", source, path, made=made)
        for found, truth in zip(run_guarded(run, path, made, made.feeds), made.truths):
            check_equal(found, truth, made.tolerances)
        for feed in made.others:
            truth = by_onnxruntime(self.source, made, [feed])[0]
            if run is by_mlir or run in NEVER_EMPTY and any(not a.size for a in (*feed.values(), *truth.values())):
                continue
            if not all(np.isfinite(array).all() for array in truth.values()):
                continue
            (found,) = run_guarded(run, path, made, [feed])
            try:
                check_equal(found, truth, {n: t and 10 * t for n, t in made.tolerances.items()})
            except Finding as finding:
                finding.kind += ", other extents"
                raise

    def check_weight_only(self):
        made, target = self.made, self.folder / "weights.onnx"
        command("quantize", self.source, "-o", target, "--scheme", "weight-only", made=made)
        self.check_codes(target, by_onnxruntime, self.simulation.outputs(everything=False))

    def check_static(self, endings, run):
        made, target = self.made, self.folder / f"static.{endings[0]}"
        samples = self.folder / "samples"
        samples.mkdir(exist_ok=True)
        for i, feed in enumerate(made.feeds):
            np.savez(samples / f"{i}.npz", **feed)
        verb = ["quantize", self.source, "-o"] if endings[0] == "onnx" else ["convert", self.source]
        command(*verb, target, "--scheme", "static-affine", "--calibration", samples, made=made)
        for ending in endings[1:]:
            source, target = target, self.folder / f"static.{ending}"
            command("convert", source, target, made=made)
        # Weights that were chosen for other kernels may saturate in ONNX Runtime's.
        keeping = KEEPING_IN_LITERT if endings[0] == "tflite" else KEEPING
        simulated = self.simulation.outputs(everything=True, keeping=keeping)
        # Codes that sums in 16 bits have room for are of 7 bits: half the levels.
        first = self.folder / f"static.{endings[0]}"
        more = HALVED if endings[0] == "xml" and '/limited"' in first.read_text() else 0
        self.check_codes(target, run, simulated, is_its_own=len(endings) == 1, more=more)

    def check_codes(self, target, run, simulated, is_its_own=True, more=0):
        made, skipped = self.made, self.simulation.behind_steps()
        check_quality(made, run_guarded(run, target, made, made.feeds), simulated, skipped, more)
        if run is by_onnxruntime and self.runs_optimized():
            try:
                found = run_guarded(lambda *a: by_onnxruntime(*a, optimised=True), target, made, made.feeds)
                if is_its_own:
                    check_quality(made, found, simulated, skipped)
            except Finding as finding:
                finding.kind += ", optimized"
                raise

    def runs_optimized(self):
        """Some float models run, or are right, without optimizations alone."""
        try:
            found = by_onnxruntime(self.source, self.made, self.made.feeds, optimised=True)
            for results, truth in zip(found, self.made.truths, strict=True):
                check_equal(results, truth, self.made.tolerances)
            return True
        except Exception:
            return False

    @property
    def simulation(self):
        self._simulation = self._simulation or Simulation(self.made)
        return self._simulation


def run_guarded(run, path, made, feeds):
    """A runtime that does not run the file is a finding."""
    try:
        return run(path, made, feeds)
    except (Finding, Refusal):
        raise
    except Exception as problem:
        raise Finding("the runtime refuses", f"{type(problem).__name__}: {problem}") from None
