"""`quadrant sensitivity`: what each weight costs, what is kept in a file, and what it refuses.

    python3 tests/cli/sensitivity_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""

import json
import os
import random
import struct

from command_case import BAD_INPUT, DONE, IMPOSSIBLE, INPUT_OUTPUT, SCHEME, USAGE, run_tests
from compare_test import CompareCase, agreement
from onnx_writer import field, model, node, tensor, value_info

SHAPES = {"fc1": (6, 8), "fc2": (8, 4), "fc3": (8, 5)}


def rounded(value):
    """To float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def random_weights(seed):
    numbers = random.Random(seed)
    return {name: [rounded(numbers.gauss(0, 1)) for _ in range(rows * columns)]
            for name, (rows, columns) in SHAPES.items()}


def branches(weights):
    """r = relu(x fc1), y = r fc2, z = r fc3"""
    return model(
        [node("MatMul", ["x", "fc1"], ["h"], "first"), node("Relu", ["h"], ["r"]),
         node("MatMul", ["r", "fc2"], ["y"], "second"),
         node("MatMul", ["r", "fc3"], ["z"], "third")],
        [tensor(name, SHAPES[name], values) for name, values in weights.items()],
        [value_info("x", ["batch", 6])],
        [value_info("y", ["batch", 4]), value_info("z", ["batch", 5])])


def chain(layers):
    """y = x w0 w1 ... of 4 x 4 each."""
    names = ["x", *(f"h{i}" for i in range(layers - 1)), "y"]
    return model(
        [node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(layers)],
        [tensor(f"w{i}", [4, 4], [((7 + i) * j % 11 - 5) / 5 for j in range(16)])
         for i in range(layers)],
        [value_info("x", ["batch", 4])], [value_info("y", ["batch", 4])])


def axis(number):
    """An attribute of a node."""
    return field(5, field(1, "axis") + field(3, number) + field(20, 2))


def twice():
    """h = x w, y = h transpose(w)"""
    return model(
        [node("MatMul", ["x", "w"], ["h"], "a"), node("Transpose", ["w"], ["t"], "turn"),
         node("MatMul", ["h", "t"], ["y"], "b"), node("MatMul", ["y", "v"], ["z"], "c")],
        [tensor("w", [4, 4], [(7 * j % 11 - 5) / (5 if j % 4 else 50) for j in range(16)]),
         tensor("v", [4, 4], [(3 * j % 13 - 6) / 7 for j in range(16)])],
        [value_info("x", ["batch", 4])],
        [value_info("y", ["batch", 4]), value_info("z", ["batch", 4])])


def side_by_side():
    """y = x concat(u, v), z = y w"""
    return model(
        [node("Concat", ["u", "v"], ["uv"], "cat") + axis(1),
         node("MatMul", ["x", "uv"], ["y"], "wide"), node("MatMul", ["y", "w"], ["z"], "last")],
        [tensor("u", [4, 2], [(5 * j % 7 - 3) / 3.3 for j in range(8)]),
         tensor("v", [4, 2], [(3 * j % 7 - 3) / 2.7 for j in range(8)]),
         tensor("w", [4, 4], [(7 * j % 11 - 5) / 5 for j in range(16)])],
        [value_info("x", ["batch", 4])],
        [value_info("y", ["batch", 4]), value_info("z", ["batch", 4])])


def inverse():
    """y = (1 / x w) v, where 8 bits make a zero of w's second row."""
    return model(
        [node("MatMul", ["x", "w"], ["h"]), node("Reciprocal", ["h"], ["r"]),
         node("MatMul", ["r", "v"], ["y"])],
        [tensor("w", [2, 2], [1, 1, 0.001, 0.001]), tensor("v", [2, 2], [1, 0.7, 0.4, 0.3])],
        [value_info("x", ["batch", 2])], [value_info("y", ["batch", 2])])


def product(rows, weight, columns):
    return [[sum(x * weight[i * columns + j] for i, x in enumerate(row)) for j in range(columns)]
            for row in rows]


