"""Products with quantized weights as MatMulNBits: what ONNX Runtime computes, and what it runs.

The environment variable ONNX_ROUNDTRIP names a tool; that of tests/io/onnx/from_text_main.cpp lies
beside it.
"""

import _peers

import numpy as np
from onnx import numpy_helper

from _command import run_tests, scratch
from _text import DTYPES, Quantized, Written, tensor_type


def product_lines(weight, form, rows=3, bias=None):
    """A graph y = x W for a W `[K, N]`, from a constant that holds W or, as `form` says, its
    transpose. Returns the lines, and W."""
    real, expressed = weight.real(), weight.expressed
    lines = [weight.constant("codes")]
    plain = tensor_type(weight.codes.shape, expressed)
    flipped = tensor_type(weight.codes.shape[::-1], expressed)
    if form == "codes transposed":
        lines.append(f"%moved: {weight.transposed_type()} = transpose(%codes)")
        lines.append(f"%w: {flipped} = dequantize(%moved)")
    elif form == "floats transposed":
        lines.append(f"%r: {plain} = dequantize(%codes)")
        lines.append(f"%w: {flipped} = transpose(%r)")
    else:
        lines.append(f"%w: {plain} = dequantize(%codes)")
    matrix = real if form in ("matmul", "gemm") else real.T
    x, y = (tensor_type((rows, n), expressed) for n in matrix.shape)
    lines.insert(0, f"%x: {x} = input()")
    operands = "%x, %w"
    if bias is not None:
        lines.append(constant_line("b", bias, expressed))
        operands += ", %b"
    if form.startswith("gemm"):
        attributes = " {transB = 1}" if form == "gemm transB" else ""
        lines.append(f"%y: {y} = gemm({operands}){attributes}")
    else:
        lines.append(f"%y: {y} = matmul({operands})")
    return lines + ["output(%y)"], matrix


def constant_line(name, array, element):
    numbers = ", ".join(repr(float(v)) for v in array.ravel())
    return f"%{name}: {tensor_type(array.shape, element)} = constant() [{numbers}]"


def check_product(rng, weight, form="matmul", products=1, bias=None, opset=17):
    lines, matrix = product_lines(weight, form, bias=bias)
    with scratch() as folder:
        written = Written(folder, lines, opset, "--matmul-nbits")
        assert written.count("MatMulNBits") == products, (written.said, written.operators())
        assert f"matmul_nbits: {products}" in written.said, written.said
        if products:
            assert written.count("DequantizeLinear") == 0, written.operators()
            assert written.count("Transpose") == 0, written.operators()
            assert "opset: %d" % opset in written.said, written.said
        else:
            assert "note: the weight '" in written.said, written.said
        x = rng.standard_normal((3, matrix.shape[0])).astype(DTYPES[weight.expressed])
        found = written.run({"x": x})[0].astype(np.float64)
        expected = x.astype(np.float64) @ matrix.astype(np.float64)
        if bias is not None:
            expected = expected + bias
        tolerance = 1e-5 if weight.expressed == "f32" else 4e-3
        error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-9)
        assert error <= tolerance, f"off by {error:.2e}"
        return written


def test_granularities():
    rng = np.random.default_rng(1)
    for storage in ("i4", "u4", "i8", "u8"):
        for zeros in (False, True):
            for k, n in ((20, 5), (70, 33), (600, 3), (1, 1)):
                for granularity in (None, 1, (0, 16), (0, 64), (0, 256), (0, 512), (0, 4096)):
                    yield (f"{storage} zeros={zeros} {k}x{n} {granularity}", check_product, rng,
                           Quantized(rng, (k, n), storage, granularity, zeros))


def test_forms():
    rng = np.random.default_rng(2)
    for form in ("matmul", "gemm", "gemm transB", "codes transposed", "floats transposed"):
        for storage in ("i4", "u8"):
            for expressed in ("f32", "f16"):
                k, n = 75, 6
                kept = form in ("matmul", "gemm")
                shape, along = ((k, n), 0) if kept else ((n, k), 1)
                for granularity in (1 - along, (along, 32)):
                    weight = Quantized(rng, shape, storage, granularity, True, expressed)
                    yield (f"{form} {storage} {expressed} {granularity}", check_product, rng, weight,
                           form)


def test_biases():
    rng = np.random.default_rng(3)
    for shape, adds in (((5,), 0), ((1, 5), 1), ((), 1), ((1,), 1), ((3, 1), 1)):
        bias = rng.integers(-8, 8, shape) / 4
        yield str(shape), check_bias, rng, bias, adds


def check_bias(rng, bias, adds):
    weight = Quantized(rng, (32, 5), "i4", (0, 16))
    written = check_product(rng, weight, "gemm", bias=np.asarray(bias))
    assert written.count("Add") == adds, written.operators()


def test_oldest_opset():
    rng = np.random.default_rng(4)
    check_product(rng, Quantized(rng, (40, 4), "i4", (0, 32), True), opset=7)


