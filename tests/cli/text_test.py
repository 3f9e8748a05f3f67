"""Models as text: what is invalid is refused by every command, what is left out is never zeros."""

import os
import resource
import subprocess
import sys

from command_case import (BAD_INPUT, BINARY, DONE, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, CommandTest,
                          run_tests)

# Each reads a model and does with it what only it does.
COMMANDS = (
    ("inspect", "t.qd"), ("inspect", "t.qd", "--text"),
    ("convert", "t.qd", "o.onnx"), ("convert", "t.qd", "o.tflite"), ("convert", "t.qd", "o.xml"),
    ("convert", "t.qd", "o.mlir"), ("convert", "t.qd", "o.qd"),
    ("run", "t.qd", "--random", "1", "-o", "r"),
    ("transform", "t.qd", "-o", "o.onnx", "--optimize", "cle,hba"),
    ("quantize", "t.qd", "-o", "o.onnx", *SCHEME), ("plan", "t.qd", *SCHEME),
    ("explain", "t.qd", *SCHEME, "--all"), ("calibrate", "t.qd", "--random", "1", "-o", "s.json"),
    ("compare", "t.qd", "t.qd", "--random", "1"), ("placement", "t.qd"),
    ("sensitivity", "t.qd", *SCHEME, "--random", "1"), ("encodings", "t.qd", "-o", "e.json"),
    ("pareto", "t.qd", *SCHEME),
)

PRODUCT = """graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [17]}
%x: tensor<1x4xf32> = input()
%w: tensor<4x4xf32> = constant() [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
"""


class InvalidTest(CommandTest):
    def refused_by_all(self, text, *fragments):
        self.put("t.qd", text.encode())
        for command in COMMANDS:
            result = self.run_command(*command)
            self.assertEqual(result.returncode, BAD_INPUT, (command, text, result.stderr))
            for fragment in ("t.qd", "line ", *fragments):
                self.assertIn(fragment, result.stderr.decode())

    def test_nodes_that_break_the_rules_are_named_with_their_line(self):
        self.refused_by_all(PRODUCT + "output()\n", "line 4, column 1", "0 operands")
        self.refused_by_all(PRODUCT + "matmul(%x, %w) {name = \"p\"}\n", "line 4, column 1", "'p'")
        self.refused_by_all("graph {}\n%y: tensor<1xundefined> = constant()\noutput(%y)\n",
                            "line 2, column 1", "without contents")
        self.refused_by_all(PRODUCT + "%y: tensor<1x4xf32> = onnx.Relu()\noutput(%y)\n",
                            "line 4, column 1", "0 operands")

    def test_contents_that_were_left_out_are_refused(self):
        self.refused_by_all("graph {}\n%w: tensor<9xf32> = constant() <...>\noutput(%w)\n",
                            "the contents of 'w' were left out")

    def test_forty_gigabytes_in_ninety_bytes(self):
        for contents in ("<...>", "[1]", "base64(\"AAAAAA==\")"):
            self.refused_by_all(f"graph {{}}\n%w: tensor<10000000000xf32> = constant() {contents}\n")

    def test_node_names_that_repeat_are_told_apart_in_onnx(self):
        self.put("t.qd", (PRODUCT + """%a: tensor<1x4xf32> = onnx.Relu(%x) {name = "same"}
%b: tensor<1x4xf32> = onnx.Neg(%a) {name = "same"}
%c: tensor<1x4xf32> = onnx.Abs(%b) {name = "same_1"}
%d: tensor<1x4xf32> = onnx.Abs(%c) {name = "same"}
output(%d)
""").encode())
        self.succeeds("convert", "t.qd", "o.onnx")
        text = self.succeeds("inspect", "o.onnx", "--text")
        for line in ('onnx.Relu(%x) {name = "same"', 'onnx.Neg(%a) {name = "same_2"',
                     'onnx.Abs(%b) {name = "same_1"', 'onnx.Abs(%c) {name = "same_3"'):
            self.assertIn(line, text)


class WholeTest(CommandTest):
    def test_text_for_people_says_what_it_leaves_out(self):
        text = self.succeeds("inspect", self.model, "--text")
        self.assertIn("<...>", text)
        self.assertIn("# <...>", text)
        self.put("t.qd", text.encode())
        self.fails(BAD_INPUT, ["line 2", "left out", "quadrant convert"],
                   "convert", "t.qd", "o.onnx")

    def test_convert_writes_everything(self):
        self.succeeds("convert", self.model, "a.onnx")
        self.succeeds("convert", self.model, "t.qd")
        self.assertNotIn(b"...", self.bytes_of("t.qd"))
        self.succeeds("convert", "t.qd", "b.onnx")
        self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))
        self.succeeds("convert", "t.qd", "u.qd")
        self.assertEqual(self.bytes_of("t.qd"), self.bytes_of("u.qd"))


