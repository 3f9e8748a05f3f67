"""Python code that the library calls: samples and progress, what they raise, signals, threads.

    PYTHONPATH=build/release/python .venv/bin/python tests/python/callbacks_test.py
"""

import contextlib
import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref

import numpy as np
import quadrant as qd
from _package import DIGITS, SANITIZED, PackageTest, digits, rows, two_layers
from onnx import TensorProto, helper, numpy_helper


class Endless:
    """As good as endless: each sample takes no time."""

    def __init__(self, sample, size=10**9):
        self.sample, self.size, self.asked = sample, size, 0

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        self.asked += 1
        return self.sample


class Oops(Exception):
    pass


class SamplesTest(PackageTest):
    def calls(self, samples):
        """Everything that takes samples."""
        model = two_layers()
        return {
            "quantize": lambda: qd.quantize(model, "weight-only", calibration=samples()),
            "static": lambda: qd.quantize(model, "static-affine", calibration=samples()),
            "calibrate": lambda: qd.calibrate(model, samples()),
            "compare": lambda: qd.compare(model, model, samples()),
            "diagnose": lambda: qd.diagnose(model, model, samples()),
            "sensitivity": lambda: qd.sensitivity(model, "weight-only", samples()),
            "optimize": lambda: qd.optimize(model, samples()),
        }

    def test_what_they_raise_comes_out_as_it_is(self):
        class Raising(Endless):
            def __getitem__(self, i):
                if i == 3:
                    raise Oops("no more")
                return super().__getitem__(i)

        def generator():
            yield from rows(3)
            raise Oops("no more")

        for name, call in self.calls(lambda: Raising(rows(1)[0], 8)).items():
            with self.subTest(name):
                frames = []
                try:
                    call()
                except Oops as error:
                    trace = error.__traceback__
                    while trace:
                        frames.append(trace.tb_frame.f_code.co_name)
                        trace = trace.tb_next
                self.assertEqual(frames[-1:], ["__getitem__"])
        for name, call in self.calls(generator).items():
            with self.subTest(name), self.assertRaisesRegex(Oops, "no more"):
                call()

    def test_nonsense_is_refused(self):
        good = rows(1)[0]
        array = good["x"]
        for bad, fragments in (
            ({}, ["sample 1", "'x'"]),
            ({"z": array}, ["sample 1", "'z'"]),
            ({"x": array[:, :3]}, ["sample 1", "2x3", "?x16"]),
            ({"x": array.astype(np.float64)}, ["sample 1", "float64", "convert_samples=True"]),
            ({"x": np.full_like(array, np.nan)}, ["sample 1", "NaN", "allow_non_finite_samples=True"]),
            ({"x": np.array(["a"])}, ["sample 1"]),
            ({"x": array[:0]}, ["sample 1", "no elements"]),
        ):
            for name, call in self.calls(lambda given=bad: [good, given]).items():
                with self.subTest(name, bad=fragments):
                    self.assert_fails("usage", fragments, call)
        for bad in (None, 3, "text", array, [array], (good,)):
            with self.subTest(str(bad)), self.assertRaisesRegex(TypeError, "sample 1"):
                qd.calibrate(two_layers(), [good, bad])
        with self.assertRaises(TypeError):
            qd.calibrate(two_layers(), good)  # one, not several
        with self.assertRaises(TypeError):
            qd.calibrate(two_layers(), 3)
        self.assert_fails("usage", ["sample"], lambda: qd.calibrate(two_layers(), []))

    def test_what_may_be_converted_or_let_pass(self):
        doubles = [{"x": s["x"].astype(np.float64)} for s in rows(3)]
        expected = dict(qd.calibrate(two_layers(), rows(3)))
        self.assertEqual(dict(qd.calibrate(two_layers(), doubles, convert_samples=True)), expected)
        broken = rows(3)
        broken[1]["x"][0, 0] = np.inf
        with self.assertWarns(qd.QuadrantWarning):
            found = qd.calibrate(two_layers(), broken, allow_non_finite_samples=True)
        self.assertEqual(found["x"]["non_finite"], 1)

    def test_arrays_by_dlpack_alone(self):
        class Lent:
            def __init__(self, array):
                self.__dlpack__ = array.__dlpack__
                self.__dlpack_device__ = array.__dlpack_device__

        lent = [{"x": Lent(sample["x"])} for sample in rows(3)]
        self.assertEqual(dict(qd.calibrate(two_layers(), lent)), dict(qd.calibrate(two_layers(), rows(3))))
        weight = qd.read(two_layers()).weights["fc1.weight"]
        np.testing.assert_array_equal(np.from_dlpack(weight), weight)

        class Broken:
            def __array__(self, *_, **__):
                raise Oops("no array")

        error = self.assert_fails("usage", ["no array", "sample 0"], lambda: qd.calibrate(two_layers(), [{"x": Broken()}]),
                                  tensor="x")
        self.assertIsInstance(error.__cause__, Oops)

    def test_no_samples(self):
        model = two_layers()
        calls = self.calls(list) | {
            "sensitivity": lambda: qd.sensitivity(model, "weight-only", []),
            "optimize": lambda: qd.optimize(model, rows(4), data=[]),
            "pareto": lambda: qd.pareto(model, "weight-only", samples=[]),
            "diagnose": lambda: qd.diagnose(model, model, []),
            "second moments": lambda: qd.second_moments(model, []),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.assert_fails("usage", ["no samples"], call)

    def test_a_sequence_is_read_as_it_goes(self):
        samples = Endless(rows(1)[0], 50)
        qd.calibrate(two_layers(), samples)
        self.assertEqual(samples.asked, 50)

    def test_they_may_call_the_library(self):
        class Nested(Endless):
            def __getitem__(self, i):
                inner = qd.quantize(two_layers(), "weight-only", calibration=rows(2))
                return {"x": qd.run(inner.model, rows(1)[0])["y"].repeat(2, axis=1)}

        found = qd.calibrate(two_layers(), Nested(None, 8), progress=lambda *_: qd.run(two_layers(), rows(1)[0]))
        self.assertEqual(found.samples, 8)

    def test_nothing_is_held_on_to(self):
        class Samples(Endless):
            pass

        sample = rows(1)[0]
        before = sys.getrefcount(sample["x"])
        for scheme in ("weight-only", "static-affine"):
            samples = Samples(sample, 4)
            gone = weakref.ref(samples)
            result = qd.quantize(two_layers(), scheme, calibration=samples, progress=lambda *_: None)
            del samples
            gc.collect()
            self.assertIsNone(gone(), scheme)
            self.assertGreater(len(result.to_onnx()), 1000)
        samples = Samples(sample, 4)
        gone = weakref.ref(samples)
        with self.assertRaises(qd.Error):
            qd.quantize(two_layers(), "weight-only", bits=4, calibration=samples, exclude="nothing")
        del samples
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(sys.getrefcount(sample["x"]), before)


class ProgressTest(PackageTest):
    def test_of_what(self):
        seen = []
        qd.calibrate(two_layers(), rows(20), progress=lambda task, done, total: seen.append((task, done, total)))
        self.assertTrue(seen)
        self.assertEqual(seen[-1][1:], (20, 20))
        self.assertTrue(all(isinstance(task, str) and 0 <= done <= total for task, done, total in seen))

    def test_what_it_raises_ends_the_call(self):
        def progress(task, done, total):
            raise Oops(task)

        samples = Endless(rows(1)[0])
        with self.assertRaises(Oops):
            qd.calibrate(two_layers(), samples, progress=progress)
        self.assertLess(samples.asked, 10**6)

    def test_bars(self):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.assertEqual(qd.calibrate(two_layers(), rows(3), progress=True).samples, 3)
        self.assertIn("calibrate", shown.getvalue())


class StopTest(PackageTest):
    """Of calls that would take hours."""

    def test_ctrl_c(self):
        for call in (
            lambda: qd.calibrate(DIGITS, Endless(digits(1)[0])),
            lambda: qd.quantize(DIGITS, "weight-only", bits=4, calibration=Endless(digits(1)[0])),
            lambda: qd.quantize(DIGITS, "static-affine", calibration=Endless(digits(1)[0])),
            lambda: qd.compare(DIGITS, DIGITS, Endless(digits(1)[0])),
        ):
            self.assertLess(self.seconds_until_stopped(call), 10)

    def test_ctrl_c_in_callbacks(self):
        """That take long themselves, on whatever thread, and where they call the library."""

        class Slow(Endless):
            def __getitem__(self, i):
                for _ in range(300):
                    time.sleep(0.1)
                return super().__getitem__(i)

        def slow(contents, values):
            return lambda sample: qd.calibrate(DIGITS, Endless(digits(1)[0]))

        for call in (
            lambda: qd.calibrate(DIGITS, Slow(digits(1)[0]), threads=1),
            lambda: qd.calibrate(DIGITS, Slow(digits(1)[0]), threads=3),
            lambda: qd.calibrate(DIGITS, Endless(digits(1)[0]), runtime=slow, threads=1),
            lambda: qd.calibrate(DIGITS, Endless(digits(1)[0]), runtime=slow, threads=3),
        ):
            self.assertLess(self.seconds_until_stopped(call), 10)

    def test_ctrl_c_between_weights(self):
        numbers = np.random.default_rng(0)
        size = 256 if SANITIZED else 1024
        proto = two_layers(size, size)
        for i in range(15):
            array = numbers.standard_normal((size, size)).astype(np.float32)
            proto.graph.initializer.append(numpy_helper.from_array(array, f"more{i}"))
            proto.graph.node.append(helper.make_node("MatMul", ["x", f"more{i}"], [f"z{i}"]))
            proto.graph.output.append(helper.make_tensor_value_info(f"z{i}", TensorProto.FLOAT, ["batch", size]))
        model = qd.read(proto)

        def call():
            start = time.monotonic()
            qd.quantize(model, "weight-only", type="nf4", threads=1)
            return time.monotonic() - start

        whole = call()
        self.assertLess(self.seconds_until_stopped(call, whole / 10), whole / 2 + 0.1)

    def test_any_handler_of_signals(self):
        def handler(number, frame):
            raise Oops("time is up")

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with self.assertRaisesRegex(Oops, "time is up"):
            qd.calibrate(DIGITS, Endless(digits(1)[0]))

    def test_a_handler_that_lets_it_go_on(self):
        seen = []
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, lambda *_: seen.append(1)))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        found = qd.calibrate(DIGITS, Endless(digits(1)[0], 2000))
        self.assertEqual(found.samples, 2000)
        self.assertEqual(seen, [1])

    def test_a_program_ends(self):
        code = (
            "import sys, quadrant as qd; sys.path.insert(0, sys.argv[1])\n"
            "from callbacks_test import Endless, DIGITS, digits\n"
            "print('ready', flush=True)\n"
            "qd.calibrate(DIGITS, Endless(digits(1)[0]))\n"
        )
        folder = os.path.dirname(os.path.abspath(__file__))
        with subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "ready\n")
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=30)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertNotIn("leaked", errors)
        self.assertIn(child.returncode, (-signal.SIGINT, 1, 130))


