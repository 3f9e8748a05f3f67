"""Models read and written again: the same model for onnx, the same numbers for ONNX Runtime.

Usage: onnx_roundtrip_test.py [TOOL], the tool of tests/io/onnx/roundtrip_main.cpp; without the
argument, the environment variable ONNX_ROUNDTRIP names it. The command quantizes a model of each
opset.
"""

import _peers

import os
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from _command import COMMAND, quadrant
from _node_folders import made_folder

OPSETS = range(7, 29)  # all that are read; ONNX Runtime 1.32 loads all of them, and none later
NOT_DEQUANTIZED = _peers.NEWEST_OPSET + 1  # ONNX Runtime has no DequantizeLinear of this opset
MODELS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "models"
ort.set_default_logger_severity(4)


# --- running ---------------------------------------------------------------------------------------


def run_tool(tool, source, target, *options):
    return subprocess.run([tool, str(source), str(target), *options], capture_output=True, text=True)


def random_feeds(session, seed=0):
    """Random inputs: small integers, and floats around zero; open dimensions become 2."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 2 for d in value.shape]
        kind = value.type[len("tensor("):-1]
        if kind in ("float", "float16", "double"):
            dtype = {"float": np.float32, "float16": np.float16, "double": np.float64}[kind]
            feeds[value.name] = rng.standard_normal(shape).astype(dtype)
        elif kind == "bool":
            feeds[value.name] = rng.integers(0, 2, shape).astype(bool)
        else:
            feeds[value.name] = rng.integers(0, 2, shape).astype(kind)
    return feeds


def session_of(path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def sqnr(reference, other):
    reference = np.asarray(reference, np.float64)
    noise = np.sum((reference - np.asarray(other, np.float64)) ** 2)
    signal = np.sum(reference**2)
    return np.inf if noise == 0 else 10 * np.log10(max(signal, 1e-300) / noise)


# --- comparing -------------------------------------------------------------------------------------

UNREADABLE = {TensorProto.STRING}


def canonical_tensor(tensor, base):
    if tensor.data_type in UNREADABLE:
        return
    array = numpy_helper.to_array(tensor, base)
    raw = numpy_helper.from_array(array).raw_data
    if tensor.data_type in (TensorProto.INT4, TensorProto.UINT4):
        flat = array.astype(np.int8).ravel().astype(np.uint8) & 15
        raw = np.pad(flat, (0, len(flat) % 2)).reshape(-1, 2)
        raw = (raw[:, 0] | raw[:, 1] << 4).astype(np.uint8).tobytes()
    for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data",
                  "external_data", "data_location"):
        tensor.ClearField(field)
    tensor.raw_data = raw


def is_repeated(field):
    known = getattr(field, "is_repeated", None)  # newer protobuf
    return field.label == field.LABEL_REPEATED if known is None else known


def canonical(message, base):
    """The same message for all encodings of the same thing."""
    if isinstance(message, TensorProto):
        canonical_tensor(message, base)
    if isinstance(message, onnx.AttributeProto) and not message.type and message.HasField("t"):
        message.type = onnx.AttributeProto.TENSOR
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for child in value if is_repeated(field) else [value]:
                canonical(child, base)
        elif not is_repeated(field) and value in ("", b""):
            message.ClearField(field.name)
    if isinstance(message, onnx.GraphProto):
        infos = sorted(message.value_info, key=lambda info: info.name)
        del message.value_info[:]
        message.value_info.extend(infos)
    return message


def difference(a, b):
    """The first place where two canonical models differ; empty when they do not."""
    if a == b:
        return ""
    for field in a.DESCRIPTOR.fields:
        left, right = getattr(a, field.name), getattr(b, field.name)
        if is_repeated(field):
            if len(left) != len(right):
                return f"{field.name}: {len(left)} and {len(right)} elements"
            for i, (x, y) in enumerate(zip(left, right)):
                if x != y:
                    inner = difference(x, y) if field.type == field.TYPE_MESSAGE else f"{x} {y}"
                    return f"{field.name}[{i}].{inner}"
        elif left != right or a.HasField(field.name) != b.HasField(field.name):
            inner = difference(left, right) if field.type == field.TYPE_MESSAGE else ""
            return f"{field.name}.{inner}" if inner else f"{field.name}: {left!r:.80} {right!r:.80}"
    return "unknown fields"


def check_same(tool, source, folder, *options):
    first, second = folder / "first.onnx", folder / "second.onnx"
    done = run_tool(tool, source, first, "--print", *options)
    if done.returncode != 0:
        return done.stderr.strip()
    before = canonical(onnx.load(str(source), load_external_data=False), str(source.parent))
    after = canonical(onnx.load(str(first), load_external_data=False), str(folder))
    if problem := difference(before, after):
        return problem
    again = run_tool(tool, first, second, "--print")
    text = lambda run: run.stdout[: run.stdout.rindex("opset ")]
    if again.returncode != 0 or text(done) != text(again):
        return f"the second reading differs {again.stderr.strip()}"
    if not options and first.read_bytes() != second.read_bytes():
        return "the second writing differs"
    return ""


def is_checked(path):
    """The checker refuses some models that run: those that call the default domain `ai.onnx`."""
    try:
        onnx.checker.check_model(str(path))
        return True
    except onnx.checker.ValidationError:
        return False


def with_rounded_weights(source, quantized):
    """The model at `source` with the weights that `quantized` holds as codes and scales: how many."""
    model, codes = onnx.load(str(source)), onnx.load(str(quantized))
    stored = {t.name: numpy_helper.to_array(t) for t in codes.graph.initializer}
    tensors = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    count = 0
    for name, tensor in tensors.items():
        if name + "_codes" not in stored:
            continue
        whole = stored[name + "_codes"].astype(np.float32)
        scale = stored[name + "_scale"].reshape([-1] + [1] * (whole.ndim - 1))
        exact = numpy_helper.to_array(tensor)
        rounded = (whole * scale).astype(exact.dtype)
        assert sqnr(exact, rounded) > 20, name
        tensor.CopyFrom(numpy_helper.from_array(rounded, tensor.name))
        count += 1
    return model, count


def check_quantized(tool, source, folder, opset=None, options=()):
    """The quantized model computes what the original does with rounded weights."""
    target, rounded = folder / "quantized.onnx", folder / "rounded.onnx"
    done = run_tool(tool, source, target, "--quantize-all", *options)
    if done.returncode != 0:
        return done.stderr.strip()
    if opset and f"-> {opset}," not in done.stdout:
        return done.stdout
    if is_checked(source):
        onnx.checker.check_model(str(target))
    model, count = with_rounded_weights(source, target)
    onnx.save(model, str(rounded))
    reference, session = session_of(rounded), session_of(target)
    feeds = random_feeds(reference)
    feeds = {name: feeds[name] for name in (value.name for value in session.get_inputs())}
    for a, b in zip(reference.run(None, feeds), session.run(None, feeds)):
        if not isinstance(a, list) and np.issubdtype(a.dtype, np.floating) and sqnr(a, b) < 50:
            return f"{sqnr(a, b):.1f} dB with {count} quantized weights"
    return ""


# --- models ----------------------------------------------------------------------------------------


def tensor_info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, initializers=(), opset=17, ir=8, imports=(), **extra):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset), *imports], ir_version=ir, **extra)


def weights(name="w", shape=(4, 3), dtype=np.float32, seed=1):
    return numpy_helper.from_array(
        np.random.default_rng(seed).standard_normal(shape).astype(dtype), name)


def plain_model(**options):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"], "dense")],
                    [tensor_info("x", ["N", 4])], [tensor_info("y", ["N", 3])], [weights()],
                    **options)


def model_of_opset(opset):
    """With the IR version that came with the opset, and a weight that is worth quantizing: a
    Constant, since initializers that are not inputs came with IR version 4."""
    return model_of([helper.make_node("Constant", [], ["w"], value=weights(shape=(64, 32))),
                     helper.make_node("MatMul", ["x", "w"], ["h"], "dense"),
                     helper.make_node("Relu", ["h"], ["y"])],
                    [tensor_info("x", ["N", 64])], [tensor_info("y", ["N", 32])],
                    opset=opset, ir=ir_version_of(opset))


def ir_version_of(opset):
    return min(row[1] for row in helper.VERSION_TABLE if row[2] >= opset)


def rich_model():
    """Everything around the nodes that can be there."""
    model = plain_model(ir=10)
    model.doc_string = "doc"
    model.domain = "org.example"
    model.model_version = 7
    model.producer_version = "1.0"
    helper.set_model_props(model, {"a": "b", "author": "nobody"})
    graph = model.graph
    graph.doc_string = "graph doc"
    graph.metadata_props.add(key="k", value="v")
    graph.node[0].doc_string = "node doc"
    graph.node[0].metadata_props.add(key="k", value="v")
    graph.initializer[0].doc_string = "tensor doc"
    graph.initializer[0].metadata_props.add(key="k", value="v")
    graph.input[0].doc_string = "input doc"
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.value_info.append(tensor_info("nowhere", [1]))
    annotation = graph.quantization_annotation.add(tensor_name="w")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    node = helper.make_node("Thing", ["x", "", "y"], ["a", "", "b", ""], domain="org.example",
                            number=1, real=0.1, text="t", ints=[1, -2], reals=[0.5, 1e-40],
                            texts=["u", "v"], tensor=weights("named"), overload="o")
    node.attribute[0].doc_string = "attribute doc"
    node.attribute.append(helper.make_attribute("tensors", [weights("t0"), weights("t1")]))
    node.attribute.append(helper.make_attribute("empty", [], attr_type=onnx.AttributeProto.INTS))
    node.attribute.append(helper.make_attribute(
        "type", helper.make_tensor_type_proto(TensorProto.FLOAT, [1])))
    node.attribute.append(helper.make_attribute(
        "strings", helper.make_tensor("s", TensorProto.STRING, [2], [b"a", b"b"])))
    graph.node.append(node)
    model.opset_import.append(helper.make_opsetid("org.example", 3))
    model.opset_import.append(helper.make_opsetid("unused", 1))
    return model


def data_types_model():
    values = np.array([0, 1, 2, 3, 1, 0], np.float32).reshape(2, 3)
    kinds = [k for k in range(1, 29) if k != TensorProto.STRING]
    tensors, nodes = [], []
    for kind in kinds:
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        array = values.astype(dtype)
        tensors.append(numpy_helper.from_array(array, f"raw{kind}"))
        if kind not in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            tensors.append(helper.make_tensor(f"typed{kind}", kind, [2, 3], array))
    tensors.append(helper.make_tensor("strings", TensorProto.STRING, [2], [b"a", b"bc"]))
    tensors.append(helper.make_tensor("none", TensorProto.FLOAT, [0, 3], []))
    tensors.append(helper.make_tensor("scalar", TensorProto.INT64, [], [-5]))
    for tensor in tensors:
        nodes.append(helper.make_node("Use", [tensor.name], [tensor.name + "_out"], domain="d"))
    return model_of(nodes, [], [], tensors, opset=28, ir=14, imports=[helper.make_opsetid("d", 1)])


def new_operators_model():
    """Those of opsets 24 to 28. The last two are carried alone."""
    sequence, state = [1, 4, 6], [1, 2, 3, 3]
    nodes = [
        helper.make_node("Swish", ["x"], ["gate"], alpha=0.5),
        helper.make_node("TensorScatter", ["x", "one", "first"], ["cache"]),
        helper.make_node("BitCast", ["cache"], ["bits"], to=TensorProto.INT32),
        helper.make_node("CumProd", ["bits", "axis"], ["product"], exclusive=1),
        helper.make_node("SwiGLU", ["gate", "cache"], ["gated"], alpha=2.0),
        helper.make_node("CausalConvWithState", ["gated", "kernel"], ["convolved", "carry"],
                         activation="silu"),
        helper.make_node("LinearAttention", ["convolved", "x", "x"], ["y", "state"], q_num_heads=2,
                         kv_num_heads=2, update_rule="linear"),
    ]
    outputs = [tensor_info("product", sequence, TensorProto.INT32), tensor_info("y", sequence),
               tensor_info("carry", [1, 4, 1]), tensor_info("state", state)]
    initializers = [numpy_helper.from_array(np.array([2], np.int64), "first"),
                    numpy_helper.from_array(np.array(-1, np.int64), "axis"),
                    weights("one", (1, 1, 6)), weights("kernel", (4, 1, 2))]
    return model_of(nodes, [tensor_info("x", sequence)], outputs, initializers, opset=28, ir=14)


def constants_model():
    forms = [dict(value=weights("inner", (2, 3))), dict(value_float=0.1), dict(value_int=-3),
             dict(value_floats=[0.1, 0.2]), dict(value_ints=[1, 2, 3]), dict(value_string="s"),
             dict(value_strings=["s", "t"]),
             dict(sparse_value=helper.make_sparse_tensor(
                 numpy_helper.from_array(np.array([1.0], np.float32), "v"),
                 numpy_helper.from_array(np.array([2], np.int64), "i"), [4]))]
    nodes = [helper.make_node("Constant", [], [f"c{i}"], f"n{i}", **form)
             for i, form in enumerate(forms)]
    nodes += [helper.make_node("Use", [f"c{i}"], [f"u{i}"], domain="d") for i in range(len(forms))]
    model = model_of(nodes, [], [], imports=[helper.make_opsetid("d", 1)])
    values = numpy_helper.from_array(np.array([1.0], np.float32), "sparse")
    indices = numpy_helper.from_array(np.array([2], np.int64), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    return model


def subgraph_model():
    """Branches that capture weights and values, one level and two levels deep."""
    inner_then = helper.make_graph(
        [helper.make_node("MatMul", ["h", "w2"], ["then_out"])], "inner_then", [],
        [tensor_info("then_out", None)])
    inner_else = helper.make_graph(
        [helper.make_node("Neg", ["h"], ["h_neg"]),
         helper.make_node("MatMul", ["h_neg", "w2"], ["else_out"])], "inner_else", [],
        [tensor_info("else_out", None)])
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "w"], ["next0"]),
         helper.make_node("If", ["cond"], ["extra"], then_branch=helper.make_graph(
             [helper.make_node("Identity", ["w"], ["deep"])], "deep_then", [],
             [tensor_info("deep", None)]), else_branch=helper.make_graph(
             [helper.make_node("Identity", ["local"], ["deep2"])], "deep_else", [],
             [tensor_info("deep2", None)])),
         helper.make_node("Add", ["next0", "extra"], ["next"]),
         helper.make_node("Identity", ["going"], ["going_out"])],
        "body",
        [tensor_info("i", [], TensorProto.INT64), tensor_info("going", [], TensorProto.BOOL),
         tensor_info("state", [4, 3])],
        [tensor_info("going_out", [], TensorProto.BOOL), tensor_info("next", [4, 3])],
        [weights("local", seed=5)])
    nodes = [
        helper.make_node("Loop", ["trips", "", "w"], ["looped"], "loop", body=body),
        helper.make_node("MatMul", ["x", "looped"], ["h"]),
        helper.make_node("If", ["cond"], ["y"], "branch", then_branch=inner_then,
                         else_branch=inner_else),
    ]
    trips = numpy_helper.from_array(np.array(2, np.int64), "trips")
    return model_of(nodes, [tensor_info("x", ["N", 4]), tensor_info("cond", [], TensorProto.BOOL)],
                    [tensor_info("y", ["N", 2])],
                    [weights("w"), weights("w2", (3, 2), seed=2), trips])


def function_model():
    model = plain_model()
    model.graph.node.append(helper.make_node("Twice", ["y"], ["z"], domain="local", by=2.0))
    model.graph.output.append(tensor_info("z", ["N", 3]))
    body = [helper.make_node("Constant", [], ["factor"]), helper.make_node("Mul", ["a", "factor"], ["b"])]
    reference = onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT,
                                    ref_attr_name="by")
    body[0].attribute.append(reference)
    model.functions.append(helper.make_function(
        "local", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 17)], ["by"]))
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


def sequence_model():
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
             helper.make_node("Identity", ["s"], ["t"]),
             helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)]
    model = model_of(nodes, [tensor_info("x", [2, 3])], [tensor_info("y", [4, 3])])
    model.graph.value_info.append(
        helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [2, 3]))
    model.graph.output.append(
        helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, None))
    return model


def sloppy_model():
    """An intermediate value and an output with stale types: ONNX Runtime corrects them."""
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["h"]),
                      helper.make_node("Relu", ["h"], ["y"])],
                     [tensor_info("x", [2, 4])], [tensor_info("y", [2, 3])], [weights()])
    model.graph.value_info.append(tensor_info("h", [7, 7, 7]))
    return model


def listed_model():
    model = plain_model(opset=8, ir=3)
    model.graph.input.insert(0, tensor_info("w", [4, 3]))
    return model


def aliased_model():
    model = plain_model()
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("ai.onnx", 17))
    model.graph.node[0].domain = "ai.onnx"
    return model


def half_model(dtype, kind):
    return model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor_info("x", [2, 4], kind)],
                    [tensor_info("y", [2, 3], kind)],
                    [numpy_helper.from_array(weights_array().astype(dtype), "w")])


def weights_array():
    return numpy_helper.to_array(weights())


# The models that run.
RUNNING = {
    "plain": plain_model,
    "subgraphs": subgraph_model,
    "function": function_model,
    "sequence": sequence_model,
    "listed": listed_model,
    "aliased": aliased_model,
    "float16": lambda: half_model(np.float16, TensorProto.FLOAT16),
} | {f"opset {opset}": lambda opset=opset: model_of_opset(opset) for opset in OPSETS}
STANDING = {"rich": rich_model, "types": data_types_model, "constants": constants_model,
            "new operators": new_operators_model,
            "bfloat16": lambda: half_model(ml_dtypes.bfloat16, TensorProto.BFLOAT16)}


def save_external(model, path):
    onnx.save_model(model, str(path), save_as_external_data=True, size_threshold=0,
                    location="folder_data.bin")


def check_sloppy(tool, path, folder):
    """The wrong remark goes, all else stays."""
    target = folder / "out.onnx"
    done = run_tool(tool, path, target)
    if done.returncode != 0 or "contradict" not in done.stderr:
        return f"{done.returncode} {done.stderr}"
    names = [info.name for info in onnx.load(str(target)).graph.value_info]
    return "the stale type is still there" if "h" in names else ""


def check_in_place(tool, path, folder):
    reference = onnx.load(str(path))
    done = run_tool(tool, path, path)
    if done.returncode != 0:
        return done.stderr
    return difference(canonical(reference, "."), canonical(onnx.load(str(path)), "."))


def check_opset(tool, source, folder, opset):
    """What is written has the opset and the IR version of what was read, and computes the same."""
    target = folder / "out.onnx"
    done = run_tool(tool, source, target)
    if done.returncode != 0:
        return done.stderr.strip()
    onnx.checker.check_model(str(target), full_check=True)
    written = onnx.load(str(target))
    if (written.opset_import[0].version, written.ir_version) != (opset, ir_version_of(opset)):
        return f"opset {written.opset_import[0].version}, IR version {written.ir_version}"
    reference, session = session_of(source), session_of(target)
    feeds = random_feeds(reference)
    same = np.array_equal(reference.run(None, feeds)[0], session.run(None, feeds)[0])
    return "" if same else "other numbers"


def check_weight_only(source, folder, opset):
    """The command's 8-bit weights, which need opset 13."""
    target = folder / "quantized.onnx"
    done = quadrant("quantize", source, "-o", target, "--scheme", "weight-only")
    if done.returncode != 0:
        return done.stderr.strip()
    onnx.checker.check_model(str(target), full_check=True)
    written = onnx.load(str(target))
    found = written.opset_import[0].version
    if found != max(opset, 13) or written.ir_version < ir_version_of(found):
        return f"opset {found}, IR version {written.ir_version}"
    codes = {t.name for t in written.graph.initializer if t.data_type == TensorProto.INT8}
    if "w_quantized" not in codes:
        return "no weight of 8 bits"
    if opset == NOT_DEQUANTIZED:
        if problem := why_not_loaded(target):
            return problem
        session = ReferenceEvaluator(written)
    else:
        session = session_of(target)
    reference = session_of(source)
    feeds = random_feeds(reference)
    noise = sqnr(reference.run(None, feeds)[0], session.run(None, feeds)[0])
    return "" if noise > 35 else f"{noise:.1f} dB"


