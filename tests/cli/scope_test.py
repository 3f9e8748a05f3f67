"""What --include and --exclude take and leave: for each scheme and each kind of name, by the written file.

    python3 tests/cli/scope_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import struct

from command_case import USAGE, CommandTest, run_tests
from onnx_writer import field, model, node, tensor, value_info

SIZE = 48


def numbers(count, seed):
    return [((i * 37 + seed * 11) % 101 - 50) / 50 for i in range(count)]


def two_gemms():
    """y = second(act(first(x))): values h, r and y, weights w1, b1, w2 and b2."""
    return model(
        [
            node("Gemm", ["x", "w1", "b1"], ["h"], "first"),
            node("Relu", ["h"], ["r"], "act"),
            node("Gemm", ["r", "w2", "b2"], ["y"], "second"),
        ],
        [tensor(name, dims, numbers(SIZE * (SIZE if len(dims) == 2 else 1), seed))
         for seed, (name, dims) in enumerate({"w1": [SIZE, SIZE], "b1": [SIZE], "w2": [SIZE, SIZE],
                                              "b2": [SIZE]}.items())],
        [value_info("x", [2, SIZE])],
        [value_info("y", [2, SIZE])],
    )


# Option, pattern: the weights that become codes where weights alone do, and where activations do, too.
SCOPES = {
    ("--exclude", "^first$"): ("w2", "w2"),
    ("--exclude", "^second$"): ("w1", "w1"),
    ("--exclude", "^w1$"): ("w2", "w2"),
    ("--exclude", "^b1$"): ("w1 w2", "w2"),  # its Gemm has no integer kernel without
    ("--exclude", "^act$"): ("w1 w2", "w1 w2"),
    ("--exclude", "^h$"): ("w2", "w2"),
    ("--exclude", "^r$"): ("w1 w2", "w1"),  # the second Gemm reads floats
    ("--exclude", "^x$"): ("w1 w2", "w2"),  # the first one does
    ("--exclude", "^y$"): ("w1", "w1"),
    ("--include", "^first$"): ("w1", "w1"),
    ("--include", "^second$"): ("w2", "w2"),
    ("--include", "^w2$"): ("w2", "w2"),
    ("--include", "^w1$|^w2$"): ("w1 w2", "w1 w2"),
    ("--include", "^h$"): ("w1", "w1"),
    ("--include", "^y$"): ("w2", "w2"),
    ("--include", "^x$"): ("", ""),
    ("--include", "^act$"): ("", ""),
    ("--include", "^b2$"): ("", ""),
    ("--include", "^first$|^second$"): ("w1 w2", "w1 w2"),
}


class ScopeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.put("model.onnx", two_gemms())
        self.succeeds("calibrate", self.model, "--random", 4, "-o", "ranges.json")

    def codes_in(self, path):
        """The weights of which the file holds codes."""
        constants = self.json_of("inspect", path)["constants"]
        stored = {entry["name"] for entry in constants if entry["element"] in ("i8", "u8", "i4", "u4")}
        return " ".join(name for name in ("w1", "w2") if stored & {name, f"{name}_quantized"})

    def check_scopes(self, which, *arguments):
        for scope, expected in SCOPES.items():
            with self.subTest(scope=scope, arguments=arguments):
                self.run_command("quantize", self.model, "-o", "q.onnx", *arguments, *scope)
                self.assertEqual(self.codes_in("q.onnx"), expected[which])

    def test_weight_only(self):
        self.check_scopes(0, "--scheme", "weight-only")
        self.check_scopes(0, "--scheme", "weight-only", "--bits", 4, "--policy", "optimal")

    def test_static_affine(self):
        self.check_scopes(1, "--scheme", "static-affine", "--calibration", "ranges.json")

    def test_mix(self):
        # What has no integer kernel is stored by the other scheme.
        self.check_scopes(0, "--mix", "activations=static_affine", "--mix", "weights=weight_only",
                          "--calibration", "ranges.json")

    def test_budget(self):
        self.check_scopes(0, "--scheme", "weight-only", "--min-weight-sqnr", -100)

    def test_static_optimize_and_sensitivity(self):
        self.put_samples()
        for scope in (("--exclude", "^r$"), ("--include", "^second$"), ("--exclude", "^first$")):
            with self.subTest(scope=scope):
                wanted = SCOPES[scope][1]
                self.succeeds("optimize", self.model, "-o", "q.onnx", "--calibration", "samples", *scope)
                self.assertEqual(self.codes_in("q.onnx"), wanted)
                rows = self.json_of("sensitivity", self.model, "--scheme", "static-affine", "--calibration",
                                    "ranges.json", "--random", 2, *scope)["layers"]
                names = [name for row in rows for name in row["layer"].split(" + ")]
                self.assertEqual(" ".join(name for name in ("w1", "w2") if name in names), wanted)

    def put_samples(self):
        (self.folder / "samples").mkdir()
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (2, {SIZE}), }}".encode()
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        for i in range(4):  # of fewer, optimize warns
            values = struct.pack(f"<{2 * SIZE}f", *numbers(2 * SIZE, 5 + i))
            self.put(f"samples/{i}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values)

    def test_recipes_say_the_same(self):
        static = ("--scheme", "static-affine", "--calibration", "ranges.json")
        self.succeeds("plan", self.model, *static, "--exclude", "^r$", "--save-recipe", "r.json")
        self.succeeds("quantize", self.model, "-o", "q.onnx", "--recipe", "r.json", "--calibration", "ranges.json")
        self.assertEqual(self.codes_in("q.onnx"), "w1")

    def test_rules_that_leave_a_value_in_float(self):
        self.put("rules.json", json.dumps({
            "format": "quadrant.recipe", "version": 1, "schemes": {"int8": {"scheme": "static_affine"}},
            "rules": [{"match": {"name": "^r$"}, "scheme": "float"}]}).encode())
        self.succeeds("quantize", self.model, "-o", "q.onnx", "--recipe", "rules.json", "--calibration",
                      "ranges.json")
        self.assertEqual(self.codes_in("q.onnx"), "w1")

    def test_explain_says_what_did_it(self):
        static = ("--scheme", "static-affine", "--calibration", "ranges.json")
        said = self.succeeds("explain", self.model, "r", *static, "--exclude", "^r$")
        self.assertIn("excluded by the pattern '^r$'", said)
        self.assertNotIn("read as", said)
        said = self.succeeds("explain", self.model, "first", *static, "--include", "^second$")
        self.assertIn("not included by the pattern '^second$'", said)
        self.assertIn("excluded by the pattern '^x$'",
                      self.succeeds("explain", self.model, "x", *static, "--exclude", "^x$"))

    def test_explain_says_what_did_it_to_the_weight(self):
        """The weight of an operation that is excluded names the pattern, too; so does a difference from a plan."""
        weight_only = ("--scheme", "weight-only")
        reason = "'second' does not: excluded by the pattern '^second$'"
        self.succeeds("plan", self.model, *weight_only, "-o", "plan.json")
        self.assertIn(reason, self.succeeds("explain", self.model, "w2", *weight_only, "--exclude", "^second$"))
        self.assertIn(reason, self.succeeds("explain", self.model, *weight_only, "--exclude", "^second$",
                                            "--against", "plan.json"))
        left = self.json_of("quantize", self.model, "--dry-run", *weight_only, "--exclude",
                            "^second$")["summary"]["left_in_float"]
        self.assertIn(reason, next(entry["reason"] for entry in left if entry["name"] == "w2"))

    def test_names_inside_subgraphs(self):
        def branch(weight, product):
            return (field(1, node("MatMul", ["x", weight], [f"{product}_y"], product)) + field(2, product)
                    + field(12, value_info(f"{product}_y", [2, SIZE])))

        def attribute(name, graph):
            return field(5, field(1, name) + field(20, 5) + field(6, graph))

        def choice(kind):
            return (node(kind, ["c"], ["y"], "choice") + attribute("then_branch", branch("w1", "then_mm"))
                    + attribute("else_branch", branch("w2", "else_mm")))

        condition = field(1, "c") + field(2, field(1, field(1, 9) + field(2, b"")))
        for name, kind in (("if.onnx", "Choose"), ("read.onnx", "If")):  # carried, and read
            self.put(name, model(
                [choice(kind)], [tensor(w, [SIZE, SIZE], numbers(SIZE * SIZE, i)) for i, w in enumerate(("w1", "w2"))],
                [condition, value_info("x", [2, SIZE])], [value_info("y", [2, SIZE])]))
        for name in ("then_mm", "else_mm_y"):
            for option in ("--include", "--exclude"):
                self.fails(USAGE, [f"{option.removeprefix('--')}: '^{name}$'", "in a subgraph", f"'{name}'"], "quantize", "if.onnx", "-o",
                           "q.onnx", "--scheme", "weight-only", option, f"^{name}$")
            self.fails(USAGE, [f"'{name}' is in a subgraph"], "explain", "if.onnx", name, "--scheme", "weight-only")
        self.fails(USAGE, "matches no node", "quantize", "if.onnx", "-o", "q.onnx", "--scheme", "weight-only",
                   "--exclude", "nowhere")
        self.fails(USAGE, "did you mean 'choice/then_branch/then_mm'", "quantize", "read.onnx", "-o", "q.onnx",
                   "--scheme", "weight-only", "--include", "^then_mm$")
        self.succeeds("quantize", "read.onnx", "-o", "q.onnx", "--scheme", "weight-only", "--include",
                      "^choice/then_branch/then_mm$")
        self.assertEqual(self.codes_in("q.onnx"), "w1")

    def test_operations_are_meant_before_their_values(self):
        # Where values are called after the operation, its name means it alone: the next one still gets codes.
        self.put("named.onnx", model(
            [node("MatMul", ["x", "w1"], ["/a/MatMul_output_0"], "/a/MatMul"),
             node("MatMul", ["/a/MatMul_output_0", "w2"], ["y"], "/b/MatMul")],
            [tensor("w1", [SIZE, SIZE], numbers(SIZE * SIZE, 1)), tensor("w2", [SIZE, SIZE], numbers(SIZE * SIZE, 2))],
            [value_info("x", [2, SIZE])], [value_info("y", [2, SIZE])]))
        self.model = "named.onnx"
        self.succeeds("calibrate", self.model, "--random", 4, "-o", "named.json")
        for pattern, wanted in (("/a/MatMul", "w2"), ("/a/MatMul_output_0", "")):
            self.succeeds("quantize", self.model, "-o", "q.onnx", "--scheme", "static-affine", "--calibration",
                          "named.json", "--exclude", pattern)
            self.assertEqual(self.codes_in("q.onnx"), wanted)

    def test_what_matches_nothing(self):
        for option in ("--include", "--exclude"):
            self.fails(USAGE, [option.removeprefix("--"), "'^secnd$'", "did you mean 'second'"], "quantize", self.model, "-o", "q.onnx",
                       "--scheme", "weight-only", option, "^secnd$")


if __name__ == "__main__":
    raise SystemExit(run_tests())