class ThreadsTest(PackageTest):
    def test_others_run_meanwhile(self):
        count, stop = 0, threading.Event()

        def work():
            nonlocal count
            while not stop.is_set():
                count += 1
                time.sleep(0)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            time.sleep(0.05)
            before = count
            qd.calibrate(DIGITS, self.save_samples("samples", digits(300)), threads=1)
            during = count - before
        finally:
            stop.set()
            thread.join()
        self.assertGreater(during, 100)

    def test_several_at_once(self):
        model = qd.read(DIGITS)
        expected = qd.quantize(model, "static-affine", calibration=digits(8)).to_onnx()
        found = [None] * 4

        def work(i):
            found[i] = qd.quantize(model, "static-affine", calibration=digits(8)).to_onnx()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)

    def test_nothing_leaks(self):
        code = (
            "import sys, quadrant as qd; sys.path.insert(0, sys.argv[1])\n"
            "from callbacks_test import *\n"
            "result = qd.quantize(two_layers(), 'static-affine', calibration=rows(4), progress=lambda *_: None)\n"
            "result.report(), result.model.weights, qd.compare(two_layers(), result.model, rows(2))\n"
            "try:\n    qd.calibrate(two_layers(), [{}])\nexcept qd.Error as error:\n    kept = error\n"
        )
        folder = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
