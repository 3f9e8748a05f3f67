"""Models through text: `.onnx -> .qd -> .onnx` is the model that `.onnx -> .onnx` is, for onnx.

Every kind of attribute, tensors of every type in every form of storage, subgraphs, functions, metadata; and the
example models, float and quantized.
"""

import _peers  # noqa: F401  (settings of the peers)

import pathlib

import numpy as np
import onnx
import onnx.defs
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from _command import ROOT, quadrant, run_tests, scratch

EXAMPLES = sorted((ROOT / "examples" / "models").rglob("*.onnx"))
ANY = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])


def convert(source, target):
    result = quadrant("convert", source, target)
    assert result.returncode == 0, result.stderr


def in_order(model):
    """Files list tensors in any order."""
    tensors = sorted(model.graph.initializer, key=lambda tensor: tensor.name)
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)
    return model


def check_same_through_text(path):
    with scratch() as folder:
        text, direct, back = folder / "a.qd", folder / "direct.onnx", folder / "back.onnx"
        convert(path, direct)
        convert(path, text)
        convert(text, back)
        assert "..." not in text.read_text(), "contents are left out"
        one, other = in_order(onnx.load(direct)), in_order(onnx.load(back))
        for graph_field in ("node", "initializer", "sparse_initializer", "input", "output", "value_info"):
            a, b = getattr(one.graph, graph_field), getattr(other.graph, graph_field)
            assert len(a) == len(b), f"{graph_field}: {len(a)} and {len(b)}"
            for left, right in zip(a, b):
                assert left == right, f"{graph_field}:\n{str(left)[:500]}\n{str(right)[:500]}"
        assert one == other
        twice = folder / "b.qd"
        convert(text, twice)
        assert twice.read_bytes() == text.read_bytes(), "text of text differs"


def check_model(model):
    with scratch() as folder:
        path = folder / "model.onnx"
        onnx.save(model, path)
        check_same_through_text(path)


def model_of(nodes, initializers=(), outputs=("y",), opset=21, functions=(), **graph):
    made = helper.make_graph(
        nodes, "test", [ANY], [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        list(initializers), **graph)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("own", 3)],
                             functions=list(functions), ir_version=10)


def add_one(outer):
    """A subgraph that reads `outer` from around it."""
    return helper.make_graph(
        [helper.make_node("Constant", [], ["inner_one"], value_float=1.0),
         helper.make_node("Add", [outer, "inner_one"], ["inner_sum"], "inner_node")],
        "branch", [], [helper.make_tensor_value_info("inner_sum", TensorProto.FLOAT, None)])


# --- tests -----------------------------------------------------------------------------------------


def test_examples():
    for path in EXAMPLES:
        yield path.stem, check_same_through_text, path


def test_quantized_examples():
    """What the command quantizes: codes, scales, blocks, and what it has renamed."""
    def check(path, options):
        with scratch() as folder:
            quantized = folder / "q.onnx"
            result = quadrant("quantize", path, "-o", quantized, "--scheme", "weight-only", *options)
            assert result.returncode == 0, result.stderr
            check_same_through_text(quantized)

    for path in EXAMPLES:
        if "int8" in path.stem:
            continue
        yield f"{path.stem}-8", check, path, ()
        yield f"{path.stem}-4", check, path, ("--bits", "4", "--block-size", "32", "--asymmetric")


def test_attributes_of_every_kind():
    graph = add_one("x")
    tensor = numpy_helper.from_array(np.arange(200, dtype=np.float32), "t")
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.float32([1, 2]), "v"), numpy_helper.from_array(np.int64([3, 70]), "i"), [100])
    kinds = {
        "float": 0.1, "int": -3, "string": "a\"b\\\nc", "bytes": b"\xff\x00\xfe", "tensor": tensor,
        "floats": [0.5, float("inf"), 1e-45], "ints": [1, -(2**63), 2**63 - 1], "strings": ["", "b", "\u00fc"],
        "tensors": [tensor, numpy_helper.from_array(np.int8([1]), "s")], "graph": graph,
        "graphs": [graph, add_one("x")], "sparse": sparse, "sparses": [sparse, sparse],
        "type": helper.make_tensor_type_proto(TensorProto.FLOAT, [1, "n"]),
        "types": [helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT64, None))],
    }
    for name, value in kinds.items():
        attribute = helper.make_attribute(name, value)
        attribute.doc_string = "what it is for"
        node = helper.make_node("Own", ["x"], ["y"], "n", domain="own", doc_string="a node")
        node.attribute.append(attribute)
        yield name, check_model, model_of([node])
    empty = helper.make_node("Own", ["x"], ["y"], "n", domain="own")
    for kind in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS, AttributeProto.TENSORS):
        empty.attribute.append(AttributeProto(name=f"none{kind}", type=kind))
    yield "empty lists", check_model, model_of([empty])


