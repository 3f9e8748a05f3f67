"""Checks that the rooms of the library include downward only.

    python3 tests/layers_test.py        checks this repository, and the checker itself

Needs Python's standard library alone. The table is the architecture's: whoever moves a wall, moves it
here too.
"""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

CORE_LIBRARIES = {"boost", "fmt", "range", "tl"}

# Room: (the rooms it may include, the libraries its sources may include). `methods` and `io` stand for
# each of their folders, which do not include one another.
SUPPORT = {"support"}
IR = SUPPORT | {"ir"}
ROOMS = {
    "support": (set(), CORE_LIBRARIES),
    "ir": (SUPPORT, CORE_LIBRARIES),
    "numerics": (IR, CORE_LIBRARIES | {"hwy"}),
    "engine": (IR, CORE_LIBRARIES),
    "targets": (IR | {"numerics"}, CORE_LIBRARIES),
    "transforms": (IR | {"numerics"}, CORE_LIBRARIES),
    "methods": (IR | {"engine", "numerics", "targets"}, CORE_LIBRARIES),
    "io": (IR | {"numerics", "targets"}, CORE_LIBRARIES | {"flatbuffers", "protozero", "pugixml"}),
    "runtime": (IR | {"numerics", "targets"}, CORE_LIBRARIES | {"Eigen"}),
    "adapters": (IR | {"numerics", "runtime", "io"}, CORE_LIBRARIES | {"oneapi", "openvino"}),
    "calibration": (IR | {"numerics", "runtime", "io"}, CORE_LIBRARIES | {"Eigen"}),
    "recipe": (
        IR | {"engine", "numerics", "calibration", "targets", "methods"},
        CORE_LIBRARIES | {"nlohmann", "re2"},
    ),
    "report": (IR | {"engine", "numerics", "calibration", "targets"}, CORE_LIBRARIES | {"nlohmann"}),
    "pipeline": (
        IR | {"engine", "numerics", "transforms", "targets", "methods", "io", "runtime", "calibration", "recipe", "report"},
        CORE_LIBRARIES,
    ),
    "c_api": (None, None),  # anything
    "cli": (None, None),
    "mlir_plugin": (None, None),
}
CORE = {"support", "ir", "numerics", "engine", "transforms", "methods"}

# Headers of the system, not of a library, although their names have a folder.
SYSTEM = {"sys", "linux"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path, root):
    """(room, folder in it, is it public) of a file, or None for files outside of the rooms."""
    parts = path.relative_to(root).parts
    if parts[:2] == ("include", "quadrant"):
        parts, public = parts[2:], True
    elif parts[0] in ("src", "methods"):
        parts, public = parts[parts[0] == "src" :], False
    else:
        return None
    folder = pathlib.PurePath(parts[1]).stem if parts[0] in ("methods", "io") and len(parts) > 1 else ""
    return (parts[0], folder, public) if len(parts) > 1 else ("", "", public)


def resolve(name, path, root):
    """The file of this tree that `#include "name"` means, or None."""
    for base in (root / "include", path.parent, root / "src", root / "methods"):
        if (base / name).is_file():
            return base / name
    return None


def check_include(path, quote, name, root):
    room, folder, public = room_of(path, root)
    if room and room not in ROOMS:
        return f"room '{room}' is not in the table of tests/layers_test.py"
    rooms, libraries = ROOMS.get(room, (None, CORE_LIBRARIES))  # headers above the rooms: any room

    target = resolve(name, path, root)
    if target is not None:
        target_room, target_folder, target_public = room_of(target, root) or (None, "", False)
        if target_room is None:
            return f"'{name}' lies outside of the library"
        if public and not target_public:
            return f"a public header includes the private '{name}'"
        if target_room == "":
            return check_top_level(target, name, room, root)
        if target_room == room:
            if target_folder != folder:
                return f"{room}/{folder} includes its neighbour '{name}'"
            return None
        if rooms is not None and target_room not in rooms:
            return f"{room} includes '{name}', which is not below it"
        return None

    if quote == '"' or name.startswith("quadrant/"):
        return f"'{name}' does not exist"
    library = name.split("/")[0] if "/" in name else None
    if library and library not in SYSTEM and libraries is not None and library not in libraries:
        return f"{room or 'include/quadrant'} includes the library header <{name}>"
    if public and library == "fmt":
        return f"a public header includes <{name}>"
    if public and room in CORE and name == "iostream":
        return "a public header of the core includes <iostream>"
    return None