def why_not_loaded(path):
    """A problem unless ONNX Runtime lacks DequantizeLinear of the opset, and nothing else."""
    try:
        session_of(path)
    except ort.capi.onnxruntime_pybind11_state.NotImplemented as refused:
        wanted = f"DequantizeLinear({NOT_DEQUANTIZED})"
        return "" if wanted in str(refused) else str(refused)
    return "ONNX Runtime loads it: the test can run it there"


def node_models():
    """The models of ONNX's node tests that are of an opset that is read."""
    for path in sorted(made_folder().glob("*/model.onnx")):
        imports = onnx.load(str(path)).opset_import
        if any(i.domain in ("", "ai.onnx") and i.version in OPSETS for i in imports):
            yield path


def check_later_opset(tool, source, folder):
    done = run_tool(tool, source, folder / "out.onnx")
    refused = f"{OPSETS[0]} to {OPSETS[-1]} are supported"
    return "" if done.returncode == 3 and refused in done.stderr else f"{done.returncode} {done.stderr}"


def check_external_written(tool, path, folder):
    target = folder / "out.onnx"
    done = run_tool(tool, path, target, "--external", "1")
    if done.returncode != 0:
        return done.stderr
    onnx.checker.check_model(str(target))
    return difference(canonical(onnx.load(str(path)), "."), canonical(onnx.load(str(target)), "."))


