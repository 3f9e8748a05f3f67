"""The example's scheme in the command: every subcommand serves it, and nothing of ours names it.

    my_scheme_test.py COMMAND...

COMMAND is an executable that the example links, or `quadrant --plugin` with the example's plug-in. Needs Python's
standard library alone.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MODEL = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "models" / "tiny_transformer.onnx")
SCHEME = ("--scheme", "power-of-two")
COMMAND = []


class MyScheme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *words):
        return subprocess.run([*COMMAND, *words], cwd=self.folder, capture_output=True, text=True)

    def output(self, *words):
        done = self.run_command(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def document(self, *words):
        return json.loads(self.output(*words, "--json"))

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def test_list(self):
        names = [scheme["scheme"] for scheme in self.document("list")["schemes"]]
        self.assertEqual(sorted(names), ["power_of_two", "static_affine", "weight_only"])
        methods = {method["operation"] for method in self.document("list", "power-of-two")["methods"]}
        self.assertEqual(methods, {"constant", "transpose", "matmul"})
        self.assertIn("--power-of-two-bits N", self.output("list", "power_of_two"))

    def test_help_has_its_options(self):
        for command in ("plan", "explain", "quantize", "pareto", "sensitivity"):
            self.assertIn("--power-of-two-bits", self.output(command, "--help"))

    def test_explain(self):
        text = self.output("explain", MODEL, "blocks.0.up.weight", *SCHEME)
        self.assertIn("bits=8", text)
        self.assertIn("it is no matrix", self.output("explain", MODEL, "blocks.0.up.bias", *SCHEME))

    def test_quantize_and_report(self):
        # 13 weights of 165,216 floats: four bytes for each, and then one.
        done = self.document("quantize", MODEL, "-o", "p8.onnx", *SCHEME, "--report", "page.html")
        self.assertEqual(done["diagnostics"], [])
        before = pathlib.Path(MODEL).stat().st_size
        self.assertLess(len(self.bytes_of("p8.onnx")), before * 0.33)
        page = self.bytes_of("page.html").decode()
        self.assertIn("power_of_two", page)
        self.assertIn("bits=8", page)
        self.assertIn("it is no matrix", page)
        # Scales are powers of two, which loses more than others, but not the sense.
        agreement = self.document("compare", MODEL, "p8.onnx", "--random", "2", "--seed", "1")
        self.assertGreater(min(out["sqnr_db"] for out in agreement["comparison"]["outputs"]), 10)

    def test_options_reach_it(self):
        self.output("quantize", MODEL, "-o", "p16.onnx", *SCHEME, "--power-of-two-bits", "16")
        self.output("quantize", MODEL, "-o", "p8.onnx", *SCHEME)
        self.assertGreater(len(self.bytes_of("p16.onnx")), 1.6 * len(self.bytes_of("p8.onnx")))
        refused = self.run_command("quantize", MODEL, "-o", "no.onnx", *SCHEME, "--power-of-two-bits", "77")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("2 to 16", refused.stderr)
        refused = self.run_command("plan", MODEL, "--scheme", "weight-only", "--power-of-two-bits", "8")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is an option of power_of_two", refused.stderr)

    def test_plan_is_followed(self):
        self.output("plan", MODEL, *SCHEME, "-o", "plan.json")
        self.output("quantize", MODEL, "-o", "planned.onnx", *SCHEME, "--plan", "plan.json")
        self.output("quantize", MODEL, "-o", "plain.onnx", *SCHEME)
        self.assertEqual(self.bytes_of("planned.onnx"), self.bytes_of("plain.onnx"))

    def test_recipe(self):
        saved = ("--save-recipe", "recipe.json", "--power-of-two-bits", "12")
        self.output("quantize", MODEL, "-o", "first.onnx", *SCHEME, *saved)
        recipe = json.loads(self.bytes_of("recipe.json"))
        self.assertEqual(recipe["schemes"]["power_of_two"]["options"], {"bits": 12})
        self.output("quantize", MODEL, "-o", "second.onnx", "--recipe", "recipe.json")
        self.assertEqual(self.bytes_of("first.onnx"), self.bytes_of("second.onnx"))
        schema = json.loads(self.output("recipe", "--schema"))
        choices = schema["properties"]["schemes"]["additionalProperties"]["oneOf"]
        mine = [choice for choice in choices if "power_of_two" in choice["properties"]["scheme"]["enum"]]
        self.assertEqual(mine[0]["properties"]["options"]["properties"]["bits"]["maximum"], 16)
        self.output("quantize", MODEL, "-o", "mix.onnx", "--mix", "int8", "--mix", "p=power_of_two,bits=16")

    def test_budgets(self):
        points = self.document("pareto", MODEL, *SCHEME)["points"]
        bits = [point["bits"] for point in points]
        self.assertEqual(bits, sorted(bits))
        self.assertAlmostEqual(bits[0], 8, delta=0.1)  # p8 of every weight
        self.output("quantize", MODEL, "-o", "budget.onnx", *SCHEME, "--target-bits", "12")
        self.output("quantize", MODEL, "-o", "p16.onnx", *SCHEME, "--power-of-two-bits", "16")
        self.output("quantize", MODEL, "-o", "p8.onnx", *SCHEME)
        sizes = [len(self.bytes_of(name)) for name in ("p8.onnx", "budget.onnx", "p16.onnx")]
        self.assertEqual(sizes, sorted(set(sizes)))

    def test_sensitivity(self):
        found = self.document("sensitivity", MODEL, *SCHEME, "--random", "1")
        self.assertIn("blocks.0.up.weight", json.dumps(found))


if __name__ == "__main__":
    COMMAND = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
