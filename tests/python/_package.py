"""What the tests of the Python package share: models, samples, and the command to compare with."""

import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "models"
DIGITS = str(EXAMPLES / "digits_cnn.onnx")
COMMAND = os.environ.get("QUADRANT", "")
SANITIZED = "QUADRANT_SANITIZED" in os.environ  # all takes its time


def two_layers(width=16, hidden=32, seed=0):
    """y = relu(x fc1.weight) fc2.weight, as a ModelProto."""
    numbers = np.random.default_rng(seed)
    first = numbers.standard_normal((width, hidden)).astype(np.float32)
    second = numbers.standard_normal((hidden, 8)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "fc1.weight"], ["h"], "fc1"),
            helper.make_node("Relu", ["h"], ["r"], "act"),
            helper.make_node("MatMul", ["r", "fc2.weight"], ["y"], "fc2"),
        ],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8])],
        [numpy_helper.from_array(first, "fc1.weight"), numpy_helper.from_array(second, "fc2.weight")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def rows(count, width=16, seed=1):
    """`count` samples for `two_layers`, of two rows each."""
    numbers = np.random.default_rng(seed)
    return [{"x": numbers.standard_normal((2, width)).astype(np.float32)} for _ in range(count)]


def digits(count):
    """Images for the model of digits."""
    images = np.load(EXAMPLES / "digits_cnn.npz")["image"]
    return [{"image": images[i : i + 1]} for i in range(count)]


def onnxruntime_outputs(contents, inputs):
    """What ONNX Runtime makes of them: arrays by name."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(contents, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


class PackageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def save_samples(self, name, samples):
        """A folder of them, for the command."""
        (self.folder / name).mkdir()
        for i, sample in enumerate(samples):
            np.savez(self.folder / name / f"{i:04}.npz", **sample)
        return self.path(name)

    def command(self, *arguments):
        self.assertTrue(COMMAND, "the environment variable QUADRANT names the command")
        # A sanitizer's library, which the package needs, is in the command already.
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False,
                              env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def seconds_until_stopped(self, call, after=0.5):
        """How long a call takes that Ctrl-C ends after so many seconds."""
        timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            call()
        timer.join()
        return time.monotonic() - start

    def assert_fails(self, code, fragments, call, **place):
        """The error's code, its place, and pieces of what it says."""
        import quadrant

        with self.assertRaises(quadrant.Error) as caught:
            call()
        error = caught.exception
        self.assertEqual(error.code, code, error)
        for fragment in fragments:
            self.assertIn(fragment, str(error))
        for part, value in place.items():
            self.assertEqual(getattr(error, part), value, part)
        return error


def weights_of(proto):
    """The initializers of a ModelProto: arrays by name."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


__all__ = [
    "COMMAND", "DIGITS", "EXAMPLES", "PackageTest", "SANITIZED", "digits", "onnx", "onnxruntime_outputs", "rows", "two_layers",
    "weights_of",
]
