"""Runs the command as a user does: exit codes, one-line errors, JSON, files.

    python3 tests/cli/cli_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import os
import subprocess

from command_case import (BAD_INPUT, BINARY, DIFFERENT, DONE, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE,
                          CommandTest, run_tests, two_layers)


class HelpTest(CommandTest):
    def test_help_is_on_stdout(self):
        text = self.succeeds("--help")
        for command in ("inspect", "list", "plan", "explain", "quantize", "diff", "run"):
            self.assertIn(f"\n  {command} ", text)
            help_of_command = self.succeeds(command, "--help")
            self.assertIn(f"quadrant {command} ", help_of_command)
            self.assertIn("Example", help_of_command)
        self.assertIn("Exit codes:", text)
        for code in (DONE, USAGE, BAD_INPUT, IMPOSSIBLE, INPUT_OUTPUT, DIFFERENT):
            self.assertRegex(text, rf"\n  {code}  \w")

    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"\Aquadrant \d+\.\d+\.\d+\n\Z")

    def test_mistakes_in_the_call(self):
        self.fails(USAGE, "a command is missing")
        self.fails(USAGE, ["'quantise'", "'quantize'"], "quantise")
        self.fails(USAGE, ["'--exlude'", "'--exclude'"],
                   "plan", self.model, *SCHEME, "--exlude", "x")
        self.fails(USAGE, "'extra'", "inspect", self.model, "extra")
        self.fails(USAGE, "MODEL", "inspect")
        self.fails(USAGE, "--scheme", "plan", self.model)
        self.fails(USAGE, ["'weight_onyl'", "'weight_only'"],
                   "plan", self.model, "-s", "weight_onyl")
        self.fails(USAGE, "weight_only", "list", "nothing-like-it")
        self.fails(USAGE, "--gain", "plan", self.model, *SCHEME, "--gain", "size")
        self.fails(USAGE, "--granularity", "plan", self.model, *SCHEME, "--granularity", "row")
        self.fails(USAGE, "--bits", "plan", self.model, *SCHEME, "--bits", "many")

    def test_a_full_standard_output_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for arguments in (("--help",), ("inspect", self.model)):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([BINARY, *arguments], cwd=self.folder, stdout=full,
                                        stderr=subprocess.PIPE, check=False)
            self.assertEqual(result.returncode, INPUT_OUTPUT)


class InspectTest(CommandTest):
    def test_text(self):
        text = self.succeeds("inspect", self.model)
        self.assertRegex(text, r"format +ONNX, opset 17")
        self.assertRegex(text, r"x +tensor<\?x16xf32>")
        self.assertRegex(text, r"y +tensor<\?x8xf32>")
        self.assertRegex(text, r"matmul +2\n")
        self.assertRegex(text, r"f32 +2 +768 +3\.07 kB")
        self.assertLess(text.index("fc1.weight"), text.index("fc2.weight"))

    def test_json(self):
        document = self.json_of("inspect", self.model)
        self.assertEqual(document["opsets"], [{"domain": "", "version": 17}])
        self.assertEqual(document["operations"], {"matmul": 2, "onnx.Relu": 1})
        self.assertEqual(document["inputs"][0]["shape"], [None, 16])
        self.assertEqual([entry["name"] for entry in document["constants"]],
                         ["fc1.weight", "fc2.weight"])
        self.assertEqual(document["file_bytes"], len(self.bytes_of(self.model)))
        self.assertEqual(document["diagnostics"], [])

    def test_graph_as_text(self):
        self.assertIn("matmul(", self.succeeds("inspect", self.model, "--text"))

    def test_bad_input(self):
        self.fails(INPUT_OUTPUT, "nowhere.onnx", "inspect", "nowhere.onnx")
        self.put("empty.onnx", b"")
        self.fails(BAD_INPUT, "empty.onnx", "inspect", "empty.onnx")
        self.put("text.onnx", b"this is no model\n" * 100)
        self.fails(BAD_INPUT, "text.onnx", "inspect", "text.onnx")

    def test_every_truncation_is_refused(self):
        whole = self.bytes_of(self.model)
        for size in range(1, len(whole) - 10, 97):
            self.put("cut.onnx", whole[:size])
            result = self.run_command("quantize", "cut.onnx", "-o", "out.onnx", *SCHEME)
            self.assertEqual(result.returncode, BAD_INPUT, (size, result.stderr))
            self.assertEqual(result.stderr.count(b"\n"), 1)
            self.assertFalse((self.folder / "out.onnx").exists())

    def test_names_cannot_reach_the_terminal(self):
        self.put("evil.onnx", two_layers(weight_name="w\x1b[2J\n\u202e"))
        for arguments in (("inspect",), ("plan", *SCHEME), ("explain", *SCHEME),
                          ("quantize", "--dry-run", "--exclude", "^w", *SCHEME)):
            text = self.succeeds(*arguments, "evil.onnx")
            self.assertIn("w\\x1b[2J\\n\\u202e", text)
            self.assertNotIn("\x1b", text)


class ListTest(CommandTest):
    def test_schemes(self):
        self.assertIn("weight_only", self.succeeds("list"))
        self.assertEqual([scheme["scheme"] for scheme in self.json_of("list")["schemes"]],
                         ["static_affine", "weight_only"])

    def test_a_scheme(self):
        text = self.succeeds("list", "weight-only")
        self.assertRegex(text, r"\n  matmul +\w+ +consumer +\(AnyQuantizable")
        for option in ("--bits", "--symmetric", "--signed-scale", "--asymmetric", "--granularity",
                       "--block-size", "--clip", "--scales", "--form"):
            self.assertIn(f"\n  {option} ", text)
            self.assertIn(f"\n  {option} ", self.succeeds("quantize", "--help"))
        methods = self.json_of("list", "weight_only")["methods"]
        roles = {method["operation"]: method["role"] for method in methods}
        self.assertEqual(roles["matmul"], "consumer")
        self.assertEqual(roles["constant"], "quantizer")
        for operation in ("add", "conv", "conv_transpose", "einsum", "gemm", "gru", "lstm", "rnn"):
            self.assertEqual(roles[operation], "consumer", operation)
        for operation in ("cast", "concat", "expand", "gather", "identity", "reshape", "slice",
                          "split", "squeeze", "transpose", "unsqueeze"):
            self.assertEqual(roles[operation], "quantizer", operation)

    def test_operations(self):
        self.assertRegex(self.succeeds("list", "operations"), r"\n  matmul +MatMul *\n")
        operations = {entry["operation"]: entry["onnx"]
                      for entry in self.json_of("list", "operations")["operations"]}
        skip = "com.microsoft::SkipLayerNormalization"
        expected = {"add": "Add", "onnx.Relu": "Relu", f"onnx.{skip}": skip, "linear": ""}
        self.assertEqual({name: operations.get(name) for name in expected}, expected)


class PlanTest(CommandTest):
    def test_text(self):
        text = self.succeeds("plan", self.model, *SCHEME)
        self.assertRegex(text, r"fc1\.weight +axis=1 +2\.05 kB +\d+")
        self.assertRegex(text, r"objective +\d+ bytes")
        text = self.succeeds("plan", self.model, *SCHEME, "--gain", "unit")
        self.assertRegex(text, r"objective +2 consumed operands")

    def test_json(self):
        document = self.json_of("plan", self.model, *SCHEME)
        self.assertEqual(document["plan"]["format"], "quadrant.plan")
        self.assertEqual(document["stored_bytes"], 4 * (16 * 32 + 32 * 8))
        self.assertEqual(document["gain_unit"], "bytes")

    def test_a_saved_plan_gives_the_same_bytes(self):
        for gain in ("unit", "bytes"):
            self.succeeds("plan", self.model, *SCHEME, "--gain", gain, "-o", "plan.json")
            self.assertEqual(json.loads(self.bytes_of("plan.json"))["gain_model"], gain)
            self.succeeds("quantize", self.model, "-o", "direct.onnx", *SCHEME, "--gain", gain)
            self.succeeds("quantize", self.model, "-o", "planned.onnx", *SCHEME, "--gain", gain,
                          "--plan", "plan.json")
            self.assertEqual(self.bytes_of("direct.onnx"), self.bytes_of("planned.onnx"))

    def test_a_plan_of_a_part_is_followed(self):
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc2", "-o", "plan.json")
        self.succeeds("quantize", self.model, "-o", "planned.onnx", *SCHEME, "--plan", "plan.json")
        self.succeeds("quantize", self.model, "-o", "direct.onnx", *SCHEME, "--exclude", "fc2")
        self.assertEqual(self.bytes_of("direct.onnx"), self.bytes_of("planned.onnx"))

    def test_plans_that_are_wrong(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "plan.json")
        good = json.loads(self.bytes_of("plan.json"))
        quantize = ("quantize", self.model, "-o", "out.onnx", *SCHEME, "--plan", "bad.json")

        def put(**changes):
            self.put("bad.json", json.dumps(good | changes).encode())

        put(extra=1)
        self.fails(BAD_INPUT, ["bad.json", "$.extra"], *quantize)
        entry = good["values"][0]
        put(values=[entry | {"gain": "much"}])
        self.fails(BAD_INPUT, ["bad.json", "$.values[0].gain"], *quantize)
        put(values=[entry | {"value": "fc9.weight"}])
        self.fails(IMPOSSIBLE, "fc9.weight", *quantize)
        put(schemes=[{"name": "other", "options": ""}])
        self.fails(IMPOSSIBLE, "other", *quantize)
        self.put("bad.json", b"[" * 100_000)
        self.fails(BAD_INPUT, "bad.json", *quantize)
        self.put("bad.json", b"{")
        self.fails(BAD_INPUT, "bad.json", *quantize)
        self.fails(INPUT_OUTPUT, "none.json", *quantize[:-1], "none.json")

    def test_a_plan_says_what_to_quantize_alone(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "plan.json")
        for option in ("--include", "--exclude"):
            self.fails(USAGE, ["--plan", option], "quantize", self.model, "-o", "out.onnx", *SCHEME,
                       "--plan", "plan.json", option, "fc1")

    def test_a_plan_that_cannot_be_saved(self):
        self.fails(INPUT_OUTPUT, "nowhere", "plan", self.model, *SCHEME, "-o", "nowhere/plan.json")
        self.fails(INPUT_OUTPUT, "file", "plan", self.model, *SCHEME, "-o", "/dev/null")
        for option in ("-o", "--dot"):
            self.fails(USAGE, "is read", "plan", self.model, *SCHEME, option, self.model)


class DiffTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.succeeds("plan", self.model, *SCHEME, "-o", "all.json")
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc2", "-o", "part.json")

    def differs(self, *arguments):
        """Stdout of a run that finds differences, and says nothing on stderr."""
        result = self.run_command("diff", *arguments)
        self.assertEqual((result.returncode, result.stderr), (DIFFERENT, b""), arguments)
        return result.stdout.decode()

    def test_equal_plans(self):
        self.assertEqual(self.succeeds("diff", "all.json", "all.json"), "")
        document = self.json_of("diff", "all.json", "all.json")
        self.assertTrue(document["equal"])
        self.assertEqual(document["differences"], [])

    def test_gains_of_values_are_no_difference(self):
        plan = json.loads(self.bytes_of("all.json"))
        plan["values"][0]["gain"] += 1
        self.put("other.json", json.dumps(plan).encode())
        self.assertEqual(self.succeeds("diff", "all.json", "other.json"), "")

    def test_differences(self):
        lines = self.differs("all.json", "part.json").splitlines()
        self.assertRegex(lines[0], r"^  objective: \d+ -> \d+$")
        self.assertEqual(lines[1:], [
            "- value 'fc2.weight': axis=1",
            "- conversion of 'fc2.weight' to float: from axis=1 for fc2",
        ])
        self.assertIn("+ value 'fc2.weight': axis=1\n", self.differs("part.json", "all.json"))

    def test_json(self):
        document = json.loads(self.differs("all.json", "part.json", "--json"))
        self.assertEqual((document["before"], document["after"]), ("all.json", "part.json"))
        self.assertFalse(document["equal"])
        self.assertIn({"what": "value 'fc2.weight'", "before": "axis=1", "after": None},
                      document["differences"])
        self.assertEqual(document["diagnostics"], [])

    def test_names_cannot_reach_the_terminal(self):
        self.put("evil.onnx", two_layers(weight_name="w\x1b[2J\n\u202e"))
        self.succeeds("plan", "evil.onnx", *SCHEME, "-o", "evil.json")
        text = self.differs("all.json", "evil.json")
        self.assertIn("+ value 'w\\x1b[2J\\n\\u202e': axis=1\n", text)
        self.assertNotIn("\x1b", text)

    def test_mistakes(self):
        self.fails(USAGE, "PLAN_B", "diff", "all.json")
        self.fails(USAGE, "'third'", "diff", "all.json", "part.json", "third")
        self.fails(INPUT_OUTPUT, "none.json", "diff", "all.json", "none.json")
        self.put("bad.json", b"{")
        self.fails(BAD_INPUT, "bad.json", "diff", "bad.json", "all.json")
        self.fails(BAD_INPUT, "model.onnx", "diff", "all.json", self.model)


class ExplainTest(CommandTest):
    def test_a_line_for_each_weight_and_consumer(self):
        lines = self.succeeds("explain", self.model, *SCHEME).splitlines()
        self.assertEqual(len(lines), 1 + 4)
        self.assertRegex(lines[1], r"fc1\.weight +constant +ToQuantize +axis=1, gain \d+")
        self.assertRegex(lines[3], r"h +matmul +Consumer")

    def test_a_node_and_a_value(self):
        by_node = self.succeeds("explain", self.model, "fc1", *SCHEME)
        by_value = self.succeeds("explain", self.model, "h", *SCHEME)
        self.assertEqual(by_node, by_value)
        self.assertIn("fc1.weight", by_node)
        document = self.json_of("explain", self.model, "fc1.weight", *SCHEME)
        explanation = document["explanations"][0]
        self.assertEqual(explanation["state"], "ToQuantize")
        self.assertEqual(explanation["blockers"], [])
        self.assertEqual(explanation["conversions"],
                         [{"from": "axis=1", "to": "float", "gain": 0,
                           "readers": ["fc1 (operand 1)"]}])
        self.assertIn("read as float by fc1 (operand 1): made of axis=1, gain 0",
                      self.succeeds("explain", self.model, "fc1.weight", *SCHEME))

    def test_what_is_excluded_says_so(self):
        text = self.succeeds("explain", self.model, "fc1.weight", *SCHEME, "--exclude", "^fc1\\.w")
        self.assertIn("excluded by the pattern '^fc1\\.w'", text)

    def test_unknown_names(self):
        self.fails(USAGE, ["'fc1.wieght'", "did you mean 'fc1.weight'"],
                   "explain", self.model, "fc1.wieght", *SCHEME)


class SettingsTest(CommandTest):
    def settings(self, *options):
        """The scheme's settings, as a plan says them."""
        plan = self.json_of("plan", self.model, *SCHEME, *options)["plan"]
        return dict(word.split("=") for word in plan["schemes"][0]["options"].split()
                    if "=" in word), plan

    def test_defaults(self):
        given = self.settings("--bits", "8", "--symmetric", "--granularity", "channel", "--clip",
                              "absmax", "--scales", "float32", "--form", "front")
        self.assertEqual(self.settings(), given)
        self.assertEqual(given[0]["codes"], "i8<-127:127>")

    def test_each_one_is_heard(self):
        for options, expected in (
            (["--bits", "4"], {"bits": "4", "codes": "i4<-8:7>", "clip": "mse"}),
            (["--asymmetric"], {"codes": "u8<0:255>", "clip": "minmax"}),
            (["--asymmetric", "--bits", "4"], {"bits": "4", "codes": "u4<0:15>",
                                                 "clip": "minmax"}),
            (["--asymmetric", "--clip", "absmax"], {"codes": "u8<0:255>", "clip": "absmax"}),
            (["--granularity", "tensor"], {"granularity": "tensor"}),
            (["--granularity", "block"], {"granularity": "block:32"}),
            (["--block-size", "16"], {"granularity": "block:16"}),
            (["--granularity", "block", "--block-size", "16"], {"granularity": "block:16"}),
            (["--clip", "mse"], {"clip": "mse"}),
            (["--scales", "float16"], {"scales": "f16"}),
            (["--form", "behind"], {"form": "behind"}),
            (["--form", "fewest"], {"form": "fewest"}),
        ):
            self.assertEqual(self.settings(*options)[0], self.settings()[0] | expected, options)
        text = self.json_of("plan", self.model, *SCHEME, "--signed-scale")
        self.assertIn("signed", text["plan"]["schemes"][0]["options"])

    def test_what_shares_a_scale(self):
        def constraint(*options):
            values = self.settings(*options)[1]["values"]
            return next(v["constraint"] for v in values if v["value"] == "fc2.weight")

        self.assertEqual(constraint(), "axis=1")
        self.assertEqual(constraint("--granularity", "tensor"), "tensor")
        self.assertEqual(constraint("--block-size", "16"), "axis=0 block=16")
        # The 32 inputs of fc2 are no whole block: a scale for each of its columns.
        self.assertEqual(constraint("--block-size", "64"), "axis=1")

    def test_files_are_as_small_as_the_settings_say(self):
        def size(*options):
            self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, *options)
            self.assertEqual(self.json_of("inspect", "out.onnx")["inputs"][0]["name"], "x")
            return len(self.bytes_of("out.onnx"))

        channels = size("--bits", "8")
        self.assertLess(size("--granularity", "tensor"), channels)
        self.assertLess(size("--bits", "4"), channels)
        blocks = size("--block-size", "16", "--bits", "4")
        self.assertLess(blocks, channels)
        self.assertLess(blocks, size("--block-size", "16", "--bits", "4", "--asymmetric"))

    def test_the_form_behind_multiplies_results(self):
        def operations(*options):
            self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, *options)
            return self.json_of("inspect", "out.onnx")["operations"]

        self.assertNotIn("multiply", operations("--form", "front"))
        self.assertEqual(operations("--form", "behind")["multiply"], 2)

    def test_products_that_read_codes(self):
        quantize = ("quantize", self.model, *SCHEME, "--bits", "4", "--block-size", "16")
        text = self.succeeds(*quantize, "-o", "out.onnx", "--format", "matmulnbits")
        self.assertIn("2 products became MatMulNBits", text)
        written = self.json_of(*quantize, "-o", "out.onnx", "--format", "matmulnbits")["written"]
        self.assertEqual((written["matmul_nbits"], written["opset_written"]), (2, 17))
        self.assertIn(b"MatMulNBits", self.bytes_of("out.onnx"))
        self.assertEqual(self.json_of(*quantize, "-o", "out.onnx")["written"]["matmul_nbits"], 0)
        self.assertNotIn(b"MatMulNBits", self.bytes_of("out.onnx"))

    def test_the_same_bytes_for_any_number_of_threads(self):
        for settings in (["--bits", "4", "--block-size", "16", "--asymmetric", "--clip", "mse"],
                         ["--signed-scale", "--bits", "4"], ["--form", "behind"]):
            for threads in (1, 7):
                self.succeeds("quantize", self.model, "-o", f"{threads}.onnx", *SCHEME,
                              "--threads", threads, *settings)
            self.assertEqual(self.bytes_of("1.onnx"), self.bytes_of("7.onnx"))

    def test_the_same_bytes_in_little_memory(self):
        settings = [*SCHEME, "--bits", "4", "--block-size", "16", "--asymmetric"]
        self.succeeds("quantize", self.model, "-o", "much.onnx", *settings)
        self.succeeds("quantize", self.model, "-o", "little.onnx", *settings, "--memory", "4B")
        self.assertEqual(self.bytes_of("much.onnx"), self.bytes_of("little.onnx"))
        self.fails(USAGE, ["--memory: 'much' is not a size", "20MB"], "quantize", self.model, "-o",
                   "out.onnx", *settings, "--memory", "much")

    def test_refusals(self):
        def refuses(code, fragments, *options):
            self.fails(code, fragments, "plan", self.model, *SCHEME, *options)
            self.fails(code, fragments, "explain", self.model, *SCHEME, *options)
            self.fails(code, fragments, "quantize", self.model, "-o", "out.onnx", *SCHEME, *options)

        for bits in ("5", "0", "16", "-8"):
            refuses(USAGE, ["--bits", bits], "--bits", bits)
        refuses(USAGE, "--bits", "--bits", "4.5")
        refuses(USAGE, "--bits", "--bits", "4", "--bits", "8")
        symmetries = ("--symmetric", "--signed-scale", "--asymmetric")
        for i, first in enumerate(symmetries):
            for second in symmetries[i + 1:]:
                refuses(USAGE, [first, second], first, second)
                refuses(USAGE, [first, second], second, first)
        for granularity in ("tensor", "channel"):
            refuses(USAGE, ["--block-size", granularity], "--block-size", "32", "--granularity",
                    granularity)
        for size in ("1", "0", "-1", "99999999999999999999", "9223372036854775807", "many"):
            refuses(USAGE, "--block-size", "--block-size", size)
        for option, word in (("--clip", "l2"), ("--scales", "bfloat16"), ("--form", "back"),
                             ("--granularity", "row")):
            refuses(USAGE, [option, word], option, word)
        self.fails(USAGE, ["--format", "onnx"], "quantize", self.model, "-o", "out.onnx", *SCHEME,
                   "--format", "onnx")
        self.fails(USAGE, "--format", "plan", self.model, *SCHEME, "--format", "qdq")

    def test_a_plan_is_applied_with_its_own_settings(self):
        settings = ("--bits", "4", "--block-size", "16", "--asymmetric")
        self.succeeds("plan", self.model, *SCHEME, *settings, "-o", "plan.json")
        quantize = ("quantize", self.model, "-o", "planned.onnx", *SCHEME, "--plan", "plan.json")
        self.fails(IMPOSSIBLE, ["block:16", "channel"], *quantize)
        self.fails(IMPOSSIBLE, ["block:16", "block:8"], *quantize, *settings[:2], "--block-size", 8,
                   "--asymmetric")
        self.succeeds(*quantize, *settings)
        self.succeeds("quantize", self.model, "-o", "direct.onnx", *SCHEME, *settings)
        self.assertEqual(self.bytes_of("planned.onnx"), self.bytes_of("direct.onnx"))

    def test_plans_of_other_settings_differ(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "8.json")
        self.succeeds("plan", self.model, *SCHEME, "--bits", "4", "-o", "4.json")
        result = self.run_command("diff", "8.json", "4.json")
        self.assertEqual((result.returncode, result.stderr), (DIFFERENT, b""))
        self.assertIn("bits=8", result.stdout.decode())


