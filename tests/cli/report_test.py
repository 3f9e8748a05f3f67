"""The pages, pictures and explanations that the command writes, as a user asks for them.

    python3 tests/cli/report_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import collections
import html.parser
import json
import math
import random
import re
import xml.etree.ElementTree

from budget_test import LAYERS, layers
from command_case import (BAD_INPUT, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest, run_tests,
                          two_layers)
from onnx_writer import model, node, tensor, value_info
from run_model_test import floats_in, npy

EVIL = "w</script><img src=x>\x1b\n\u202e\u2028\"'"
VOID = {"meta", "link", "input", "wbr"}


class Page(html.parser.HTMLParser):
    """Counts elements, keeps what stands in cells, and holds every element to be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag, css=""):
        return sum(t == tag and css in a.get("class", "").split() + [""] for t, a in self.tags)


class SectionTable(html.parser.HTMLParser):
    """The rows of a section: for each whether it is the chosen one, the numbers that cells sort by, and what they
    say; `titles`: what stands at the left."""

    def __init__(self, text, section="frontier"):
        super().__init__()
        self.section, self.titles = section, []
        self.rows, self.is_inside, self.cell = [], False, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "section":
            self.is_inside = attrs["id"] == self.section
        elif self.is_inside and tag == "tbody":
            self.rows.append((attrs.get("class") == "chosen", [], []))
        elif self.is_inside and tag == "th" and attrs.get("scope") == "row":
            self.titles.append("")
            self.cell = self.titles
        elif self.is_inside and tag == "td":
            self.rows[-1][1].append(attrs.get("data-sort"))
            self.rows[-1][2].append("")
            self.cell = self.rows[-1][2]

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell[-1] += data


def forms_of(cell):
    """`12 int8, 3 float` as a count for each form."""
    return {form: int(count.replace(",", ""))
            for count, form in (part.split(" ") for part in cell.split(", "))}


