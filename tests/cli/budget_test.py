"""Budgets of size, bits and error, and `quadrant pareto`.

    python3 tests/cli/budget_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import itertools
import json
import math
import random
import re

from command_case import BAD_INPUT, IMPOSSIBLE, SCHEME, USAGE, run_tests
from compare_test import CompareCase
from onnx_writer import model, node, tensor, value_info

WIDTH = 64
LAYERS = 4


def layers(seed=1):
    """y = x w0 w1 ..., each with a spread of its own."""
    numbers = random.Random(seed)
    names = ["x", *(f"h{i}" for i in range(LAYERS - 1)), "y"]
    return model(
        [node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(LAYERS)],
        [tensor(f"w{i}", [WIDTH, WIDTH],
                [numbers.gauss(0, 0.1) * (20 if numbers.random() < 0.02 * i else 1)
                 for _ in range(WIDTH * WIDTH)]) for i in range(LAYERS)],
        [value_info("x", ["batch", WIDTH])], [value_info("y", ["batch", WIDTH])])


class BudgetTest(CompareCase):
    def setUp(self):
        super().setUp()
        self.model = self.put("layers.onnx", layers())
        numbers = random.Random(7)
        self.put_samples(*([[numbers.gauss(0, 1) for _ in range(WIDTH)] for _ in range(8)]
                           for _ in range(3)))

    def quantize(self, *arguments):
        return self.json_of("quantize", self.model, "-o", "out.onnx", *SCHEME, *arguments)

    def test_size_is_that_of_the_file(self):
        for size in (9_700, 10_000, 12_345, 16_000, 20_000, 40_000):
            for data in ((), ("--data", "data")):
                done = self.quantize("--target-size", size, *data)
                written = len(self.bytes_of("out.onnx"))
                self.assertEqual(done["budget"]["file_bytes"], written)
                self.assertEqual(done["written"]["model_bytes"], written)
                self.assertLessEqual(written, size)
                left = (size - written) / size
                self.assertAlmostEqual(done["budget"]["unused"], left, 12)
                if left > 0.01 and not data:
                    self.assertEqual(done["budget"]["refused_upgrades"], 0)
                self.assertLessEqual(done["budget"]["bound"],
                                     done["budget"]["predicted_error"] * (1 + 1e-9))

    def test_what_weights_share_counts_once(self):
        """A table of what bytes stand for is in the file once, however many weights are looked up in it."""
        table, wide = ("--mix", "a=weight-only,type=nf4"), ("--mix", "b=weight-only,type=int8")

        def least(*mix):
            call = ("quantize", self.model, "-o", "out.onnx", *mix, "--target-bits", 1)
            self.fails(IMPOSSIBLE, ["the least possible is"], *call)
            error = self.run_command(*call).stderr.decode()
            return float(re.search(r"([0-9.]+) bits for each weight", error)[1])

        alone = least(*table)
        self.assertLess(alone, 6)  # 4.5, and 2 kB for 16 k weights
        self.assertAlmostEqual(least(*table, *wide), alone, 3)
        met = self.json_of("quantize", self.model, "-o", "out.onnx", *table, *wide, "--target-bits", alone + 0.001)
        self.assertLessEqual(met["budget"]["bits"], alone + 0.001)
        # A quarter of the weights may have 8 bits, and as many have.
        met = self.json_of("quantize", self.model, "-o", "out.onnx", *table, *wide, "--target-bits", alone + 1.1)
        self.assertGreater(met["budget"]["bits"], alone + 0.7)
        self.assertLessEqual(met["budget"]["bits"], alone + 1.1)

    def test_units_of_size(self):
        same = [self.quantize("--target-size", size)["budget"]
                for size in ("12000", "12000B", "12kB", "0.012MB", "11.71875KiB")]
        self.assertEqual(same, [same[0]] * len(same))

    def test_bits_count_scales_and_zero_points(self):
        for bits in (4.25, 4.5, 5, 6.3, 8.5, 33):
            budget = self.quantize("--target-bits", bits)["budget"]
            stored = sum(weight["bytes"] for weight in budget["weights"])
            elements = sum(weight["elements"] for weight in budget["weights"])
            self.assertEqual(elements, LAYERS * WIDTH * WIDTH)
            self.assertAlmostEqual(budget["bits"], 8 * stored / elements, 9)
            self.assertLessEqual(budget["bits"], bits)
            forms = {weight["form"] for weight in budget["weights"]}
            if bits == 33:
                self.assertEqual(forms, {"float"})

    def test_bits_are_those_of_the_file(self):
        # Scales that are no float16 are stored as float32.
        numbers = random.Random(3)
        tiny = [[numbers.gauss(0, 0.1) * factor for _ in range(WIDTH * WIDTH)]
                for factor in (1, 1e-30)]
        self.model = self.put("tiny.onnx", model(
            [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])],
            [tensor("w", [WIDTH, WIDTH], tiny[0]), tensor("v", [WIDTH, WIDTH], tiny[1])],
            [value_info("x", ["batch", WIDTH])], [value_info("y", ["batch", WIDTH])]))
        for bits in (4.6, 5, 6):
            done = self.quantize("--target-bits", bits)
            after = done["summary"]["quantized_after"]
            self.assertEqual(after["elements"], 2 * WIDTH * WIDTH)
            self.assertAlmostEqual(done["budget"]["bits"], after["bits_per_element"], 9)
            self.assertLessEqual(after["bits_per_element"], bits)
            self.assertEqual(sum(weight["bytes"] for weight in done["budget"]["weights"]),
                             after["bytes"])

    def test_no_limit_of_error_takes_more_than_one_form_for_all(self):
        for size in range(9_700, 22_000, 1_700):
            one = self.quantize("--target-size", size, "--budget-rule", "uniform", "--data", "data")
            error = one["budget"]["output_error"]
            done = self.quantize("--max-error", error, "--data", "data")["budget"]
            self.assertLessEqual(done["output_error"], error * (1 + 1e-9))
            self.assertLessEqual(done["file_bytes"], one["budget"]["file_bytes"])

    def test_a_limit_that_was_printed_can_be_met(self):
        for bits in (4.3, 4.5, 5, 6.1, 8.5):
            was = self.quantize("--target-bits", bits)["budget"]
            now = self.quantize("--max-error", repr(was["weight_error"]))["budget"]
            self.assertLessEqual(now["file_bytes"], was["file_bytes"])

    def test_weights_that_a_form_stores_exactly(self):
        numbers = random.Random(5)
        codes = [[127 if i < WIDTH else numbers.randint(-127, 127) for i in range(WIDTH * WIDTH)]
                 for _ in range(2)]
        self.model = self.put("grid.onnx", model(
            [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])],
            [tensor(name, [WIDTH, WIDTH], [code / 512 for code in of])
             for name, of in zip("wv", codes)],
            [value_info("x", ["batch", WIDTH])], [value_info("y", ["batch", WIDTH])]))
        done = self.quantize("--min-sqnr", 60, "--data", "data")["budget"]
        self.assertEqual([weight["form"] for weight in done["weights"]], ["int8", "int8"])
        self.assertEqual(done["output_error"], 0)
        points = self.json_of("pareto", self.model, *SCHEME, "--data", "data")["points"]
        self.assertGreater(points[0]["error"], 0.0001)  # of 4 bits
        text = self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, "--target-size",
                             "20kB", "--data", "data")
        self.assertIn("of the budget is left, since nothing is lost", text)

    def test_outputs_that_say_nothing(self):
        self.model = self.put("zeros.onnx", model(
            [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "zero"], ["y"])],
            [tensor("w", [WIDTH, WIDTH], [i % 5 - 2 for i in range(WIDTH * WIDTH)]),
             tensor("zero", [WIDTH, WIDTH], [0] * (WIDTH * WIDTH))],
            [value_info("x", ["batch", WIDTH])], [value_info("y", ["batch", WIDTH])]))
        done = self.quantize("--target-bits", 5, "--data", "data")
        self.assertEqual([diagnostic["message"].split(":")[0] for diagnostic in done["diagnostics"]
                          if diagnostic["severity"] == "warning"],
                         ["on these samples the outputs in float are zero, or no numbers"])

    def test_what_is_measured_is_what_compare_says(self):
        done = self.quantize("--target-bits", 5, "--data", "data")
        outputs = self.comparison(self.model, "out.onnx", "--data", "data")["outputs"]
        noise = max(10 ** (-output["sqnr_db"] / 10) for output in outputs)
        self.assertAlmostEqual(done["budget"]["output_error"] / noise, 1, 4)

    def test_sqnr_at_the_outputs_holds(self):
        sizes = []
        for decibels in (12, 20, 30, 40, 200):
            done = self.quantize("--min-sqnr", decibels, "--data", "data")
            outputs = self.comparison(self.model, "out.onnx", "--data", "data")["outputs"]
            for output in outputs:
                self.assertGreaterEqual(output["sqnr_db"] or math.inf, decibels - 0.001)
            sizes.append(done["budget"]["file_bytes"])
        self.assertEqual(sizes, sorted(sizes))
        self.assertLess(sizes[0], sizes[-1] / 3)
        error = self.quantize("--max-error", 0.001, "--data", "data")["budget"]
        self.assertEqual(error["file_bytes"], sizes[2])  # 30 dB

    def test_sqnr_of_each_weight_holds(self):
        sizes = []
        for decibels in (10, 25, 45, 100):
            budget = self.quantize("--min-weight-sqnr", decibels)["budget"]
            worst = budget["worst_weight"]
            self.assertTrue(worst == 0 or -10 * math.log10(worst) >= decibels, (decibels, worst))
            sizes.append(budget["file_bytes"])
        self.assertEqual(sizes, sorted(sizes))

    def test_search_is_never_worse_than_the_plain_rules(self):
        for size in (10_000, 11_000, 14_000):
            for data in ((), ("--data", "data")):
                figure = "output_error" if data else "weight_error"
                found = {rule: self.quantize("--target-size", size, "--budget-rule", rule, *data)
                         ["budget"][figure] for rule in ("search", "hull", "uniform")}
                self.assertLessEqual(found["search"], min(found.values()) * (1 + 1e-9))

    def test_the_frontier(self):
        points = self.json_of("pareto", self.model, *SCHEME)
        steps = points["points"]
        self.assertFalse(points["at_outputs"])
        self.assertEqual([weight["values"] for weight in points["weights"]],
                         [[f"w{i}"] for i in range(LAYERS)])
        for before, after in itertools.pairwise(steps):
            self.assertLess(before["file_bytes"], after["file_bytes"])
            self.assertGreater(before["error"], after["error"])
            changed = sum(a != b for a, b in zip(before["forms"], after["forms"]))
            self.assertEqual(changed, 1)
            self.assertEqual(after["change"].count(" -> "), 1)
        self.assertEqual(steps[-1]["error"], 0)
        # Each point of the frontier is what a budget of its size gives, but for a few bytes.
        for point in steps[:-1]:
            budget = self.quantize("--target-size", point["file_bytes"] + 16)["budget"]
            self.assertLessEqual(budget["weight_error"], point["error"] * (1 + 1e-9))

    def test_a_plan_by_budget_is_followed_as_it_was_made(self):
        self.succeeds("plan", self.model, *SCHEME, "--target-bits", 5, "-o", "plan.json")
        self.succeeds("quantize", self.model, "-o", "planned.onnx", *SCHEME, "--plan", "plan.json")
        self.quantize("--target-bits", 5)
        self.assertEqual(self.bytes_of("planned.onnx"), self.bytes_of("out.onnx"))
        plan = json.loads(self.bytes_of("plan.json"))
        self.assertGreater(len({value["scheme"] for value in plan["values"]}), 1)
        # Whatever chose from the same forms may explain it.
        for schemes in (SCHEME, ("--preset", "mixed-4.5bit")):
            document = self.json_of("explain", self.model, *schemes, "--plan", "plan.json", "--all")
            states = {entry["value"]: entry["state"] for entry in document["explanations"]}
            for value in plan["values"]:
                self.assertEqual(states[value["value"]], "ToQuantize")

    def test_plan_says_what_quantize_does(self):
        budget = ("--target-bits", 5, "--data", "data")
        planned = self.json_of("plan", self.model, *SCHEME, *budget)
        self.assertEqual(planned["budget"]["weights"], self.quantize(*budget)["budget"]["weights"])
        self.assertIsNone(self.json_of("plan", self.model, *SCHEME)["budget"])
        text = self.succeeds("plan", self.model, *SCHEME, *budget)
        self.assertRegex(text, r"outputs: \d+\.\d\d dB measured")

    def test_floats_alone(self):
        for budget in (("--target-bits", 100), ("--min-sqnr", 300, "--data", "data")):
            text = self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, *budget)
            self.assertIn("nothing is quantized: every weight stays in float", text)
            self.assertIn("weights: exact at least", text)
            self.assertNotIn("inf", text)

    def test_a_looser_limit_takes_no_larger_file(self):
        # Errors at the output of a chain are not what those of its weights add up to.
        sizes = [self.quantize("--min-sqnr", decibels, "--data", "data")["budget"]["file_bytes"]
                 for decibels in range(10, 46, 5)]
        self.assertEqual(sizes, sorted(sizes))

    def test_the_same_for_any_number_of_threads(self):
        texts = []
        for threads in (1, 3):
            self.quantize("--target-bits", 4.6, "--data", "data", "--threads", threads)
            texts.append(self.bytes_of("out.onnx"))
        self.assertEqual(texts[0], texts[1])

    def test_of_many_samples_a_quarter_judges(self):
        # Those held back are of the second half of the inputs, the others of the first.
        numbers = random.Random(8)
        samples = [[[numbers.gauss(0, 1) if (k < WIDTH // 2) == (i not in (3, 7)) else 0 for k in range(WIDTH)]
                    for _ in range(2)] for i in range(9)]
        self.put_samples(*samples)
        found = {rule: self.quantize("--target-size", 11_000, "--budget-rule", rule, "--data", "data")["budget"]
                 for rule in ("uniform", "hull", "search")}
        self.assertLessEqual(found["search"]["judged_error"],
                             min(one["judged_error"] for one in found.values()) * (1 + 1e-9))
        # The last is the search's: its errors are of all samples, and of those held back.
        for name, kept in (("output_error", range(9)), ("judged_error", (3, 7))):
            self.put_samples(*(samples[i] for i in kept), folder=name)
            outputs = self.comparison(self.model, "out.onnx", "--data", name)["outputs"]
            noise = max(10 ** (-output["sqnr_db"] / 10) for output in outputs)
            self.assertAlmostEqual(found["search"][name] / noise, 1, 4)
        text = self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, "--target-size", 11_000, "--data",
                             "data")
        plans = found["search"]["judged_plans"]
        self.assertGreater(plans, 2)
        self.assertEqual(found["search"]["judged_samples"], 2)
        self.assertRegex(text, rf"dB predicted, \d+\.\d\d dB as the best of {plans} plans on 2 held-back samples")

    def test_excluded_weights_stay_float_and_are_not_counted(self):
        budget = self.quantize("--target-bits", 5, "--exclude", "w2")["budget"]
        self.assertEqual([weight["values"] for weight in budget["weights"]],
                         [["w0"], ["w1"], ["w3"]])

    def test_text(self):
        text = self.succeeds("quantize", self.model, "-o", "out.onnx", *SCHEME, "--target-size",
                             "11kB", "--data", "data")
        self.assertRegex(text, r"that can be quantized: \d+\.\d\d % of the budget is left")
        forms = re.search(r"forms: (.*)", text).group(1).split(", ")
        used = re.findall(r"^  (u?int[48]\S*) +(\d+)  ", text, re.MULTILINE)
        self.assertEqual({tuple(form.split()) for form in forms if not form.startswith("float ")},
                         set(used))
        self.assertEqual(sum(int(form.split()[1]) for form in forms), LAYERS)
        self.assertRegex(text, r"outputs: \d+\.\d\d dB measured, \d+\.\d\d dB predicted")
        text = self.succeeds("pareto", self.model, *SCHEME, "--data", "data")
        self.assertIn("w0: ", text)
        self.assertRegex(text, rf"The smallest has \S+ {LAYERS}\.|The smallest has \S+ \d+, ")
        self.assertIn("at the output that has most", text)
        self.assertIn("*", text)

    def test_what_cannot_be_met(self):
        run = ("quantize", self.model, "-o", "out.onnx", *SCHEME)
        self.fails(IMPOSSIBLE, ["5000 bytes cannot be met: the least possible is", "bits"],
                   *run, "--target-size", "5kB")
        self.fails(IMPOSSIBLE, "3 bits cannot be met: the least possible is", *run,
                   "--target-bits", 3)
        self.fails(IMPOSSIBLE, ["5 bits cannot be met by forms that keep each weight's errors so small",
                                "26."], *run, "--target-bits", 5, "--min-weight-sqnr", 40)
        self.fails(IMPOSSIBLE, ["within 10000 bytes the least error that was found is", "(60.00 dB)"], *run,
                   "--target-size", 10_000, "--min-sqnr", 60, "--data", "data")
        self.fails(IMPOSSIBLE, "nothing here can be quantized, and in floats", *run, "--exclude",
                   "w", "--target-size", "5kB")
        self.fails(IMPOSSIBLE, "there is nothing to decide", "pareto", self.model, *SCHEME,
                   "--exclude", "w")

    def test_what_contradicts(self):
        run = ("quantize", self.model, "-o", "out.onnx", *SCHEME)
        for fragments, *arguments in (
                ("two budgets for the same", "--target-size", "9kB", "--target-bits", 5),
                ("two limits of the same", "--min-sqnr", 30, "--max-error", 0.1, "--data", "data"),
                ("--min-weight-sqnr", "--min-sqnr", 30),
                ("--bits does not go with it", "--target-bits", 5, "--bits", 4),
                ("a gain does not go with it", "--target-bits", 5, "--gain", "bytes"),
                ("a budget does not go with it", "--target-bits", 5, "--plan", "plan.json"),
                ("--target-bits: 0 is no number above zero", "--target-bits", 0),
                ("above zero", "--target-bits", -4),
                ("above zero", "--max-error", -1),
                ("--target-bits: nan is no number above zero", "--target-bits", "nan"),
                ("--min-sqnr: 4000 is no number of decibels", "--min-sqnr", 4000, "--data", "data"),
                ("'20 MB' is not a size", "--target-size", "20 MB"),
                ("'-5kB' is not a size", "--target-size=-5kB"),
                ("'1e400' is not a size", "--target-size", "1e400"),
                ("'MB' is not a size", "--target-size", "MB"),
                ("--data needs a budget", "--data", "data"),
                ("--budget-rule needs a budget", "--budget-rule", "hull"),
                ("--target-bits alone", "--target-size", "9kB", "--save-recipe", "r.json"),
                ("--target-bits alone", "--target-bits", 5, "--max-error", 0.1, "--save-recipe",
                 "r.json"),
                ("--target-bits alone", "--target-bits", 5, "--budget-rule", "hull",
                 "--save-recipe", "r.json"),
                ("is for budgets of size", "--max-error", 0.1, "--budget-rule", "hull")):
            self.fails(USAGE, fragments, *run, *arguments)
        self.fails(USAGE, "not for static_affine", "quantize", self.model, "-o", "out.onnx",
                   "--scheme", "static-affine", "--target-bits", 5)
        self.fails(USAGE, "--bits does not go with it", "pareto", self.model, *SCHEME, "--bits", 4)

    def test_a_saved_recipe_means_the_same(self):
        for schemes in (SCHEME, ("--mix", "int8,int4-block32")):
            with self.subTest(schemes):
                self.succeeds("plan", self.model, *schemes, "--target-bits", 6, "-o", "a.json",
                              "--save-recipe", "r.json")
                self.succeeds("plan", self.model, "--recipe", "r.json", "-o", "b.json")
                self.assertEqual(self.bytes_of("a.json"), self.bytes_of("b.json"))
                self.succeeds("quantize", self.model, "-o", "a.onnx", *schemes, "--plan", "a.json")
                self.succeeds("quantize", self.model, "-o", "b.onnx", "--recipe", "r.json")
                self.assertEqual(self.bytes_of("a.onnx"), self.bytes_of("b.onnx"))

    def test_schemes_and_rules_of_a_recipe_are_all_there_is(self):
        recipe = {"format": "quadrant.recipe", "version": 1,
                  "schemes": {"wide": {"scheme": "weight_only"},
                              "slim": {"scheme": "weight_only", "options": {"bits": 4}}},
                  "rules": [{"match": {"name": "^w0$"}, "scheme": "float"}], "target_bits": 20}
        self.put("r.json", json.dumps(recipe).encode())
        plan = self.json_of("plan", self.model, "--recipe", "r.json")["plan"]
        self.assertEqual([scheme["name"] for scheme in plan["schemes"]], ["slim", "wide"])
        self.assertTrue(plan["values"])
        self.assertNotIn("w0", [value["value"] for value in plan["values"]])

    def test_weights_that_hold_nan(self):
        values = [0.5] * (WIDTH * WIDTH)
        values[5] = math.nan
        self.model = self.put("nan.onnx", model(
            [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])],
            [tensor("w", [WIDTH, WIDTH], values),
             tensor("v", [WIDTH, WIDTH], [i % 7 - 3 for i in range(WIDTH * WIDTH)])],
            [value_info("x", ["batch", WIDTH])], [value_info("y", ["batch", WIDTH])]))
        self.fails(IMPOSSIBLE, "element 5 is nan", "quantize", self.model, "-o", "out.onnx",
                   *SCHEME, "--target-bits", 5)
        budget = self.quantize("--target-bits", 5, "--non-finite", "leave")["budget"]
        self.assertEqual([weight["values"] for weight in budget["weights"]], [["v"]])
        self.fails(BAD_INPUT, "", "quantize", self.put("bad.onnx", b"no"), "-o", "out.onnx",
                   *SCHEME, "--target-bits", 5)


if __name__ == "__main__":
    run_tests()