def tensor_of(name, kind, count):
    """Of any type, with bytes that mean something in it."""
    if kind == TensorProto.STRING:
        return helper.make_tensor(name, kind, [count], [f"s{i}".encode() for i in range(count)])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    return numpy_helper.from_array((np.arange(count) % 2).astype(dtype), name)


def test_tensors_of_every_type():
    for name, kind in TensorProto.DataType.items():
        if kind == TensorProto.UNDEFINED:
            continue
        for count in (3, 200):
            tensor = tensor_of("w", kind, count)
            node = helper.make_node("Own", ["x", "w"], ["y"], domain="own")
            yield f"{name}-{count}-initializer", check_model, model_of([node], [tensor])
            constant = helper.make_node("Constant", [], ["w"], value=tensor)
            yield f"{name}-{count}-constant", check_model, model_of([constant, node])


def test_typed_fields():
    """Elements that stand in float_data and its like, and not in raw_data."""
    for kind, values in ((TensorProto.FLOAT, [0.5] * 100), (TensorProto.INT64, [-1] * 100),
                         (TensorProto.DOUBLE, [1e300] * 3), (TensorProto.FLOAT16, [1.5] * 5),
                         (TensorProto.UINT64, [2**64 - 1]), (TensorProto.INT4, [-8, 7, 1])):
        tensor = helper.make_tensor("w", kind, [len(values)], values)
        node = helper.make_node("Own", ["x", "w"], ["y"], domain="own")
        yield TensorProto.DataType.Name(kind), check_model, model_of([node], [tensor])


def test_structure():
    branch = helper.make_node("If", ["c"], ["y"], "if", then_branch=add_one("h"), else_branch=add_one("x"))
    condition = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.bool_(True)))
    hidden = helper.make_node("Relu", ["x"], ["h"], "relu")
    yield "subgraph", check_model, model_of([condition, hidden, branch])
    yield "out of order", check_model, model_of([hidden, condition, branch])

    function = helper.make_function("own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                    [helper.make_opsetid("", 21)])
    call = helper.make_node("Twice", ["x"], ["y"], domain="own")
    yield "function", check_model, model_of([call], functions=[function])

    model = model_of([hidden, helper.make_node("TopK", ["h", "k"], ["", "y"], "top")],
                     [numpy_helper.from_array(np.int64([1]), "k")],
                     value_info=[helper.make_tensor_value_info("h", TensorProto.FLOAT, ["batch", 4]),
                                 helper.make_tensor_value_info("nobody", TensorProto.FLOAT, [1])],
                     doc_string="a graph")
    model.producer_name, model.doc_string, model.model_version = "someone", "a model", 7
    helper.set_model_props(model, {"key": "value", "other": "\u00fc"})
    model.graph.node[0].metadata_props.add(key="k", value="v")
    yield "metadata", check_model, model

    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    listed = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [weight])
    listed.graph.input.insert(0, helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 4]))
    yield "listed initializer", check_model, listed

    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.float32([1, 2]), "s"), numpy_helper.from_array(np.int64([3, 7]), "i"), [10])
    carried = model_of([helper.make_node("Own", ["x", "s"], ["y"], domain="own")], sparse_initializer=[sparse])
    yield "sparse initializer", check_model, carried


def test_operand_counts_are_those_of_onnx():
    """Each of ONNX's operators: as few operands and results as one of its versions takes, and one less."""
    counts = {}
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated:
            continue
        # Others may be left out in the middle, which a file writes as an empty name.
        needed = 0
        while needed < len(schema.inputs) and schema.inputs[needed].option == single:
            needed += 1
        if needed < len(schema.inputs) and schema.inputs[needed].option == variadic:
            needed += schema.inputs[needed].min_arity
        known = counts.setdefault(schema.name, [needed, schema.max_input, schema.min_output])
        known[0] = min(known[0], needed)
        known[1] = max(known[1], schema.max_input)
        known[2] = min(known[2], schema.min_output)

    def said(folder, name, operands, results):
        made = ", ".join(f"%r{i}: tensor<*xundefined>" for i in range(results))
        line = f"{made} = onnx.{name}({', '.join(['%x'] * operands)})" if results else \
            f"onnx.{name}({', '.join(['%x'] * operands)})"
        (folder / "t.qd").write_text(f"%x: tensor<*xundefined> = input()\n{line}\n")
        return quadrant("inspect", folder / "t.qd").stderr

    def check(name, needed, most, results):
        with scratch() as folder:
            assert "operands where" not in said(folder, name, needed, max(results, 1))
            assert "results where" not in said(folder, name, needed, max(results, 1))
            if needed > 0:
                assert "operands where" in said(folder, name, needed - 1, max(results, 1)), name
            if results > 0:
                assert "results where" in said(folder, name, needed, results - 1), name
            has_graph = name in ("If", "Loop", "Scan", "SequenceMap")
            if most < 100 and not has_graph:
                assert "operands where" in said(folder, name, most + 1, max(results, 1)), name

    for name, (needed, most, results) in sorted(counts.items()):
        yield name, check, name, needed, most, results


if __name__ == "__main__":
    run_tests(globals())
