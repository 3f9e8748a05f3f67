"""Streams of transformers in other coordinates: ONNX Runtime computes the same.

    .venv/bin/python tests/peers/rotation_test.py       with the command's path in $QUADRANT
"""
import _peers

import numpy as np

from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, SHARED, random_feeds, session_of

MODELS = sorted([*EXAMPLES.glob("*.onnx"), *SHARED.glob("*.onnx")])


def rotated(path, target):
    """What the command says."""
    done = quadrant("transform", path, "-o", target, "--optimize", "rotate")
    assert done.returncode == 0, done.stderr
    assert "rotate: " in done.stderr, done.stderr  # what was done, or what hindered it
    return done.stderr


def check(path):
    with scratch() as folder:
        if "rotate: a stream of" not in rotated(path, folder / "rotated.onnx"):
            return  # what else it did to the model, other tests look at
        before, after = session_of(path), session_of(folder / "rotated.onnx")
        for seed in range(3):
            feeds = random_feeds(before, seed)
            for a, b in zip(before.run(None, feeds), after.run(None, feeds)):
                assert np.max(np.abs(a - b)) <= 1e-5 * np.max(np.abs(a))


def test_results_stay():
    for path in MODELS:
        yield path.stem, check, path


def test_transformers_are_rotated():
    with scratch() as folder:
        assert "from 10 constants to 9 products" in rotated(EXAMPLES / "tiny_transformer.onnx",
                                                            folder / "rotated.onnx")


run_tests(globals())
