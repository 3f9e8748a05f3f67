"""ONNX's backend node tests: models of an operator or a few, with inputs and what should come out."""

import collections
import concurrent.futures
import json
import os

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from _command import quadrant, scratch
from _node_folders import made_folder

OPSETS = (7, 28)  # that are read; no operator that is claimed changed outside but in its types

# What the library reads; `quadrant run` writes bfloat16 as float32, and 4-bit integers as 8-bit ones.
WRITTEN_AS = {ml_dtypes.bfloat16: np.float32, ml_dtypes.int4: np.int8, ml_dtypes.uint4: np.uint8}
READ = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
        TensorProto.BOOL, TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8,
        TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32, TensorProto.UINT32,
        TensorProto.INT64, TensorProto.UINT64}

# (relative, absolute). Half floats differ by a last bit.
TOLERANCES = {np.dtype(np.float16): (1e-3, 1e-3), np.dtype(ml_dtypes.bfloat16): (8e-3, 1e-3)}
TOLERANCE = (2e-5, 1e-6)
ONNX_TOLERANCE = (1e-3, 1e-7)  # its own, for tests whose results were written down with four digits
FOUR_DIGITS = {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_gridsample_bicubic",
               "test_roialign_aligned_false", "test_roialign_aligned_true"}


# Tests that cannot pass, with the reason. Where they are not about chance, ONNX Runtime computes what the
# interpreter does.
CHANCE = "elements are dropped by chance"
BATCHES = "Scan of opset 8 goes through batches, which the interpreter does not do"
LENGTH = "align_corners is expected to count in scale * length, against the text of the standard"
EXCEPTIONS = {
    "test_maxunpool_export_with_output_shape":
        "indices are expected to count in another shape than that of the result",
    "test_resize_downsample_scales_cubic_align_corners": LENGTH,
    "test_resize_downsample_scales_linear_align_corners": LENGTH,
    "test_scan_sum": BATCHES,
    "test_training_dropout": CHANCE,
    "test_training_dropout_default": CHANCE,
    "test_training_dropout_default_mask": CHANCE,
    "test_training_dropout_mask": CHANCE,
}


def operations():
    """What the interpreter computes: `operation` and, for `Relu` or `com.microsoft::Gelu`, `onnx`."""
    done = quadrant("list", "operations", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["operations"]


class NodeTest:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.model = onnx.load(folder / "model.onnx")
        self.samples = sorted(folder.glob("test_data_set_*"))
        self.operators = {operator_name(node) for node in nodes_of(self.model.graph)}

    def not_read(self):
        """A type among inputs, outputs and initializers that the library does not read, or None."""
        graph = self.model.graph
        for value in (*graph.input, *graph.output):
            kind = value.type.WhichOneof("value")
            if kind != "tensor_type":
                return kind.removesuffix("_type")
            if value.type.tensor_type.elem_type not in READ:
                return TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()
        return next((TensorProto.DataType.Name(tensor.data_type).lower()
                     for tensor in graph.initializer if tensor.data_type not in READ), None)

    def opset(self):
        return next(i.version for i in self.model.opset_import if i.domain in ("", "ai.onnx"))

    def model_path(self, folder):
        """The model, with an opset that is read."""
        nearest = min(max(self.opset(), OPSETS[0]), OPSETS[1])
        if nearest == self.opset():
            return self.folder / "model.onnx"
        for entry in self.model.opset_import:
            if entry.domain in ("", "ai.onnx"):
                entry.version = nearest
        onnx.save(self.model, folder / "model.onnx")
        return folder / "model.onnx"


def nodes_of(graph):
    """The nodes of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from nodes_of(body)


def operator_name(node):
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def node_tests():
    folders = sorted(path for path in made_folder().iterdir() if (path / "model.onnx").is_file())
    assert len(folders) > 1000, f"{len(folders)} tests"  # onnx 1.16 to 1.23 have 1,400 to 1,900
    return [NodeTest(folder) for folder in folders]


def claimed_operators():
    return {entry["onnx"] for entry in operations()} | {"Constant"}


def unclaimed_tests(tests):
    """By the name of each of ONNX's operators that the interpreter does not claim, a test of it, if
    there is one of types that are read."""
    claimed = claimed_operators()
    found = {}
    for test in tests:
        for operator in test.operators - claimed:
            if "::" not in operator and not test.not_read():
                found.setdefault(operator, test)
    return found


def split_tests(tests):
    """The tests that the interpreter is to pass, the exceptions, and a count of the others by what it
    does not claim, or the library does not read."""
    claimed = claimed_operators()
    chosen, excepted, left_out = [], [], collections.Counter()
    for test in tests:
        unknown, kind = sorted(test.operators - claimed), test.not_read()
        if unknown or kind:
            left_out[f"operator {unknown[0]}" if unknown else f"type {kind}"] += 1
        else:
            (excepted if test.name in EXCEPTIONS else chosen).append(test)
    return chosen, excepted, left_out


def problems_of(tests):
    """The problem of each test, or None; several at a time, each a process."""
    def problem(test):
        try:
            return check_node_test(test)
        except Exception as raised:
            return raised

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(problem, tests))


def check_refused(operator, test):
    """The interpreter does not run the model, and names the operator."""
    with scratch() as folder:
        done = quadrant("run", test.model_path(folder), "--data", test.folder, "-o", folder / "out")
    assert done.returncode == 4, f"{done.returncode} {done.stderr}"
    assert f"onnx.{operator}" in done.stderr, done.stderr


def wanted_outputs(test, sample):
    for i, output in enumerate(test.model.graph.output):
        tensor = onnx.load_tensor(sample / f"output_{i}.pb")
        yield output.name, numpy_helper.to_array(tensor)


def check_node_test(test):
    """Runs the model on all its samples; an AssertionError where something is not as it should be."""
    with scratch() as folder:
        data = ["--data", test.folder, "--allow-non-finite"]
        if not test.model.graph.input:
            data = ["--random", 1]
        done = quadrant("run", test.model_path(folder), *data, "-o", folder / "out", "--threads", 1)
        assert done.returncode == 0, done.stderr.strip()
        written = sorted((folder / "out").iterdir())
        assert len(written) == len(test.samples), f"{len(written)} samples"
        for path, sample in zip(written, test.samples):
            with np.load(path) as found:
                for name, wanted in wanted_outputs(test, sample):
                    check_equal(name, found[name], wanted, tolerance_of(test, wanted))


def tolerance_of(test, wanted):
    if test.name in FOUR_DIGITS:
        return ONNX_TOLERANCE
    return TOLERANCES.get(wanted.dtype, TOLERANCE)


def check_equal(name, found, wanted, tolerance):
    kind = WRITTEN_AS.get(wanted.dtype.type, wanted.dtype)
    assert found.dtype == kind, f"{name}: {found.dtype} instead of {kind}"
    assert found.shape == wanted.shape, f"{name}: shape {found.shape} instead of {wanted.shape}"
    if np.issubdtype(kind, np.floating):
        wide = [a.astype(np.float64) for a in (found, wanted)]
        np.testing.assert_allclose(*wide, *tolerance, err_msg=name)
    else:
        assert np.array_equal(found, wanted.astype(kind)), f"{name}: {found} instead of {wanted}"
