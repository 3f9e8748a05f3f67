"""Files that a call must not write: those that it reads, and those of another of its options.

    python3 tests/cli/outputs_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import resource
import subprocess

from command_case import BINARY, INPUT_OUTPUT, SCHEME, USAGE, CommandTest, run_tests

RANDOM = ("--random", 1, "--shape", "x=3x16")
TWO = "two options name this file"
READ = "is read"


class OutputsTest(CommandTest):
    def refuses(self, *arguments, reason=READ):
        self.fails(USAGE, reason, *arguments)

    def test_what_is_read_is_not_written(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "p.json", "--save-recipe", "r.json")
        self.succeeds("sensitivity", self.model, *SCHEME, *RANDOM, "--cache", "s.json")
        self.succeeds("calibrate", self.model, *RANDOM, "-o", "c.json")
        # Where nothing is in the way, each of these calls is a good one.
        plan = ("plan", self.model)
        quantize = ("quantize", self.model)
        for option in ("-o", "--report", "--dot", "--save-recipe"):
            for command in (plan, (*quantize, "--dry-run")):
                self.refuses(*command, "--recipe", "r.json", option, "./r.json")
            self.refuses(*quantize, "--dry-run", *SCHEME, "--plan", "p.json", option, "p.json")
        self.refuses(*plan, "--scheme", "static-affine", "--calibration", "c.json", "-o", "c.json")
        for output in (("-o", "s.json"), ("-o", "o.json", "--dot", "s.json")):
            self.refuses(*plan, *SCHEME, "--report", "page.html", "--sensitivity", "s.json", *output)

    def test_pareto(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "p.json", "--save-recipe", "r.json")
        for option in ("--report", "--svg"):
            self.refuses("pareto", self.model, "--recipe", "r.json", option, "r.json")
        self.refuses("pareto", self.model, *SCHEME, "--report", "z", "--svg", "./z", reason=TWO)

    def test_samples_and_hardware(self):
        self.succeeds("run", self.model, *RANDOM, "-o", "samples")
        self.put("one.npz", next((self.folder / "samples").iterdir()).read_bytes())
        budget = ("quantize", self.model, *SCHEME, "--target-bits", 5, "--data", "one.npz")
        self.refuses(*budget, "-o", "one.npz")
        self.refuses(*budget, "-o", "o.onnx", "--report", self.folder / "one.npz")
        profile = self.json_of("list", "hardware")["hardware"][0]
        self.put("h.json", json.dumps(profile).encode())
        latency = ("plan", self.model, "--gain", "latency", *SCHEME)
        self.refuses(*latency, "--hardware", "h.json", "-o", "h.json")
        # The name of a profile is no file.
        self.succeeds(*latency, "--hardware", profile["name"], "-o", profile["name"])
        # A recipe's own is found when the recipe is read.
        self.succeeds(*latency, "--hardware", "h.json", "--save-recipe", "r.json")
        self.fails(USAGE, ["h.json: --output", READ], "plan", self.model, "--recipe", "r.json",
                   "-o", "h.json")

    def test_each_output_is_a_file_of_its_own(self):
        for command in (("plan", self.model), ("quantize", self.model)):
            self.refuses(*command, *SCHEME, "-o", "z", "--save-recipe", "z", reason=TWO)
            self.refuses(*command, *SCHEME, "-o", "z", "--report", "z", reason=TWO)
            self.refuses(*command, *SCHEME, "-o", "z", "--save-recipe", "r.html", "--report",
                         "./r.html", reason=TWO)
            self.refuses(*command, *SCHEME, "-o", "z", "--save-recipe", self.model)
        self.succeeds("quantize", self.model, *SCHEME, "-o", self.model)  # as its help says

    def test_no_file_is_called_a_dash(self):
        for call in (("quantize", self.model, *SCHEME, "-o", "-"), ("plan", self.model, *SCHEME, "--report", "-"),
                     ("quantize", self.model, *SCHEME, "--dry-run", "--save-recipe", "-"),
                     ("calibrate", self.model, *RANDOM, "-o", "-"), ("transform", self.model, "-o", "-")):
            self.refuses(*call, reason="which '-' is not: './-' is one")
        self.succeeds("plan", self.model, *SCHEME, "-o", "./-")

    def test_a_data_file_that_cannot_be_written_is_the_models(self):
        def too_little_place():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

        result = subprocess.run(
            [BINARY, "quantize", self.model, *SCHEME, "--exclude", "fc1", "-o", "out.onnx", "--external-data"],
            cwd=self.folder, capture_output=True, timeout=120, check=False, preexec_fn=too_little_place,
            restore_signals=False)
        self.assertEqual(result.returncode, INPUT_OUTPUT, result.stderr)
        self.assertRegex(result.stderr.decode(), r"\Aquadrant: out\.onnx: its data file: [^\n]+\n\Z")
        self.assertEqual(sorted(self.files()), [self.model])

    def test_a_run_that_fails_leaves_no_recipe(self):
        def too_little_place():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

        # A write beyond the limit is an error, since Python ignores the signal.
        result = subprocess.run(
            [BINARY, "quantize", self.model, *SCHEME, "-o", "out.onnx", "--save-recipe", "r.json"],
            cwd=self.folder, capture_output=True, timeout=120, check=False,
            preexec_fn=too_little_place, restore_signals=False)
        self.assertEqual(result.returncode, INPUT_OUTPUT, result.stderr)
        self.assertEqual(sorted(self.files()), [self.model])


if __name__ == "__main__":
    run_tests()