class ScopeTest(CommandTest):
    def test_everything(self):
        self.assertEqual(self.quantized(), ["fc1.weight", "fc2.weight"])

    def test_exclude(self):
        self.assertEqual(self.quantized("--exclude", "fc1.weight"), ["fc2.weight"])
        self.assertEqual(self.quantized("--exclude", "^fc1$"), ["fc2.weight"])  # the node
        self.assertEqual(self.quantized("--exclude", "^h$"), ["fc2.weight"])  # its value
        self.assertEqual(self.quantized("--exclude", "fc1", "--exclude", "fc2"), [])
        self.assertEqual(self.quantized("--exclude", "Relu|act"), self.quantized())

    def test_include(self):
        self.assertEqual(self.quantized("--include", "fc1"), ["fc1.weight"])
        self.assertEqual(self.quantized("--include", "^fc2$"), ["fc2.weight"])
        self.assertEqual(self.quantized("--include", "fc1", "--include", "fc2"), self.quantized())
        self.assertEqual(self.quantized("--include", "weight", "--exclude", "fc2"), ["fc1.weight"])

    def test_patterns_take_one_argument_each(self):
        text = self.succeeds("plan", "--include", "fc1", self.model, *SCHEME)
        self.assertIn("fc1.weight", text)
        self.assertNotIn("fc2.weight", text)

    def test_patterns_that_match_nothing(self):
        for option in ("--include", "--exclude"):
            self.fails(USAGE, [option.removeprefix("--"), "'fc1.wieght'", "did you mean 'fc1.weight'"],
                       "quantize", self.model, "-o", "out.onnx", *SCHEME, option, "fc1.wieght")
            self.fails(USAGE, "'^X$'", "plan", self.model, *SCHEME, option, "^X$")

    def test_patterns_that_are_none(self):
        self.fails(USAGE, ["exclude: '['", "missing ]"], "plan", self.model, *SCHEME,
                   "--exclude", "[")
        # RE2 says no before it reads the model.
        self.fails(USAGE, "'(?=x)'", "plan", "nowhere.onnx", *SCHEME, "--include", "(?=x)")


