"""What is not changed is written as it was read: codes of every type that ONNX has, in the model itself and in the
bodies of If, Loop and Scan. What is written once is written the same from then on, byte by byte.
"""

import _peers

import json

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _command import quadrant, run_tests, scratch
from _models import run

ROWS, COLUMNS = 32, 8
FLOATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn}
INTEGERS = {"i2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
            "i8": np.int8, "u8": np.uint8, "i16": np.int16}
GROUPS = {"tensor": {}, "axis": {"axis": 1}, "block": {"axis": 0, "block_size": 16}}


def done(*arguments):
    result = quadrant(*arguments)
    assert result.returncode == 0, f"{' '.join(map(str, arguments))}: {result.stderr}"
    return result


def tensor(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


class Weights:
    """What computes y = x w, where w is stored as codes: operators, their initializers, and w."""

    def __init__(self, code, groups, scales="f32", zeros=None, readers=1, seed=0, name=""):
        rng = np.random.default_rng(seed)
        self.nodes, self.initializers, self.name = [], [], name
        shape = {"tensor": (), "axis": (COLUMNS,), "block": (ROWS // 16, COLUMNS)}[groups]
        codes = self.codes(rng, code, (ROWS, COLUMNS))
        self.add("w", codes)
        self.weight = np.zeros((ROWS, COLUMNS), np.float32)
        for reader in range(readers):
            numbers = 2.0 ** rng.integers(-9, 0, shape) if scales == "e8m0" else rng.uniform(.01, .1, shape)
            points = self.codes(rng, code, shape) if zeros == "some" else np.zeros(shape, codes.dtype)
            scale = self.scale(np.asarray(numbers, np.float32), scales, reader)
            operands = [self.name + "w", scale]
            if zeros:
                operands.append(self.add(f"zero{reader}", points))
            attributes = dict(GROUPS[groups])
            if scales == "e8m0":
                attributes["output_dtype"] = TensorProto.FLOAT
            self.node("DequantizeLinear", operands, f"real{reader}", **attributes)
            stored = self.stored.astype(np.float32)
            self.weight += (codes.astype(np.float32) - self.spread(points.astype(np.float32), groups)) \
                * self.spread(stored, groups)
        total = self.name + "real0"
        for reader in range(1, readers):
            total = self.node("Add", [total, f"{self.name}real{reader}"], f"sum{reader}")
        self.result = total

    def codes(self, rng, code, shape):
        if code in FLOATS:
            return rng.standard_normal(shape).astype(FLOATS[code])
        bits, low = int(code[1:]), 0 if code[0] == "u" else -2 ** (int(code[1:]) - 1)
        return rng.integers(low, low + 2**bits, shape).astype(INTEGERS[code])

    def scale(self, numbers, kind, reader):
        if kind == "e8m0":
            self.stored = numbers.astype(ml_dtypes.float8_e8m0fnu)
            return self.add(f"scale{reader}", self.stored)
        self.stored = numbers.astype(np.float16) if kind == "f16" else numbers
        name = self.add(f"scale{reader}" + "_half" * (kind == "f16"), self.stored)
        return self.node("Cast", [name], f"scale{reader}", to=TensorProto.FLOAT) if kind == "f16" else name

    @staticmethod
    def spread(values, groups):
        return np.repeat(values, 16, 0) if groups == "block" else values

    def add(self, name, values):
        self.initializers.append(tensor(self.name + name, values))
        return self.name + name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [self.name + output], f"node_{self.name}{output}", **attributes))
        return self.name + output


class Activations:
    """x -> QuantizeLinear -> DequantizeLinear -> y = x w, of float8 or integers."""

    def __init__(self, code, groups, zeros, readers=1, name=""):
        self.name, self.nodes, self.initializers = name, [], []
        add, node = Weights.add.__get__(self), Weights.node.__get__(self)
        rng = np.random.default_rng(7)
        self.weight = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
        dtype = (FLOATS | INTEGERS)[code]
        shape = () if groups == "tensor" else (COLUMNS,)
        scale, zero = add("s", rng.uniform(.02, .1, shape).astype(np.float32)), add("z", np.zeros(shape, dtype))
        attributes = GROUPS[groups]
        made = {} if zeros else {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}
        weight = add("float", self.weight)
        codes = node("QuantizeLinear", [weight, scale] + [zero] * zeros, "codes", **attributes, **made)
        total = None
        for reader in range(readers):
            real = node("DequantizeLinear", [codes, scale] + [zero] * zeros, f"real{reader}", **attributes)
            total = real if total is None else node("Add", [total, real], f"sum{reader}")
        self.result = total
        self.weight = None  # what it is rounded to, ONNX Runtime says


CASES = {}
for code in FLOATS:
    for groups in GROUPS:
        CASES[f"{code} {groups}"] = lambda c=code, g=groups, **k: Weights(c, g, **k)
        CASES[f"{code} {groups} zeros"] = lambda c=code, g=groups, **k: Weights(c, g, zeros="all", **k)
    CASES[f"{code} halves"] = lambda c=code, **k: Weights(c, "axis", "f16", **k)
for code in INTEGERS:
    for groups in GROUPS:
        CASES[f"{code} {groups}"] = lambda c=code, g=groups, **k: Weights(c, g, **k)
        CASES[f"{code} {groups} points"] = lambda c=code, g=groups, **k: Weights(c, g, zeros="some", **k)
for code in ("e4m3", "e5m2", "e2m1", "i4", "i8", "u4"):
    for groups in GROUPS:
        CASES[f"{code} {groups} powers"] = lambda c=code, g=groups, **k: Weights(c, g, "e8m0", **k)
CASES["u8 powers points"] = lambda **k: Weights("u8", "block", "e8m0", "some", **k)
for code in ("i2", "u2", "i4", "u4", "i8", "e4m3", "e2m1"):
    CASES[f"{code} two meanings"] = lambda c=code, **k: Weights(c, "axis", readers=2, **k)
for code in ("e4m3", "e5m2", "i8", "u8", "i4"):
    for zeros in (True, False):
        CASES[f"{code} rounded zeros: {zeros}"] = lambda c=code, z=zeros, **k: Activations(c, "axis", z, **k)
    CASES[f"{code} rounded readers"] = lambda c=code, **k: Activations(c, "tensor", True, readers=3, **k)
CASES["e4m3 rounded opset 19"] = lambda **k: Activations("e4m3", "axis", True, **k)


def info(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


X, Y = [ROWS, ROWS], [ROWS, COLUMNS]


def in_graph(make):
    made = make()
    nodes = made.nodes + [helper.make_node("MatMul", ["x", made.result], ["y"], "product")]
    return helper.make_graph(nodes, "g", [info("x", X)], [info("y", Y)], made.initializers), made


def in_if(make):
    branches = []
    for name in ("then", "else"):
        made = make(name=f"{name}_")
        nodes = made.nodes + [helper.make_node("MatMul", ["x", made.result], [f"{name}_y"], f"{name}_product")]
        branches.append((helper.make_graph(nodes, name, [], [info(f"{name}_y", Y)], made.initializers), made))
    (first, made), (second, _) = branches
    graph = helper.make_graph([helper.make_node("If", ["condition"], ["y"], "choice", then_branch=first, else_branch=second)],
                              "g", [info("x", X)], [info("y", Y)], [tensor("condition", np.array(True))])
    return graph, made


def in_loop(make):
    made = make(name="inner_")
    nodes = made.nodes + [helper.make_node("MatMul", ["x", made.result], ["inner_y"], "inner_product"),
                          helper.make_node("Identity", ["going"], ["goes_on"], "goes")]
    body = helper.make_graph(nodes, "body", [info("round", [], TensorProto.INT64), info("going", [], TensorProto.BOOL)],
                             [info("goes_on", [], TensorProto.BOOL), info("inner_y", Y)], made.initializers)
    graph = helper.make_graph([helper.make_node("Loop", ["count", ""], ["all"], "loop", body=body),
                               helper.make_node("Squeeze", ["all", "first"], ["y"], "last")],
                              "g", [info("x", X)], [info("y", Y)],
                              [tensor("count", np.array(1)), tensor("first", np.array([0]))])
    return graph, made


def in_scan(make):
    made = make(name="inner_")
    nodes = made.nodes + [helper.make_node("MatMul", ["row", made.result], ["inner_y"], "inner_product")]
    body = helper.make_graph(nodes, "body", [info("row", [ROWS])], [info("inner_y", [COLUMNS])], made.initializers)
    graph = helper.make_graph([helper.make_node("Scan", ["x"], ["y"], "scan", body=body, num_scan_inputs=1)], "g",
                              [info("x", X)], [info("y", Y)])
    return graph, made


PLACES = {"graph": in_graph, "If": in_if, "Loop": in_loop, "Scan": in_scan}


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def said(path):
    """All that a file says of operators and initializers, in order."""
    lines = []
    for graph in graphs_of(onnx.load(path).graph):
        lines += [(n.op_type, n.name, tuple(n.input), tuple(n.output),
                   sorted((a.name, "" if a.HasField("g") else str(helper.get_attribute_value(a))) for a in n.attribute))
                  for n in graph.node]
        lines += [(t.name, t.data_type, tuple(t.dims), t.raw_data) for t in graph.initializer]
    return lines


def opset_of(name):
    if "opset 19" in name:
        return 19
    if "2 " in name[1:3]:
        return 25
    return 24 if "powers" in name else 23 if "e2m1" in name else 21


def is_run(name):
    """Whether ONNX Runtime 1.32 has the kernel."""
    return not ("powers" in name or "e2m1" in name)


def check_unchanged(name, place):
    graph, made = PLACES[place](CASES[name])
    opset = opset_of(name)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=13 if opset > 23 else 11 if opset > 21 else 10)
    onnx.checker.check_model(model)
    feeds = {"x": np.eye(ROWS, dtype=np.float32)}
    with scratch() as folder:
        paths = [folder / f"{i}.onnx" for i in range(3)]
        onnx.save(model, paths[0])
        for before, after in zip(paths, paths[1:]):
            done("convert", before, after)
        assert said(paths[1]) == said(paths[0]), f"{said(paths[0])}\n{said(paths[1])}"
        assert paths[2].read_bytes() == paths[1].read_bytes(), "another file the second time"
        wanted = made.weight
        if is_run(name):
            wanted = run(paths[0], feeds)[0] if wanted is None else wanted
            assert np.array_equal(run(paths[1], feeds)[0], wanted)
        np.savez(folder / "feed.npz", **feeds)
        done("run", paths[1], "--data", folder / "feed.npz", "-o", folder / "out")
        assert np.array_equal(np.load(folder / "out" / "feed.npz")["y"], wanted)


def test_unchanged():
    for name in CASES:
        for place in PLACES:
            yield f"{name}, {place}", check_unchanged, name, place


def test_read_as_types():
    """All of them are weights in other formats, too, of the same numbers."""
    for name in CASES:
        if "rounded" not in name:
            yield name, check_text, name


def check_text(name):
    graph, made = in_graph(CASES[name])
    opset = opset_of(name)
    with scratch() as folder:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13),
                  folder / "m.onnx")
        done("convert", folder / "m.onnx", folder / "m.qd")
        text = (folder / "m.qd").read_text()
        assert "= onnx.DequantizeLinear(" not in text and "= dequantize(" in text, text
        np.savez(folder / "feed.npz", x=np.eye(ROWS, dtype=np.float32))
        done("run", folder / "m.qd", "--data", folder / "feed.npz", "-o", folder / "out")
        assert np.array_equal(np.load(folder / "out" / "feed.npz")["y"], made.weight)


