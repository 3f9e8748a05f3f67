"""Weights that are rounded by samples, on other samples, in the formats' runtimes.

    .venv/bin/python tests/peers/rounding_test.py       with the command's path in $QUADRANT
"""
import _peers

import json

import numpy as np
import onnx
from onnx import numpy_helper

from _command import ROOT, quadrant, run_tests, scratch
from _litert import run_litert
from _models import run, session_of
from _openvino import compiled_by_openvino

EXAMPLES = ROOT / "examples" / "models"
SETTINGS = {
    "8 bits": (),
    "4 bits": ("--bits", 4),
    "4 bits, blocks": ("--bits", 4, "--block-size", 32, "--asymmetric"),
    "nf4": ("--type", "nf4"),
}
CALIBRATION, EVALUATION = 48, 64


def decibels(expected, found):
    noise = sum(np.sum((a.astype(np.float64) - b) ** 2) for a, b in zip(expected, found))
    return 10 * np.log10(sum(np.sum(a.astype(np.float64) ** 2) for a in expected) / noise)


def samples_of(path):
    """Of the file beside the model: those to round by, those to measure."""
    names = [value.name for value in session_of(path).get_inputs()]
    with np.load(path.with_suffix(".npz")) as file:
        feeds = [{name: file[name][i:i + 1] for name in names} for i in range(CALIBRATION + EVALUATION)]
    return feeds[:CALIBRATION], feeds[CALIBRATION:]


def written(folder, path, name, *options):
    done = quadrant("convert", path, folder / name, "--scheme", "weight-only", *options)
    assert done.returncode == 0, done.stderr
    return folder / name


def saved(folder, feeds):
    (folder / "data").mkdir()
    for i, feed in enumerate(feeds):
        np.savez(folder / "data" / f"{i}.npz", **feed)
    return folder / "data"


def check(path, setting):
    with scratch() as folder:
        calibration, evaluation = samples_of(path)
        by_data = (*SETTINGS[setting], "--calibration", saved(folder, calibration))

        def outputs(model):
            session = session_of(model)
            return [session.run(None, feed)[0] for feed in evaluation]

        floats = outputs(path)
        nearest = decibels(floats, outputs(written(folder, path, "nearest.onnx", *SETTINGS[setting])))
        rounded = outputs(written(folder, path, "rounded.onnx", *by_data))
        gained = decibels(floats, rounded) - nearest
        print(f"{path.stem}, {setting}: {nearest:.1f} dB, {gained:+.1f} dB")
        assert gained > .5, gained
        # The same numbers elsewhere.
        model = compiled_by_openvino(str(written(folder, path, "rounded.xml", *by_data)))
        assert decibels(rounded, [next(iter(model(feed).values())) for feed in evaluation]) > 80
        if path.stem == "digits_lstm":
            return  # of which TFLite has no counterpart
        target = written(folder, path, "rounded.tflite", *by_data)
        found = next(iter(run_litert(target, evaluation[0]).values()))
        assert decibels(rounded[:1], [found]) > 80


def check_efforts(path):
    """Each effort is better than the one before, on other samples."""
    with scratch() as folder:
        calibration, evaluation = samples_of(path)
        data = saved(folder, calibration)

        def outputs(model):
            session = session_of(model)
            return [session.run(None, feed)[0] for feed in evaluation]

        floats = outputs(path)
        found = [decibels(floats, outputs(written(folder, path, "made.onnx", "--bits", 4, "--block-size", 32,
                                                  "--asymmetric", "--calibration", data, "--effort", effort)))
                 for effort in ("fast", "balanced", "best")]
        print(f"{path.stem}: {', '.join(f'{each:.1f} dB' for each in found)}")
        assert found[0] + 1 < found[1] < found[2], found


def check_low_rank(path):
    """Factors are those of the singular values that numpy finds, and every runtime multiplies by them."""
    with scratch() as folder:
        calibration, evaluation = samples_of(path)
        data = saved(folder, calibration)

        def outputs(model):
            session = session_of(model)
            return [session.run(None, feed)[0] for feed in evaluation]

        floats = outputs(path)
        found = {}
        for name, options in {"plain": (), "rounded": ("--calibration", data)}.items():
            without = decibels(floats, outputs(written(folder, path, f"{name}.onnx", "--bits", 4, *options)))
            rank = ("--bits", 4, "--low-rank", 12, *options)
            corrected = outputs(written(folder, path, f"{name}_12.onnx", *rank))
            found[name] = without, decibels(floats, corrected)
            print(f"{path.stem}, {name}: {without:.1f} dB, {found[name][1]:.1f} dB")
            assert found[name][1] > without + .5, found
        model = compiled_by_openvino(str(written(folder, path, "made.xml", *rank)))
        assert decibels(corrected, [next(iter(model(feed).values())) for feed in evaluation]) > 80
        target = written(folder, path, "made.tflite", *rank)
        assert decibels(corrected[:1], [next(iter(run_litert(target, evaluation[0]).values()))]) > 80
        check_factors(path, folder)


def check_factors(path, folder):
    done = quadrant("quantize", path, "-o", folder / "told.onnx", "--scheme", "weight-only", "--bits", 4,
                    "--low-rank", 12, "--json")
    assert done.returncode == 0, done.stderr
    real = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    made = {each.name: each for each in onnx.load(folder / "told.onnx").graph.initializer}
    told = json.loads(done.stdout)["low_rank"]
    assert told
    for each in told:
        weight = real[each["weight"]].astype(np.float64)
        left, right = (numpy_helper.to_array(made[f"{each['weight']}_{side}"]) for side in ("left", "right"))
        assert each["bytes"] == left.nbytes + right.nbytes
        if left.shape[0] != weight.shape[0]:  # read transposed
            weight = weight.T
        # The scales of channels are float32, and codes are told by what they are nearest to.
        rest = each["error"]
        before = each["error_before"]
        product = left.astype(np.float64) @ right
        # D - D V V^T is orthogonal to D V V^T: the squares add up, and each term is a singular value's.
        assert abs(before - rest - np.sum(product ** 2)) < 1e-5 * before
        values = np.linalg.svd(product, compute_uv=False)
        lengths = np.linalg.norm(left, axis=0) * np.linalg.norm(right, axis=1)
        assert np.allclose(values[:12], lengths, rtol=1e-4), (values[:12], lengths)
        assert rest <= (min(weight.shape) - 12) * values[11] ** 2 * (1 + 1e-4)


def check_migrated(path):
    """The float model stays as it is where factors move."""
    with scratch() as folder:
        calibration, evaluation = samples_of(path)
        target = folder / "migrated.onnx"
        done = quadrant("transform", path, "-o", target, "--optimize", "migrate", "--calibration",
                        saved(folder, calibration))
        assert done.returncode == 0, done.stderr
        assert "migrate: factors of" in done.stderr, done.stderr
        for feed in evaluation[:8]:
            before, after = (session_of(model).run(None, feed)[0] for model in (path, target))
            assert np.max(np.abs(before - after)) < 1e-5 * np.max(np.abs(before))


def test_efforts():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_efforts, path


def test_low_rank():
    path = EXAMPLES / "tiny_transformer.onnx"
    yield path.stem, check_low_rank, path


def test_migrated():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_migrated, path


def test_other_samples_gain():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        for setting in SETTINGS:
            yield f"{path.stem}, {setting}", check, path, setting


run_tests(globals())
