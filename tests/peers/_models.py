"""Models: real ones and made ones, quantized by the command and run in ONNX Runtime."""

import json

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from _command import ROOT, quadrant

EXAMPLES = ROOT / "examples" / "models"
SHARED = ROOT.parent / "shared" / "models"  # models that are not part of the project

onnxruntime.set_default_logger_severity(3)  # errors alone


def quantize(source, target, *options):
    """The document that `quantize --json` prints; an AssertionError where it fails."""
    scheme = () if "--recipe" in options else ("--scheme", "weight-only")
    done = quadrant("quantize", source, "-o", target, *scheme, "--json", *options)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


# --- running models --------------------------------------------------------------------------------


def session_of(model, optimised=False):
    """A session for a path or a ModelProto. Without optimisations, both sides of a comparison run the
    same kernels in the same order, and what differs is the weights."""
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    # Where products of 4 bits are made of DequantizeLinear and MatMul: float sums. By default, 8 bits.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def random_feeds(session, seed=0):
    """Inputs of the declared shapes, open dimensions 3: normal floats, and integers 1 to 3, which
    indices into tables and lengths of sequences can be."""
    rng = np.random.default_rng(seed)
    dtypes = {"float": np.float32, "float16": np.float16, "double": np.float64, "bool": bool}
    feeds = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 3 for d in value.shape]
        kind = value.type[len("tensor("):-1]
        data = rng.integers(1, 4, shape) if "int" in kind else rng.standard_normal(shape)
        if kind == "bool":
            data = data > 0
        feeds[value.name] = np.asarray(data, dtypes.get(kind, kind))
    return feeds


def run(model, feeds=None, optimised=False):
    session = session_of(model, optimised)
    feeds = random_feeds(session) if feeds is None else feeds
    return session.run(None, {value.name: feeds[value.name] for value in session.get_inputs()})


def accuracy(model, test_set):
    """mean(argmax(first output) == labels), with the optimisations that users get."""
    session = session_of(model, optimised=True)
    (output, *_) = session.run(None, {v.name: test_set[v.name] for v in session.get_inputs()})
    return np.mean(np.argmax(output, axis=-1) == test_set["labels"])


# --- models ----------------------------------------------------------------------------------------


def real_models():
    """Paths of the example models and, where they are there, of the float models beside the project."""
    paths = sorted(EXAMPLES.glob("*.onnx"))
    assert paths, f"no models in {EXAMPLES}"
    if SHARED.is_dir():
        paths += sorted(path for path in SHARED.glob("*.onnx") if is_float_model(onnx.load(path)))
    else:
        print(f"{SHARED} is not there: its models are not tested")
    return paths


def is_float_model(model):
    return all(node.op_type != "DequantizeLinear" for node in model.graph.node)


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, weights, opset=17, **extra):
    """A model; `weights` are arrays by name. The IR version is the one that came with the opset."""
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "made", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset)]
    extra.setdefault("ir_version", max(3, helper.find_min_ir_version_for(imports, True)))
    return helper.make_model(graph, opset_imports=imports, **extra)


def weight(*shape, seed=1, dtype=np.float32):
    """Channels of very different sizes, so that a scale along the wrong axis shows."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    for axis, extent in enumerate(shape):
        sizes = 4.0 ** rng.uniform(-2, 2, extent)
        values = values * sizes.reshape([-1] + [1] * (len(shape) - 1 - axis))
    return values.astype(dtype)
