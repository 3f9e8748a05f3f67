"""Recipes: files of several schemes in ONNX Runtime, and the published schema by jsonschema.

The rules of a recipe are applied once more here, to the names, shapes and readers of the weights: each
weight must be stored as the scheme of its last rule promises, or in float.
"""

import _peers

import json
import re
import sys

try:
    import jsonschema
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)
import numpy as np

from _checks import Quantized, check_interface, check_valid
from _command import ROOT, quadrant, run_tests, scratch
from _models import EXAMPLES, SHARED, random_feeds, run, session_of
from _settings import (CHANNEL, TENSOR, Setting, blocks, check_groups, check_near,
                       check_near_outputs, read_weights, with_values)

SCHEMA = json.loads((ROOT / "docs/recipe.schema.json").read_text("utf-8"))

PROMISED = {"int4": blocks(4, 32), "int8": Setting(""), "coarse": Setting("", group=TENSOR)}
SCHEMES = {"int4": {"scheme": "weight_only", "options": {"bits": 4, "block_size": 32, "clip": "absmax"}},
           "int8": {"scheme": "weight_only"},
           "coarse": {"scheme": "weight_only", "options": {"granularity": "tensor"}}}


def recipe(*rules):
    return {"format": "quadrant.recipe", "version": 1, "schemes": SCHEMES, "rules": list(rules)}


# --- models of several schemes -----------------------------------------------------------------------


def scheme_of(weight, rules):
    """By the last rule that matches, of rules about kinds of readers, names of weights, and sizes."""
    found = None
    for rule in rules:
        match = rule.get("match", {})
        kinds = {use.node.op_type.lower() for use in weight.uses if use.node is not None}
        name, size = match.get("name", ""), match.get("size", {})
        if (re.search(name, weight.name) and match.get("kind", "") in {*kinds, ""}
                and size.get("min_elements", 0) <= weight.array.size
                and size.get("max_elements", np.inf) >= weight.array.size):
            found = rule["scheme"]
    return found


def check_mixed(path, rules, expected):
    """`expected`: how many weights there are of each scheme."""
    with scratch() as folder:
        document = recipe(*rules)
        jsonschema.validate(document, SCHEMA)
        (folder / "recipe.json").write_text(json.dumps(document))
        result = Quantized(path, folder / "mixed.onnx", "--recipe", folder / "recipe.json")
        check_valid(result)
        check_interface(result)
        read, behind = read_weights(result)
        assert not behind, behind
        counts = dict.fromkeys([*SCHEMES, "float"], 0)
        for name, weight in result.weights.items():
            scheme = scheme_of(weight, rules)
            counts[scheme] += 1
            assert (name in read) == (scheme != "float"), f"{name} is {scheme}, and not so stored"
            if scheme == "float":
                assert "leaves it in float" in result.left_in_float()[name]
                continue
            promised = PROMISED[scheme]
            if promised.group > CHANNEL and not has_block(weight, promised.group):
                promised = Setting("", promised.bits)
            check_near(read[name], promised)
            check_groups(read[name], promised)
            levels = len(np.unique(np.round(read[name].values / read[name].step)))
            assert scheme != "int4" or levels <= 16, f"{name}: {levels} levels"
        assert counts == {**dict.fromkeys(counts, 0), **expected}, counts
        feeds = random_feeds(session_of(result.target))
        check_near_outputs(run(with_values(result, read), feeds), run(result.target, feeds), 1e-5,
                           path.name)
        for optimised in (False, True):
            assert len(run(result.target, feeds, optimised)) == len(result.before.graph.output)


def has_block(weight, size):
    """Whether a block of that many fits along an axis that is summed; of a convolution, along the
    input channels."""
    for use in weight.uses:
        if use.node is not None and use.node.op_type == "Conv":
            return weight.array.shape[1] >= size
    return min(weight.array.shape) >= size


def test_mixed():
    yield "tiny_transformer", check_mixed, EXAMPLES / "tiny_transformer.onnx", [
        {"scheme": "int8"},
        {"match": {"kind": "gather"}, "scheme": "float"},
        {"match": {"name": "attention"}, "scheme": "int4"},
    ], {"int4": 8, "int8": 4, "float": 1}
    if not SHARED.is_dir():
        print(f"{SHARED} is not there: its models are not tested")
        return
    yield "stories260k_llama", check_mixed, SHARED / "stories260k_llama.onnx", [
        {"scheme": "int4"},
        {"match": {"kind": "gather"}, "scheme": "int8"},
        {"match": {"name": r"^output\.weight$"}, "scheme": "coarse"},
        {"match": {"name": r"layers\.0\."}, "scheme": "int8"},
        {"match": {"name": r"layers\.4\..*w[qk]$"}, "scheme": "float"},
    ], {"int4": 26, "int8": 8, "coarse": 1, "float": 2}
    yield "mobilenet_v2_035_flowers", check_mixed, SHARED / "mobilenet_v2_035_flowers.onnx", [
        {"scheme": "int8"},
        {"match": {"size": {"min_elements": 10000}}, "scheme": "int4"},
        {"match": {"name": "depthwise", "size": {"max_elements": 500}}, "scheme": "float"},
        {"match": {"kind": "matmul"}, "scheme": "coarse"},
    ], {"int4": 8, "int8": 40, "coarse": 1, "float": 4}