def check_top_level(target, name, room, root):
    """Rooms may include a header directly in include/quadrant/ if it includes no room itself."""
    if room == "" or ROOMS[room] == (None, None):
        return None
    for _, nested in INCLUDE.findall(target.read_text(encoding="utf-8")):
        if nested.startswith("quadrant/") and nested.count("/") > 1:
            return f"{room} includes '{name}', which stands above the rooms"
    return None


# What clang-format leaves at the beginning of a line is at namespace level: `Value Raising::value(`.
DEFINITION = re.compile(r"^(?!namespace|using|//|#|\})\S[^(=]*?(?:\b(\w+)::)?(~?\b\w+)\(", re.MULTILINE)


def defines_of(source, header):
    """Whether the source defines a function that the header declares, or one of its classes'."""
    functions = set(re.findall(r"(?<![\w.>:])(\w+)\(", header))
    classes = set(re.findall(r"\b(?:class|struct) (\w+)", header))
    return any(of in classes or name in functions for of, name in DEFINITION.findall(source))


def check_mirror(root):
    """src/ mirrors include/quadrant/: the same rooms, and each source is named after a header, or
    defines something that one of its room declares, which it includes."""
    public = root / "include" / "quadrant"
    for path in sorted((root / "src").rglob("*.cpp")):
        relative = path.relative_to(root / "src")
        if ROOMS.get(relative.parts[0]) == (None, None):
            continue
        if relative.parent == pathlib.PurePath("runtime/ops"):
            continue  # an operation each, declared by the header of its group
        if (public / relative.parent).with_suffix(".hpp").is_file():
            continue  # the room's one public header, as io/onnx.hpp
        headers = [
            header.stem
            for folder in (public / relative.parent, path.parent)
            for header in folder.glob("*.hpp")
        ]
        # kernels_avx2.cpp belongs to kernels.hpp
        if any(path.stem == stem or path.stem.startswith(stem + "_") for stem in headers):
            continue
        text = path.read_text(encoding="utf-8")
        found = [resolve(name, path, root) for _, name in INCLUDE.findall(text)]
        own = [header for header in found if header and room_of(header, root)[:2] == room_of(path, root)[:2]]
        if not any(defines_of(text, header.read_text(encoding="utf-8")) for header in own):
            yield f"src/{relative}: neither named after a header nor defines what one of its room declares"
    for folder in sorted(public.iterdir()) if public.is_dir() else []:
        if folder.is_dir() and folder.name not in ROOMS:
            yield f"{folder.relative_to(root)}: not a room of the table in tests/layers_test.py"


def check_tree(root):
    """All violations, as `file:line: message`."""
    problems = []
    for top in ("include", "src", "methods"):
        for path in sorted((root / top).rglob("*.[hc]pp")):
            text = path.read_text(encoding="utf-8")
            if room_of(path, root) is None:
                problems.append(f"{path.relative_to(root)}: outside of include/quadrant/")
                continue
            for match in INCLUDE.finditer(text):
                problem = check_include(path, match[1], match[2], root)
                if problem:
                    line = text.count("\n", 0, match.start(1)) + 1
                    problems.append(f"{path.relative_to(root)}:{line}: {problem}")
    return problems + list(check_mirror(root))


# What newer versions of a library have in another header than Debian's.
MOVED = {"fmt::join": "fmt/ranges.h"}


def check_moved(path):
    text = path.read_text(encoding="utf-8")
    for name, header in MOVED.items():
        if re.search(rf"\b{name}\b", text) and f"#include <{header}>" not in text:
            yield f"{path}: {name} without <{header}>, where newer versions have it"


class Repository(unittest.TestCase):
    def test_rooms_include_downward_only(self):
        problems = check_tree(ROOT)
        self.assertFalse(problems, "\n" + "\n".join(problems))

    def test_headers_of_newer_versions(self):
        tops = ("include", "src", "methods", "tests", "examples", "benchmarks")
        files = [path for top in tops for path in sorted((ROOT / top).rglob("*.[hc]pp"))]
        problems = [problem for path in files for problem in check_moved(path)]
        self.assertTrue(files)
        self.assertFalse(problems, "\n" + "\n".join(problems))