def test_what_was_made_once():
    """Files of every type that the command makes, in every place."""
    types = [entry["type"] for entry in json.loads(done("list", "types", "--json").stdout)["types"]]
    for name in types + ["(u2 - z) * f32[channel] : f32", "i2 * f32[channel] : f32"]:
        for place in PLACES:
            yield f"{name}, {place}", check_made, name, place


class Floats(Weights):
    def __init__(self, name=""):
        self.name, self.nodes, self.initializers = name, [], []
        self.result = self.add("w", np.random.default_rng(5).standard_normal((ROWS, COLUMNS)).astype(np.float32))


def check_made(name, place):
    graph, _ = PLACES[place](Floats)
    with scratch() as folder:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
                  folder / "m.onnx")
        done("quantize", folder / "m.onnx", "-o", folder / "0.onnx", "--scheme", "weight-only", "--type", name)
        for i in range(2):
            done("convert", folder / f"{i}.onnx", folder / f"{i + 1}.onnx")
        assert said(folder / "1.onnx") == said(folder / "0.onnx")
        assert (folder / "2.onnx").read_bytes() == (folder / "1.onnx").read_bytes()


def test_a_later_opset_is_told():
    """By every command that writes the file; not of a model that states none."""
    graph, _ = in_graph(Floats)
    with scratch() as folder:
        path = folder / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        quantized = ("--scheme", "weight-only", "--type", "int4")
        said_of = {"convert": done("convert", path, folder / "c.onnx", *quantized),
                   "quantize": done("quantize", path, "-o", folder / "q.onnx", *quantized)}
        for command, result in said_of.items():
            assert result.stdout.count("opset 17 became 21") == 1, (command, result.stdout)
        as_json = done("convert", path, folder / "j.onnx", *quantized, "--json")
        assert "opset 17 became 21" in json.loads(as_json.stdout)["remarks"]
        done("convert", path, folder / "m.tflite")
        for source in (path, folder / "m.tflite", folder / "c.onnx"):
            assert "opset" not in done("convert", source, folder / "again.onnx").stdout, source
        told = done("convert", folder / "m.tflite", folder / "t.onnx", *quantized).stdout
        assert "opset" not in told, told
        assert onnx.load(folder / "t.onnx").opset_import[0].version == 21


if __name__ == "__main__":
    run_tests(globals())
