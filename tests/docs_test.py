"""Checks that the code which the documentation shows of examples and tests is that code, that the tests
exist which the pages of docs/seeds name, that links lead somewhere, that docs/README.md names all pages,
and that docs/glossary.md is in order.

    python3 tests/docs_test.py

A line `...` and an empty one stand for what was left out. Needs Python's standard library alone.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def blocks(document, heading):
    """The C++ blocks of a document from a heading to the next one of that level or above."""
    level = heading.split(" ")[0]
    text = document.read_text(encoding="utf-8").split(f"{heading}\n", 1)[1]
    text = re.split(rf"^#{{1,{len(level)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^```cpp\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def missing(block, code):
    """The first run of lines of `block` that `code` does not have behind those before it, or None."""
    place = 0
    for run in re.split(r"\n+ *\.\.\.\n|\n\n+", block.strip("\n")):
        place = code.find(f"\n{run}\n", place)
        if place < 0:
            return run
        place += len(run)
    return None


class Documentation(unittest.TestCase):
    def assert_shown(self, document, heading, *sources, folder="examples/my_scheme"):
        code = "".join((ROOT / folder / name).read_text("utf-8") for name in sources)
        found = blocks(ROOT / document, heading)
        self.assertTrue(found, f"{document}: no code below `{heading}`")
        for block in found:
            self.assertIsNone(missing(block, code), f"{document}, `{heading}`")

    def test_custom_schemes(self):
        for name in ("my_scheme.hpp", "my_scheme.cpp", "my_scheme_test.cpp"):
            self.assert_shown("docs/custom_schemes.md", f"## {name}", name)
        for heading in ("command.cpp", "main.cpp: an executable of your own", "plugin.cpp: for a command that is there"):
            self.assert_shown("docs/custom_schemes.md", f"## {heading}", heading.partition(":")[0])

    def test_own_ir(self):
        for heading in ("What you write", "Calibration, comparison, sensitivity, reports"):
            self.assert_shown("docs/own_ir.md", f"## {heading}", "adaptor.cpp", "main.cpp", folder="examples/own_ir")
        self.assert_shown("docs/own_ir.md", "## Layouts", "methods.cpp", folder="examples/own_ir")
        self.assert_shown("docs/own_ir.md", "## Rows instead of methods", "own_operations.hpp", folder="tests/methods")

    def test_readme(self):
        self.assert_shown("README.md", "## A scheme of your own", "my_scheme.hpp", "my_scheme.cpp")
        self.assert_shown("docs/custom_schemes.md", "## The operations of another scheme", "own_format.cpp", "fp8.cpp", "own_rounder.cpp", folder="examples")
        self.assert_shown("docs/seeds/four-phase.md", "## The readme's examples in C++", "toy_scheme.hpp", folder="tests/engine")


class Seeds(unittest.TestCase):
    """`file`: *case*, in the last column of tables."""

    NAMED = re.compile(r"`([\w/]+_test\.(?:cpp|py))`: \*([^*]+)\*")

    def test_named_tests_exist(self):
        for page in sorted((ROOT / "docs/seeds").glob("*.md")):
            for line in page.read_text("utf-8").splitlines():
                cells = [cell.strip() for cell in line.strip("|").split(" | ")]
                if not line.startswith("|") or len(cells) < 3 or cells[0].startswith(("---", "MLIR", "OpenVINO", "SNPE", "WebNN")):
                    continue
                with self.subTest(page=page.name, row=cells[0]):
                    named = self.NAMED.findall(cells[-1])
                    self.assertTrue(named or "](" in cells[-1], "neither a test nor a page")
                    for file, case in named:
                        code = (ROOT / "tests" / file).read_text("utf-8")
                        stated = f"def {case}(" if file.endswith(".py") else f'TEST_CASE("{case}")'
                        self.assertIn(stated, code, file)


def prose(text):
    """A page without blocks and spans of code."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda span: span[0].strip("`").replace("](", "] ("), text)


def anchors(text):
    """What links to a page may name: its headings, as GitHub makes anchors of them, and its `<a id>`."""
    found, seen = set(re.findall(r'<a id="([^"]+)"', text)), {}
    outside = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", outside, flags=re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


def links(text):
    """The targets of a page's links that stay in the repository."""
    targets = re.findall(r"\]\(<?([^)<>\s]+)>?\)", prose(text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def dead_links(page):
    found = []
    for target in links(page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            found.append(target)
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8")):
            found.append(target)
    return found


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        pages = [*ROOT.glob("*.md"), ROOT / "python/README.md"]
        for folder in ("docs", "examples", "methods"):
            pages += (ROOT / folder).rglob("*.md")
        for page in sorted(pages):
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(dead_links(page), [])

    def test_the_index_names_every_page(self):
        index = ROOT / "docs/README.md"
        paths = [target.partition("#")[0] for target in links(index.read_text("utf-8"))]
        named = {(index.parent / path).resolve() for path in paths}
        for page in sorted((ROOT / "docs").rglob("*.md")):
            if page != index:
                with self.subTest(page=str(page.relative_to(ROOT))):
                    self.assertTrue(page in named, "docs/README.md does not name it")
        leads = links((ROOT / "README.md").read_text("utf-8"))
        self.assertTrue("docs/README.md" in leads, "README does not lead to it")


class Glossary(unittest.TestCase):
    """`**<a id="zero-point"></a>zero point.** What it is.`, a paragraph each."""

    ENTRY = re.compile(r'\*\*<a id="([^"]+)"></a>([^*]+)\.\*\* \S')

    def test_entries_are_in_order(self):
        text = (ROOT / "docs/glossary.md").read_text("utf-8")
        entries = [paragraph for paragraph in text.split("\n\n") if "<a id=" in paragraph]
        names = []
        for entry in entries:
            found = self.ENTRY.match(entry)
            self.assertTrue(found, entry)
            self.assertEqual(found[1], re.sub(r"[^\w -]", "", found[2].lower()).replace(" ", "-"))
            self.assertLessEqual(entry.count("\n"), 3, f"{found[2]}: longer than four lines")
            names.append(found[2].lower())
        self.assertEqual(names, sorted(set(names)))
        self.assertGreater(len(names), 50)


class Checker(unittest.TestCase):
    def test_links(self):
        page = "[a](b.md#c) `[d](e)` [f](https://g) `x`[1](h.md)\n```\n[i](j)\n```\n"
        self.assertEqual(links(page), ["b.md#c", "h.md"])
        self.assertEqual(anchors("# A `b`, c\n## D-e\n## D-e\n<a id=\"f\">"), {"a-b-c", "d-e", "d-e-1", "f"})

    def test_left_out(self):
        code = "\na {\n  b\n  c\n}\nd\n"
        self.assertIsNone(missing("a {\n  ...\n}\n\nd\n", code))
        self.assertIsNone(missing("  b\n  c\n", code))
        self.assertEqual(missing("a {\n  c\n}\n", code), "a {\n  c\n}")
        self.assertEqual(missing("a {\n  ...\n  e\n}\n", code), "  e\n}")
        self.assertEqual(missing("  c\n  ...\n  b\n", code), "  b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
