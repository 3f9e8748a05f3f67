"""What messages advise can be done as they say it: by the options of the commands that say it.

    python3 tests/cli/messages_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone. The texts are the string literals of the sources: a message that names
an option which no command has is found before anybody meets it.
"""

import functools
import pathlib
import re
import subprocess

from command_case import BAD_INPUT, BINARY, DONE, IMPOSSIBLE, USAGE, CommandTest, run_tests
from onnx_writer import field, model, node, tensor, value_info
from run_model_test import npy

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTION = re.compile(r"--[a-z][a-z0-9-]+")
TOKEN = re.compile(r"""R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|(?P<gap>\s+|//[^\n]*)|'(?:[^'\\]|\\.)'|.""",
                   re.DOTALL)

# Rooms whose texts are the command's own: its tables of options, and what its reports say.
COMMAND_ROOMS = {"cli", "recipe", "report"}
# Sources of the command that serve several subcommands, which declare them: by the functions that do.
DECISIONS = {"quantize", "plan", "explain", "convert", "sensitivity", "pareto"}
SHARED = {
    "budget": {"quantize", "plan"},
    "data_options": {"run", "calibrate", "compare", "sensitivity", "pareto", "quantize", "plan"},
    "shape_options": {"run", "calibrate", "compare", "sensitivity", "pareto", "convert"},
    "report_options": {"quantize", "plan"},
    "checkpoint_options": {"calibrate", "optimize"},
    "runtimes": {"run", "calibrate", "compare", "sensitivity"},
    "scope": DECISIONS | {"optimize"},
    "decision": DECISIONS,
    "recipe_options": DECISIONS,
    "schemes": DECISIONS,
    "static_affine": DECISIONS,
    "weight_only": DECISIONS,
    "prescribed": DECISIONS,
    "optimizations": DECISIONS | {"transform"},
    "kernels_target": {"convert", "explain"},
    "variants": {"quantize", "explain"},
    "list": DECISIONS,  # it tells of the others
    "model_format": {"convert"},
}


@functools.cache
def help_of(command=""):
    done = subprocess.run([BINARY, *([command] if command else []), "--help"], capture_output=True, text=True,
                          check=True)
    return done.stdout


@functools.cache
def options_of(command):
    return set(OPTION.findall(help_of(command)))


@functools.cache
def commands():
    return set(re.findall(r"^  ([a-z]+) +\S", help_of(), re.MULTILINE))


def sources():
    for top in ("src", "methods"):
        for path in sorted((ROOT / top).rglob("*.[hc]pp")):
            yield path, path.relative_to(ROOT / top).parts[0] if top == "src" else "methods"


