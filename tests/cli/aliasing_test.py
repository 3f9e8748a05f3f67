"""No file that a call reads is one that it writes: every command, every option that writes, every file that the
system says was opened.

    python3 tests/cli/aliasing_test.py path/to/quadrant        or with the path in $QUADRANT

The files are found by a library that stands in front of the C library ($QUADRANT_FAULTS), so none is forgotten here.
"""

import json
import os
import pathlib
import re
import struct
import sys

from command_case import DONE, EXAMPLES, SCHEME, USAGE, CommandTest, run_tests, two_layers

FAULTS = os.environ.get("QUADRANT_FAULTS", "")
STATIC = ("--scheme", "static-affine")
RANDOM = ("--random", 2, "--shape", "x=3x16")

# What writes, by how the command calls it, and the ending that such a file has.
WRITES = {"-o": None, "OUT": None, "--report": ".html", "--dot": ".dot", "--svg": ".svg",
          "--save-recipe": ".json", "--cache": ".json", "--checkpoint-file": None}
# Options of files, of all commands, that calls below do not have. The first three read a second model; plug-ins are for a
# shared library (tests/package/plugin_test.py).
ELSEWHERE = {"--against", "--float", "--quantized", "--objects", "--plugin"}

# What -o may name although it is read, and then replaces: the model, by ONNX if it is that; statistics that are added to.
REPLACED = {"quantize": "model.onnx", "optimize": "model.onnx", "transform": "model.onnx", "calibrate": "statistics.json"}

# Each call is good as it is. A name after '>' is written.
CALLS = [
    ("quantize", "model.onnx", "-o", ">q.onnx", "--recipe", "hardware.json", "--report", ">r.html", "--dot", ">d.dot",
     "--save-recipe", ">s.json", "--sensitivity", "sensitivity.json"),
    ("quantize", "model.onnx", "-o", ">q.onnx", *SCHEME, "--plan", "plan.json"),
    ("quantize", "model.onnx", "-o", ">q.onnx", *SCHEME, "--target-bits", 6, "--data", "samples"),
    ("quantize", "model.onnx", "-o", ">q.onnx", *STATIC, "--calibration", "input_list.txt"),
    ("quantize", "model.onnx", "-o", ">q.onnx", *SCHEME, "--moments", "moments"),
    ("calibrate", "model.onnx", "-o", ">m", "--moments", "--data", "samples", "--grid", "grid"),
    ("quantize", "model.onnx", "-o", ">q.onnx", *STATIC, "--encodings", "encodings.json"),
    ("plan", "model.onnx", "-o", ">p.json", "--gain", "latency", *SCHEME, "--hardware", "profile.json", "--report",
     ">r.html", "--dot", ">d.dot", "--save-recipe", ">s.json", "--sensitivity", "sensitivity.json"),
    ("plan", "model.xml", "-o", ">p.json", *STATIC, "--calibration", "statistics.json"),
    ("convert", "model.onnx", ">made.xml", *STATIC, "--calibration", "samples"),
    ("convert", "model.xml", ">out.tflite"),
    ("convert", "model.tflite", ">out.onnx"),
    ("convert", "model.qd", ">out.tflite"),
    ("optimize", "model.onnx", "-o", ">q.onnx", "--calibration", "samples", "--labels", "labels.txt", "--data", "more",
     "--save-recipe", ">s.json"),
    ("optimize", "model.xml", "-o", ">q.onnx", "--calibration", "samples"),
    ("optimize", "model.onnx", "-o", ">q.onnx", "--calibration", "samples", "--checkpoint", "--checkpoint-file", ">c"),
    ("transform", "model.onnx", "-o", ">q.onnx"),
    ("transform", "model.tflite", "-o", ">q.onnx"),
    ("quantize", "model.xml", "-o", ">q.onnx", *SCHEME),
    ("quantize", "model.qd", "-o", ">q.onnx", *SCHEME),
    ("calibrate", "model.onnx", "-o", ">s.json", "--data", "samples", "--merge", "statistics.json"),
    ("calibrate", "model.onnx", "-o", ">s.json", "--data", "samples", "--checkpoint", 1, "--checkpoint-file", ">c"),
    ("sensitivity", "model.onnx", *SCHEME, "--data", "samples", "--cache", ">s.json"),
    ("encodings", "quantized.onnx", "-o", ">e.json"),
    ("compare", "model.onnx", "quantized.onnx", "--data", "samples", "--report", ">r.html"),
    ("pareto", "model.onnx", *SCHEME, "--data", "samples", "--report", ">r.html", "--svg", ">f.svg"),
]


class AliasingTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.put("model.onnx", two_layers(data_file="out.bin"))  # so that an .xml file would write over it
        self.put("out.bin", struct.pack("<512f", *[(i % 17 - 8) / 8 for i in range(512)]))
        self.succeeds("run", "model.onnx", *RANDOM, "-o", "samples")
        self.succeeds("run", "model.onnx", "--random", 1, "--seed", 2, "--shape", "x=3x16", "-o", "more")
        for folder in ("samples", "more"):
            self.as_inputs(folder)
        self.succeeds("calibrate", "model.onnx", "--data", "samples", "-o", "statistics.json")
        self.succeeds("calibrate", "model.onnx", "--moments", "--data", "samples", "-o", "moments")
        self.succeeds("calibrate", "model.onnx", "--moments", "--grid-only", "--data", "samples", "-o", "grid")
        self.succeeds("sensitivity", "model.onnx", *SCHEME, "--data", "more", "--cache", "sensitivity.json")
        self.succeeds("plan", "model.onnx", *SCHEME, "-o", "plan.json")
        self.succeeds("quantize", "model.onnx", "-o", "quantized.onnx", *STATIC, "--calibration", "statistics.json")
        self.succeeds("encodings", "quantized.onnx", "-o", "encodings.json")
        for ending in ("xml", "tflite", "qd"):
            self.succeeds("convert", self.put("inline.onnx", two_layers()), f"model.{ending}")
        profile = self.json_of("list", "hardware")["hardware"][0]
        self.put("profile.json", json.dumps(profile).encode())
        self.succeeds("plan", "model.onnx", "--gain", "latency", *SCHEME, "--hardware", "profile.json",
                      "--save-recipe", "hardware.json")
        self.put("labels.txt", b"1\n2\n3\n")
        self.put("raw_0.raw", struct.pack("<48f", *[i / 48 for i in range(48)]))
        self.put("input_list.txt", b"raw_0.raw\n")

    def as_inputs(self, folder):
        """Samples of random numbers for the model, written as raw files in place of its results."""
        for i, path in enumerate(sorted((self.folder / folder).iterdir())):
            path.unlink()
            numbers = [((i + 3) * k * 37 % 101 - 50) / 50 for k in range(48)]
            self.put(f"{folder}/{i}.raw", struct.pack("<48f", *numbers))

    def opened(self, *arguments):
        """Files of the folder that a call opens."""
        log = self.folder.parent / (self.folder.name + ".log")
        log.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": FAULTS, "QUADRANT_FAULT_LOG": str(log)}
        result = self.run_command(*arguments, env=environment)
        self.assertEqual(result.returncode, DONE, (arguments, result.stderr.decode()))
        text = log.read_text()
        log.unlink()
        paths = {(self.folder / path).resolve() for path in re.findall("^opened (.*)$", text, re.M)}
        return sorted(path.relative_to(self.folder.resolve()) for path in paths
                      if path.is_relative_to(self.folder.resolve()))

    def kept(self, result, before, call, path=None):
        self.assertEqual(result.returncode, USAGE, (call, path, result.stdout.decode(), result.stderr.decode()))
        self.assertRegex(result.stderr.decode(), "is read|would be written twice|two options name this file")
        self.assertEqual(self.files(), before, call)

    def test_every_file_that_is_read(self):
        checked = 0
        for call in CALLS:
            with self.subTest(call=call):
                checked += self.check_call(call)
        self.assertGreater(checked, 150)

    def check_call(self, call):
        before = self.files()
        good = [str(word).lstrip(">") for word in call]
        opened = self.opened(*good)
        self.assertIn(pathlib.Path(call[1]), opened)
        for name in set(self.files()) - set(before):
            (self.folder / name).unlink()
        self.assertEqual(self.files(), before, call)
        written = [i for i, word in enumerate(call) if str(word).startswith(">")]
        checked = 0
        for i in written:
            option = call[i - 1] if str(call[i - 1]).startswith("-") else "OUT"
            ending = pathlib.Path(good[i]).suffix
            for path in opened:
                if option == "-o" and str(path) == REPLACED.get(call[0]):
                    continue
                for link in ("symbolic", "hard", "none"):
                    alias = str(path) if link == "none" else f"alias{ending}"
                    if link == "none" and path.suffix != ending:
                        continue  # refused for its ending, perhaps
                    if link == "symbolic":
                        (self.folder / alias).symlink_to(path)
                    elif link == "hard":
                        os.link(self.folder / path, self.folder / alias)
                    with_alias = self.files()
                    bad = [*good[:i], alias, *good[i + 1:]]
                    self.kept(self.run_command(*bad), with_alias, bad, f"{link} {path}")
                    checked += 1
                    if link != "none":
                        (self.folder / alias).unlink()
        return checked

    def test_weights_beside_a_new_model(self):
        """The second file of an .xml model is the data of the model that is read."""
        before = self.files()
        self.kept(self.run_command("convert", "model.onnx", "out.xml"), before, "out.xml")
        self.kept(self.run_command("convert", "model.onnx", "./out.xml", *SCHEME), before, "./out.xml")

    def test_results_in_the_place_of_samples(self):
        (self.folder / "results").mkdir()
        os.link(self.folder / "samples" / "0.raw", self.folder / "results" / "0.npz")
        before = self.files()
        self.kept(self.run_command("run", "model.onnx", "--data", "samples", "-o", "results"), before, "run")

    def test_the_model_itself(self):
        data = self.bytes_of("out.bin")
        for call in (("quantize", *SCHEME), ("transform",), ("quantize", *SCHEME, "--external-data")):
            self.put("model.onnx", two_layers(data_file="out.bin"))
            self.succeeds(call[0], "model.onnx", "-o", "model.onnx", *call[1:])
            self.assertEqual(self.bytes_of("out.bin"), data)
            self.succeeds("inspect", "model.onnx")

    def test_statistics_that_are_added_to(self):
        add = ("calibrate", "model.onnx", "--data", "more", "--merge", "statistics.json", "-o")
        self.succeeds(*add, "apart.json")
        old, new = self.bytes_of("statistics.json"), self.bytes_of("apart.json")
        self.assertEqual(json.loads(new)["samples"], json.loads(old)["samples"] + 1)
        for link in ("symbolic", "hard", "none"):
            self.put("statistics.json", old)
            name = "statistics.json" if link == "none" else "link.json"
            if link == "symbolic":
                (self.folder / name).symlink_to("statistics.json")
            elif link == "hard":
                os.link(self.folder / "statistics.json", self.folder / name)
            self.succeeds(*add, name)
            self.assertEqual(self.bytes_of(name), new, link)
            self.assertEqual(self.bytes_of("statistics.json"), old if link == "hard" else new, link)
            if link != "none":
                (self.folder / name).unlink()
        # What is merged twice is replaced as well; other files that are read are not.
        self.put("statistics.json", old)
        self.succeeds(*add, "statistics.json", "--merge", "apart.json")
        before = self.files()
        self.kept(self.run_command(*add, "model.onnx"), before, "model.onnx")

    def test_no_format_under_the_name_of_another(self):
        """The ending of what a link leads to is the one that the file has."""
        for name in ("model.xml", "model.qd", "model.tflite"):
            for link in ("link.onnx", "link"):
                (self.folder / link).symlink_to(name)
                before = self.files()
                for model in (name, "model.onnx"):
                    for call in (("quantize", *SCHEME), ("transform",), ("optimize", "--calibration", "samples")):
                        self.fails(USAGE, "name another", call[0], model, "-o", link, *call[1:])
                if link.endswith(".onnx"):
                    self.fails(USAGE, ["link.onnx: ", name, "name another file"], "convert", "quantized.onnx", link)
                (self.folder / link).unlink()
        # Names that say nothing, and models to be made, are what they are.
        (self.folder / "link").symlink_to("model.onnx")
        self.succeeds("quantize", "model.onnx", "-o", "link", *SCHEME)
        self.assertIn("dequantize", self.succeeds("inspect", "model.onnx"))
        (self.folder / "made.xml").symlink_to("file")
        self.succeeds("convert", "model.onnx", "made.xml")

    def test_no_option_is_forgotten(self):
        """Each option of a file of each command that writes one is in a call above."""
        names = re.findall(r"^  ([a-z]+)  ", self.succeeds("--help"), re.M)
        used = {}
        for call in CALLS:
            used.setdefault(call[0], set()).update(word for word in call if str(word).startswith("-"))
        for name in names:
            usage = self.succeeds(name, "--help")
            options = set(re.findall(r"(--[a-z-]+) (?:FILE|PATH|NAME\|FILE)\b", usage))
            writes = options & {"--output", *WRITES}
            if not writes:
                continue
            options = {"-o" if option == "--output" else option for option in options} - ELSEWHERE
            everywhere = set().union(*used.values())
            self.assertIn(name, used)
            self.assertLessEqual(options, everywhere, name)
            self.assertLessEqual({o for o in options if o in WRITES}, used[name], name)


if __name__ == "__main__":
    if not FAULTS:
        print("QUADRANT_FAULTS names no library")
        sys.exit(77)
    run_tests()