def outputs_of(rows, weights):
    """{output: numbers of all samples}"""
    inner = [[max(0, x) for x in row] for row in product(rows, weights["fc1"], 8)]
    return {name: [x for row in product(inner, weights[layer], SHAPES[layer][1]) for x in row]
            for name, layer in (("y", "fc2"), ("z", "fc3"))}


def quantized(weight, columns, divisor, lowest, highest):
    """With a scale for each column, from its largest magnitude."""
    scales = [rounded(max(map(abs, weight[j::columns])) / divisor) for j in range(columns)]
    return [scale * min(max(round(rounded(x / scale)), lowest), highest)
            for i, x in enumerate(weight) for scale in [scales[i % columns]]]


class SensitivityTest(CompareCase):
    """On y = relu(x fc1) fc2 and z = relu(x fc1) fc3."""

    def setUp(self):
        super().setUp()
        self.weights = random_weights(1)
        self.model = self.put("m.onnx", branches(self.weights))
        numbers = random.Random(2)
        self.rows = [[rounded(numbers.gauss(0, 1)) for _ in range(6)] for _ in range(12)]
        self.put_samples(*(self.rows[i : i + 2] for i in range(0, 12, 2)))
        self.command = ("sensitivity", self.model, *SCHEME, "--data", "data")
        self.cached = (*self.command, "--cache", "c.json")

    def expected(self, bits):
        """{layer: {output: agreement}}, the most sensitive first."""
        exact = outputs_of(self.rows, self.weights)
        result = {}
        for name, weight in self.weights.items():
            how = (127, -127, 127) if bits == 8 else (7.5, -8, 7)
            changed = {**self.weights, name: quantized(weight, SHAPES[name][1], *how)}
            result[name] = {output: agreement(exact[output], value)
                            for output, value in outputs_of(self.rows, changed).items()}
        return dict(sorted(result.items(), key=lambda item: self.worst(item[1])[0]))

    def worst(self, outputs):
        """(SQNR, output)"""
        return min((value["sqnr_db"], name) for name, value in outputs.items()
                   if value["sqnr_db"] is not None)

    def layers(self, *command):
        """{layer: {output: agreement}} and whether each was in the file."""
        layers = self.json_of(*command)["layers"]
        return ({layer["layer"]: {value["name"]: value for value in layer["outputs"]}
                 for layer in layers}, {layer["layer"]: layer["cached"] for layer in layers})

    def test_json(self):
        for bits in (8, 4):
            document = self.json_of(*self.command, "--bits", bits)
            self.assertEqual((document["model"], document["diagnostics"]), (self.model, []))
            self.assertFalse(any(layer["cached"] for layer in document["layers"]))
            expected = self.expected(bits)
            self.assertEqual([layer["layer"] for layer in document["layers"]], [*expected])
            for layer in document["layers"]:
                self.assertEqual([value["name"] for value in layer["outputs"]], ["y", "z"])
                for value in layer["outputs"]:
                    self.assert_near(value, expected[layer["layer"]][value["name"]])

    def assert_near(self, found, expected):
        """But for roundings of the products."""
        for key in ("elements", "exact", "non_finite"):
            self.assertEqual(found[key], expected[key], (found, expected))
        self.assertEqual(found["sqnr_db"] is None, expected["sqnr_db"] is None)
        self.assertAlmostEqual(found["sqnr_db"] or 0, expected["sqnr_db"] or 0, 2)
        self.assertAlmostEqual(found["cosine"], expected["cosine"], 6)
        self.assertAlmostEqual(found["largest_error"], expected["largest_error"], 5)

    def test_table(self):
        rows = self.table_rows(self.succeeds(*self.command, "--bits", 4))
        self.assertEqual(rows[0], ["quantized alone", "SQNR", "cosine", "largest error",
                                   "at output"])
        expected = self.expected(4)
        self.assertEqual([cells[0] for cells in rows[1:]], [*expected])
        for name, sqnr, cosine, error, output in rows[1:]:
            worst, where = self.worst(expected[name])
            self.assertEqual((output, sqnr[-3:]), (where, " dB"))
            self.assertAlmostEqual(float(sqnr[:-3]), worst, delta=0.011)
            self.assertAlmostEqual(float(cosine), expected[name][where]["cosine"], delta=2e-6)
            self.assertAlmostEqual(float(error), expected[name][where]["largest_error"], delta=1e-3)

    def test_a_layer_is_what_quantize_and_compare_say_of_it(self):
        for options in ((), ("--bits", 4, "--asymmetric", "--clip", "mse"), ("--form", "behind"),
                        ("--block-size", 4, "--signed-scale", "--scales", "float16"),
                        ("--granularity", "tensor", "--gain", "unit")):
            layers, _ = self.layers(*self.command, *options)
            self.assertEqual(set(layers), set(SHAPES))
            for layer, outputs in layers.items():
                self.succeeds("quantize", self.model, "-o", "q.onnx", *SCHEME, *options,
                              "--include", f"^{layer}$")
                found = self.comparison(self.model, "q.onnx", "--data", "data")["outputs"]
                self.assertEqual(found, [*outputs.values()], (options, layer))

    def test_which_layers(self):
        """Those that would be quantized; one alone costs the same whatever the others do."""
        layers, _ = self.layers(*self.command)
        for options, chosen in ((("--exclude", "fc1"), {"fc2", "fc3"}),
                                (("--include", "^second$"), {"fc2"}),
                                (("--include", "fc", "--exclude", "^third$"), {"fc1", "fc2"})):
            found, _ = self.layers(*self.command, *options)
            self.assertEqual(found, {name: layers[name] for name in chosen})
        self.fails(IMPOSSIBLE, "no weight is quantized", *self.command, "--exclude", "fc")
        self.fails(USAGE, "'fc4'", *self.command, "--include", "fc4")

    def test_weights_that_cost_nothing_are_last(self):
        # Integers up to 127: all scales are 1.
        self.weights["fc1"] = [127.0 if i < 8 else i % 9 - 4.0 for i in range(48)]
        self.put(self.model, branches(self.weights))
        layers, _ = self.layers(*self.command)
        self.assertEqual([*layers][-1], "fc1")
        for name, outputs in layers.items():
            self.assertEqual(all(value["exact"] for value in outputs.values()), name == "fc1")
        self.assertIn(["fc1", "exact", "1.000000", "0", "y"],
                      self.table_rows(self.succeeds(*self.command)))

    def test_weights_that_can_only_be_quantized_together(self):
        self.put(self.model, side_by_side())
        self.put_samples([[1, 2, -3, 4], [5, -6, 7, 9]], folder="four")
        layers, _ = self.layers("sensitivity", self.model, *SCHEME, "--data", "four")
        self.assertEqual(set(layers), {"u + v", "w"})
        for layer, names in (("u + v", "^[uv]$"), ("w", "^w$")):
            self.succeeds("quantize", self.model, "-o", "q.onnx", *SCHEME, "--include", names)
            found = self.comparison(self.model, "q.onnx", "--data", "four")["outputs"]
            self.assertEqual(found, [*layers[layer].values()])
            self.assertFalse(found[-1]["exact"])

    def test_infinities_are_the_worst(self):
        self.put(self.model, inverse())
        self.put_samples([[0, 1], [1, 2]], folder="two")
        command = ("sensitivity", self.model, *SCHEME, "--data", "two")
        document = self.json_of(*command)["layers"]
        self.assertEqual([layer["layer"] for layer in document], ["w", "v"])
        worst = document[0]["outputs"][0]
        self.assertEqual((worst["exact"], worst["non_finite"]), (False, 2))
        rows = self.table_rows(self.succeeds(*command))
        self.assertRegex(rows[1][1], r"\A[\d.]+ dB, 2 not finite\Z")
        self.put_samples([[0, 1]], folder="one")
        rows = self.table_rows(self.succeeds(*command[:-1], "one"))
        self.assertEqual(rows[1][:2], ["w", "2 not finite"])

    def test_threads_change_nothing(self):
        texts, caches = set(), set()
        for threads in (1, 2, 7):
            texts.add(self.succeeds(*self.command, "--json", "--threads", threads))
            self.succeeds(*self.command, "--threads", threads, "--cache", f"{threads}.json")
            caches.add(self.bytes_of(f"{threads}.json"))
        self.assertEqual((len(texts), len(caches)), (1, 1))

    def test_random_samples(self):
        rand = ("--random", 3, "--seed", 5, "--shape", "x=2x6")
        self.succeeds("run", self.model, *rand, "-o", "drawn", "--outputs", "x")
        sensitivity = ("sensitivity", self.model, *SCHEME)
        self.assertEqual(self.json_of(*sensitivity, *rand),
                         self.json_of(*sensitivity, "--data", "drawn"))

    def test_what_was_measured_is_kept(self):
        text = self.succeeds(*self.cached)
        saved = self.bytes_of("c.json")
        self.assertEqual({layer["layer"] for layer in json.loads(saved)["layers"]}, set(SHAPES))
        self.assertEqual(self.succeeds(*self.cached), text)
        layers, from_file = self.layers(*self.cached)
        self.assertEqual(set(from_file.values()), {True})
        self.assertEqual(layers, self.layers(*self.command)[0])
        self.assertEqual(self.bytes_of("c.json"), saved)

    def test_what_is_kept_is_not_measured_again(self):
        self.succeeds(*self.cached)
        study = json.loads(self.bytes_of("c.json"))
        for value in study["layers"][0]["outputs"]:
            value["largest_error"] *= 1.0001
        self.put("c.json", json.dumps(study).encode())
        fresh, _ = self.layers(*self.command)
        layers, _ = self.layers(*self.cached)
        self.assertEqual([name for name, outputs in layers.items() if outputs != fresh[name]],
                         [study["layers"][0]["layer"]])

    def test_an_interrupted_study_goes_on(self):
        """With more layers than are measured at a time."""
        self.put(self.model, chain(20))
        self.put_samples([[1, 2, 3, 4], [5, 6, 7, 9]], folder="four")
        command = ("sensitivity", self.model, *SCHEME, "--data", "four")
        whole = self.layers(*command, "--cache", "c.json")[0]
        self.assertEqual(len(whole), 20)
        saved = self.bytes_of("c.json")
        study = json.loads(saved)
        del study["layers"][3:14]
        self.put("c.json", json.dumps(study).encode())
        layers, from_file = self.layers(*command, "--cache", "c.json")
        self.assertEqual(layers, whole)
        self.assertEqual([*layers], [*whole])
        self.assertEqual({name for name, known in from_file.items() if known},
                         {layer["layer"] for layer in study["layers"]})
        self.assertEqual(self.bytes_of("c.json"), saved)

    def test_what_has_changed_is_measured_anew(self):
        def changed(*options):
            fresh, _ = self.layers(*self.command, *options)
            document = self.json_of(*self.cached, *options)
            self.assertEqual([(note["severity"], note["file"]) for note in document["diagnostics"]],
                             [("note", "c.json")], options)
            self.assertEqual([layer["cached"] for layer in document["layers"]], [False] * 3)
            self.assertEqual({layer["layer"]: {value["name"]: value for value in layer["outputs"]}
                              for layer in document["layers"]}, fresh)
            layers, from_file = self.layers(*self.cached, *options)
            self.assertEqual((layers, set(from_file.values())), (fresh, {True}))
            return fresh

        seen = [self.layers(*self.cached)[0]]
        for options in (("--bits", 4), ("--asymmetric",), ("--signed-scale",), ("--clip", "mse"),
                        ("--granularity", "tensor"), ("--block-size", 2), ("--block-size", 4),
                        ("--scales", "float16"), ("--form", "behind")):
            seen.append(changed(*options))
        self.weights["fc1"][5] += 0.25
        self.put(self.model, branches(self.weights))
        seen.append(changed())
        self.rows[3][3] += 1
        self.put_samples(*(self.rows[i : i + 2] for i in range(0, 12, 2)))
        seen.append(changed())
        self.put_samples(*([row] for row in self.rows), folder="more")
        self.put("data/s9.npy", self.bytes_of("more/s1.npy"))
        seen.append(changed())
        for i, layers in enumerate(seen):
            self.assertNotIn(layers, seen[:i])
        result = self.run_command(*self.cached, "--bits", 4)
        self.assertEqual(result.returncode, DONE)
        self.assertRegex(result.stderr.decode(), r"\Anote: c\.json: [^\n]+ measured anew\n\Z")

    def test_what_others_do_decides(self):
        """Which user of a weight is left out decides the axis of its scales."""
        self.put(self.model, twice())
        self.put_samples([[1, 2, -3, 4], [5, -6, 7, 9]], folder="four")
        command = ("sensitivity", self.model, *SCHEME, "--data", "four")
        fresh = []
        for name in "ab":
            layers, _ = self.layers(*command, "--exclude", f"^{name}$")
            self.assertEqual(set(layers), {"w", "v"})
            fresh.append(layers)
            layers, known = self.layers(*command, "--exclude", f"^{name}$", "--cache", "c.json")
            self.assertEqual(layers, fresh[-1])
            self.assertEqual(known, {"w": False, "v": name == "b"})
        self.assertNotEqual(fresh[0]["w"], fresh[1]["w"])

    def test_what_is_left_out_is_kept(self):
        whole, _ = self.layers(*self.cached)
        saved = self.bytes_of("c.json")
        found, known = self.layers(*self.cached, "--exclude", "^fc1$")
        self.assertEqual((found, known), ({name: whole[name] for name in found},
                                          {"fc2": True, "fc3": True}))
        self.assertEqual(self.layers(*self.cached), (whole, dict.fromkeys(whole, True)))
        self.assertEqual(self.bytes_of("c.json"), saved)

    def test_names_that_are_not_text(self):
        def put(*names):
            data = branches(self.weights).replace(b"\x01z", b"\x01\xff")
            for old, new in zip((b"fc1", b"fc2"), names):
                data = data.replace(old, new)
            self.put(self.model, data)

        put(b"f\xff1", b"f\xff2")
        fresh, _ = self.layers(*self.cached)
        saved = self.bytes_of("c.json")
        layers, known = self.layers(*self.cached)
        self.assertEqual((layers, set(known.values()), len(known)), (fresh, {True}, 3))
        self.assertEqual(self.bytes_of("c.json"), saved)
        # Two that read the same are told apart, if not kept.
        put(b"f\xff1", b"f\xfe1")
        fresh = self.json_of(*self.command)["layers"]
        self.assertNotEqual(*[layer["outputs"] for layer in fresh if layer["layer"] != "fc3"])
        for _ in range(3):
            found = [{**layer, "cached": False} for layer in self.json_of(*self.cached)["layers"]]
            self.assertEqual(found, fresh)
            self.assertEqual(len(json.loads(self.bytes_of("c.json"))["layers"]), 2)

    def test_files_that_are_damaged(self):
        self.succeeds(*self.cached)
        saved = self.bytes_of("c.json")

        def bad(fragments, contents):
            self.put("c.json", contents)
            self.fails(BAD_INPUT, ["c.json", *fragments], *self.cached)

        bad(["JSON"], b"")
        bad(["JSON"], saved[:-20])
        bad(["format"], b"{}")
        bad(["format"], saved.replace(b"quadrant.sensitivity", b"quadrant.plan"))
        bad(["version"], saved.replace(b'"version": 2', b'"version": 1'))
        bad(["$.fingerprint"], saved.replace(b'"fingerprint": "', b'"fingerprint": "x'))
        bad(["$.layers[0].outputs[0].noise"], saved.replace(b'"noise": ', b'"noise": "", "x": ', 1))
        bad(["$.layers[0]", "layer"], saved.replace(b'"layer": ', b'"later": ', 1))
        self.fails(USAGE, ["s0.npy", "is read"], *self.command, "--cache", "data/s0.npy")

    def test_files_that_no_study_writes(self):
        self.succeeds(*self.cached)
        saved = self.bytes_of("c.json")

        def bad(fragments, change):
            study = json.loads(saved)
            change(study["layers"])
            self.put("c.json", json.dumps(study).encode())
            self.fails(BAD_INPUT, ["c.json", *fragments], *self.cached)

        first = ["$.layers[0].outputs[1]", "no values"]
        for key, value in (("noise", -1), ("signal", 1e308), ("equal", 10**9), ("elements", 1),
                           ("non_finite", 10**9), ("largest_error", -1), ("largest_error", 100),
                           ("product", 1e9), ("approximation", 0), ("noise", 0)):
            bad(first, lambda layers: layers[0]["outputs"][1].update({key: value}))
        bad(["$.layers[3].layer", "there already"], lambda layers: layers.append(layers[0]))
        bad(["$.layers[1].decision"], lambda layers: layers[1].update(decision="-1"))
        bad(["'fc2'", "not the model's"], lambda layers: layers[1].update(outputs=[]))
        bad(["'fc2'", "not the model's"], lambda layers: layers[1]["outputs"].reverse())
        bad(["'fc2'", "not the model's"], lambda layers: layers[1]["outputs"][0].update(name="q"))

    def test_mistakes_in_the_call(self):
        sensitivity = ("sensitivity", self.model)
        self.fails(USAGE, "MODEL", "sensitivity", *SCHEME, "--data", "data")
        self.fails(USAGE, "--scheme", *sensitivity, "--data", "data")
        self.fails(USAGE, "'weight'", *sensitivity, "--scheme", "weight", "--data", "data")
        self.fails(USAGE, ["--data", "--random"], *sensitivity, *SCHEME)
        self.fails(USAGE, "excludes", *self.command, "--random", 1)
        self.fails(USAGE, "'q.onnx'", *self.command, "q.onnx")
        self.fails(USAGE, ["'openvin'", "did you mean 'openvino'"], *self.command, "--runtime",
                   "openvin")
        self.fails(USAGE, "excludes", *self.command, "--symmetric", "--asymmetric")
        self.fails(USAGE, ["--bits", "3"], *self.command, "--bits", 3)
        self.fails(USAGE, "is read", *self.command, "--cache", self.model)
        self.fails(INPUT_OUTPUT, "no directory 'nowhere'", *self.command, "--cache",
                   "nowhere/c.json")
        self.fails(INPUT_OUTPUT, "not a regular file", *self.command, "--cache", "data")
        self.fails(INPUT_OUTPUT, ["xxx: ", "name too long"], *self.command, "--cache", "x" * 300)
        os.symlink("loop.json", self.folder / "loop.json")
        result = self.run_command(*self.command, "--cache", "loop.json")
        self.assertEqual(result.returncode, INPUT_OUTPUT)
        self.assertRegex(result.stderr.decode(), r"\Aquadrant: loop\.json: cannot [^\n]+\n\Z")
        self.fails(INPUT_OUTPUT, "nowhere", *sensitivity, *SCHEME, "--data", "nowhere")
        self.fails(INPUT_OUTPUT, "none.onnx", "sensitivity", "none.onnx", *SCHEME, "--random", 1)

    def test_weights_and_samples_that_cannot_be(self):
        self.put_samples([[1] * 6], [[1] * 5], folder="bad")
        self.fails(BAD_INPUT, "bad/s1.npy", "sensitivity", self.model, *SCHEME, "--data", "bad",
                   "--cache", "c.json")
        self.weights["fc2"][7] = float("nan")
        self.put(self.model, branches(self.weights))
        self.fails(IMPOSSIBLE, ["m.onnx: ", "'fc2'", "element 7", "nan", "--non-finite leave"],
                   *self.cached)
        self.succeeds(*self.command, "--exclude", "fc2")
        self.assertEqual(self.layers(*self.command, "--non-finite", "leave"),
                         self.layers(*self.command, "--exclude", "fc2"))
        self.fails(USAGE, "--non-finite", *self.command, "--non-finite", "keep")

    def test_errors_say_where(self):
        self.put(self.model, model(
            [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["y"], "plus")],
            [tensor("w", [6, 6], [i % 7 / 7 for i in range(36)]), tensor("b", [2, 6], [0.0] * 12)],
            [value_info("x", ["batch", 6])], [value_info("y", ["batch", 6])]))
        self.put_samples([[1] * 6] * 2, [[1] * 6] * 3, folder="mixed")
        self.fails(BAD_INPUT, ["m.onnx: ", "'plus'", "(sample 'mixed/s1.npy')"], "sensitivity",
                   self.model, *SCHEME, "--data", "mixed", "--cache", "c.json")


if __name__ == "__main__":
    run_tests()
