"""MatMulNBits: the same codes, scales and zero points as ONNX Runtime's own quantizer.

Its symmetric setting is what `--signed-scale` is here: the scale's sign puts the largest magnitude
on the longer side of the codes.
"""

import _peers

import logging

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization.matmul_nbits_quantizer import (
    DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer)

from _command import run_tests, scratch
from _models import info, model_of, quantize

logging.getLogger("onnxruntime").setLevel(logging.WARNING)


def product(weight):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    k, n = weight.shape
    return model_of(nodes, [info("x", [3, k])], [info("y", [3, n])], {"w": weight})


def parts(model, bits):
    """Codes [N, blocks, size], scales and zero points [N, blocks] of the only MatMulNBits."""
    (node,) = [n for n in model.graph.node if n.op_type == "MatMulNBits"]
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    packed, scales, *rest = (arrays[name] for name in node.input[1:])
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    shape = packed.shape[:2]

    def unpacked(array):
        halves = np.stack([array & 15, array >> 4], -1) if bits == 4 else array
        return halves.reshape(*array.shape[:-1], -1).astype(int)

    zero_points = unpacked(rest[0].reshape(shape[0], -1)) if rest else None
    if zero_points is not None:
        zero_points = zero_points[:, :shape[1]]  # an odd number of them is padded
    k = attributes["K"]
    codes = unpacked(packed).reshape(shape[0], -1)[:, :k]  # so is the last block
    return codes, scales.reshape(shape), zero_points


def check_same(k, n, block, bits, symmetric):
    rng = np.random.default_rng(k * n + block)
    model = product(rng.normal(0, 0.02, (k, n)).astype(np.float32))
    config = DefaultWeightOnlyQuantConfig(block_size=block, is_symmetric=symmetric, bits=bits)
    quantizer = MatMulNBitsQuantizer(onnx.ModelProto.FromString(model.SerializeToString()),
                                     algo_config=config)
    quantizer.process()
    theirs = parts(quantizer.model.model, bits)
    with scratch() as folder:
        onnx.save(model, folder / "float.onnx")
        quantize(folder / "float.onnx", folder / "ours.onnx", "--bits", bits, "--block-size", block,
                 "--format", "matmulnbits", "--signed-scale" if symmetric else "--asymmetric")
        ours = parts(onnx.load(folder / "ours.onnx"), bits)
    assert np.array_equal(theirs[1], ours[1]), "scales"
    assert np.array_equal(theirs[0], ours[0]), f"{np.mean(theirs[0] != ours[0]):.2%} of the codes"
    assert (theirs[2] is None) == (ours[2] is None), "zero points are there, and are not"
    assert theirs[2] is None or np.array_equal(theirs[2], ours[2]), "zero points"


def test_same_as_onnxruntime():
    for bits in (4, 8):
        for symmetric in (True, False):
            for k, n, block in ((64, 16, 32), (200, 48, 32), (96, 7, 16), (300, 33, 128)):
                name = f"{bits} bits, {'' if symmetric else 'a'}symmetric, {k}x{n} in {block}"
                yield name, check_same, k, n, block, bits, symmetric


if __name__ == "__main__":
    run_tests(globals())