def texts_of(path):
    """String literals, those side by side as one; comments are none."""
    code = re.sub(r"^\s*#.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parts = []
    for token in TOKEN.finditer(code):
        part = token["raw"] if token["raw"] is not None else token["text"]
        if part is not None:
            parts.append(part)
        elif token["gap"] is None and parts:
            yield "".join(parts)
            parts = []


def is_message(text):
    """Not the name of an option alone, nor the start of one."""
    return " " in text.strip()


class Texts(CommandTest):
    def test_commands_that_are_named_exist(self):
        for path, room in sources():
            for text in texts_of(path):
                for name in re.findall(r"'quadrant ([a-z_]+)|<code>quadrant ([a-z_]+)|^ *quadrant ([a-z_]+)", text):
                    with self.subTest(path=path.name, text=text[:80]):
                        self.assertIn("".join(name), commands())

    def test_the_library_names_no_option(self):
        for path, room in sources():
            if room in COMMAND_ROOMS:
                continue
            for text in texts_of(path):
                # Of a command that the text names itself, whoever reads it can have it.
                if is_message(text) and "'quadrant " not in text:
                    with self.subTest(path=path.name, text=text[:80]):
                        self.assertEqual(OPTION.findall(text), [])

    def test_options_that_are_named_exist(self):
        every = set().union(*map(options_of, commands()))
        for path, room in sources():
            if room not in COMMAND_ROOMS:
                continue
            of_file = SHARED.get(path.stem, {path.stem} & commands()) if room == "cli" else set()
            for text in texts_of(path):
                first = text.split(":")[0]  # who speaks, where the text says that
                mine = {first} if first in commands() else of_file
                named = {name for name in re.findall(r"quadrant ([a-z]+)", text)} & commands()
                for option in OPTION.findall(text):
                    if not is_message(text) or option in ("--help", "--version"):
                        continue
                    with self.subTest(path=path.name, option=option, text=text[:80]):
                        self.assertIn(option, every)
                        for command in mine:
                            has = options_of(command).union(*map(options_of, named))
                            self.assertIn(option, has, command)

    def test_no_name_of_the_language(self):
        """Names of C++ are for those who write it."""
        pattern = re.compile(r"\b[A-Za-z]\w*::[A-Za-z_]\w*|\bstd::|\bnullptr\b|\bstatic_cast\b")
        for path, room in sources():
            if room == "mlir_plugin":
                continue
            for text in texts_of(path):
                # Domains of ONNX's operators are written so.
                found = [name for name in pattern.findall(text) if "com.microsoft" not in text]
                with self.subTest(path=path.name, text=text[:80]):
                    self.assertFalse(is_message(text) and found)


def tensor_of(name, type_number, contents):
    return field(2, type_number) + field(8, name) + field(9, contents)


def with_an_operation_that_is_not_known():
    """y = Mystery(x W)."""
    return model([node("MatMul", ["x", "w"], ["h"], "product"), node("Mystery", ["h"], ["y"], "m")],
                 [tensor("w", [4, 4], [1.0] * 16)], [value_info("x", [2, 4])], [value_info("y", [2, 4])])


class Remedies(CommandTest):
    """What commands advise, followed."""

    def advised(self, *arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, IMPOSSIBLE, done.stderr)
        return done.stderr.decode()

    def check_advice(self, command, message):
        named = set(re.findall(r"'quadrant ([a-z]+)", message)) | {command}
        has = set().union(*map(options_of, named))
        for option in OPTION.findall(message):
            self.assertIn(option, has, message)

    def test_another_runtime(self):
        self.put("m.onnx", with_an_operation_that_is_not_known())
        static = ("--scheme", "static-affine", "--calibration", "samples")
        self.put_samples()
        for arguments in (("run", "m.onnx", "--random", 1, "-o", "out"),
                          ("calibrate", "m.onnx", "--random", 1, "-o", "s.json"),
                          ("compare", "m.onnx", "m.onnx", "--random", 1)):
            self.assertIn("; --runtime openvino may", self.advised(*arguments))
        message = self.advised("quantize", "m.onnx", "-o", "q.onnx", *static)
        self.assertIn("does not know these operations: onnx.Mystery; 'quadrant calibrate'", message)
        self.check_advice("quantize", message)
        # Here the model is run, whatever is known of its values.
        for arguments in (("quantize", "m.onnx", "-o", "q.onnx", *static, "--optimize", "bc"),
                          ("quantize", "m.onnx", "-o", "q.onnx", "--scheme", "weight-only", "--target-bits", 6,
                           "--random", 1),
                          ("optimize", "m.onnx", "-o", "q.onnx", "--calibration", "samples")):
            message = self.advised(*arguments)
            self.assertEqual(OPTION.findall(message), [], message)

        # What finds the ranges is not what --runtime says.
        message = self.advised("sensitivity", "m.onnx", *static, "--data", "samples")
        self.assertIn("; 'quadrant calibrate' with --runtime openvino may", message)

    def put_samples(self, folder="samples", **array):
        (self.folder / folder).mkdir()
        self.put(f"{folder}/0.npy", npy(**{"values": [0.0] * 8, "shape": [2, 4], **array}))

    def test_samples_that_do_not_fit(self):
        """The options that mend them are those of every command that takes samples, and of each way to give them."""
        self.put("m.onnx", model([node("MatMul", ["x", "w"], ["y"], "product")], [tensor("w", [4, 4], [1.0, 0.5] * 8)],
                                 [value_info("x", [2, 4])], [value_info("y", [2, 4])]))
        values = [i / 8 for i in range(8)]
        self.put_samples("good", values=values)
        self.put_samples("--convert", values=values, kind="<f8")
        self.put_samples("--allow-non-finite", values=[*values[1:], float("nan")])
        static = ("m.onnx", "--scheme", "static-affine", "--calibration", "BAD")
        words = {"--convert": "--convert converts them", "--allow-non-finite": "--allow-non-finite lets it pass"}
        for call in (("quantize", *static, "-o", "q.onnx"), ("plan", *static), ("explain", *static),
                     ("convert", "m.onnx", "q.tflite", *static[1:]), ("optimize", "m.onnx", "-o", "q.onnx", *static[3:]),
                     ("optimize", "m.onnx", "-o", "q.onnx", "--calibration", "good", "--data", "BAD"),
                     ("quantize", *static, "-o", "q.onnx", "--optimize", "cle,bc"),
                     ("sensitivity", *static, "--data", "good"),
                     ("sensitivity", *static[:3], "--calibration", "good", "--data", "BAD"),
                     ("pareto", "m.onnx", "--scheme", "weight-only", "--data", "BAD"),
                     ("run", "m.onnx", "--data", "BAD", "-o", "out"), ("calibrate", "m.onnx", "--data", "BAD")):
            for option, advice in words.items():
                with self.subTest(call=call, option=option):
                    bad = ["./" + option if word == "BAD" else word for word in call]
                    self.fails(BAD_INPUT, [f"{option}/0.npy", f"; {advice}"], *bad)
                    done = self.run_command(*bad, option)
                    if (call[0], option, call[-1]) == ("sensitivity", "--allow-non-finite", "good"):
                        # Of ranges that hold NaN nothing is made: what is taken may still be of no use.
                        self.assertIn(b"no weight is quantized", done.stderr)
                        continue
                    self.assertEqual((done.returncode, b"; --" in done.stderr), (DONE, False), done.stderr)
        # They are of samples of files.
        self.succeeds("calibrate", "m.onnx", "--data", "good", "-o", "s.json")
        self.fails(USAGE, "--convert is for samples of files, which --data or --calibration names", "plan", *static[:3],
                   "--calibration", "s.json", "--convert")
        self.fails(USAGE, "--allow-non-finite is for samples", "run", "m.onnx", "--random", 1, "-o", "out",
                   "--allow-non-finite")

    def test_scales_of_blocks(self):
        self.put("m.onnx", model([node("MatMul", ["x", "w"], ["y"], "product")],
                                 [tensor("w", [64, 16], [i % 7 - 3 for i in range(1024)])],
                                 [value_info("x", [2, 64])], [value_info("y", [2, 16])]))
        convert = ("convert", "m.onnx", "out.mlir")
        scheme = (*convert, "--scheme", "weight-only", "--bits", 4)
        message = self.advised(*scheme, "--block-size", 32)
        self.assertIn("; --granularity channel makes them, without --block-size", message)
        self.assertTrue(self.advised(*scheme, "--granularity", "block").endswith("; --granularity channel makes them\n"))
        self.succeeds(*scheme, "--granularity", "channel")
        # An option of the scheme cannot be added to a preset.
        self.assertNotIn("--", self.advised(*convert, "--preset", "int4-block32"))

    def test_weights_that_are_not_finite(self):
        self.put("m.onnx", model([node("MatMul", ["x", "w"], ["y"], "product")],
                                 [tensor("w", [16, 16], [float("nan")] + [1.0] * 255)],
                                 [value_info("x", [2, 16])], [value_info("y", [2, 16])]))
        arguments = ("quantize", "m.onnx", "-o", "q.onnx", "--scheme", "weight-only")
        message = self.advised(*arguments)
        self.assertIn("leave such weights in float; --non-finite leave does that", message)
        self.succeeds(*arguments, "--non-finite", "leave")
        self.succeeds(*arguments, "--exclude", "^w$")
        # The same of others that read weights.
        plan = ("plan", "m.onnx", "--scheme", "weight-only", "--target-bits", 8)
        self.assertIn("; --non-finite leave does that", self.advised(*plan))
        self.succeeds(*plan, "--non-finite", "leave")
        # What is left is no secret, and no other command says the opposite.
        leave = ("--scheme", "weight-only", "--non-finite", "leave")
        reason = "left in float: w: element 0 is nan"
        self.assertIn(f"nothing is quantized\n  {reason}", self.succeeds("convert", "m.onnx", "m.xml", *leave))
        explained = self.succeeds("explain", "m.onnx", "w", *leave)
        self.assertIn("Unquantized", explained)
        self.assertIn("element 0 is nan", explained)
        self.assertEqual(self.json_of("plan", "m.onnx", *leave)["plan"]["values"], [])


if __name__ == "__main__":
    raise SystemExit(run_tests())
