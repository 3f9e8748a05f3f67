"""Models as MLIR: modules that mlir-opt of two versions takes, and that compute what the models do."""

import _mlir  # first: ends the test where MLIR is missing

import numpy as np
import onnx
import onnxruntime

from _command import quadrant, run_tests, scratch
from _mlir import opt
from _mlir_programs import computed
from _models import EXAMPLES, helper, info, model_of, quantize, random_feeds, session_of, weight
from _openvino_cases import ONNXES

LOWER = "quadrant-lower-quant-ops"


def written(model, folder):
    """(text, why not) of a model."""
    path = folder / "model.onnx"
    if isinstance(model, onnx.ModelProto):
        onnx.save(model, path)
    else:
        path = model
    done = quadrant("convert", path, folder / "model.mlir")
    if done.returncode:
        assert not (folder / "model.mlir").exists(), "a file, and an error"
        return None, done.stderr
    text = (folder / "model.mlir").read_text()
    for version in 19, 22:
        opt(version, text)
    return text, ""


def close(ours, theirs, bound):
    for found, wanted in zip(ours, theirs, strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        if not np.issubdtype(wanted.dtype, np.floating):
            assert np.array_equal(found, wanted), f"{found} is not {wanted}"
            continue
        nothing = np.isnan(wanted)
        assert np.array_equal(np.isnan(found), nothing)
        found, wanted = found[~nothing].astype(np.float64), wanted[~nothing].astype(np.float64)
        finite = np.isfinite(wanted)
        assert np.array_equal(found[~finite], wanted[~finite])
        if finite.any():
            error = np.abs(found - wanted)[finite].max() / max(1.0, np.abs(wanted[finite]).max())
            assert error <= bound, f"differ by {error}"


# --- an operation each ----------------------------------------------------------------------------

def check_case(case):
    with scratch() as folder:
        text, why = written(case.model(), folder)
        if text is None:
            assert "MLIR" in why, why
            print("REFUSED", case.name, why.strip()[-150:])
            return
        session = session_of(case.model())
        feeds = case.feeds()
        wanted = session.run(None, dict(zip([v.name for v in session.get_inputs()], feeds)))
        close(computed(text, feeds, wanted), wanted, max(case.tolerance, 1e-5))


def test_operations():
    for case in ONNXES:
        yield case.name, check_case, case


if __name__ == "__main__":
    run_tests(globals())
