"""`quadrant compare`: how far two models are from each other, and what it refuses.

    python3 tests/cli/compare_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import math
import random
import re
import zipfile
from fractions import Fraction

from command_case import (BAD_INPUT, DONE, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest,
                          run_tests)
from onnx_writer import model, node, tensor, value_info
from run_model_test import floats_in, npy, npz

CLASSES = 7
FIRST = ([0, 1, -1, 2, 0, -2, 1], [3, 0, 1, 0, -1, 2, 0])
SECOND = ([0, 1.25, -1, 2, 0, -2.5, 1], [3, 0, 1, 1.5, -1, 2, 0])


def three_layers(c, b):
    """y = relu(x + c) + b, with inner values h and r. Quarters stay exact all the way."""
    return model(
        [node("Add", ["x", "c"], ["h"]), node("Relu", ["h"], ["r"]),
         node("Add", ["r", "b"], ["y"])],
        [tensor("c", [CLASSES], c), tensor("b", [CLASSES], b)],
        [value_info("x", ["batch", CLASSES])], [value_info("y", ["batch", CLASSES])])


def shift(c, name="y"):
    """y = x + c"""
    return model([node("Add", ["x", "c"], [name])], [tensor("c", [CLASSES], c)],
                 [value_info("x", ["batch", CLASSES])], [value_info(name, ["batch", CLASSES])])


def values_of(rows, c, b):
    """Of the three layers, all samples together."""
    h = [x + y for row in rows for x, y in zip(row, c)]
    r = [max(0, value) for value in h]
    return {"h": h, "r": r, "y": [x + b[i % CLASSES] for i, x in enumerate(r)]}


def agreement(signal, other):
    """What compare says of two lists of numbers."""
    noise = sum((a - b) ** 2 for a, b in zip(signal, other))
    power = sum(a * a for a in signal)
    return {
        "elements": len(signal), "equal": sum(a == b for a, b in zip(signal, other)),
        "exact": signal == other, "non_finite": 0,
        "sqnr_db": 10 * math.log10(power / noise) if noise else None,
        "cosine": sum(a * b for a, b in zip(signal, other))
        / math.sqrt(power * sum(b * b for b in other)),
        "largest_error": max(abs(a - b) for a, b in zip(signal, other)),
    }


def top_classes(scores):
    return sorted(range(len(scores)), key=lambda i: -scores[i])


def share(values):
    return sum(values) / len(values)


def overlap_of(a, b):
    def area(x1, y1, x2, y2):
        return max(0, x2 - x1) * max(0, y2 - y1)

    both = area(max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
    return Fraction(both, area(*a) + area(*b) - both)


def suppress(found, overlap):
    """Of detections (sample, class, score, box)."""
    kept = []
    for one in sorted(found, key=lambda one: -one[2]):
        if not any(one[:2] == other[:2] and overlap_of(one[3], other[3]) > overlap
                   for other in kept):
            kept.append(one)
    return kept


def average_precision(objects, found, overlap):
    """Of one class."""
    free = list(objects)
    right, points = 0, []
    for count, (sample, _, _, box) in enumerate(sorted(found, key=lambda one: -one[2]), 1):
        mine = [other for other in free
                if other[0] == sample and overlap_of(other[3], box) >= overlap]
        if mine:
            free.remove(max(mine, key=lambda other: overlap_of(other[3], box)))
            right += 1
        points.append((Fraction(right, len(objects)), Fraction(right, count)))
    best = [max((precision for recall, precision in points if recall >= Fraction(percent, 100)),
                default=0) for percent in range(101)]
    return float(sum(best) / 101)


def mean_precision(objects, found):
    """At an overlap of one half, and from there to 0.95."""
    classes = {one[1] for one in objects}
    means = [sum(average_precision([one for one in objects if one[1] == label],
                                   [one for one in found if one[1] == label],
                                   Fraction(percent, 100)) for label in classes) / len(classes)
             for percent in range(50, 100, 5)]
    return {"at_0.5": means[0], "at_0.5_to_0.95": sum(means) / len(means)}


class CompareCase(CommandTest):
    def put_in(self, name, contents):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        return self.put(name, contents)

    def put_samples(self, *samples, folder="data"):
        """Each is a list of rows of x."""
        for i, rows in enumerate(samples):
            values = [value for row in rows for value in row]
            self.put_in(f"{folder}/s{i}.npy", npy(values, [len(rows), len(rows[0])]))

    def comparison(self, *arguments):
        return self.json_of("compare", *arguments)["comparison"]

    def assert_agrees(self, found, expected, message=None):
        for key, value in expected.items():
            if value is None or isinstance(value, (bool, int)):
                self.assertEqual(found[key], value, (message, key))
            else:
                self.assertAlmostEqual(found[key], value, 9, (message, key))

    def table_rows(self, text):
        """Cells of all lines."""
        return [re.split(" {2,}", line.strip()) for line in text.splitlines()]

    def values_that_run_gives(self, name, values, data):
        """{value: numbers of all samples}"""
        self.succeeds("run", name, "--data", data, "-o", f"{name}.out", "--outputs",
                      ",".join(values))
        files = sorted((self.folder / f"{name}.out").iterdir())
        return {value: [number for file in files
                        for number in floats_in(zipfile.ZipFile(file).read(f"{value}.npy"))[1]]
                for value in values}


class CompareTest(CompareCase):
    """Two models of the same three layers, on samples of one and two rows."""

    def setUp(self):
        super().setUp()
        self.model = self.put("a.onnx", three_layers(*FIRST))
        self.other = self.put("b.onnx", three_layers(*SECOND))
        numbers = random.Random(1)
        self.rows = [[numbers.randrange(-20, 20) / 4 for _ in range(CLASSES)] for _ in range(9)]
        self.put_samples(*(self.rows[i : i + 1 + i % 3] for i in (0, 1, 3, 4, 6, 7)))
        self.both = ("compare", self.model, self.other, "--data", "data")
        self.expected = {name: agreement(value, values_of(self.rows, *SECOND)[name])
                         for name, value in values_of(self.rows, *FIRST).items()}

    def test_json(self):
        document = self.json_of(*self.both, "--layers")
        self.assertEqual((document["first"], document["second"], document["diagnostics"]),
                         (self.model, self.other, []))
        comparison = document["comparison"]
        self.assertEqual(comparison["samples"], 6)
        self.assertEqual([output["name"] for output in comparison["outputs"]], ["y"])
        self.assertEqual([layer["name"] for layer in comparison["layers"]], ["h", "r", "y"])
        for value in comparison["outputs"] + comparison["layers"]:
            self.assert_agrees(value, self.expected[value["name"]], value["name"])
        self.assertEqual(self.comparison(*self.both[1:])["layers"], [])

    def test_table(self):
        def row(name, kind):
            value = self.expected[name]
            return [name, kind, f"{value['sqnr_db']:.2f} dB", f"{value['cosine']:.6f}",
                    f"{value['largest_error']:.4g}", f"{100 * value['equal'] / 63:.2f}%"]

        rows = self.table_rows(self.succeeds(*self.both))
        self.assertIn(["6 samples"], rows)
        self.assertIn(row("y", "add"), rows)
        self.assertNotIn("h", [cells[0] for cells in rows])
        rows = self.table_rows(self.succeeds(*self.both, "--layers"))
        layers = [row("h", "add"), row("r", "onnx.Relu"), row("y", "add")]
        layers.sort(key=lambda cells: self.expected[cells[0]]["sqnr_db"])
        self.assertEqual(rows[-3:], layers)
        self.assertEqual(layers[0][0], "y")

    def test_the_same_model(self):
        comparison = self.comparison(self.model, self.model, "--data", "data", "--layers")
        for value in comparison["outputs"] + comparison["layers"]:
            self.assert_agrees(value, {"elements": 63, "equal": 63, "exact": True, "sqnr_db": None,
                                       "cosine": 1.0, "largest_error": 0.0})
        self.assertEqual(len(comparison["layers"]), 3)
        text = self.succeeds("compare", self.model, self.model, "--data", "data")
        self.assertIn(["y", "add", "exact", "1.000000", "0", "100.00%"], self.table_rows(text))

    def test_a_quantized_model(self):
        self.put_samples(*([[math.sin(9 * i + j) for j in range(16)]] for i in range(5)),
                         folder="waves")
        self.succeeds("quantize", "model.onnx", "-o", "q.onnx", *SCHEME, "--bits", 4)
        names = ["h", "r", "y"]
        first = self.values_that_run_gives("model.onnx", names, "waves")
        second = self.values_that_run_gives("q.onnx", names, "waves")
        comparison = self.comparison("model.onnx", "q.onnx", "--data", "waves", "--layers")
        self.assertEqual([layer["name"] for layer in comparison["layers"]], names)
        for value in comparison["layers"] + comparison["outputs"]:
            self.assert_agrees(value, agreement(first[value["name"]], second[value["name"]]))
        self.assertLess(comparison["outputs"][0]["sqnr_db"], 40)

    def test_random_samples(self):
        rand = ("--random", 3, "--seed", 5, "--shape", f"x=2x{CLASSES}")
        self.succeeds("run", self.model, *rand, "-o", "drawn", "--outputs", "x")
        drawn = self.comparison(self.model, self.other, "--data", "drawn", "--layers")
        self.assertEqual(self.comparison(self.model, self.other, *rand, "--layers"), drawn)
        self.assertEqual(drawn["samples"], 3)
        self.assertEqual(drawn["outputs"][0]["elements"], 6 * CLASSES)
        self.assertNotEqual(self.comparison(self.model, self.other, "--random", 3, "--seed", 6,
                                            "--shape", f"x=2x{CLASSES}", "--layers"), drawn)

    def test_threads_change_nothing(self):
        self.put_samples(*([[math.sin(CLASSES * i + j) / 3 for j in range(CLASSES)]]
                           for i in range(60)), folder="waves")
        self.put("labels.txt", b"3\n" * 60)
        command = ("compare", self.model, self.other, "--data", "waves", "--layers", "--labels",
                   "labels.txt")
        for extra in (("--json",), ()):
            texts = {self.succeeds(*command, *extra, "--threads", threads) for threads in (1, 2, 7)}
            self.assertEqual(len(texts), 1, texts)

    def test_values_that_are_not_finite(self):
        """They are counted, and the sums are of the others."""
        rows = [[1, 2, 3, math.nan, math.inf, -math.inf, 4], [0, 1, 2, 3, 4, 5, 6]]
        self.put_samples(rows, folder="wild")
        self.put("shift.onnx", shift([0] * CLASSES))
        self.put("nan.onnx", shift([math.nan, 1, 0, 0, 0, 0, 0]))
        command = ("compare", "shift.onnx", "nan.onnx", "--data", "wild", "--allow-non-finite")
        result = self.run_command(*command)
        self.assertEqual(result.returncode, DONE, result.stderr)
        # NaN and the infinities of both models are the same; the first column is NaN in one.
        finite = ([2, 3, 4, 1, 2, 3, 4, 5, 6], [3, 3, 4, 2, 2, 3, 4, 5, 6])
        expected = {**agreement(*finite), "elements": 14, "equal": 10, "non_finite": 2}
        self.assert_agrees(self.comparison(*command[1:])["outputs"][0], expected)
        self.assertIn(["y", "add", f"{expected['sqnr_db']:.2f} dB, 2 not finite",
                       f"{expected['cosine']:.6f}", "1", "71.43%"],
                      self.table_rows(result.stdout.decode()))

    def test_runtimes(self):
        self.assertEqual(self.succeeds(*self.both, "--runtime", "interpreter"),
                         self.succeeds(*self.both))
        self.fails(USAGE, ["'interpretr'", "did you mean 'interpreter'"], *self.both, "--runtime",
                   "interpretr")

    def two_outputs(self, name, kinds, inputs, outputs):
        """An operation of p and q for each output."""
        return self.put(name, model(
            [node(kind, ["p", "q"], [output]) for kind, output in zip(kinds, outputs)], [],
            [value_info(value, ["n", 2]) for value in inputs],
            [value_info(value, ["n", 2]) for value in outputs]))

    def test_values_that_one_model_makes_infinite_are_the_worst(self):
        self.put("wild.onnx", three_layers(SECOND[0], [0, 0, 0, math.inf, 0, 0, 0]))
        text = self.succeeds("compare", self.model, "wild.onnx", "--data", "data", "--layers")
        self.assertEqual(self.table_rows(text)[-3][0], "y")
        self.put("all.onnx", shift([math.inf] * CLASSES))
        self.put("shift.onnx", shift([0] * CLASSES))
        rows = self.table_rows(self.succeeds("compare", "shift.onnx", "all.onnx", "--data", "data"))
        self.assertIn(["y", "add", "63 not finite"], [cells[:3] for cells in rows])

    def test_what_belongs_together(self):
        self.put_in("pq/s.npz", npz(p=npy([5, 7], [1, 2]), q=npy([1, 2], [1, 2])))
        one = self.two_outputs("one.onnx", ["Sub", "Mul"], ["p", "q"], ["s", "m"])

        def outputs(other):
            return self.comparison(one, other, "--data", "pq")["outputs"]

        # Inputs and outputs in another order: by name.
        found = outputs(self.two_outputs("turned.onnx", ["Mul", "Sub"], ["q", "p"], ["m", "s"]))
        self.assertEqual([(value["name"], value["exact"]) for value in found],
                         [("s", True), ("m", True)])
        # No name of an output is in both: by place.
        found = outputs(self.two_outputs("named.onnx", ["Sub", "Add"], ["p", "q"], ["t", "u"]))
        self.assertEqual([value["name"] for value in found], ["s", "m"])
        self.assert_agrees(found[0], agreement([4, 5], [4, 5]))
        self.assert_agrees(found[1], agreement([5, 14], [6, 9]))
        # One is in both: the other is left out, with a warning.
        half = self.two_outputs("half.onnx", ["Sub", "Mul"], ["p", "q"], ["s", "u"])
        self.assertEqual([value["name"] for value in outputs(half)], ["s"])
        diagnostics = self.json_of("compare", one, half, "--data", "pq")["diagnostics"]
        self.assertEqual([(each["severity"], each["file"], each["tensor"]) for each in diagnostics],
                         [("warning", one, "m"), ("warning", half, "u")])
        result = self.run_command("compare", one, half, "--data", "pq")
        self.assertRegex(result.stderr.decode(), r"\Awarning: one.onnx: tensor 'm': [^\n]+\n"
                                                 r"warning: half.onnx: tensor 'u': [^\n]+\n\Z")
        # Inputs: all names are in both, or none.
        for inputs in ("uv", "up"):
            self.put(f"{inputs}.onnx", model(
                [node("Sub", list(inputs), ["s"])], [],
                [value_info(name, ["n", 2]) for name in inputs], [value_info("s", ["n", 2])]))
        single = self.two_outputs("single.onnx", ["Sub"], ["p", "q"], ["s"])
        found = self.comparison(single, "uv.onnx", "--data", "pq")["outputs"]
        self.assertEqual([value["exact"] for value in found], [True])
        self.fails(USAGE, ["up.onnx", "'u'", "one.onnx", "same names"], "compare", one, "up.onnx",
                   "--data", "pq")

    def test_models_that_do_not_fit(self):
        two = self.two_outputs("two.onnx", ["Sub", "Mul"], ["p", "q"], ["s", "m"])
        single = self.two_outputs("single.onnx", ["Sub"], ["p", "q"], ["z"])
        self.fails(USAGE, "no outputs in common", "compare", two, single, "--random", 1)
        self.fails(USAGE, ["1 and 2 inputs", "same inputs"], "compare", self.model, two, "--data",
                   "data")
        for name, kind, inputs, outputs in (("in.onnx", "Relu", ["n", 2], ["n", 2]),
                                            ("out.onnx", "ReduceSum", ["n", CLASSES], [1, 1])):
            self.put(name, model([node(kind, ["x"], ["y"])], [], [value_info("x", inputs)],
                                 [value_info("y", outputs)]))
        compare = ("compare", self.model)
        self.fails(USAGE, ["in.onnx", "'x'", f"[?x{CLASSES}]", "[?x2]", self.model], *compare,
                   "in.onnx", "--data", "data")
        self.fails(IMPOSSIBLE, ["out.onnx", "'y'", f"[1x{CLASSES}]", "[1x1]", "data/s0.npy"],
                   *compare, "out.onnx", "--data", "data")

    def test_errors_name_the_model_and_the_sample(self):
        def put(name, kind, extents):
            self.put(name, model([node(kind, ["x", "c"], ["y"])],
                                 [tensor("c", [CLASSES], [1.0] * CLASSES)],
                                 [value_info("x", extents)], [value_info("y", extents)]))

        put("bad.onnx", "Nonsense", ["n", CLASSES])
        put("any.onnx", "Add", ["n", "m"])
        put("narrow.onnx", "Add", ["n", 1])
        self.put_samples([[1] * CLASSES], [[1]], [[1] * 5], folder="mixed")
        for files in ((self.model, "bad.onnx"), ("bad.onnx", self.model)):
            self.fails(IMPOSSIBLE, "quadrant: bad.onnx: ", "compare", *files, "--data", "data")
        self.fails(BAD_INPUT, ["quadrant: any.onnx: ", "(sample 'mixed/s2.npy')"], "compare",
                   "any.onnx", "any.onnx", "--data", "mixed")
        self.fails(USAGE, ["quadrant: narrow.onnx: ", "(sample 'mixed/s0.npy')"], "compare",
                   "any.onnx", "narrow.onnx", "--data", "mixed")

    def test_mistakes_in_the_call(self):
        self.fails(USAGE, "MODEL_B", "compare", self.model, "--data", "data")
        self.fails(USAGE, ["--data", "--random"], "compare", self.model, self.other)
        self.fails(USAGE, "excludes", *self.both, "--random", 1)
        self.fails(USAGE, "'third.onnx'", *self.both, "third.onnx")
        self.fails(USAGE, "did you mean '--layers'", *self.both, "--layer")
        for files in ((self.model, "none.onnx"), ("none.onnx", self.model)):
            self.fails(INPUT_OUTPUT, "none.onnx", "compare", *files, "--data", "data")
        self.fails(INPUT_OUTPUT, "nowhere", "compare", self.model, self.other, "--data", "nowhere")
        self.put("text.onnx", b"no model")
        self.fails(BAD_INPUT, "text.onnx", "compare", self.model, "text.onnx", "--data", "data")
        self.put_samples([[1] * CLASSES], [[1] * 3], folder="bad")
        self.fails(BAD_INPUT, "bad/s1.npy", "compare", self.model, self.other, "--data", "bad")

    def test_names_cannot_reach_the_terminal(self):
        name = "y\x1b[2J\n"
        self.put("evil.onnx", shift([0] * CLASSES, name))
        text = self.succeeds("compare", "evil.onnx", "evil.onnx", "--data", "data", "--layers")
        self.assertIn("y\\x1b[2J\\n", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(self.comparison("evil.onnx", "evil.onnx", "--data",
                                         "data")["outputs"][0]["name"], name)


class ClassesTest(CompareCase):
    """y = x and y = x + c, with x in halves: many scores are equal."""

    C = [0, 1, 0.5, 0, -1, 0, 1]

    def setUp(self):
        super().setUp()
        self.model = self.put("a.onnx", shift([0] * CLASSES))
        self.other = self.put("b.onnx", shift(self.C))
        numbers = random.Random(2)
        self.rows = [[numbers.randrange(8) / 2 for _ in range(CLASSES)] for _ in range(60)]
        self.labels = [numbers.randrange(-1, CLASSES) for _ in self.rows]
        self.put_samples(*(self.rows[i : i + 3] for i in range(0, 60, 3)))
        self.put("labels.txt", "".join(f"{label}\n" for label in self.labels).encode())
        self.both = ("compare", self.model, self.other, "--data", "data")
        ours = [top_classes(row) for row in self.rows]
        theirs = [top_classes([x + c for x, c in zip(row, self.C)]) for row in self.rows]
        self.same = self.score(theirs, [top[0] for top in ours])
        self.first, self.second = self.score(ours, self.labels), self.score(theirs, self.labels)

    def score(self, tops, labels):
        known = [(top, label) for top, label in zip(tops, labels) if label >= 0]
        return {"rows": len(known), "top1": share([label == top[0] for top, label in known]),
                "top5": share([label in top[:5] for top, label in known])}

    def test_json(self):
        classes = self.comparison(*self.both[1:])["classes"]
        self.assertEqual(classes, {"output": "y", "first": None, "second": None, "same": self.same})
        classes = self.comparison(*self.both[1:], "--labels", "labels.txt")["classes"]
        self.assertEqual(classes, {"output": "y", "first": self.first, "second": self.second,
                                   "same": self.same})
        self.assertLess(self.first["rows"], 60)
        self.assertLess(self.first["top1"], self.first["top5"])

    def test_table(self):
        def row(title, score):
            return [title, str(score["rows"]), f"{100 * score['top1']:.2f}%",
                    f"{100 * score['top5']:.2f}%"]

        rows = self.table_rows(self.succeeds(*self.both, "--labels", "labels.txt"))
        self.assertEqual(rows[-4:], [
            ["classes of 'y'", "rows", "top-1", "top-5"], row("first model is right", self.first),
            row("second model is right", self.second), row("both say the same", self.same)])

    def test_files_of_labels(self):
        labels = npy(self.labels, [60], "<i8")
        text = "# what is what\r\n\r\n" + "".join(f" {label}\t\r\n" for label in self.labels)
        files = {"crlf.txt": text.encode(), "no_end.txt": self.bytes_of("labels.txt")[:-1],
                 "l.npy": labels, "l.npz": npz(x=npy([1], [1]), labels=labels),
                 "y.npz": npz(x=npy([1], [1]), y=labels), "one.npz": npz(which=labels)}
        for name, contents in files.items():
            self.put(name, contents)
            classes = self.comparison(*self.both[1:], "--labels", name)["classes"]
            self.assertEqual((classes["first"], classes["second"]), (self.first, self.second), name)

    def test_nan_is_the_lowest_score(self):
        self.put(self.other, shift([math.nan, *self.C[1:]]))
        tops = [top_classes([-math.inf, *(x + c for x, c in zip(row[1:], self.C[1:]))])
                for row in self.rows]
        classes = self.comparison(*self.both[1:], "--labels", "labels.txt")["classes"]
        self.assertEqual((classes["first"], classes["second"], classes["same"]),
                         (self.first, self.score(tops, self.labels),
                          self.score(tops, [top_classes(row)[0] for row in self.rows])))

    def test_the_output_that_has_scores(self):
        """The first with two axes, or the one that is named."""
        def put(name, c):
            self.put(name, model(
                [node("Relu", ["x"], ["wide"]), node("Flatten", ["wide"], ["one"]),
                 node("Add", ["one", "c"], ["two"])], [tensor("c", [CLASSES], c)],
                [value_info("x", ["n", 1, CLASSES])],
                [value_info("wide", ["n", 1, CLASSES]), value_info("one", ["n", CLASSES]),
                 value_info("two", ["n", CLASSES])]))

        put(self.model, [0] * CLASSES)
        put(self.other, self.C)
        for i in range(20):
            rows = self.rows[3 * i : 3 * i + 3]
            self.put(f"data/s{i}.npy", npy([x for row in rows for x in row], [3, 1, CLASSES]))

        def classes(*options):
            return self.comparison(*self.both[1:], *options)["classes"]

        found = classes()
        self.assertEqual((found["output"], found["same"]["top1"]), ("one", 1))
        found = classes("--label-output", "two")
        self.assertEqual((found["output"], found["same"]), ("two", self.same))
        found = classes("--label-output", "wide", "--labels", "labels.txt")
        self.assertEqual((found["output"], found["first"]), ("wide", self.first))
        # With labels it may have any number of axes.
        found = classes("--labels", "labels.txt")
        self.assertEqual((found["output"], found["first"]), ("wide", self.first))
        self.fails(USAGE, ["no output 'three'", "wide, one, two"], *self.both, "--label-output",
                   "three")

    def test_labels_that_do_not_fit(self):
        def bad(fragments, name, contents, code=USAGE):
            self.put(name, contents)
            self.fails(code, fragments, *self.both, "--labels", name)

        bad(["few.txt", "59 labels for 60 rows"], "few.txt", b"1\n" * 59)
        bad(["many.txt", "61 labels for 60 rows"], "many.txt", b"1\n" * 61)
        bad(["high.txt", "label 7", "0 to 6", "data/s19.npy"], "high.txt", b"1\n" * 59 + b"7\n")
        for name, nothing in (("nothing.txt", b""), ("comments.txt", b"# nothing\n"),
                              ("nothing.npz", npz(labels=npy([], [0], "<i8")))):
            bad([name, "0 labels for 60 rows"], name, nothing)
        bad(["word.txt", "line 4"], "word.txt", b"1\n# two\n\n3a\n", BAD_INPUT)
        bad(["pair.txt", "line 1"], "pair.txt", b"1 2\n", BAD_INPUT)
        bad(["real.txt", "line 2"], "real.txt", b"1\n1.0\n", BAD_INPUT)
        bad(["large.txt", "line 1"], "large.txt", b"99999999999999999999\n", BAD_INPUT)
        bad(["f.npy", "labels", "integers", "f32"], "f.npy", npy([1] * 60, [60]), BAD_INPUT)
        bad(["two.npz", "'labels'"], "two.npz", npz(a=npy([1], [1], "<i8"), b=npy([1], [1], "<i8")),
            BAD_INPUT)
        bad("cut.npy", "cut.npy", npy([1] * 60, [60], "<i8")[:-1], BAD_INPUT)
        bad("bad.npz", "bad.npz", b"no archive", BAD_INPUT)
        for option in ("--labels", "--label-output"):
            self.fails(USAGE, [option, "empty"], *self.both, option, "")
        for name in ("none.txt", "none.npy", "none.npz"):
            self.fails(INPUT_OUTPUT, name, *self.both, "--labels", name)
        self.put("flat.onnx", model([node("Relu", ["x"], ["y"])], [], [value_info("x", ["n", 1])],
                                    [value_info("y", ["n", 1])]))
        self.fails(USAGE, "no output has scores", "compare", "flat.onnx", "flat.onnx", "--random",
                   1, "--labels", "labels.txt")


class DetectionsTest(CompareCase):
    """The first model hands on boxes and scores, the second shifts both a little."""

    BOXES, LABELS = 8, 3
    MOVED, LIFTED = [2, 0, 2, 1], [0, 0.125, -0.25]

    def setUp(self):
        super().setUp()
        for name, box, score in (("a.onnx", [0] * 4, [0] * 3),
                                 ("b.onnx", self.MOVED, self.LIFTED)):
            self.put(name, model(
                [node("Add", ["b", "d"], ["boxes"]), node("Add", ["s", "e"], ["scores"])],
                [tensor("d", [4], box), tensor("e", [self.LABELS], score)],
                [value_info("b", ["n", self.BOXES, 4]),
                 value_info("s", ["n", self.BOXES, self.LABELS])],
                [value_info("boxes", ["n", self.BOXES, 4]),
                 value_info("scores", ["n", self.BOXES, self.LABELS])]))
        self.both = ("compare", "a.onnx", "b.onnx", "--data", "data", "--boxes", "boxes",
                     "--scores", "scores")
        self.images = []  # [(box, scores), ...]
        numbers = random.Random(3)
        # No two scores are equal, in either model.
        scores = iter(numbers.sample(range(1, 1024), 6 * self.BOXES * self.LABELS))
        for _ in range(6):
            self.images.append([(self.box(numbers),
                                 [next(scores) / 1024 for _ in range(self.LABELS)])
                                for _ in range(self.BOXES)])
        self.put_images("data", lambda box: box)

    def put_images(self, folder, said):
        """In batches of one, two and three; `said`: how a box is written."""
        for i, images in enumerate((self.images[:1], self.images[1:3], self.images[3:])):
            self.put_in(f"{folder}/s{i}.npz", npz(
                b=npy([x for image in images for box, _ in image for x in said(box)],
                      [len(images), self.BOXES, 4]),
                s=npy([x for image in images for _, scores in image for x in scores],
                      [len(images), self.BOXES, self.LABELS])))

    def box(self, numbers):
        """Of few places and sizes, so that many overlap."""
        x, y = numbers.randrange(4) * 8, numbers.randrange(3) * 8
        return [x, y, x + numbers.randrange(8, 20), y + numbers.randrange(8, 20)]

    def detections(self, moved=(0,) * 4, lifted=(0,) * 3, least=0.05, overlap=Fraction(1, 2),
                   background=None):
        found = [(i, label, score + lifted[label], [x + d for x, d in zip(box, moved)])
                 for i, image in enumerate(self.images) for box, scores in image
                 for label, score in enumerate(scores)]
        return suppress([one for one in found if one[2] >= least and one[1] != background], overlap)

    def second(self, **options):
        return self.detections(self.MOVED, self.LIFTED, **options)

    def put_objects(self):
        """What is there: near the first model's better detections."""
        numbers = random.Random(4)
        objects = [(sample, label, 1, [box[0], box[1], box[2] + numbers.randrange(12), box[3]])
                   for sample, label, score, box in self.detections() if score > 0.4]
        self.put("objects.npz", npz(
            boxes=npy([x for one in objects for x in one[3]], [len(objects), 4], "<f8"),
            classes=npy([one[1] for one in objects], [len(objects)], "<i8"),
            samples=npy([one[0] for one in objects], [len(objects)], "<i8")))
        return objects

    def assert_precision(self, first, second, *options):
        found = self.comparison(*self.both[1:], *options)["mean_average_precision"]
        for who, expected in (("first", first), ("second", second)):
            self.assertEqual(found[who] is None, expected is None, options)
            for key, value in (expected or {}).items():
                self.assertAlmostEqual(found[who][key], value, 12, (options, who, key))
                self.assertTrue(0 < value < 1, (options, who, key, value))

    def test_with_objects(self):
        objects = self.put_objects()
        self.assert_precision(mean_precision(objects, self.detections()),
                              mean_precision(objects, self.second()), "--objects", "objects.npz")

    def test_without_objects_nothing_is_found(self):
        self.put("objects.npz", npz(boxes=npy([], [0, 4]), classes=npy([], [0], "<i8"),
                                    samples=npy([], [0], "<i8")))
        nothing = {"at_0.5": 0, "at_0.5_to_0.95": 0}
        found = self.comparison(*self.both[1:], "--objects", "objects.npz")
        self.assertEqual(found["mean_average_precision"], {"first": nothing, "second": nothing})

    def test_images_without_boxes_count(self):
        self.put("any.onnx", model(
            [node("Relu", ["b"], ["boxes"]), node("Relu", ["s"], ["scores"])], [],
            [value_info("b", [1, "n", 4]), value_info("s", [1, "n", 2])],
            [value_info("boxes", [1, "n", 4]), value_info("scores", [1, "n", 2])]))
        box = [0, 0, 8, 8]
        for i, count in enumerate((1, 0, 2)):
            moved = [x + 20 * k for k in range(count) for x in box]
            self.put_in(f"few/s{i}.npz", npz(b=npy(moved, [1, count, 4]),
                                             s=npy([0.9, 0] * count, [1, count, 2])))
        self.put("objects.npz", npz(
            boxes=npy([*box, *box, *(x + 20 for x in box)], [3, 4]),
            classes=npy([0] * 3, [3], "<i8"), samples=npy([0, 2, 2], [3], "<i8")))
        found = self.comparison("any.onnx", "any.onnx", "--data", "few", "--boxes", "boxes",
                                "--scores", "scores", "--objects", "objects.npz")
        self.assertEqual(found["mean_average_precision"]["first"],
                         {"at_0.5": 1, "at_0.5_to_0.95": 1})

    def test_the_first_model_is_right(self):
        self.assert_precision(None, mean_precision(self.detections(), self.second()))

    def test_what_is_a_detection(self):
        for options, how in (
                (("--least-score", 0.5), {"least": 0.5}),
                (("--overlap", 0.25), {"overlap": Fraction(1, 4)}),
                (("--overlap", 1), {"overlap": 1}),
                (("--background", 1), {"background": 1})):
            self.assert_precision(None, mean_precision(self.detections(**how),
                                                       self.second(**how)), *options)

    def test_centers(self):
        """The same boxes, said in the other way."""
        self.put_images("data", lambda box: [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2,
                                             box[2] - box[0], box[3] - box[1]])
        self.put("b.onnx", self.bytes_of("a.onnx"))
        precision = mean_precision(self.put_objects(), self.detections())
        self.assert_precision(precision, precision, "--objects", "objects.npz", "--centers")

    def test_classes_beside_detections(self):
        self.assertNotIn("classes", self.comparison(*self.both[1:]))
        found = self.comparison(*self.both[1:], "--label-output", "scores")
        self.assertEqual(found["classes"]["same"]["rows"], 6 * self.BOXES)
        self.assertIn("mean_average_precision", found)

    def test_table(self):
        objects = self.put_objects()
        rows = self.table_rows(self.succeeds(*self.both, "--objects", "objects.npz"))

        def row(title, found, real):
            precision = mean_precision(real, found)
            return [title, *(f"{value:.4f}" for value in precision.values())]

        self.assertEqual(rows[-3:], [["mean average precision", "at 0.5", "0.5 to 0.95"],
                                     row("first model", self.detections(), objects),
                                     row("second model", self.second(), objects)])
        rows = self.table_rows(self.succeeds(*self.both))
        self.assertEqual(rows[-1], row("second model, the first being right", self.second(),
                                       self.detections()))

    def test_threads_change_nothing(self):
        self.put_objects()
        documents = [self.comparison(*self.both[1:], "--objects", "objects.npz", "--threads",
                                     threads) for threads in (1, 5)]
        self.assertEqual(documents[0], documents[1])

    def test_mistakes(self):
        def bad(fragments, code=BAD_INPUT, **arrays):
            good = {"boxes": npy([0, 0, 1, 1], [1, 4]), "classes": npy([1], [1], "<i8"),
                    "samples": npy([0], [1], "<i8")}
            arrays = {name: contents for name, contents in {**good, **arrays}.items() if contents}
            self.put("bad.npz", npz(**arrays))
            self.fails(code, ["bad.npz", *fragments], *self.both, "--objects", "bad.npz")

        bad(["'samples'"], samples=None)
        bad(["[1x3]", "[n, 4]"], boxes=npy([0, 0, 1], [1, 3]))
        bad(["i64"], boxes=npy([0, 0, 1, 1], [1, 4], "<i8"))
        bad(["'classes'", "integers", "f32"], classes=npy([1], [1]))
        bad(["'samples'", "integers", "f32"], samples=npy([1], [1]))
        bad(["'classes'", "[2]"], classes=npy([1, 2], [2], "<i8"))
        bad(["'classes'", "[1x1]"], classes=npy([1], [1, 1], "<i8"))
        bad(["object 0", "sample -1"], samples=npy([-1], [1], "<i8"))
        for box in ([2, 0, 1, 1], [0, 2, 1, 1], [math.nan, 0, 1, 1]):
            bad(["object 0", "x1 <= x2"], boxes=npy(box, [1, 4]))
        bad([], boxes=b"no array")
        bad(["object 0", "sample 6", "images is 6"], USAGE, samples=npy([6], [1], "<i8"))
        for label in (-1, self.LABELS):
            bad(["object 0", f"class {label}", "classes is 3"], USAGE,
                classes=npy([label], [1], "<i8"))
        self.fails(INPUT_OUTPUT, "none.npz", *self.both, "--objects", "none.npz")
        compare = self.both[:5]
        self.fails(USAGE, ["--boxes", "--scores"], *compare, "--boxes", "boxes")
        self.fails(USAGE, ["--objects", "--boxes"], *compare, "--objects", "objects.npz")
        self.fails(USAGE, ["'box'", "boxes, scores"], *compare, "--boxes", "box", "--scores",
                   "scores")
        self.fails(USAGE, "'score'", *compare, "--boxes", "boxes", "--scores", "score")
        self.fails(USAGE, [f"[1x{self.BOXES}x3]", "no detections"], *compare, "--boxes", "scores",
                   "--scores", "boxes")
        self.fails(USAGE, ["a.onnx", "data/s0.npz"], *compare, "--boxes",
                   "scores", "--scores", "boxes")
        for number in (1.5, "nan", "-nan"):
            self.fails(USAGE, "--overlap", *self.both, "--overlap", number)
        self.fails(USAGE, "--least-score", *self.both, "--least-score", "nan")
        self.fails(USAGE, ["--boxes", "empty"], *compare, "--boxes", "", "--scores", "")
        self.fails(USAGE, ["--scores", "empty"], *compare, "--boxes", "boxes", "--scores", "")
        self.fails(USAGE, ["--objects", "empty"], *self.both, "--objects", "")


if __name__ == "__main__":
    run_tests()
