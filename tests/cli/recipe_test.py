"""Recipes, presets and runs of several schemes.

    python3 tests/cli/recipe_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import pathlib
import re

from command_case import (BAD_INPUT, EXAMPLES, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE, CommandTest,
                          run_tests)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = ("int4-block32", "int8", "int8-static", "mixed-4.5bit")
MIX = ("--mix", "int8", "--mix", "int4=weight-only,bits=4")


def recipe(rules=(), schemes=("int4", "int8"), **more):
    options = {"int4": {"bits": 4}, "int8": {}}
    return {"format": "quadrant.recipe", "version": 1,
            "schemes": {name: {"scheme": "weight_only", "options": options[name]}
                        for name in schemes},
            "rules": list(rules), **more}


class RecipeCase(CommandTest):
    def save(self, document, name="recipe.json"):
        self.put(name, json.dumps(document).encode())
        return ("--recipe", name)

    def plan(self, *arguments, model=None):
        return self.json_of("plan", model or self.model, *arguments)

    def schemes_of(self, *arguments):
        """The scheme of each weight."""
        return {value["value"]: value["scheme"] for value in self.plan(*arguments)["plan"]["values"]}


class SavedRecipeTest(RecipeCase):
    def check_same(self, *options, data=(), model=None):
        """The recipe that these options mean makes the same plan, and is saved the same again."""
        expected = self.plan(*options, *data, "--save-recipe", "saved.json", model=model)
        saved = json.loads(self.bytes_of("saved.json"))
        again = self.plan("--recipe", "saved.json", *data, "--save-recipe", "again.json",
                          model=model)
        self.assertEqual(again["plan"], expected["plan"], options)
        self.assertEqual(self.bytes_of("again.json"), self.bytes_of("saved.json"), options)
        return saved, expected["plan"]

    def test_weight_only(self):
        plans = []
        for options in ((), ("--bits", 4), ("--bits", 8), ("--asymmetric",), ("--signed-scale",),
                        ("--symmetric",), ("--granularity", "tensor"), ("--granularity", "block"),
                        ("--block-size", 16), ("--bits", 4, "--block-size", 8, "--clip", "mse"),
                        ("--clip", "minmax"), ("--scales", "float16"), ("--form", "behind"),
                        ("--form", "fewest"), ("--gain", "unit"), ("--exclude", "fc1"),
                        ("--include", "fc2", "--include", "act", "--exclude", "^act$")):
            with self.subTest(options=options):
                plans.append(json.dumps(self.check_same(*SCHEME, *options)[1]))
        self.assertGreater(len(set(plans)), 13)

    def test_static_affine(self):
        self.succeeds("calibrate", self.model, "--random", 2, "--shape", "x=3x16", "-o",
                      "s.json")
        data = ("--calibration", "s.json")
        plans = []
        for options in ((), ("--activation-bits", 16), ("--weight-bits", 4), ("--weights", "tensor"),
                        ("--weights", "tensor", "--asymmetric-weights"), ("--bias-bits", 8),
                        ("--encoding", "mse"),
                        ("--encoding", "adjusted-weights", "--weights", "tensor",
                         "--asymmetric-weights"),
                        ("--weight-encoding", "entropy", "--activation-encoding", "percentile"),
                        ("--use-enhanced",), ("--use-enhanced", "weights"), ("--profile", "snpe"),
                        ("--encoding", "percentile", "--percentile", 99.5),
                        ("--kernels", "tflite", "--activation-bits", 16),
                        ("--unsigned-activations", "--quantized-inputs", "--quantized-outputs")):
            with self.subTest(options=options):
                saved, plan = self.check_same("--scheme", "static-affine", *options, data=data)
                plans.append(json.dumps(plan))
                self.assertNotIn("s.json", json.dumps(saved))
        self.assertGreater(len(set(plans)), 11)

    def test_what_is_done_to_the_model_before(self):
        samples = ("--calibration", EXAMPLES / "digits_cnn.npz")
        saved, _ = self.check_same("--scheme", "static-affine", "--optimize", "cle,hba", "--relu6",
                                   "relu", data=samples, model=EXAMPLES / "digits_cnn.onnx")
        self.assertEqual(saved["model"], {"optimize": ["cle", "hba"], "relu6": "relu"})

    def test_mixes_and_presets(self):
        for options in (MIX, (*MIX, "--exclude", "fc2"), ("--preset", "int4-block32"),
                        ("--preset", "int8", "--gain", "unit", "--exclude", "fc2")):
            with self.subTest(options=options):
                self.check_same(*options)

    def test_non_finite(self):
        quantize = ("quantize", self.model, "--dry-run")
        self.succeeds(*quantize, *SCHEME, "--non-finite", "leave", "--save-recipe", "saved.json")
        self.assertEqual(json.loads(self.bytes_of("saved.json"))["non_finite"], "leave")
        self.succeeds(*quantize, "--recipe", "saved.json", "--non-finite", "refuse",
                      "--save-recipe", "again.json")
        self.assertNotIn("non_finite", json.loads(self.bytes_of("again.json")))

    def test_files(self):
        plan = ("plan", self.model, *SCHEME, "--save-recipe")
        self.fails(INPUT_OUTPUT, "nowhere", *plan, "nowhere/recipe.json")
        self.fails(USAGE, "is read", *plan, self.model)
        self.fails(INPUT_OUTPUT, "none.json", "plan", self.model, "--recipe", "none.json")
        self.fails(BAD_INPUT, "model.onnx", "plan", self.model, "--recipe", self.model)
        # What could not be read back is not saved.
        self.fails(USAGE, ["--save-recipe", "target_bits", "up to 64, found 100"], *plan, "r.json",
                   "--target-bits", 100)
        # A run that fails leaves no recipe.
        self.fails(USAGE, "nothing", *plan, "r.json", "--include", "nothing_like_it")


class MixTest(RecipeCase):
    def test_several_schemes(self):
        plan = self.plan(*MIX)["plan"]
        self.assertEqual([scheme["name"] for scheme in plan["schemes"]], ["int4", "int8"])
        # What saves more bytes.
        self.assertEqual({value["scheme"] for value in plan["values"]}, {"int4"})
        text = self.succeeds("plan", self.model, *MIX)
        self.assertIn("int4 axis=1", text)
        both = self.succeeds("quantize", self.model, "-o", "both.onnx", *MIX)
        self.assertRegex(both, r"int4 +2 +bits=4 ")
        self.succeeds("quantize", self.model, "-o", "four.onnx", *SCHEME, "--bits", 4)
        self.assertEqual(self.bytes_of("both.onnx"), self.bytes_of("four.onnx"))

    def test_names_of_presets(self):
        self.assertEqual(
            self.plan("--mix", "int8,int4-block32")["plan"],
            self.plan("--mix", "int4-block32", "--mix", "int8=weight-only")["plan"])

    def test_static_affine_and_weight_only(self):
        self.succeeds("calibrate", self.model, "--random", 2, "--shape", "x=3x16", "-o",
                      "s.json")
        mix = ("--mix", "int8-static,int8", "--calibration", "s.json")
        plan = self.plan(*mix)["plan"]
        self.assertEqual(plan["gain_model"], "operations")
        self.assertIn("int8-static", {value["scheme"] for value in plan["values"]})
        self.succeeds("quantize", self.model, "-o", "out.onnx", *mix)
        self.fails(USAGE, "--calibration", "plan", self.model, *mix[:2])

    def test_a_plan_of_a_mix_is_followed_by_it(self):
        self.succeeds("plan", self.model, *MIX, "-o", "plan.json")
        plan = json.loads(self.bytes_of("plan.json"))
        for value in plan["values"]:
            value["scheme"] = "int8"
        self.put("plan.json", json.dumps(plan).encode())
        self.succeeds("quantize", self.model, "-o", "planned.onnx", *MIX, "--plan", "plan.json")
        self.succeeds("quantize", self.model, "-o", "eight.onnx", *SCHEME)
        self.assertEqual(self.bytes_of("planned.onnx"), self.bytes_of("eight.onnx"))
        self.fails(IMPOSSIBLE, "plan is for scheme 'int4+int8'", "quantize", self.model, "-o",
                   "out.onnx", *SCHEME, "--plan", "plan.json")

    def test_mistakes(self):
        plan = ("plan", self.model)
        self.fails(USAGE, "--scheme, --mix, --preset and --recipe", *plan)
        self.fails(USAGE, ["--mix", "--scheme"], *plan, *SCHEME, *MIX)
        self.fails(USAGE, ["--preset", "--scheme"], *plan, *SCHEME, "--preset", "int8")
        self.fails(USAGE, ["--bits", "--mix"], *plan, *MIX, "--bits", 4)
        self.fails(USAGE, ["--encodings", "static_affine"], *plan, *MIX, "--encodings", "x")
        self.fails(USAGE, "did you mean 'int8'", *plan, "--mix", "int9")
        self.fails(USAGE, "''", *plan, "--mix", "int8,")
        self.fails(USAGE, ["mixed-4.5bit", "--preset"], *plan, "--mix", "int8,mixed-4.5bit")
        self.fails(USAGE, ["'a'", "did you mean 'bits'"], *plan, "--mix", "a=weight-only,bist=4")
        self.fails(USAGE, "two schemes are called 'int8'", *plan, "--mix", "int8,int8")
        self.fails(USAGE, ["'int8,int4-block32,t' is no name", "a --mix of its own"], *plan, "--mix",
                   "int8,int4-block32,t=weight-only,granularity=tensor")
        self.fails(USAGE, "the form 'behind'", "quantize", self.model, "-o", "out.onnx", "--mix",
                   "int8", "--mix", "a=weight-only,form=behind", "--format", "matmulnbits")


class PresetTest(RecipeCase):
    def test_list(self):
        text = self.succeeds("list", "presets")
        found = {entry["preset"]: entry["recipe"]
                 for entry in self.json_of("list", "presets")["presets"]}
        self.assertEqual(tuple(found), PRESETS)
        for name in PRESETS:
            self.assertIn(name, text)
            self.assertIn(found[name]["description"], text)
        self.assertIn("presets", self.succeeds("list"))

    def test_a_preset_is_a_recipe(self):
        for name in PRESETS[:2]:
            self.put("p.json", self.succeeds("recipe", name).encode())
            self.assertEqual(self.plan("--preset", name)["plan"],
                             self.plan("--recipe", "p.json")["plan"])
            self.assertEqual(self.succeeds("recipe", "p.json").encode(), self.bytes_of("p.json"))

    def test_what_presets_mean(self):
        def options(*arguments):
            return self.plan(*arguments)["plan"]["schemes"][0]["options"]

        self.assertEqual(options("--preset", "int8"), options(*SCHEME))
        self.assertEqual(options("--preset", "int4-block32"),
                         options(*SCHEME, "--bits", 4, "--block-size", 32, "--asymmetric", "--clip",
                                 "mse"))
        self.fails(USAGE, "--calibration", "plan", self.model, "--preset", "int8-static")
        # A budget is met, or the nearest figure is said; who meets none says so.
        self.fails(IMPOSSIBLE, ["4.5 bits cannot be met", "the least"], "plan", self.model,
                   "--preset", "mixed-4.5bit")
        self.fails(IMPOSSIBLE, ["target_bits", "4.5", "mixed-4.5bit"], "explain", self.model,
                   "--preset", "mixed-4.5bit")
        self.fails(USAGE, "did you mean 'int8'", "plan", self.model, "--preset", "int7")

    def test_recipe_command(self):
        self.fails(USAGE, "preset", "recipe")
        self.fails(USAGE, "preset", "recipe", "int8", "--schema")
        self.fails(USAGE, "did you mean 'int8'", "recipe", "int88")
        self.assertEqual(self.json_of("recipe", "int8")["recipe"]["schemes"],
                         {"int8": {"scheme": "weight_only"}})
        self.assertEqual(self.succeeds("recipe", "--schema"),
                         (ROOT / "docs/recipe.schema.json").read_text("utf-8"))


class RulesTest(RecipeCase):
    def test_the_last_rule_decides(self):
        everything = {"scheme": "int4"}
        head = {"match": {"name": "fc2"}, "scheme": "int8"}
        self.assertEqual(self.schemes_of(*self.save(recipe([everything, head]))),
                         {"fc1.weight": "int4", "fc2.weight": "int8"})
        self.assertEqual(self.schemes_of(*self.save(recipe([head, everything]))),
                         {"fc1.weight": "int4", "fc2.weight": "int4"})
        self.assertEqual(
            self.schemes_of(*self.save(recipe([{"match": {"kind": "matmul"}, "scheme": "int8"},
                                               {"match": {"size": {"min_elements": 500}},
                                                "scheme": "float"}]))),
            {"fc2.weight": "int8"})

    def test_what_rules_decide_is_shown(self):
        given = self.save(recipe([{"scheme": ["int8", "int4"]},
                                  {"match": {"name": "fc2"}, "scheme": "float"}]))
        for command in (("plan", self.model), ("quantize", self.model, "--dry-run")):
            text = self.succeeds(*command, *given)
            self.assertRegex(text, r"\n +1  everything +int8 or int4 +5 +3 +1 +1\n")
            self.assertRegex(text, r'\n +2  \{"name":"fc2"\} +float +2 +2 +1 +0\n')
            rules = self.json_of(*command, *given)["rules"]
            self.assertEqual([rule["decided"] for rule in rules], [3, 2])
        self.assertIn("rule 2 of recipe.json leaves it in float",
                      self.succeeds("quantize", self.model, "--dry-run", *given))
        document = self.json_of("quantize", self.model, "--dry-run", *given)
        self.assertIn({"fc2.weight": "rule 2 of recipe.json leaves it in float"},
                      [{left["name"]: left["reason"]} for left in
                       document["summary"]["left_in_float"]])

    def test_explain(self):
        given = self.save(recipe([{"match": {"name": "fc1"}, "scheme": "int8"}]))
        text = self.succeeds("explain", self.model, "fc1.weight", *given)
        self.assertIn("int8 axis=1, gain", text)
        self.assertIn("\n  not by int4: rule 1 of recipe.json gives it to int8\n", text)
        explanation = self.json_of("explain", self.model, "fc1.weight", *given)["explanations"][0]
        self.assertEqual(explanation["vetoes"],
                         [{"schemes": ["int4"], "reason": "rule 1 of recipe.json gives it to int8"}])
        # What the schemes have in common is said once.
        act = self.succeeds("explain", self.model, "act", *given)
        self.assertEqual(act.count("no method"), 1)
        self.assertIn("schemes 'int4' and 'int8' have no method", act)

    def test_options_of_rules(self):
        given = self.save(recipe([{"match": {"name": "fc1"}, "scheme": "int8",
                                   "options": {"clip": "mse"}}], schemes=("int8",)))
        self.assertEqual(self.schemes_of(*given), {"fc1.weight": "int8.1", "fc2.weight": "int8"})

    def test_the_file_is_what_two_runs_would_make(self):
        """Each weight of a mix is the one that its scheme alone makes."""
        given = self.save(recipe([{"scheme": "int4"}, {"match": {"name": "fc2"}, "scheme": "int8"}]))
        self.succeeds("quantize", self.model, "-o", "mixed.onnx", *given)
        self.succeeds("quantize", self.model, "-o", "four.onnx", *SCHEME, "--bits", 4, "--exclude",
                      "fc2")
        self.succeeds("quantize", "four.onnx", "-o", "steps.onnx", *SCHEME)

        def constants(model):
            lines = self.succeeds("inspect", model, "--text").splitlines()
            return sorted(line for line in lines if " = constant()" in line)

        self.assertEqual(constants("mixed.onnx"), constants("steps.onnx"))

    def test_mistakes(self):
        def refuses(code, fragments, document):
            self.save(document)
            self.fails(code, ["recipe.json", *fragments], "plan", self.model, "--recipe",
                       "recipe.json")

        def rule(**members):
            return recipe([{"scheme": "int8"}, members])

        refuses(USAGE, ["rule 2: ", "matches nothing", "did you mean 'fc1.weight'"],
                rule(scheme="int4", match={"name": "^fc1.wieght$"}))
        refuses(USAGE, ["rule 2: match.kind", "did you mean 'matmul'"],
                rule(scheme="int4", match={"kind": "MatMull"}))
        refuses(USAGE, ["rule 2: match.subgraph.from", "did you mean"],
                rule(scheme="int4", match={"subgraph": {"from": "hh"}}))
        refuses(BAD_INPUT, ["rule 2", "$.rules[1].match.nmae", "did you mean 'name'"],
                rule(scheme="int4", match={"nmae": "fc1"}))
        refuses(BAD_INPUT, ["rule 2: scheme", "did you mean 'int4'"], rule(scheme="int44"))
        refuses(BAD_INPUT, ["rule 2: scheme", "'schemes'", "there are: float, int4, int8, "],
                rule(scheme="other"))
        refuses(BAD_INPUT, ["$.rules[1].match.size.min_elements", "found -1"],
                rule(scheme="int4", match={"size": {"min_elements": -1}}))
        refuses(USAGE, ["$.exclude: 'fc7' matches no", "did you mean"], recipe(exclude=["fc7"]))
        refuses(USAGE, ["$.include: 'fc7' matches no"], recipe(include=["fc7"]))
        refuses(USAGE, ["$.hardware: there is no hardware profile"],
                recipe(gain="latency", hardware="foo"))
        refuses(BAD_INPUT, ["rule 2: match.name", "missing ]"],
                rule(scheme="int4", match={"name": "["}))
        refuses(BAD_INPUT, ["$.gains", "did you mean 'gain'"], recipe(gains="bytes"))
        refuses(USAGE, ["it has no scheme"], recipe(schemes=()))
        self.save(recipe(model={"optimize": ["bc"]}))
        self.fails(USAGE, ["optimize bc", "--calibration"], "plan", self.model, "--recipe", "recipe.json")
        self.save(rule(scheme="int4", match={"name": "^fc9$"}, may_match_nothing=True))
        self.succeeds("plan", self.model, "--recipe", "recipe.json")
        # What an option says is not put down to the recipe.
        self.save(recipe(exclude=["fc1"]))
        self.fails(USAGE, "quadrant: exclude: 'fc7' matches", "plan", self.model, "--recipe",
                   "recipe.json", "--exclude", "fc7")
        self.fails(USAGE, "quadrant: there is no hardware profile", "plan", self.model, "--recipe",
                   "recipe.json", "--gain", "latency", "--hardware", "foo")
        self.fails(USAGE, ["--bits", "recipe.json has options of its own"], "plan", self.model,
                   "--recipe", "recipe.json", "--bits", 4)


class DocumentationTest(RecipeCase):
    """The examples of docs/recipes.md do what the page says."""

    PAGE = (ROOT / "docs/recipes.md").read_text("utf-8")

    def test_recipes(self):
        blocks = re.findall(r"^```json\n(.*?)^```$", self.PAGE, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        for number, block in enumerate(blocks):
            with self.subTest(number=number):
                self.put("recipe.json", block.encode())
                self.succeeds("recipe", "recipe.json")
                if "target_bits" in block or "static_affine" in block:
                    continue
                self.succeeds("quantize", EXAMPLES / "tiny_transformer.onnx", "--dry-run",
                              "--recipe", "recipe.json")

    def test_commands(self):
        model = EXAMPLES / "tiny_transformer.onnx"
        self.put("model.onnx", model.read_bytes())
        block = re.findall(r"^```json\n(.*?)^```$", self.PAGE, re.MULTILINE | re.DOTALL)[0]
        self.put("recipe.json", block.encode())
        commands = re.findall(r"^quadrant (.+?)(?: +#.*)?$", self.PAGE, re.MULTILINE)
        self.assertGreater(len(commands), 5)
        for command in commands:
            command, _, target = command.partition(" > ")
            with self.subTest(command=command):
                printed = self.succeeds(*command.split())
                if target:
                    self.put(target, printed.encode())

    def test_table_of_rules(self):
        """What `plan` prints for the page's first recipe."""
        shown = re.search(r"^ +rule +matches.*?(?=^```)", self.PAGE, re.MULTILINE | re.DOTALL)
        block = re.findall(r"^```json\n(.*?)^```$", self.PAGE, re.MULTILINE | re.DOTALL)[0]
        self.put("recipe.json", block.encode())
        text = self.succeeds("plan", EXAMPLES / "tiny_transformer.onnx", "--recipe", "recipe.json")
        self.assertIn(shown.group(), text)


if __name__ == "__main__":
    run_tests()
