"""`quadrant calibrate`: what it counts, what it saves and adds to, and what it refuses.

    python3 tests/cli/calibrate_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import os
import random
import struct
import subprocess

from command_case import BAD_INPUT, BINARY, DONE, INPUT_OUTPUT, USAGE, CommandTest, run_tests
from onnx_writer import model, node, tensor, value_info
from run_model_test import npy

INFINITY = float("inf")


class CalibrateTest(CommandTest):
    """On y = relu(x) - (4, 8), with relu(x) called `hidden`."""

    def setUp(self):
        super().setUp()
        self.model = self.put("m.onnx", model(
            [node("Relu", ["x"], ["hidden"], "act"), node("Sub", ["hidden", "b"], ["y"], "last")],
            [tensor("b", [2], [4, 8])],
            [value_info("x", ["batch", 2])],
            [value_info("y", ["batch", 2])],
        ))

    def put_samples(self, *samples, folder="data"):
        """Each is a list of rows."""
        (self.folder / folder).mkdir()
        for i, rows in enumerate(samples):
            values = [value for row in rows for value in row]
            self.put(f"{folder}/s{i}.npy", npy(values, [len(rows), 2]))

    def put_random_samples(self, count=30):
        numbers = random.Random(1)
        samples = [[[numbers.gauss(0, 1) * 2 ** numbers.randrange(8) for _ in range(2)]
                    for _ in range(1 + i % 3)] for i in range(count)]
        self.put_samples(*samples)
        return samples

    def saved(self, name):
        """{value: what was saved of it}"""
        document = json.loads(self.bytes_of(name))
        return {value.pop("value"): value for value in document["values"]}

    def test_table(self):
        self.put_samples([[-1, 2]], [[6, 0], [3, 9]])
        text = self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        self.assertRegex(text, r"\n  x +6 +-1 +9 +3\.167 +16\.7 % +0\n")
        self.assertRegex(text, r"\n  hidden +6 +0 +9 +3\.333 +33\.3 % +0\n")
        self.assertRegex(text, r"\n  y +6 +-8 +2 +-2\.667 +0\.0 % +0\n")
        self.assertLess(text.index("  x "), text.index("  hidden "))
        self.assertIn("\n  2 samples\n  saved in s.json\n", text)

    def test_json(self):
        self.put_samples([[-1, 2]], [[6, 0], [3, 9]])
        document = self.json_of("calibrate", self.model, "--data", "data")
        self.assertEqual((document["model"], document["output"], document["samples"]),
                         (self.model, None, 2))
        self.assertEqual([value["value"] for value in document["values"]], ["x", "hidden", "y"])
        self.assertEqual(document["values"][1], {
            "value": "hidden", "samples": 2, "elements": 6, "min": 0, "max": 9, "mean": 20 / 6,
            "zeros": 2, "nan": 0, "positive_infinity": 0, "negative_infinity": 0})
        self.assertEqual(document["diagnostics"], [])

    def test_what_is_saved(self):
        self.put_samples([[-1, 2]], [[6, 0], [3, 9]])
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        saved = self.saved("s.json")
        self.assertEqual(set(saved), {"x", "hidden", "y"})
        self.assertEqual(float.fromhex(saved["x"]["sum"]), 19)
        # Values below 16: bins of 16 / 8192.
        self.assertEqual(saved["x"]["negative"], [[512, 1]])
        self.assertEqual(saved["x"]["positive"], [[1024, 1], [1536, 1], [3072, 1], [4608, 1]])
        self.assertEqual(saved["x"]["zeros"], 1)

    def test_neither_threads_nor_order_nor_batches_matter(self):
        samples = self.put_random_samples()
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        for threads in (1, 2, 8):
            self.succeeds("calibrate", self.model, "--data", "data", "-o", "t.json", "--threads",
                          threads)
            self.assertEqual(self.bytes_of("t.json"), self.bytes_of("s.json"))
        random.Random(2).shuffle(samples)
        self.put_samples(*samples, folder="shuffled")
        self.succeeds("calibrate", self.model, "--data", "shuffled", "-o", "t.json")
        self.assertEqual(self.bytes_of("t.json"), self.bytes_of("s.json"))

        rows = [row for sample in samples for row in sample]
        self.put_samples(rows, folder="one")
        self.put_samples(*([row] for row in rows), folder="single")
        for folder in ("one", "single"):
            self.succeeds("calibrate", self.model, "--data", folder, "-o", "t.json")
            batches = self.saved("t.json")
            for name, value in self.saved("s.json").items():
                self.assertEqual({**batches[name], "samples": 30}, value)

    def test_adding_to_what_was_saved(self):
        samples = self.put_random_samples()
        self.put_samples(*samples[:11], folder="first")
        self.put_samples(*samples[11:], folder="second")
        calibrate = ("calibrate", self.model)
        self.succeeds(*calibrate, "--data", "data", "-o", "all.json")
        self.succeeds(*calibrate, "--data", "first", "-o", "a.json")
        self.succeeds(*calibrate, "--data", "second", "-o", "b.json")
        self.succeeds(*calibrate, "--merge", "b.json", "--merge", "a.json", "-o", "merged.json")
        self.assertEqual(self.bytes_of("merged.json"), self.bytes_of("all.json"))
        self.succeeds(*calibrate, "--data", "second", "--merge", "a.json", "-o", "both.json")
        self.assertEqual(self.bytes_of("both.json"), self.bytes_of("all.json"))
        self.assertEqual(self.json_of(*calibrate, "--merge", "both.json")["samples"], 30)
        # As the help shows it: the file is added to.
        self.succeeds(*calibrate, "--data", "second", "-o", "a.json", "--merge", "a.json")
        self.assertEqual(self.bytes_of("a.json"), self.bytes_of("all.json"))
        self.put("a.json", b"damaged")
        self.fails(BAD_INPUT, "a.json", *calibrate, "--data", "second", "-o", "a.json", "--merge", "a.json")

    def test_parts_of_the_samples(self):
        self.put_random_samples(11)
        calibrate = ("calibrate", self.model)
        self.succeeds(*calibrate, "--data", "data", "-o", "all.json")
        for count in (1, 2, 3, 4, 7):
            parts = [f"{i}of{count}.json" for i in range(1, count + 1)]
            for i, part in enumerate(parts, 1):
                self.succeeds(*calibrate, "--data", "data", "--part", f"{i}/{count}", "-o", part)
            for order in (parts, parts[::-1]):
                merged = [argument for part in order for argument in ("--merge", part)]
                self.succeeds(*calibrate, *merged, "-o", "merged.json")
                self.assertEqual(self.bytes_of("merged.json"), self.bytes_of("all.json"))
            self.assertEqual(sum(json.loads(self.bytes_of(part))["samples"] for part in parts), 11)
        # A part without samples is none that fails.
        self.succeeds(*calibrate, "--data", "data", "--part", "20/20", "-o", "empty.json")
        self.succeeds(*calibrate, "--merge", "all.json", "--merge", "empty.json", "-o", "merged.json")
        self.assertEqual(self.bytes_of("merged.json"), self.bytes_of("all.json"))
        for wrong in ("0/3", "4/3", "1", "1/", "/3", "a/b", "1/3x", "-1/3", "1/0"):
            self.fails(USAGE, f"--part {wrong}", *calibrate, "--data", "data", f"--part={wrong}", "-o", "p.json")

    def test_statistics_of_another_model(self):
        self.put_random_samples(3)
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        # Of the same names, with another constant.
        self.put("other.onnx", self.bytes_of(self.model).replace(struct.pack("<ff", 4, 8), struct.pack("<ff", 4, 9)))
        self.assertNotEqual(self.bytes_of("other.onnx"), self.bytes_of(self.model))
        self.fails(USAGE, ["s.json", "another model"], "calibrate", "other.onnx", "--merge", "s.json", "-o", "t.json")
        # What does not say it is taken, as before.
        document = json.loads(self.bytes_of("s.json"))
        self.assertEqual(len(document.pop("model_hash")), 16)
        self.put("old.json", json.dumps({**document, "version": 1}).encode())
        self.succeeds("calibrate", "other.onnx", "--merge", "old.json", "-o", "t.json")

    def put_with_channels(self, name, source, axis):
        """Of [[1, 2], [-3, 4]]: what the library saves of `x` along an axis of two."""
        document = json.loads(self.bytes_of(source))
        value, = (value for value in document["values"] if value["value"] == "x")

        def exact(total):
            """As a file has small whole numbers."""
            return f"{'-' * (total < 0)}0x{abs(total) * 2:x}p-1"

        columns, sums = {0: ([[1, 2], [-3, 4]], [3, 1]),
                         1: ([[1, -3], [2, 4]], [-2, 6])}[axis]
        value["by_channel"] = {
            "axis": axis, "varying": False, "count": [2, 2], "min": [*map(min, columns)],
            "max": [*map(max, columns)], "sum": [*map(exact, sums)]}
        self.put(name, json.dumps(document).encode())

    def test_channels_go_on_being_kept(self):
        self.put_samples([[1, 2], [-3, 4]])
        calibrate = ("calibrate", self.model)
        self.succeeds(*calibrate, "--data", "data", "-o", "plain.json")
        self.put_with_channels("chan.json", "plain.json", 1)
        self.put_samples([[5, -6]], folder="more")
        self.succeeds(*calibrate, "--data", "more", "--merge", "chan.json", "-o", "out.json")
        channels = self.saved("out.json")["x"]["by_channel"]
        self.assertEqual((channels["axis"], channels["count"], channels["min"], channels["max"]),
                         (1, [3, 3], [-3, -6], [5, 4]))
        self.assertEqual([float.fromhex(text) for text in channels["sum"]], [3, 0])
        self.assertNotIn("by_channel", self.saved("out.json")["hidden"])

        # Lost where they cannot be kept: not silently.
        self.put_with_channels("rows.json", "plain.json", 0)
        for other in ("plain.json", "rows.json"):
            for data in ((), ("--data", "more")):
                result = self.run_command(*calibrate, *data, "--merge", "chan.json", "--merge",
                                          other, "-o", "out.json")
                self.assertEqual(result.returncode, DONE)
                self.assertRegex(result.stderr.decode(),
                                 r"\Awarning: chan.json: statistics by channel are lost.* of 'x'\n")
                self.assertNotIn("by_channel", self.saved("out.json")["x"])

        self.put("chan.json", self.bytes_of("chan.json").replace(b'"axis": 1', b'"axis": 2'))
        self.fails(USAGE, ["'x'", "tensor<?x2xf32>", "no axis 2"], *calibrate, "--data", "more",
                   "--merge", "chan.json", "-o", "out.json")

    def test_other_values_than_those_of_the_run(self):
        self.put_samples([[1, 2]])
        calibrate = ("calibrate", self.model, "--data", "data", "-o", "s.json")
        self.succeeds(*calibrate)
        document = json.loads(self.bytes_of("s.json"))
        document["model"] = "other.onnx"
        of_other_name = json.dumps(document).encode()
        self.put("same.json", of_other_name)
        self.succeeds(*calibrate, "--merge", "same.json")

        def warning(values):
            self.put("other.json", json.dumps({**document, "values": values}).encode())
            result = self.run_command(*calibrate, "--merge", "other.json")
            self.assertEqual(result.returncode, DONE)
            return result.stderr.decode()

        values = document["values"]
        self.assertEqual(warning(values[1:]), "warning: other.json: of 2 values 0 are not in this "
                         "run, of whose 3 values 1 are not in the file, such as "
                         "'hidden': it was saved for 'other.onnx'\n")
        constant = {**values[0], "value": "b"}
        self.assertEqual(warning([constant]), "warning: other.json: of 1 values 1 are not in this "
                         "run, of whose 3 values 3 are not in the file, such as 'b': it was "
                         "saved for 'other.onnx'\n")

    def test_files_that_do_not_fit(self):
        self.put_samples([[1, 2]])
        self.succeeds("calibrate", self.model, "--data", "data", "-o", "s.json")
        text = self.bytes_of("s.json")
        self.put("other.json", text.replace(b'"hidden"', b'"hiden"'))
        self.put("bad.json", text.replace(b'"max":2.0', b'"max":3.0'))
        self.put("cut.json", text[:-10])
        calibrate = ("calibrate", self.model, "--data", "data", "-o", "s.json", "--merge")
        self.fails(USAGE, ["other.json", "'hiden'", "another model", "did you mean 'hidden'"],
                   *calibrate, "other.json")
        self.fails(BAD_INPUT, ["bad.json", "$.values[0].min", "do not fill these bins"],
                   *calibrate, "bad.json")
        self.fails(BAD_INPUT, "cut.json", *calibrate, "cut.json")
        self.fails(BAD_INPUT, self.model, *calibrate, self.model)
        self.fails(INPUT_OUTPUT, "none.json", *calibrate, "none.json")

    def test_mistakes_in_the_call(self):
        self.put_samples([[1, 2]])
        calibrate = ("calibrate", self.model, "-o", "s.json")
        self.fails(USAGE, ["--data", "--random"], *calibrate)
        self.fails(USAGE, "excludes", *calibrate, "--data", "data", "--random", "2")
        self.fails(USAGE, "MODEL", "calibrate", "--data", "data")
        self.fails(USAGE, "is read", "calibrate", self.model, "--data", "data", "-o", self.model)
        self.fails(INPUT_OUTPUT, "no directory", "calibrate", self.model, "--data", "data", "-o",
                   "nowhere/s.json")
        self.fails(USAGE, "no runtime 'none'", *calibrate, "--data", "data", "--runtime", "none")
        self.succeeds(*calibrate, "--data", "data")
        self.fails(USAGE, "no runtime 'none'", "calibrate", self.model, "--merge", "s.json",
                   "--runtime", "none")

    def test_bad_samples_are_named(self):
        calibrate = ("calibrate", self.model, "-o", "s.json", "--data")
        for name, contents in (("shape", npy([1, 2, 3], [1, 3])), ("type", npy([1, 2], [1, 2], "<i8")),
                               ("nan", npy([1, float("nan")], [1, 2])), ("cut", npy([1], [1, 2]))):
            self.put_samples([[1, 2]], [[3, 4]], folder=name)
            self.put(f"{name}/s1.npy", contents)
            self.fails(BAD_INPUT, f"{name}/s1.npy", *calibrate, name)
        (self.folder / "empty").mkdir()
        self.fails(USAGE, "empty", *calibrate, "empty")
        self.fails(INPUT_OUTPUT, "nowhere", *calibrate, "nowhere")

    def test_values_that_are_not_finite(self):
        self.put_samples([[1, 2]], [[float("nan"), INFINITY], [3, 4]])
        result = self.run_command("calibrate", self.model, "--data", "data", "-o", "s.json",
                                  "--allow-non-finite")
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"warning: tensor 'x': 1 NaN and 1 infinite .*s1\.npy")
        saved = self.saved("s.json")["x"]
        self.assertEqual((saved["min"], saved["max"], saved["nan"], saved["positive_infinity"]),
                         (1, 4, 1, 1))

    def test_names_cannot_reach_the_terminal(self):
        self.model = self.put("evil.onnx", model(
            [node("Relu", ["x"], ["h\x1b[2J\n"], "act"), node("Neg", ["h\x1b[2J\n"], ["y"])], [],
            [value_info("x", [2])], [value_info("y", [2])]))
        text = self.succeeds("calibrate", self.model, "--random", 2, "-o", "s.json")
        self.assertIn("h\\x1b[2J\\n", text)
        self.assertNotIn("\x1b", text)
        self.assertIn("h\x1b[2J\n", self.saved("s.json"))

    def test_memory_does_not_grow_with_samples(self):
        # A sample is 60 kB of values: kept, a thousand were 60 MB. A sanitizer's allocator takes some
        # MB more with time.
        def peak(samples):
            return self.peak_memory("calibrate", "model.onnx", "--random", samples, "--shape",
                                    "x=200x16", "--threads", 2, "-o", f"{samples}.json")

        few, many = peak(10), peak(1000)
        allowed = 20e6 if "ASAN_OPTIONS" in os.environ else 8e6
        self.assertLess(many, few + allowed, f"{few} bytes for 10 samples, {many} for 1000")
        # The files hold the same bins, with larger numbers.
        self.assertLess(len(self.bytes_of("1000.json")), 3 * len(self.bytes_of("10.json")))


if __name__ == "__main__":
    run_tests()
