"""Man pages and shell completion, made of the command's table of options: they have what --help has, and shells take it.

    QUADRANT=build/dev/bin/quadrant python3 tests/cli/pages_test.py
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUADRANT = os.environ["QUADRANT"]


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def helped(*command):
    """(options, subcommands) of a --help."""
    text = output(QUADRANT, *command, "--help")
    options = {name for line in re.findall(r"^  ((?:-\w,)?--[\w-]+|-\w)\b", text, re.MULTILINE) for name in line.split(",")}
    names = text.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return options, re.findall(r"^  (\w+)", names, re.MULTILINE)


class PagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.share = pathlib.Path(folder.name)
        output(sys.executable, str(ROOT / "scripts/command_pages.py"), QUADRANT, folder.name)
        cls.commands = helped()[1]
        cls.options = {command: helped(command)[0] for command in cls.commands}

    def test_man_pages_have_every_option(self):
        self.assertGreater(len(self.commands), 15)
        pages = sorted(path.name for path in (self.share / "man/man1").iterdir())
        self.assertEqual(pages, sorted(["quadrant.1", *(f"quadrant-{command}.1" for command in self.commands)]))
        for command, options in self.options.items():
            page = (self.share / f"man/man1/quadrant-{command}.1").read_text("utf-8").replace("\\-", "-")
            self.assertEqual(set(re.findall(r"\\fB(-{1,2}[\w-]+)\\fR", page)), options, command)

    def test_man_pages_are_clean(self):
        pages = sorted(map(str, (self.share / "man/man1").iterdir()))
        checkers = [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-ww", "-mandoc", "-z"]]
        found = [checker for checker in checkers if shutil.which(checker[0])]
        if not found:
            self.skipTest("neither mandoc nor groff is here")
        for checker in found:
            done = subprocess.run([*checker, *pages], capture_output=True, text=True)
            self.assertEqual(done.stdout + done.stderr, "")

    def bash(self, *words):
        """What is offered for the last of these words."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quadrant 2>/dev/null\n'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        file = self.share / "bash-completion/completions/quadrant"
        return set(output("bash", "-c", script, "bash", str(file), "quadrant", *words).split())

    def test_bash(self):
        self.assertEqual(self.bash(""), set(self.commands))
        self.assertEqual(self.bash("q"), {"quantize"})
        for command, options in self.options.items():
            self.assertEqual(self.bash(command, "-"), options, command)
        self.assertEqual(self.bash("quantize", "m.onnx", "--gain", ""), {"bytes", "latency", "operations", "unit"})
        self.assertEqual(self.bash("quantize", "m.onnx", "--gain", "=", "l"), {"latency"})
        self.assertEqual(self.bash("quantize", "-s", "w"), {"weight-only"})
        for plugin in (["--plugin", "s.so"], ["--plugin", "=", "s.so"]):
            self.assertEqual(self.bash(*plugin, "q"), {"quantize"})
            self.assertEqual(self.bash(*plugin, "quantize", "-s", "w"), {"weight-only"})
        self.assertEqual(self.bash("list", "st"), {"static-affine"})
        self.assertEqual(self.bash("quantize", "m.onnx", "--output", ""), set())  # files, by the shell
        self.assertIn("int8", self.bash("quantize", "m.onnx", "--preset", ""))

    def test_zsh_and_fish(self):
        zsh, fish = self.share / "zsh/site-functions/_quadrant", self.share / "fish/vendor_completions.d/quadrant.fish"
        for text in (zsh.read_text("utf-8"), fish.read_text("utf-8")):
            for options in self.options.values():
                for option in options:
                    self.assertRegex(text, rf"(\*|-l |-s )-*{option.lstrip('-')}\b")
        if shutil.which("zsh"):
            output("zsh", "-n", str(zsh))
        if shutil.which("fish"):
            asked = output("fish", "-c", f"source {fish}; complete -C 'quadrant quantize --gain l'")
            self.assertEqual(asked.split("\t")[0], "latency")


if __name__ == "__main__":
    unittest.main()