class Checker(unittest.TestCase):
    """The checker on small trees: a clean one, and one violation at a time."""

    CLEAN = {
        "include/quadrant/version.hpp": "",
        "include/quadrant/quadrant.hpp": '#include "quadrant/engine/phases/plan.hpp"',
        "include/quadrant/support/error.hpp": "#include <string>\n#include <tl/expected.hpp>",
        "include/quadrant/ir/graph.hpp": '#include "quadrant/support/error.hpp"',
        "include/quadrant/numerics/kernels.hpp": "",
        "include/quadrant/engine/phases/plan.hpp": '#include "quadrant/ir/graph.hpp"',
        "include/quadrant/methods/weight_only.hpp": '#include "quadrant/engine/phases/plan.hpp"',
        "include/quadrant/io/onnx/reader.hpp": '#include "quadrant/ir/graph.hpp"',
        "src/support/error.cpp": '#include "quadrant/support/error.hpp"\n#include <fmt/core.h>',
        "src/numerics/kernels_avx2.cpp": '#include "quadrant/version.hpp"\n#include <sys/mman.h>',
        "src/io/onnx/wire.hpp": "#include <protozero/pbf_reader.hpp>",
        "src/io/onnx/reader.cpp": '#include "io/onnx/wire.hpp"\n#include "wire.hpp"',
        "src/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "quadrant/quadrant.hpp"',
        "methods/weight_only/axes.hpp": '#include "quadrant/numerics/kernels.hpp"',
        "methods/weight_only/conv.cpp": '#include "weight_only/axes.hpp"',
    }

    def problems(self, **changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**self.CLEAN, **changes.get("files", {})}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
            return check_tree(root)

    def assert_one(self, name, text, words):
        found = self.problems(files={name: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(name, found[0])
        self.assertIn(words, found[0])

    def test_clean(self):
        self.assertEqual(self.problems(), [])

    def test_upward(self):
        self.assert_one(
            "include/quadrant/ir/type.hpp", '#include "quadrant/engine/phases/plan.hpp"', "not below"
        )
        self.assert_one(
            "src/numerics/kernels.cpp", '\n#include <quadrant/engine/phases/plan.hpp>', "not below"
        )
        self.assert_one(
            "include/quadrant/report/tables.hpp",
            '#include "quadrant/io/onnx/reader.hpp"',
            "not below",
        )

    def test_above_the_rooms(self):
        self.assert_one(
            "include/quadrant/ir/type.hpp", '#include "quadrant/quadrant.hpp"', "above the rooms"
        )

    def test_neighbours(self):
        self.assert_one(
            "include/quadrant/io/tflite/reader.hpp",
            '#include "quadrant/io/onnx/reader.hpp"',
            "neighbour",
        )
        self.assert_one(
            "methods/fake_quantize/conv.cpp", '#include "weight_only/axes.hpp"', "neighbour"
        )

    def test_private_header_in_public_header(self):
        self.assert_one(
            "include/quadrant/methods/weight_only.hpp", '#include "weight_only/axes.hpp"', "private"
        )

    def test_libraries(self):
        for room in ("support", "ir", "numerics", "engine"):
            for header in ("nlohmann/json.hpp", "CLI/CLI.hpp", "protozero/pbf_reader.hpp", "re2/re2.h"):
                self.assert_one(
                    f"include/quadrant/{room}/bad.hpp", f"#include <{header}>", "library header"
                )
        self.assert_one("methods/weight_only/gemm.cpp", "#include <nlohmann/json.hpp>", "library")
        self.assert_one("include/quadrant/ir/text.hpp", "#include <fmt/core.h>", "public header")
        self.assert_one("include/quadrant/ir/text.hpp", "#include <iostream>", "iostream")

    def test_mirror(self):
        self.assert_one("src/ir/stray.cpp", "#include <string>", "neither named after a header")
        graph = '#include "quadrant/ir/graph.hpp"\n'
        self.assert_one("src/ir/stray.cpp", graph + "int other(int x) {", "neither named after a header")
        declared = {"include/quadrant/ir/graph.hpp": "class Graph {\n  int size();\n};\nint count(Graph& graph);"}
        for text in ("int Graph::size() {", "int count(Graph& graph) {"):
            self.assertEqual(self.problems(files={**declared, "src/ir/part.cpp": graph + text}), [])
        self.assertIn("not a room", self.problems(files={"include/quadrant/attic/a.hpp": ""})[0])

    def test_missing(self):
        self.assert_one("src/ir/graph.cpp", '#include "quadrant/ir/grahp.hpp"', "does not exist")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
