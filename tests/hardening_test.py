"""Checks that a release program is hardened as cmake/quadrant_hardening.cmake says.

    hardening_test.py PROCESSOR READELF NM PROGRAM ARCHIVE

PROGRAM is linked position independent, with read-only relocations resolved at its start and no executable
stack, and calls the checks of the stack protector and of the C library. ARCHIVE's objects, for PROCESSOR, are marked
for CET (x86) or BTI (arm64); a program is only where the distribution's start files are.
"""

import subprocess
import sys
import unittest

# Which marks `readelf --notes` shows of objects.
MARKS = {"x86_64": "IBT, SHSTK", "aarch64": "BTI, PAC"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Hardening(unittest.TestCase):
    processor = readelf = nm = program = archive = ""

    def test_position_independent(self):
        header = output(self.readelf, "--file-header", self.program)
        self.assertRegex(header, r"Type:\s+DYN")

    def test_relocations_are_read_only_from_the_start(self):
        self.assertIn("GNU_RELRO", output(self.readelf, "--program-headers", self.program))
        self.assertRegex(output(self.readelf, "--dynamic", self.program), r"BIND_NOW|FLAGS.*\bNOW\b")

    def test_no_executable_stack(self):
        headers = output(self.readelf, "--program-headers", "--wide", self.program)
        stack = next(line for line in headers.splitlines() if "GNU_STACK" in line)
        self.assertIn("RW ", stack)
        self.assertNotIn("E ", stack.split("0x")[-2])

    def test_checks_are_called(self):
        undefined = output(self.nm, "--dynamic", "--undefined-only", self.program)
        self.assertIn("__stack_chk_fail", undefined)
        self.assertRegex(undefined, r"__(mem|str|f?read|fdelt|v?s?n?printf)\w*_chk\b")

    def test_objects_are_marked(self):
        notes = output(self.readelf, "--notes", "--wide", self.archive)
        objects = notes.count("File: ")
        marked = [line for line in notes.splitlines() if "feature" in line and MARKS[self.processor] in line]
        self.assertGreater(objects, 0)
        self.assertEqual(len(marked), objects)


if __name__ == "__main__":
    Hardening.processor, Hardening.readelf, Hardening.nm, Hardening.program, Hardening.archive = sys.argv[1:6]
    unittest.main(argv=sys.argv[:1], verbosity=2)
