"""Graphs with quantized types as text, and what they come to: nothing here knows how they are
written as ONNX. Numbers are numpy's; 4-bit codes are kept in int8 and uint8."""

import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime as ort

DTYPES = {"f32": np.float32, "f16": np.float16}
RANGES = {"i4": (-8, 7), "u4": (0, 15), "i8": (-128, 127), "u8": (0, 255), "i16": (-2000, 2000)}


class Quantized:
    """A tensor of random codes. `granularity` is None, an axis, or (axis, block size)."""

    def __init__(self, rng, shape, storage, granularity, zeros=False, expressed="f32"):
        low, high = RANGES[storage]
        self.storage, self.granularity, self.expressed = storage, granularity, expressed
        self.codes = rng.integers(low, high + 1, shape)
        parameters = self.parameter_shape(shape)
        self.scales = rng.uniform(0.5, 1.5, parameters).astype(np.float32) / np.float32(16)
        self.zeros = rng.integers(low, high + 1, parameters) if zeros else np.zeros(parameters, int)

    def parameter_shape(self, shape):
        if self.granularity is None:
            return ()
        if isinstance(self.granularity, int):
            return (shape[self.granularity],)
        axis, size = self.granularity
        return tuple(-(-n // size) if i == axis else n for i, n in enumerate(shape))

    def spread(self, parameters):
        shape = self.codes.shape
        if self.granularity is None:
            return np.broadcast_to(parameters, shape)
        if isinstance(self.granularity, int):
            along = [-1 if i == self.granularity else 1 for i in range(len(shape))]
            return np.broadcast_to(parameters.reshape(along), shape)
        axis, size = self.granularity
        return np.take(parameters, np.arange(shape[axis]) // size, axis)

    def real(self):
        """In float32, rounded once to the expressed type."""
        difference = (self.codes - self.spread(self.zeros)).astype(np.float32)
        return (difference * self.spread(self.scales)).astype(DTYPES[self.expressed])

    def type(self):
        return self.type_of(self.codes.shape, self.granularity, self.scales, self.zeros)

    def transposed_type(self):
        """Of the transpose of a matrix."""
        granularity, scales, zeros = self.granularity, self.scales, self.zeros
        if isinstance(granularity, int):
            granularity = 1 - granularity
        elif granularity is not None:
            granularity, scales, zeros = (1 - granularity[0], granularity[1]), scales.T, zeros.T
        return self.type_of(self.codes.T.shape, granularity, scales, zeros)

    def type_of(self, shape, granularity, scales, zeros):
        where = ""
        if isinstance(granularity, int):
            where = f":{granularity}"
        elif granularity is not None:
            where = f":{{{granularity[0]}:{granularity[1]}}}"
        pairs = [f"{float(s):.9e}" + (f":{z}" if z else "") for s, z in
                 zip(np.ravel(scales), np.ravel(zeros))]
        values = pairs[0] if granularity is None else "{" + ", ".join(pairs) + "}"
        return tensor_type(shape, f"!quant.uniform<{self.storage}:{self.expressed}{where}, {values}>")

    def constant(self, name):
        numbers = ", ".join(str(c) for c in self.codes.ravel())
        return f"%{name}: {self.type()} = constant() [{numbers}]"


def tensor_type(shape, element):
    return "tensor<" + "".join(f"{'?' if n is None else n}x" for n in shape) + element + ">"


def graph_text(lines, opset):
    head = f'graph {{"onnx.opset_domains" = [""], "onnx.opset_versions" = [{opset}]}}'
    return "\n".join([head, *lines]) + "\n"


# --- the tool --------------------------------------------------------------------------------------


def tool():
    """tests/io/onnx/from_text_main.cpp, which is built beside the tool of the other tests."""
    return pathlib.Path(os.environ["ONNX_ROUNDTRIP"]).with_name("onnx_from_text")


class Written:
    """The model that a graph was written as, and what the tool said."""

    def __init__(self, folder, lines, opset=17, *options):
        source, self.path = folder / "graph.txt", folder / "model.onnx"
        source.write_text(graph_text(lines, opset))
        result = subprocess.run([tool(), source, self.path, *options], capture_output=True,
                                text=True, timeout=300)
        assert result.returncode == 0, result.stderr + source.read_text()[:2000]
        self.said = result.stdout
        self.model = onnx.load(self.path)
        self.nodes = self.model.graph.node

    def operators(self):
        return [node.op_type for node in self.nodes]

    def count(self, op_type):
        return self.operators().count(op_type)

    def run(self, feeds):
        options = ort.SessionOptions()
        options.log_severity_level = 4
        # Where products of codes are made of DequantizeLinear and MatMul: float sums. By default, 8 bits.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        session = ort.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
