"""The pages, pictures and explanations that the command writes, as a user asks for them.

    python3 tests/cli/report_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import html.parser
import json
import re
import sys

from command_case import (BAD_INPUT, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest, run_tests,
                          two_layers)

EVIL = "w</script><img src=x>\x1b\n\u202e\u2028\"'"
VOID = {"meta", "link", "input", "wbr", "path", "line", "rect", "circle"}


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
        self.assertIn("the given plan leaves it in float", "".join(page.text))

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
            self.fails(USAGE, "the model itself", *command, "--report", self.model)
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
        self.assertRegex(text, r"fc2\.weight +constant +Unquantized +the given plan leaves it in float")

    def test_what_differs_from_a_plan(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "all.json")
        against = ("explain", self.model, *SCHEME, "--against", "all.json")
        self.assertEqual(self.succeeds(*against), "")
        self.assertEqual(self.json_of(*against)["differences"], [])
        text = self.succeeds(*against, "--exclude", "fc2")
        self.assertRegex(text, r"\Afc2\.weight \(constant\)\n- axis=1, gain \d+\n"
                               r"\+ excluded by --exclude 'fc2'\n\Z")
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

    def test_mistakes(self):
        self.succeeds("plan", self.model, *SCHEME, "-o", "p.json")
        explain = ("explain", self.model, *SCHEME)
        self.fails(USAGE, "one of them", *explain, "fc1", "--all")
        self.fails(USAGE, "one of them", *explain, "--all", "--against", "p.json")
        self.fails(USAGE, "--plan", *explain, "--plan", "p.json", "--exclude", "fc1")
        self.fails(INPUT_OUTPUT, "none.json", *explain, "--against", "none.json")
        self.put("bad.json", json.dumps({"format": "other"}).encode())
        self.fails(BAD_INPUT, "bad.json", *explain, "--against", "bad.json")
        self.fails(IMPOSSIBLE, "bits=8", *explain, "--bits", "4", "--plan", "p.json")


if __name__ == "__main__":
    sys.exit(run_tests())