class BoundsTest(CommandTest):
    def test_a_model_of_a_few_bytes_does_not_get_gigabytes(self):
        bomb = self.put("bomb.qd", b"""%x: tensor<1xf32> = input()
%n: tensor<1xi64> = constant() [4294967296]
%c: tensor<4294967296xf32> = onnx.ConstantOfShape(%n) {name = "bomb"}
%y: tensor<4294967296xf32> = add(%x, %c)
output(%y)
""")
        for command in (("run", "-o", "r"), ("calibrate", "-o", "s.json"), ("compare", bomb)):
            self.fails(IMPOSSIBLE, ["'bomb'", "17179869184 bytes", "'--run-memory'"],
                       command[0], bomb, "--random", "1", *command[1:])

    def test_the_bound_is_an_option(self):
        run = ("run", self.model, "--random", "1", "-o", "r")
        self.fails(IMPOSSIBLE, ["'fc1'", "128 bytes, where 100 of 100 are left"],
                   *run, "--run-memory", "100")
        self.fails(2, ["--run-memory", "'much'"], *run, "--run-memory", "much")
        self.assertEqual(self.run_command(*run, "--run-memory", "1kB").returncode, DONE)

    def test_pipes_folders_and_devices_are_no_files(self):
        os.mkfifo(self.folder / "pipe.qd")
        os.mkfifo(self.folder / "pipe")
        (self.folder / "folder.qd").mkdir()
        (self.folder / "zero.qd").symlink_to("/dev/zero")
        for name in ("pipe.qd", "folder.qd", "zero.qd"):
            self.fails(INPUT_OUTPUT, [name, "not a regular file"], "inspect", name)
        quantize = ("quantize", self.model, "-o", "o.onnx")
        for name in ("pipe", "folder.qd", "/dev/zero"):
            for arguments in (
                    (*quantize, *SCHEME, "--plan", name), (*quantize, "--recipe", name),
                    (*quantize, "--scheme", "static-affine", "--encodings", name),
                    (*quantize, *SCHEME, "--gain", "latency", "--hardware", name),
                    ("diff", name, name), ("recipe", name),
                    ("compare", self.model, self.model, "--random", "1", "--labels", name),
                    ("inspect", name)):
                result = self.run_command(*arguments)
                self.assertEqual(result.returncode, INPUT_OUTPUT, (arguments, result.stderr))
                self.assertIn(b"not a regular file", result.stderr)
        for name in ("pipe.qd", "/dev/zero"):
            result = self.run_command("run", self.model, "--data", name, "-o", "r")
            self.assertIn(result.returncode, (2, BAD_INPUT, INPUT_OUTPUT), result.stderr)


class SystemTest(CommandTest):
    def test_closed_streams_change_nothing(self):
        def run(closed, *arguments):
            def close():
                for stream in closed:
                    os.close(stream)
            return subprocess.run([BINARY, *arguments], cwd=self.folder, preexec_fn=close,
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.succeeds("quantize", self.model, "-o", "open.onnx", *SCHEME)
        for closed in ((2,), (0, 2), (0,)):
            result = run(closed, "quantize", self.model, "-o", "closed.onnx", *SCHEME)
            self.assertEqual(result.returncode, DONE, closed)
            self.assertEqual(self.bytes_of("closed.onnx"), self.bytes_of("open.onnx"))
            self.assertEqual(run(closed, "inspect", "none.onnx").returncode, INPUT_OUTPUT)
            self.assertEqual(run(closed, "quantise").returncode, 2)
        result = run((1,), "inspect", self.model)
        self.assertEqual(result.returncode, INPUT_OUTPUT)
        self.assertIn(b"standard output", result.stderr)

    def test_threads_that_cannot_be_made_are_done_without(self):
        if "QUADRANT_SANITIZED" in os.environ:
            self.skipTest("sanitizers take address space of their own")
        few = 400 << 20  # bytes of addresses: stacks of 64 threads take more

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (few, few))
            resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, resource.getrlimit(
                resource.RLIMIT_STACK)[1]))
        result = subprocess.run(
            [BINARY, "run", self.model, "--random", "8", "-o", "r", "--threads", "64"],
            cwd=self.folder, preexec_fn=limit, check=False, capture_output=True)
        self.assertEqual(result.returncode, DONE, result.stderr)


class InspectTest(CommandTest):
    def test_elements_of_four_bits_are_counted_as_the_file_has_them(self):
        self.put("t.qd", b"%w: tensor<9xi4> = constant() [1,2,3,4,5,6,7,-8,0]\noutput(%w)\n")
        document = self.json_of("inspect", "t.qd")
        self.assertEqual(document["constants"][0]["bytes"], 5)
        self.assertEqual(document["constants_by_element"],
                         [{"element": "i4", "count": 1, "elements": 9, "bytes": 5}])


if __name__ == "__main__":
    sys.exit(run_tests())
