"""Weights that are rounded by samples, on other samples, in the formats' runtimes.

    .venv/bin/python tests/peers/rounding_test.py       with the command's path in $QUADRANT
"""
import _peers

import numpy as np

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


def test_migrated():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        yield path.stem, check_migrated, path


def test_other_samples_gain():
    for path in sorted(EXAMPLES.glob("*.onnx")):
        for setting in SETTINGS:
            yield f"{path.stem}, {setting}", check, path, setting


run_tests(globals())