def test_what_stays():
    rng = np.random.default_rng(5)
    for shape, storage, granularity in (((96, 4), "i8", (0, 48)), ((32, 32), "i8", (1, 16)),
                                        ((32, 4), "i8", (0, 8)), ((32, 4), "i8", 0),
                                        ((32, 4), "i16", 1)):
        yield (f"{storage} {granularity}", check_product, rng,
               Quantized(rng, shape, storage, granularity), "matmul", 0)


def test_small_float16_scales():
    """Half precision holds scales from 6e-5 on without losing digits."""
    rng = np.random.default_rng(6)
    weight = Quantized(rng, (32, 4), "i8", 1, False, "f16")
    weight.scales[2] = 5e-5
    check_product(rng, weight, products=0)
    weight.scales[2] = 7e-5
    check_product(rng, weight)


def test_one_weight_of_two_products():
    rng = np.random.default_rng(7)
    weight = Quantized(rng, (32, 4), "i4", (0, 16))
    lines, matrix = product_lines(weight, "matmul")
    lines[-1:] = ["%z: tensor<3x4xf32> = matmul(%x, %w)", "output(%y)", "output(%z)"]
    with scratch() as folder:
        written = Written(folder, lines, 17, "--matmul-nbits")
        assert written.count("MatMulNBits") == 2, written.operators()
        assert len(written.model.graph.initializer) == 2, "the weight is there twice"


def test_another_reader():
    rng = np.random.default_rng(8)
    weight = Quantized(rng, (32, 4), "i8", 1)
    lines, matrix = product_lines(weight, "matmul")
    lines[-1:] = ["%z: tensor<32x4xf32> = onnx.Neg(%w)", "output(%y)", "output(%z)"]
    with scratch() as folder:
        written = Written(folder, lines, 17, "--matmul-nbits")
        assert "the weight 'w' is stored twice" in written.said, written.said
        x = rng.standard_normal((3, 32)).astype(np.float32)
        product, negative = written.run({"x": x})
        assert np.allclose(product, x @ matrix, rtol=1e-5, atol=1e-4)
        assert np.array_equal(negative, -matrix)


def test_left_operand_and_transposed_input():
    rng = np.random.default_rng(9)
    weight = Quantized(rng, (16, 16), "i8", None)
    for product, expected in (("matmul(%w, %x)", lambda w, x: w @ x),
                              ("gemm(%x, %w) {transA = 1}", lambda w, x: x.T @ w),
                              ("gemm(%x, %w) {alpha = 2.0}", lambda w, x: 2 * (x @ w))):
        lines = ["%x: tensor<16x16xf32> = input()", weight.constant("codes"),
                 "%w: tensor<16x16xf32> = dequantize(%codes)",
                 f"%y: tensor<16x16xf32> = {product}", "output(%y)"]
        with scratch() as folder:
            written = Written(folder, lines, 17, "--matmul-nbits")
            assert written.count("MatMulNBits") == 0 and "note:" in written.said, written.said
            x = rng.standard_normal((16, 16)).astype(np.float32)
            found = written.run({"x": x})[0]
            assert np.allclose(found, expected(weight.real(), x), rtol=1e-4, atol=1e-4), product


def test_ranks_of_the_input():
    rng = np.random.default_rng(10)
    weight = Quantized(rng, (32, 4), "i4", (0, 16))
    for shape in ((32,), (2, 3, 32), (2, 1, 3, 32)):
        lines = [f"%x: {tensor_type(shape, 'f32')} = input()", weight.constant("codes"),
                 "%w: tensor<32x4xf32> = dequantize(%codes)",
                 f"%y: {tensor_type(shape[:-1] + (4,), 'f32')} = matmul(%x, %w)", "output(%y)"]
        with scratch() as folder:
            written = Written(folder, lines, 17, "--matmul-nbits")
            assert written.count("MatMulNBits") == 1
            x = rng.standard_normal(shape).astype(np.float32)
            found = written.run({"x": x})[0]
            expected = x @ weight.real()
            assert found.shape == expected.shape and np.allclose(found, expected, atol=1e-4)


def test_layout():
    """The packed codes, against the layout that ONNX Runtime's documentation describes."""
    rng = np.random.default_rng(11)
    k, n, size = 50, 3, 16
    for storage, offset in (("i4", 8), ("u4", 0)):
        weight = Quantized(rng, (k, n), storage, (0, size), True)
        with scratch() as folder:
            written = Written(folder, product_lines(weight, "matmul")[0], 17, "--matmul-nbits")
            node = next(node for node in written.nodes if node.op_type == "MatMulNBits")
            tensors = {t.name: numpy_helper.to_array(t) for t in written.model.graph.initializer}
            packed, scales, zeros = (tensors[name] for name in node.input[1:4])
            assert packed.shape == (n, 4, 8) and packed.dtype == np.uint8
            halves = np.stack([packed & 15, packed >> 4], -1).reshape(n, 64)
            assert np.array_equal(halves[:, :k].T, weight.codes + offset)
            assert not halves[:, k:].any()
            assert np.array_equal(scales.reshape(n, 4), weight.scales.T)
            zeros = zeros.reshape(n, 2)
            zeros = np.stack([zeros & 15, zeros >> 4], -1).reshape(n, 4)
            assert np.array_equal(zeros, weight.zeros.T + offset)


if __name__ == "__main__":
    run_tests(globals())