def carried_subgraph_model():
    """Subgraphs of operators that nobody knows."""
    model = subgraph_model()
    for node in model.graph.node:
        if node.op_type in ("If", "Loop"):
            node.domain = "mine"
    model.opset_import.append(helper.make_opsetid("mine", 1))
    return model


def check_external_subgraph(tool, path, folder):
    """Carried tensors name files relative to the model's folder: not to be written elsewhere."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    done = run_tool(tool, path, elsewhere / "out.onnx")
    if done.returncode != 4 or "write the model to that folder" not in done.stderr:
        return f"{done.returncode} {done.stderr}"
    return check_same(tool, path, folder)


def checks(tool):
    for path in sorted(MODELS.glob("*.onnx")):
        yield path.name, lambda folder, path=path: check_same(tool, path, folder)
        yield path.name + " quantized", lambda folder, path=path: check_quantized(
            tool, path, folder)
    if not MODELS.is_dir():
        print(f"{MODELS} is not there: its models are not checked")

    def made(make, check, save=lambda model, path: onnx.save(model, str(path))):
        def run(folder):
            path = folder / "made.onnx"
            save(make(), path)
            return check(path, folder)
        return run

    for name, make in RUNNING.items():
        yield name, made(make, lambda path, folder: check_same(tool, path, folder))
        if name != f"opset {NOT_DEQUANTIZED}":
            yield name + " quantized", made(make, lambda p, f: check_quantized(tool, p, f))
    for name, make in STANDING.items():
        yield name, made(make, lambda path, folder: check_same(tool, path, folder))
    for name in ("plain", "listed"):
        yield name + " external", made(
            RUNNING[name], lambda path, folder: check_same(tool, path, folder), save_external)
    for opset in OPSETS:
        make = RUNNING[f"opset {opset}"]
        yield f"opset {opset} runs", made(make, lambda p, f, o=opset: check_opset(tool, p, f, o))
        yield f"opset {opset} weights", made(make, lambda p, f, o=opset: check_weight_only(p, f, o))
    for path in node_models():
        yield path.parent.name, lambda folder, path=path: check_same(tool, path, folder)
    yield "a later opset", made(lambda: plain_model(opset=OPSETS[-1] + 1, ir=14),
                                lambda p, f: check_later_opset(tool, p, f))
    yield "sloppy", made(sloppy_model, lambda p, f: check_sloppy(tool, p, f))
    yield "in place", made(subgraph_model, lambda p, f: check_in_place(tool, p, f))
    yield "external written", made(subgraph_model, lambda p, f: check_external_written(tool, p, f))
    yield "external types", made(data_types_model, lambda p, f: check_external_written(tool, p, f))
    yield "external body", made(subgraph_model, lambda p, f: check_same(tool, p, f), save_external)
    yield "external subgraph", made(
        carried_subgraph_model, lambda p, f: check_external_subgraph(tool, p, f), save_external)


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ONNX_ROUNDTRIP")
    if not tool:
        print("the tool onnx_roundtrip was not named")
        sys.exit(77)
    if not COMMAND.is_file():
        sys.exit(f"the command is not there: {COMMAND} (the environment variable QUADRANT names it)")
    passed = failed = 0
    for name, check in checks(tool):
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = check(pathlib.Path(folder))
            except Exception as exception:  # a peer refused the model
                problem = f"{type(exception).__name__}: {exception}"
            problem = problem or "; ".join(
                f"{left.name} is left" for left in pathlib.Path(folder).glob("*.tmp"))
        if problem:
            failed += 1
            print(f"FAILED {name}: {problem}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
