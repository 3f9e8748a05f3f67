"""Operations in OpenVINO's IR: small models, one or more for each operation. What an IR becomes computes
the same, bit for bit as an IR and within rounding as ONNX; and so does what an ONNX model becomes.
"""

import _peers

import numpy as np
import onnx
import openvino as ov

from _command import quadrant, run_tests, scratch
from _models import random_feeds, real_models, session_of
from _openvino import compiled_by_openvino
from _openvino_cases import IRS, ONNXES
from _saturation import exact

CORE = ov.Core()


# --- running ---------------------------------------------------------------------------------------


def compiled(path):
    return compiled_by_openvino(path, INFERENCE_NUM_THREADS=1)


def run_openvino(path, feeds):
    """Results in the order of the model's outputs; `feeds` in the order of its inputs."""
    model = compiled(path)
    assert len(model.inputs) == len(feeds), f"{path}: {len(model.inputs)} inputs"
    results = model.create_infer_request().infer(dict(enumerate(feeds)))
    return [np.array(results[output]) for output in model.outputs]


def run_onnx(path, feeds):
    session = exact(session_of(path), path)
    names = [value.name for value in session.get_inputs()]
    assert len(names) == len(feeds), f"{path}: {len(names)} inputs"
    return session.run(None, dict(zip(names, feeds)))


def convert(source, target):
    done = quadrant("convert", source, target)
    assert done.returncode == 0, f"{source.name} to {target.name}: {done.stderr.strip()}"


def check_same(found, wanted, tolerance, what):
    assert len(found) == len(wanted), f"{what}: {len(found)} outputs"
    for i, (a, b) in enumerate(zip(found, wanted)):
        assert a.dtype == b.dtype, f"{what}: output {i} is {a.dtype}, not {b.dtype}"
        assert a.shape == b.shape, f"{what}: output {i} is {a.shape}, not {b.shape}"
        if np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            continue
        assert tolerance > 0 and a.dtype.kind == "f", f"{what}: output {i} differs: {a} and {b}"
        largest = np.abs(b[np.isfinite(b)]).max(initial=0.01)
        close = np.isclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
        assert close.all(), f"{what}: output {i} is off: {a[~close][:5]} and {b[~close][:5]}"


# --- IR --------------------------------------------------------------------------------------------


def kinds_of(path):
    model = CORE.read_model(path)
    return {node.get_type_name() for node in model.get_ops()}


def check_ir(case):
    with scratch() as folder:
        source, copy, as_onnx = (folder / name for name in ("a.xml", "b.xml", "b.onnx"))
        ov.save_model(case.model(), source, compress_to_fp16=False)
        feeds = case.feeds()
        wanted = run_openvino(source, feeds)
        convert(source, copy)
        check_same(run_openvino(copy, feeds), wanted, case.copy_tolerance, "as an IR")
        if case.is_carried:
            done = quadrant("convert", source, as_onnx)
            assert done.returncode != 0, "there is a counterpart, which should be tested"
            return
        convert(source, as_onnx)
        check_same(run_onnx(as_onnx, feeds), wanted, case.tolerance, "as ONNX")


def test_ir():
    for case in IRS:
        yield case.name, check_ir, case


# --- ONNX ------------------------------------------------------------------------------------------


def check_onnx(case):
    with scratch() as folder:
        source, target = folder / "a.onnx", folder / "a.xml"
        onnx.save(case.model(), source)
        if case.is_impossible:
            done = quadrant("convert", source, target)
            assert done.returncode == 4, f"{done.returncode}: {done.stderr}"
            return
        feeds = case.feeds()
        wanted = run_onnx(source, feeds)
        convert(source, target)
        check_same(run_openvino(target, feeds), wanted, case.tolerance, "as an IR")


def test_onnx():
    for case in ONNXES:
        yield case.name, check_onnx, case


# --- real models -----------------------------------------------------------------------------------


def has_lengths(path):
    """Recurrent layers with lengths of sequences: OpenVINO ignores those where shapes are open."""
    return any(node.op_type in ("RNN", "GRU", "LSTM") and len(node.input) > 4 and node.input[4]
               for node in onnx.load(path).graph.node)


def check_real(path):
    with scratch() as folder:
        target = folder / "model.xml"
        if has_lengths(path):
            done = quadrant("convert", path, target)
            assert done.returncode == 4 and "lengths of sequences" in done.stderr, done.stderr
            return
        convert(path, target)
        feeds = list(random_feeds(session_of(path)).values())
        found = run_openvino(target, feeds)
        check_same(found, run_onnx(path, feeds), 1e-3, "ONNX Runtime")
        own = run_openvino(path, feeds)
        check_same(found, own, 1e-3, "OpenVINO's own reading")


def test_real_models():
    for path in real_models():
        yield path.stem, check_real, path


if __name__ == "__main__":
    run_tests(globals())