class QuantizeTest(CommandTest):
    def test_the_result_is_smaller_and_readable(self):
        text = self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME)
        self.assertIn("2 of 2 eligible weights, 100.0 % of their bytes", text)
        self.assertRegex(text, r"time +\d+\.\d\d s")
        self.assertLess(len(self.bytes_of("out.onnx")), len(self.bytes_of(self.model)) / 2)
        self.assertEqual(set(self.files()), {"model.onnx", "out.onnx"})
        self.assertEqual(self.json_of("inspect", "out.onnx")["inputs"][0]["name"], "x")

    def test_json(self):
        document = self.json_of("quantize", self.model, "-o", "out.onnx", *SCHEME)
        summary = document["summary"]
        self.assertEqual(summary["file_bytes_before"], len(self.bytes_of(self.model)))
        self.assertEqual(summary["file_bytes_after"], len(self.bytes_of("out.onnx")))
        self.assertEqual(document["written"]["model_bytes"], len(self.bytes_of("out.onnx")))
        self.assertEqual(summary["eligible"]["count"], 2)
        self.assertEqual(summary["left_in_float"], [])

    def test_the_same_bytes_each_time(self):
        for threads in (1, 2, 7):
            self.succeeds("quantize", self.model, "-o", f"{threads}.onnx", *SCHEME,
                          "--threads", threads)
        self.assertEqual(self.bytes_of("1.onnx"), self.bytes_of("2.onnx"))
        self.assertEqual(self.bytes_of("1.onnx"), self.bytes_of("7.onnx"))

    def test_over_the_input(self):
        self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME)
        self.succeeds("quantize", self.model, "-o", self.model, *SCHEME)
        self.assertEqual(self.bytes_of(self.model), self.bytes_of("out.onnx"))

    def test_a_dry_run_writes_nothing(self):
        before = self.files()
        self.assertIn("nothing is written", self.succeeds("quantize", self.model, *SCHEME,
                                                          "--dry-run"))
        document = self.json_of("quantize", self.model, "-o", "out.onnx", *SCHEME, "--dry-run")
        self.assertTrue(document["dry_run"])
        self.assertIsNone(document["output"])
        self.assertEqual(document["summary"]["eligible_quantized"]["count"], 2)
        self.assertEqual(self.files(), before)

    def test_outputs_that_cannot_be(self):
        self.fails(USAGE, "-o", "quantize", self.model, *SCHEME)
        self.fails(INPUT_OUTPUT, "nowhere",
                   "quantize", self.model, "-o", "nowhere/out.onnx", *SCHEME)
        self.fails(INPUT_OUTPUT, "not a regular file", "quantize", self.model, "-o", "/", *SCHEME)

    def test_weights_that_are_not_finite(self):
        values = [1.0] * (16 * 32)
        values[37] = float("nan")
        self.put("nan.onnx", two_layers(values))
        quantize = ("quantize", "nan.onnx", "-o", "out.onnx", *SCHEME)
        self.fails(IMPOSSIBLE, ["nan.onnx", "fc1.weight", "37"], *quantize)
        self.fails(IMPOSSIBLE, "fc1.weight", *quantize, "--dry-run")
        self.fails(USAGE, "--non-finite", *quantize, "--non-finite", "ignore")
        document = self.json_of(*quantize, "--non-finite", "leave")
        left = document["summary"]["left_in_float"]
        self.assertEqual([weight["name"] for weight in left], ["fc1.weight"])
        self.assertIn("37", left[0]["reason"])
        self.assertTrue(left[0]["eligible"])
        self.assertEqual(document["summary"]["eligible_quantized"]["count"], 1)

    def test_excluded_weights_stay_as_they_are(self):
        document = self.json_of("quantize", self.model, "-o", "out.onnx", *SCHEME,
                                "--exclude", "fc1")
        left = document["summary"]["left_in_float"]
        self.assertEqual([weight["name"] for weight in left], ["fc1.weight"])
        self.assertIn("excluded by the pattern 'fc1'", left[0]["reason"])
        names = [entry["name"] for entry in self.json_of("inspect", "out.onnx")["constants"]]
        self.assertIn("fc1.weight", names)


if __name__ == "__main__":
    run_tests()
