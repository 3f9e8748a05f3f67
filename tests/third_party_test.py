"""Notices and bill of materials name what a build has compiled in, with licenses as SPDX knows them, and their texts.

    python3 tests/third_party_test.py BUILD        a build of the command, by Ninja
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else str(ROOT / "build/package")
# https://spdx.org/licenses/, of those that occur.
KNOWN = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "MIT", "MPL-2.0", "NCSA", "bzip2-1.0.6"}


def output(*arguments, **variables):
    command = [sys.executable, str(ROOT / "scripts/third_party.py"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | variables).stdout


class ThirdPartyTest(unittest.TestCase):
    def test_notices(self):
        text = output("notices", BUILD)
        listed = dict(re.findall(r"^  ([\w.-]+) [\w.~+-]+: (.+)$", text, re.MULTILINE))
        # What src/ includes, and what is linked, by the packages that scripts/packages.txt installs for it.
        for name in ("cli11", "eigen3", "flatbuffers", "fmtlib", "highway", "libzip", "nlohmann-json3", "onetbb", "protozero",
                     "pugixml", "range-v3", "re2", "tl-expected", "xxhash"):
            self.assertIn(name, listed)
        self.assertTrue(any(name.startswith("boost") for name in listed))
        self.assertFalse({"gcc-12", "glibc", "linux"} & listed.keys())
        for license in listed.values():
            self.assertLessEqual(set(license.split(" AND ")), KNOWN)
        # Of the texts themselves, words that each of these has to have.
        for words in ("to any person or organization", "Redistributions in binary form", "Mozilla Public License",
                      "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION", "to use, copy, modify, merge, publish"):
            self.assertIn(words, text)

    def test_bill_of_materials(self):
        text = output("sbom", BUILD, "quadrant-1", "1", SOURCE_DATE_EPOCH="86400")
        self.assertEqual(text, output("sbom", BUILD, "quadrant-1", "1", SOURCE_DATE_EPOCH="86400"))
        found = json.loads(text)
        self.assertEqual((found["spdxVersion"], found["creationInfo"]["created"]), ("SPDX-2.3", "1970-01-02T00:00:00Z"))
        ids = [package["SPDXID"] for package in found["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for identifier in ids:
            self.assertRegex(identifier, r"^SPDXRef-[A-Za-z0-9.-]+$")
        contained = {relation["relatedSpdxElement"] for relation in found["relationships"]}
        self.assertEqual(contained, set(ids))


if __name__ == "__main__":
    unittest.main()