class PageTest(CommandTest):
    def page(self, *arguments, name="out.html"):
        self.succeeds(*arguments, "--report", name)
        return Page(self.bytes_of(name).decode("utf-8"))

    def test_quantize(self):
        page = self.page("quantize", self.model, "-o", "out.onnx", *SCHEME)
        self.assertEqual(page.count("tbody", "weight"), 2)
        self.assertEqual(page.count("details", "row"), 5)  # x, fc1, act, fc2, y
        self.assertEqual(page.count("svg", "histogram"), 2)
        text = "".join(page.text)
        for words in ("model.onnx", "weight_only", "bits per weight", "fc1.weight", "axis=1", "objective"):
            self.assertIn(words, text)

    def test_it_changes_nothing_else(self):
        self.succeeds("quantize", self.model, "-o", "with.onnx", *SCHEME, "--report", "out.html")
        self.succeeds("quantize", self.model, "-o", "without.onnx", *SCHEME)
        self.assertEqual(self.bytes_of("with.onnx"), self.bytes_of("without.onnx"))

    def test_the_same_page_whatever_the_threads(self):
        pages = []
        for threads in ("1", "3"):
            self.page("quantize", self.model, "-o", "out.onnx", *SCHEME, "--threads", threads)
            pages.append(self.bytes_of("out.html"))
        self.assertEqual(pages[0], pages[1])

    def test_dry_run_writes_the_page_alone(self):
        before = set(self.files())
        page = self.page("quantize", self.model, "--dry-run", *SCHEME)
        self.assertEqual(set(self.files()) - before, {"out.html"})
        self.assertEqual(page.count("svg", "histogram"), 2)
        text = self.succeeds("quantize", self.model, "--dry-run", *SCHEME, "--report", "out.html")
        self.assertIn("no model is written", text)
        self.assertIn("report in out.html", text)

    def test_plan_reads_no_weights(self):
        page = self.page("plan", self.model, *SCHEME)
        self.assertEqual(page.count("tbody", "weight"), 2)
        self.assertEqual(page.count("svg", "histogram"), 0)

    def test_figures_are_those_of_the_summary(self):
        document = self.json_of("quantize", self.model, "-o", "out.onnx", *SCHEME,
                                "--report", "out.html")
        self.assertEqual((document["report"], document["dot"]), ("out.html", None))
        text = "".join(Page(self.bytes_of("out.html").decode()).text)
        objective = document["summary"]["objective"]
        self.assertIn(f"{objective:,}", text)

    def test_limits_and_single_numbers_are_no_weights(self):
        """Of a Clip, a Pow and a Div; a bias of one number is a weight."""
        single = [("low", -1.0), ("high", 6.0), ("two", 2.0), ("half", 2.0), ("bias", 0.5)]
        self.put("limits.onnx", model(
            [node("Gemm", ["x", "w", "bias"], ["h"], "fc"), node("Clip", ["h", "low", "high"], ["c"], "clip"),
             node("Pow", ["c", "two"], ["p"], "pow"), node("Div", ["p", "half"], ["y"], "div")],
            [tensor("w", [16, 8], [i / 64 - 1 for i in range(128)]),
             *(tensor(name, [1] if name == "bias" else [], [number]) for name, number in single)],
            [value_info("x", ["batch", 16])], [value_info("y", ["batch", 8])]))
        page = self.page("quantize", "limits.onnx", "-o", "out.onnx", *SCHEME)
        self.assertEqual(page.count("tbody", "weight"), 2)
        summary = self.json_of("quantize", "limits.onnx", "-o", "out.onnx", *SCHEME)["summary"]
        self.assertEqual([entry["name"] for entry in summary["left_in_float"]], ["bias"])

    def test_in_place(self):
        self.page("quantize", self.model, "-o", self.model, *SCHEME)

    def test_options_of_the_scheme(self):
        for options in (("--bits", "4", "--block-size", "8"), ("--asymmetric",), ("--clip", "mse"),
                        ("--form", "behind"), ("--gain", "unit"), ("--gain", "operations"),
                        ("--exclude", "fc2"), ("--granularity", "tensor"), ("--scales", "float16")):
            page = self.page("quantize", self.model, "-o", "out.onnx", *SCHEME, *options)
            self.assertEqual(page.count("tbody", "weight"), 2, options)

    def test_static_affine(self):
        self.succeeds("calibrate", self.model, "--random", "4", "--shape", "x=2x16", "-o",
                      "stats.json")
        static = ("--scheme", "static-affine", "--calibration", "stats.json")
        page = self.page("quantize", self.model, "-o", "out.onnx", *static)
        text = "".join(page.text)
        self.assertIn("activation i8", text)
        self.assertIn("operations", text)
        self.page("plan", self.model, *static)

    def test_of_a_plan_that_is_followed(self):
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc2", "-o", "plan.json")
        page = self.page("quantize", self.model, "-o", "out.onnx", *SCHEME, "--plan", "plan.json")
        self.assertIn("the plan leaves it in float", "".join(page.text))

    def test_hostile_names(self):
        self.put("evil.onnx", two_layers(weight_name=EVIL))
        for command in (("plan",), ("quantize", "-o", "out.onnx")):
            page = self.page(*command, "evil.onnx", *SCHEME)
            self.assertEqual([tag for tag, _ in page.tags if tag in ("img", "iframe", "object")], [])
            self.assertEqual(page.count("script"), 1)
            for tag, attributes in page.tags:
                self.assertFalse([key for key in attributes if key.startswith("on")], (tag, attributes))
            raw = self.bytes_of("out.html").decode("utf-8")
            self.assertNotRegex(raw, "[\x00-\x09\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e]")
            self.assertIn("\\u202e", "".join(page.text))

    def test_a_name_of_a_megabyte(self):
        self.put("long.onnx", two_layers(weight_name="<" * 1_000_000))
        self.page("quantize", "long.onnx", "-o", "out.onnx", *SCHEME)
        self.assertLess(len(self.bytes_of("out.html")), 300_000)

    def test_nothing_to_fetch(self):
        page = self.page("quantize", self.model, "-o", "out.onnx", *SCHEME)
        for tag, attributes in page.tags:
            for key in ("src", "href", "action", "data", "poster", "style"):
                value = attributes.get(key, "")
                self.assertTrue(value == "" or value.startswith("#") or value == "data:,",
                                (tag, attributes))

    def test_sensitivity(self):
        self.succeeds("sensitivity", self.model, *SCHEME, "--random", "2", "--shape", "x=2x16",
                      "--cache", "cache.json")
        page = self.page("quantize", self.model, "-o", "out.onnx", *SCHEME, "--sensitivity",
                         "cache.json")
        self.assertEqual(page.count("svg", "loss"), 2)
        self.put("other.onnx", two_layers().replace(b"fc2.weight", b"fc9.weight").replace(
            b"\x0a\x01y", b"\x0a\x01z").replace(b"\x12\x01y", b"\x12\x01z"))
        self.fails(BAD_INPUT, "cache.json", "quantize", "other.onnx", "-o", "bad.onnx", *SCHEME,
                   "--report", "bad.html", "--sensitivity", "cache.json")

    def test_mistakes(self):
        quantize = ("quantize", self.model, "-o", "out.onnx", *SCHEME)
        for command in (quantize, ("plan", self.model, *SCHEME)):
            self.fails(USAGE, "is read", *command, "--report", self.model)
            self.fails(USAGE, "--report", *command, "--sensitivity", "x.json")
            self.fails(USAGE, "two options", *command, "--report", "a", "--dot", "./a")
            self.fails(INPUT_OUTPUT, "nowhere", *command, "--report", "nowhere/out.html")
            self.fails(INPUT_OUTPUT, "none.json", *command, "--report", "out.html", "--sensitivity",
                       "none.json")
            self.put("bad.json", b"{")
            self.fails(BAD_INPUT, "bad.json", *command, "--report", "out.html", "--sensitivity",
                       "bad.json")
        self.fails(USAGE, "two options", *quantize, "--report", "out.onnx")
        self.fails(USAGE, "two options", "plan", self.model, *SCHEME, "-o", "p", "--report", "p")