# --- the schema --------------------------------------------------------------------------------------


def valid(document):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def understood(folder, document):
    (folder / "recipe.json").write_text(json.dumps(document))
    return quadrant("recipe", folder / "recipe.json").returncode == 0


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_saved_recipes():
    model = EXAMPLES / "tiny_transformer.onnx"
    for options in ("--scheme weight-only", "--scheme weight-only --bits 4 --block-size 16",
                    "--scheme weight-only --asymmetric --clip mse --scales float16 --form fewest",
                    "--mix int8,int4-block32 --exclude norm --include blocks --gain unit",
                    "--preset int8 --non-finite leave"):
        yield options, check_saved, model, options.split()
    cnn = EXAMPLES / "digits_cnn.onnx"
    data = ["--calibration", EXAMPLES / "digits_cnn.npz"]
    yield "static_affine", check_saved, cnn, [
        "--scheme", "static-affine", *data, "--optimize", "cle", "--use-enhanced", "--percentile",
        "99.5", "--quantized-inputs"]


def check_saved(model, options):
    with scratch() as folder:
        done = quadrant("quantize", model, "--dry-run", *options, "--save-recipe",
                        folder / "saved.json")
        assert done.returncode == 0, done.stderr
        jsonschema.validate(json.loads((folder / "saved.json").read_text()), SCHEMA)


def test_presets_and_examples():
    presets = json.loads(quadrant("list", "presets", "--json").stdout)["presets"]
    documents = [preset["recipe"] for preset in presets]
    page = (ROOT / "docs/recipes.md").read_text("utf-8")
    documents += map(json.loads, re.findall(r"^```json\n(.*?)^```$", page, re.M | re.S))
    assert len(documents) > 6
    for document in documents:
        jsonschema.validate(document, SCHEMA)


def test_schema_and_command_agree():
    """On recipes with a mistake in them, and on the same without it."""
    scheme = {"scheme": "weight_only"}
    rule = {"scheme": "float"}

    def with_options(**options):
        return {"schemes": {"a": {"scheme": "weight_only", "options": options}}}

    def with_match(**match):
        return {"rules": [{**rule, "match": match}]}

    good = [{}, {"schemes": {"a": scheme}}, {"rules": [rule]}, {"target_bits": 4.5},
            with_options(bits=4), with_options(block_size=2), {"include": "a"}, {"exclude": ["a"]},
            with_match(kind=["conv"]), with_match(type="f16"), with_match(size={"min_bytes": 0}),
            with_match(subgraph={"to": ["a"]}), {"model": {"optimize": ["cle", "bc"]}},
            {"schemes": {"a": {"scheme": "static-affine", "options": {"percentile": 99}}}},
            {"schemes": {"a": scheme}, "rules": [{"scheme": "a", "options": {"bits": 4}}]}]
    bad = [{"version": 2}, {"format": "x"}, {"schemas": {}}, {"schemes": {"a": {}}},
           {"schemes": {"a b": scheme}}, {"schemes": {"float": scheme}}, {"schemes": {"": scheme}},
           {"schemes": {"a": {"scheme": "x"}}}, {"rules": [{}]}, {"rules": [{"scheme": []}]},
           {"rules": [{"scheme": 1}]}, {"target_bits": 0}, {"target_bits": 65}, {"gain": "x"},
           with_options(bits=3), with_options(bits="4"), with_options(block_size=1),
           with_options(clip="x"), with_options(percentile=99), {"policy": "x"}, {"include": [1]},
           with_match(kind=[]), with_match(type="f8"), with_match(size={}), with_match(name=1),
           with_match(size={"min_bytes": -1}), with_match(subgraph={}), with_match(x=1),
           {"model": {"optimize": ["x"]}}, {"model": {"cle": True}}, {"non_finite": True},
           {"rules": [{**rule, "may_match_nothing": 1}]}]
    with scratch() as folder:
        for documents, expected in ((good, True), (bad, False)):
            for members in documents:
                document = {"format": "quadrant.recipe", "version": 1, **members}
                assert valid(document) == expected, f"jsonschema: {members}"
                assert understood(folder, document) == expected, f"the command: {members}"
        assert not valid({"version": 1}) and not understood(folder, {"version": 1})


if __name__ == "__main__":
    run_tests(globals())
