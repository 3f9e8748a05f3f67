"""`quadrant run`: which files it writes, what is in them, and what it refuses.

    python3 tests/cli/run_model_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import ast
import io
import math
import os
import struct
import zipfile

from command_case import (BAD_INPUT, DONE, IMPOSSIBLE, INPUT_OUTPUT, USAGE, CommandTest, run_tests)
from onnx_writer import model, node, tensor, value_info


def npy(values, shape, kind="<f4"):
    """A .npy file of numbers, row by row."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".ljust(117) + "\n"
    letter = {"<f4": "f", "<f8": "d", "<i8": "q"}[kind]
    elements = struct.pack(f"<{len(values)}{letter}", *values)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + elements


def npz(**arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, contents in arrays.items():
            archive.writestr(f"{name}.npy", contents)
    return file.getvalue()


def floats_in(contents):
    """(shape, values) of a .npy file of float32."""
    size = struct.unpack_from("<H", contents, 8)[0]
    header = ast.literal_eval(contents[10 : 10 + size].decode())
    assert (header["descr"], header["fortran_order"]) == ("<f4", False), header
    return header["shape"], list(struct.unpack_from(f"<{math.prod(header['shape'])}f", contents,
                                                    10 + size))


class RunTest(CommandTest):
    """On y = -relu(x) + (4, 8), with relu(x) called `hidden`."""

    def setUp(self):
        super().setUp()
        self.model = self.put("m.onnx", model(
            [node("Relu", ["x"], ["hidden"], "act"), node("Neg", ["hidden"], ["n"]),
             node("Add", ["n", "b"], ["y"], "last")],
            [tensor("b", [2], [4, 8])],
            [value_info("x", ["batch", 2])],
            [value_info("y", ["batch", 2])],
        ))

    def put_in(self, name, contents):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        return self.put(name, contents)

    def put_samples(self, folder="data", count=3):
        for i in range(count):
            self.put_in(f"{folder}/s{i}.npz", npz(x=npy([-1, i], [1, 2])))

    def written(self, folder="out"):
        """{file: {array: (shape, values)}}"""
        found = {}
        for path in (self.folder / folder).iterdir():
            with zipfile.ZipFile(path) as archive:
                self.assertIsNone(archive.testzip())
                found[path.name] = {name.removesuffix(".npy"): floats_in(archive.read(name))
                                    for name in archive.namelist()}
        return found

    def test_a_file_for_each_sample(self):
        self.put_samples()
        text = self.succeeds("run", self.model, "--data", "data", "-o", "some/out")
        self.assertRegex(text, r"y +tensor<1x2xf32>")
        self.assertIn("3 samples, written to some/out\n", text)
        self.assertEqual(self.written("some/out"),
                         {f"s{i}.npz": {"y": ((1, 2), [4.0, 8.0 - i])} for i in range(3)})

    def test_threads_and_compression_change_no_number(self):
        self.put_samples(count=40)
        self.succeeds("run", self.model, "--data", "data", "-o", "out", "--threads", 1)
        for options in (("--threads", 5), ("--compress",)):
            self.succeeds("run", self.model, "--data", "data", "-o", "other", *options)
            self.assertEqual(self.written("other"), self.written("out"))
            if "--threads" in options:
                for name in self.written("out"):
                    self.assertEqual(self.bytes_of(f"other/{name}"), self.bytes_of(f"out/{name}"))

    def test_inner_values(self):
        self.put_samples(count=1)
        self.succeeds("run", self.model, "--data", "data", "-o", "out", "--outputs", "hidden,y",
                      "--outputs", "x,b,hidden")
        self.assertEqual(self.written(), {"s0.npz": {
            "hidden": ((1, 2), [0.0, 0.0]), "y": ((1, 2), [4.0, 8.0]), "x": ((1, 2), [-1.0, 0.0]),
            "b": ((2,), [4.0, 8.0])}})

    def test_json(self):
        for i in (1, 2):
            self.put_in(f"data/s{i}.npz", npz(x=npy([0, 0] * i, [i, 2])))
        document = self.json_of("run", self.model, "--data", "data", "-o", "out")
        self.assertEqual(document["model"], self.model)
        self.assertEqual(document["outputs"], [{"name": "y", "type": "tensor<?x2xf32>",
                                                "element": "f32", "shape": [None, 2]}])
        self.assertEqual(document["samples"], [{"name": f"data/s{i}.npz", "file": f"out/s{i}.npz"}
                                               for i in (1, 2)])
        self.assertEqual(document["diagnostics"], [])

    def test_random_samples(self):
        note = self.run_command("run", self.model, "--random", 3, "--seed", 9, "-o", "out").stderr
        self.assertIn(b"made of shape [1x2], where the model takes [?x2]", note)
        self.assertEqual(set(self.written()), {f"random_{i}.npz" for i in range(3)})
        self.succeeds("run", self.model, "--random", 2, "--seed", 9, "--shape", "x=1x2", "-o", "same")
        self.succeeds("run", self.model, "--random", 2, "--seed", 8, "--shape", "x=5x2", "-o", "other")
        for name in ("random_0.npz", "random_1.npz"):
            self.assertEqual(self.bytes_of(f"same/{name}"), self.bytes_of(f"out/{name}"))
            self.assertEqual(self.written("other")[name]["y"][0], (5, 2))

    def test_samples_of_the_same_name_get_files_of_their_own(self):
        for folder in "ab":
            self.put_in(f"raw/{folder}/x.raw", struct.pack("<2f", 0, ord(folder)))
        self.put("list.txt", b"raw/a/x.raw\nraw/b/x.raw\n")
        document = self.json_of("run", self.model, "--data", "list.txt", "-o", "out")
        self.assertEqual([sample["file"] for sample in document["samples"]],
                         ["out/x.npz", "out/x_1.npz"])
        self.assertEqual(self.written()["x_1.npz"]["y"], ((1, 2), [4.0, 8.0 - ord("b")]))

    def test_names_of_results(self):
        self.put_in("data/s.1/x.raw", struct.pack("<2f", 0, 0))
        self.put_in("data/t.raw.d/x.raw", struct.pack("<2f", 0, 0))
        self.succeeds("run", self.model, "--data", "data", "-o", "out")
        self.assertEqual(set(self.written()), {"s.1.npz", "t.raw.d.npz"})
        self.put_in("one/input_0.pb", tensor("x", [1, 2], [0, 0]))
        self.succeeds("run", self.model, "--data", "one/", "-o", "out")
        self.assertIn("one.npz", self.written())

    def test_files_that_are_there(self):
        self.put_samples()
        self.put_in("out/s1.npz", b"old")
        self.put_in("out/else.npz", b"not ours")
        self.succeeds("run", self.model, "--data", "data", "-o", "out")
        self.assertEqual(self.bytes_of("out/else.npz"), b"not ours")
        os.remove(self.folder / "out" / "else.npz")
        self.assertEqual(self.written()["s1.npz"]["y"], ((1, 2), [4.0, 7.0]))
        (self.folder / "out" / "s2.npz").unlink()
        (self.folder / "out" / "s2.npz").mkdir()
        self.fails(INPUT_OUTPUT, ["s2.npz", "not a regular file"], "run", self.model, "--data", "data", "-o", "out")

    def test_all_or_nothing(self):
        """The last of many samples is bad: no folder, no file, and old ones as they were."""
        self.put_samples(count=30)
        self.put_in("data/s30.npz", npz(x=npy([1, math.nan], [1, 2])))
        run = ("run", self.model, "--data", "data")
        self.fails(BAD_INPUT, ["data/s30.npz", "'x'", "NaN at [0, 1]", "--allow-non-finite lets it pass"], *run, "-o", "out")
        self.put_in("old/s3.npz", b"old")
        self.fails(BAD_INPUT, "s30.npz", *run, "-o", "old")
        self.succeeds(*run, "-o", "out", "--allow-non-finite")
        self.assertEqual(len(self.written()), 31)

    def test_bad_samples(self):
        def bad(fragments, name, contents, code=BAD_INPUT):
            self.put_in(name, contents)
            self.fails(code, fragments, "run", self.model, "--data", name, "-o", "out")

        bad(["a.npz", "'x'", "f64", "f32", "--convert converts them"], "a.npz", npz(x=npy([1, 2], [1, 2], "<f8")))
        bad(["[1x3]", "[?x2]"], "b.npz", npz(x=npy([1, 2, 3], [1, 3])))
        bad(["'x'", "'z'"], "c.npz", npz(z=npy([1, 2], [1, 2])))
        bad(["zip"], "d.npz", b"no archive")
        bad(["d.npy", "NumPy"], "d.npy", b"no array")
        bad(["known", ".npz"], "e.csv", b"1,2", USAGE)
        self.put_in("none/README.md", b"")
        self.fails(USAGE, "no samples", "run", self.model, "--data", "none", "-o", "out")
        self.fails(INPUT_OUTPUT, "nowhere", "run", self.model, "--data", "nowhere", "-o", "out")
        for i in (1, 2):
            self.put_in(f"folders/{i}/x.raw", struct.pack("<2f", 0, 0))
        (self.folder / "folders" / "3").mkdir()
        self.fails(USAGE, "folders/3: no sample", "run", self.model, "--data", "folders", "-o", "out")
        result = self.run_command("run", self.model, "--data", "a.npz", "-o", "out", "--convert")
        self.assertEqual(result.returncode, DONE)

    def test_mistakes_in_the_call(self):
        self.put_samples()
        run = ("run", self.model)
        self.fails(USAGE, ["--data", "--random"], *run, "-o", "out")
        self.fails(USAGE, "--random", *run, "--data", "data", "--random", 1, "-o", "out")
        self.fails(USAGE, "-o", *run, "--data", "data")
        self.fails(USAGE, "--random", *run, "--random", 0, "-o", "out")
        self.fails(USAGE, "--random", *run, "--data", "data", "--seed", 1, "-o", "out")
        self.fails(USAGE, ["'hiden'", "'hidden'"], *run, "--random", 1, "-o", "out", "--outputs",
                   "y,hiden")
        self.fails(USAGE, ["'last'", "is an operation, which makes 'y'"], *run, "--random", 1, "-o", "out", "--outputs",
                   "last")
        self.fails(USAGE, ["'inter'", "interpreter"], *run, "--random", 1, "-o", "out", "--runtime",
                   "inter")
        for shape, word in (("x", "INPUT=1x3"), ("z=1", "no input 'z'"), ("x=1xa", "1x3x224x224"),
                            ("x=-1", "1x3x224x224"), ("x=1x", "1x3x224x224")):
            self.fails(USAGE, word, *run, "--random", 1, "--shape", shape, "-o", "out")
        self.fails(IMPOSSIBLE, ["'x'", "no random numbers", "--run-memory allows more"], *run, "--random", 1, "--shape",
                   "x=100000x2", "-o", "out", "--run-memory", "1kB")
        # Of all that may run models, whether they do or not.
        for command in ((*run, "--random", 1, "-o", "out"), ("plan", self.model, "--scheme", "weight-only"),
                        ("convert", self.model, "o.tflite")):
            self.fails(USAGE, ["--run-memory", "'nonsense'"], *command, "--run-memory", "nonsense")
        self.fails(USAGE, "'-' is not", *run, "--data", "data", "-o", "-")
        self.fails(USAGE, "the samples are here", *run, "--data", "data", "-o", "./data/")
        self.fails(USAGE, "the samples are here", *run, "--data", "data/s1.npz", "-o", "data")
        self.fails(INPUT_OUTPUT, self.model, *run, "--data", "data", "-o", self.model)


if __name__ == "__main__":
    run_tests()