def sqnr(signal, other):
    noise = sum((a - b) ** 2 for a, b in zip(signal, other))
    return 10 * math.log10(sum(a * a for a in signal) / noise)


class ActivationsTest(CommandTest):
    """Of y = relu(x W1) W2, on samples of x with a few large values."""

    STATIC = ("--scheme", "static-affine", "--calibration", "data")

    def setUp(self):
        super().setUp()
        (self.folder / "data").mkdir()
        numbers = random.Random(4)
        self.x = []
        for i in range(8):
            sample = [numbers.gauss(0, 5 if numbers.random() < 0.01 else 1) for _ in range(64 * 16)]
            self.put(f"data/{i}.npy", npy(sample, [64, 16]))
            self.x += floats_in(self.bytes_of(f"data/{i}.npy"))[1]

    def rows(self, page="out.html"):
        """The cells of each activation, behind its name: what they sort by, as numbers, and what they say."""
        table = SectionTable(self.bytes_of(page).decode(), "activations")
        return {name: ([None if sort is None else float(sort) for sort in sorts], texts)
                for name, (_, sorts, texts) in zip(table.titles, table.rows)}

    def codes_of(self, name):
        """scale and offset, as the encodings of the model say: real = scale (code + offset), codes 0 to 255"""
        self.succeeds("encodings", "out.onnx", "-o", "out.encodings")
        for entry in json.loads(self.bytes_of("out.encodings"))["activation_encodings"]:
            if entry["name"] == name:
                return entry["scale"][0], entry["offset"][0]
        return None

    def test_figures_are_those_of_the_samples(self):
        for options in ((), ("--activation-encoding", "percentile", "--percentile", 99)):
            self.succeeds("quantize", self.model, "-o", "out.onnx", *self.STATIC, *options, "--report", "out.html")
            rows = self.rows()
            self.assertEqual(set(rows), {"x", "r", "y"})
            sorts, texts = rows["x"]
            self.assertEqual(texts[0], "an input")
            low, high = (float(part) for part in texts[1].split(" to "))
            self.assertAlmostEqual(low, min(self.x), delta=1e-3)
            self.assertAlmostEqual(high, max(self.x), delta=1e-3)
            scale, offset = self.codes_of("x")
            low, high = (float(part) for part in texts[2].split(" to "))
            self.assertAlmostEqual(low, scale * offset, delta=1e-2)
            self.assertAlmostEqual(high, scale * (offset + 255), delta=1e-2)
            codes = [min(max(round(x / scale) - offset, 0), 255) for x in self.x]
            real = [scale * (code + offset) for code in codes]
            count = len(self.x)
            clipped = sum(abs(a - b) > scale / 2 * 1.000001 for a, b in zip(self.x, real)) / count
            self.assertEqual(clipped > 0, bool(options))
            few = 3 / count  # values of the bins at the borders
            self.assertAlmostEqual(sorts[3], clipped, delta=few)
            self.assertAlmostEqual(sorts[4], codes.count(0) / count, delta=few)
            self.assertAlmostEqual(sorts[5], codes.count(255) / count, delta=few)
            self.assertAlmostEqual(sorts[6], sqnr(self.x, real), delta=0.1)
            worst_first = [sorts[6] for sorts, _ in rows.values()]
            self.assertEqual(worst_first, sorted(worst_first))
            # A Relu's zeros are at the low end, and lose nothing.
            self.assertGreater(rows["r"][0][4], 0.2)
            self.assertEqual(rows["r"][0][3] > 0, bool(options))

    def test_it_changes_nothing_else(self):
        self.succeeds("quantize", self.model, "-o", "with.onnx", *self.STATIC, "--report", "out.html")
        self.succeeds("quantize", self.model, "-o", "without.onnx", *self.STATIC)
        self.assertEqual(self.bytes_of("with.onnx"), self.bytes_of("without.onnx"))

    def test_of_prescribed_encodings_alone(self):
        self.succeeds("quantize", self.model, "-o", "out.onnx", *self.STATIC)
        self.succeeds("encodings", "out.onnx", "-o", "given.encodings")
        self.run_command("quantize", self.model, "-o", "out.onnx", "--scheme", "static-affine", "--encodings",
                         "given.encodings", "--report", "out.html")
        sorts, texts = self.rows()["x"]
        self.assertEqual((sorts[1], texts[1]), (-1, "\u2013"))
        self.assertRegex(texts[2], r"^-\d.* to \d")
        self.assertIn("No ranges were observed", self.bytes_of("out.html").decode())

    def test_weights_alone_and_plans_have_none(self):
        self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, "--report", "out.html")
        self.assertEqual(self.rows(), {})
        self.succeeds("plan", self.model, *self.STATIC, "--report", "out.html")
        self.assertEqual(self.rows(), {})

    def test_errors_in_and_out(self):
        self.succeeds("quantize", self.model, "-o", "out.onnx", *self.STATIC, "--report", "out.html")
        alone = self.rows()
        compare = ("compare", self.model, "out.onnx", "--data", "data")
        document = self.json_of(*compare, "--layers")
        self.assertEqual(document["report"], None)
        layers = {layer["name"]: layer["sqnr_db"] for layer in document["comparison"]["layers"]}
        document = self.json_of(*compare, "--report", "errors.html")
        self.assertEqual((document["report"], document["comparison"]["layers"]), ("errors.html", []))
        rows = self.rows("errors.html")
        for name, (sorts, texts) in alone.items():  # the same samples: the same figures
            self.assertEqual((rows[name][0][:7], rows[name][1][:7]), (sorts[:7], texts[:7]), name)
        self.assertEqual(rows["x"][1][7:9], ["\u2013", "\u2013"])
        self.assertAlmostEqual(rows["r"][0][8], layers["r"], delta=1e-3)
        self.assertAlmostEqual(rows["y"][0][7], layers["r"], delta=1e-3)
        self.assertAlmostEqual(rows["y"][0][8], layers["y"], delta=1e-3)
        self.assertIn("report in errors.html", self.succeeds(*compare, "--report", "errors.html"))
        page = Page(self.bytes_of("errors.html").decode())
        self.assertEqual(page.count("svg", "histogram"), 3)

    def test_mistakes(self):
        self.succeeds("quantize", self.model, "-o", "out.onnx", *self.STATIC)
        compare = ("compare", self.model, "out.onnx", "--data", "data")
        self.fails(USAGE, "is read", *compare, "--report", "out.onnx")
        self.fails(INPUT_OUTPUT, "nowhere", *compare, "--report", "nowhere/out.html")


class FrontierTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.put("layers.onnx", layers())

    def frontier(self, *arguments):
        """The page's rows, and the document that the command prints."""
        document = self.json_of(*arguments, "--report", "out.html")
        text = self.bytes_of("out.html").decode("utf-8")
        return SectionTable(text).rows, document, Page(text)

    def test_pareto(self):
        rows, document, page = self.frontier("pareto", self.model, *SCHEME)
        self.assertEqual((document["report"], document["svg"]), ("out.html", None))
        points = document["points"]
        self.assertGreater(len(points), 5)
        self.assertEqual(len(rows), len(points))
        for (is_chosen, numbers, texts), point in zip(rows, points):
            self.assertFalse(is_chosen)
            self.assertEqual(int(numbers[1]), point["file_bytes"])
            self.assertAlmostEqual(float(numbers[2]), point["bits"], 9)
            if point["error"] > 0:
                self.assertAlmostEqual(float(numbers[3]), 10 * math.log10(point["error"]), 9)
            else:
                self.assertEqual(texts[3], "exact")
            self.assertEqual(forms_of(texts[4]), collections.Counter(point["forms"]))
            self.assertEqual(texts[5], point["change"])
        drawn = sum(point["error"] > 0 for point in points)
        self.assertEqual(page.count("circle", "point"), drawn)
        self.assertEqual(page.count("circle", "chosen"), 0)
        self.assertIn("of the weights", "".join(page.text))
        self.assertIn("layers.onnx", "".join(page.text))

    def test_with_samples(self):
        samples = ("--random", "2", "--shape", "x=2x64")
        _, document, page = self.frontier("pareto", self.model, *SCHEME, *samples)
        self.assertTrue(document["at_outputs"])
        self.assertIn("at the output that has most", "".join(page.text))

    def test_the_picture_alone(self):
        text = self.succeeds("pareto", self.model, *SCHEME, "--svg", "out.svg")
        self.assertIn("picture in out.svg", text)
        root = xml.etree.ElementTree.fromstring(self.bytes_of("out.svg"))
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertGreater(len(root.findall(".//{http://www.w3.org/2000/svg}circle")), 5)

    def test_a_budget_marks_what_it_chose(self):
        for command in (("quantize", "-o", "out.onnx"), ("quantize", "--dry-run"), ("plan",)):
            for bits in (4.25, 5, 6.3, 33):
                rows, document, page = self.frontier(command[0], self.model, *command[1:], *SCHEME,
                                                     "--target-bits", bits)
                chosen = [row for row in rows if row[0]]
                self.assertEqual(len(chosen), 1)
                (_, numbers, texts), = chosen
                self.assertLessEqual(float(numbers[2]), bits)
                self.assertEqual(sum(forms_of(texts[4]).values()), LAYERS)
                self.assertEqual(page.count("circle", "chosen"), int(bits != 33))  # 33: exact
                self.assertIn("in the file", "".join(page.text))
                if command[0] == "plan":
                    forms = collections.Counter(value["scheme"] for value in
                                                document["plan"]["values"] if value["value"][0] == "w")
                    forms["float"] = LAYERS - sum(forms.values())
                else:
                    budget = document["budget"]
                    self.assertEqual(int(numbers[1]), budget["file_bytes"])
                    self.assertAlmostEqual(float(numbers[2]), budget["bits"], 9)
                    forms = collections.Counter(weight["form"] for weight in budget["weights"])
                self.assertEqual(forms_of(texts[4]), +forms)
        self.assertEqual(self.bytes_of("out.html").count(b'id="frontier"'), 1)

    def test_a_choice_beside_the_line(self):
        beside = 0
        for bits in (4.7, 5.3, 6.1, 7.7, 11, 19):
            rows, _, page = self.frontier("plan", self.model, *SCHEME, "--target-bits", bits)
            (line,) = [attributes for tag, attributes in page.tags
                       if tag == "polyline" and attributes.get("class") == "line"]
            (name,) = [row[2][0] for row in rows if row[0]]
            is_beside = name == "this file chosen"
            self.assertEqual(len(line["points"].split()),
                             page.count("circle", "point") - int(is_beside))
            sizes = [int(row[1][1]) for row in rows]
            self.assertEqual(sizes, sorted(sizes))
            beside += is_beside
        self.assertGreater(beside, 0)

    def test_without_a_budget_there_is_none(self):
        for command in (("quantize", "--dry-run"), ("plan",)):
            rows, _, _ = self.frontier(command[0], self.model, *command[1:], *SCHEME)
            self.assertEqual(rows, [])
            self.assertNotIn(b'id="frontier"', self.bytes_of("out.html"))

    def test_the_same_page_whatever_the_threads(self):
        pages = []
        for threads in ("1", "3"):
            self.frontier("pareto", self.model, *SCHEME, "--threads", threads)
            pages.append(self.bytes_of("out.html"))
        self.assertEqual(pages[0], pages[1])

    def test_hostile_names(self):
        self.put("evil.onnx", two_layers(weight_name=EVIL))
        for command in (("pareto",), ("plan", "--target-bits", "6")):
            _, _, page = self.frontier(command[0], "evil.onnx", *command[1:], *SCHEME)
            self.assertEqual([tag for tag, _ in page.tags if tag in ("img", "iframe", "object")], [])
            self.assertEqual(page.count("script"), 1)
            raw = self.bytes_of("out.html").decode("utf-8")
            self.assertNotRegex(raw, "[\x00-\x09\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e]")

    def test_mistakes(self):
        pareto = ("pareto", self.model, *SCHEME)
        self.fails(USAGE, "is read", *pareto, "--report", self.model)
        self.fails(USAGE, "is read", *pareto, "--svg", self.model)
        self.fails(USAGE, "two options", *pareto, "--report", "a", "--svg", "./a")
        self.fails(INPUT_OUTPUT, "nowhere", *pareto, "--report", "nowhere/out.html")


class DotTest(CommandTest):
    def test_gains_stand_at_edges(self):
        for command in (("plan",), ("quantize", "-o", "out.onnx"), ("quantize", "--dry-run")):
            self.succeeds(*command, self.model, *SCHEME, "--dot", "out.dot")
            dot = self.bytes_of("out.dot").decode()
            plan = self.json_of("plan", self.model, *SCHEME)["plan"]
            gains = sorted(str(value["gain"]) for value in plan["values"])
            self.assertEqual(sorted(re.findall(r'style=bold, label="(-?\d+)"', dot)), gains)


class ExplainTest(CommandTest):
    def test_all(self):
        document = self.json_of("explain", self.model, *SCHEME, "--all")
        self.assertEqual(len(document["explanations"]), 7)  # two weights, three operations, x, y
        self.assertEqual(document["gain_unit"], "bytes")
        self.assertTrue(all(entry["reason"] for entry in document["explanations"]))
        self.assertEqual(len(self.succeeds("explain", self.model, *SCHEME, "--all").splitlines()),
                         1 + 7)

    def test_a_plan(self):
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc2", "-o", "part.json")
        text = self.succeeds("explain", self.model, *SCHEME, "--plan", "part.json")
        self.assertRegex(text, r"fc2\.weight +constant +Unquantized +the plan leaves it in float")

    def test_what_differs_from_a_plan(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "all.json")
        against = ("explain", self.model, *SCHEME, "--against", "all.json")
        self.assertEqual(self.succeeds(*against), "")
        self.assertEqual(self.json_of(*against)["differences"], [])
        text = self.succeeds(*against, "--exclude", "fc2")
        self.assertRegex(text, r"\Afc2\.weight \(constant\)\n- axis=1, gain \d+\n"
                               r"\+ excluded by the pattern 'fc2'\n\Z")
        (difference,) = self.json_of(*against, "--exclude", "fc2")["differences"]
        self.assertEqual(difference["value"], "fc2.weight")
        self.assertEqual(difference["before"]["state"], "ToQuantize")
        self.assertEqual(difference["after"]["state"], "Unquantized")

    def test_two_plans(self):
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc1", "-o", "a.json")
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc2", "-o", "b.json")
        document = self.json_of("explain", self.model, *SCHEME, "--plan", "b.json", "--against",
                                "a.json")
        states = {entry["value"]: (entry["before"]["state"], entry["after"]["state"])
                  for entry in document["differences"]}
        self.assertEqual(states, {"fc1.weight": ("Unquantized", "ToQuantize"),
                                  "fc2.weight": ("ToQuantize", "Unquantized")})

    def test_a_plan_of_other_options_still_says_what_it_gained(self):
        self.succeeds("plan", self.model, *SCHEME, "--exclude", "fc1", "-o", "8.json")
        document = self.json_of("explain", self.model, *SCHEME, "--bits", "4", "--against", "8.json")
        (difference,) = document["differences"]  # the other one is axis=1 in both
        self.assertEqual(difference["value"], "fc1.weight")
        self.assertEqual(difference["before"]["reason"], "the plan leaves it in float")
        self.assertIn("cannot be followed", document["diagnostics"][0]["message"])

    def test_a_plan_of_other_schemes_names_them(self):
        self.succeeds("plan", self.model, *SCHEME, "--target-bits", 9, "-o", "budget.json")
        plan = json.loads(self.bytes_of("budget.json"))
        chosen = {value["value"]: value["scheme"] for value in plan["values"]}
        against = ("explain", self.model, *SCHEME, "--against", "budget.json")
        document = self.json_of(*against)
        self.assertEqual({entry["value"] for entry in document["differences"]}, set(chosen))
        for entry in document["differences"]:
            self.assertIn(f"{chosen[entry['value']]} ", entry["before"]["reason"])
            self.assertRegex(entry["after"]["reason"], r"\Aweight_only axis=1, gain")
        # Several schemes of a run have their names in its reasons.
        self.succeeds("plan", self.model, *SCHEME, "-o", "one.json")
        document = self.json_of("explain", self.model, *SCHEME, "--plan", "budget.json", "--against",
                                "one.json")
        for entry in document["differences"]:
            self.assertRegex(entry["before"]["reason"], r"\Aweight_only axis=1, gain")
            self.assertIn(f"{chosen[entry['value']]} ", entry["after"]["reason"])

    def test_a_plan_of_another_model(self):
        self.put("other.onnx", two_layers().replace(b"fc1.", b"gc1.").replace(b"fc2.", b"gc2."))
        self.succeeds("plan", "other.onnx", *SCHEME, "-o", "other.json")
        self.fails(IMPOSSIBLE, ["other.json", "'gc1.weight'", "of another model"], "explain",
                   self.model, *SCHEME, "--against", "other.json")

    def test_options_that_a_plan_would_not_follow(self):
        self.succeeds("plan", self.model, *SCHEME, "--target-bits", 9, "-o", "budget.json")
        for command in (("explain", self.model), ("quantize", self.model, "-o", "out.onnx")):
            for option in (("--bits", 4), ("--block-size", 16)):
                self.fails(USAGE, ["--plan", f"{option[0]} does not go with it"], *command, *SCHEME,
                           "--plan", "budget.json", *option)
        self.succeeds("plan", self.model, *SCHEME, "-o", "p.json")
        for option in (("--budget-rounds", 7), ("--budget-rule", "hull"), ("--measure", "full"),
                       ("--random", 2)):
            self.fails(USAGE, f"{option[0]} needs a budget", "quantize", self.model,
                       "-o", "out.onnx", *SCHEME, "--plan", "p.json", *option)

    def test_mistakes(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "p.json")
        self.fails(USAGE, "NODE is empty", "explain", self.model, "", *SCHEME)
        explain = ("explain", self.model, *SCHEME)
        self.fails(USAGE, "one of them", *explain, "fc1", "--all")
        self.fails(USAGE, "one of them", *explain, "--all", "--against", "p.json")
        self.fails(USAGE, "--plan", *explain, "--plan", "p.json", "--exclude", "fc1")
        self.fails(INPUT_OUTPUT, "none.json", *explain, "--against", "none.json")
        self.put("bad.json", json.dumps({"format": "other"}).encode())
        self.fails(BAD_INPUT, "bad.json", *explain, "--against", "bad.json")
        self.fails(IMPOSSIBLE, "bits=8", *explain, "--bits", "4", "--plan", "p.json")


if __name__ == "__main__":
    run_tests()
