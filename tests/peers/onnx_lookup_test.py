"""Lookups in quantized tables: what ONNX Runtime computes, and that it dequantizes rows alone.

The environment variable ONNX_ROUNDTRIP names a tool; that of tests/io/onnx/from_text_main.cpp lies
beside it.
"""

import _peers

import numpy as np

from _command import run_tests, scratch
from _text import Quantized, Written, tensor_type


def lookup_lines(table, axis, indices, index_type="i64", kind="onnx.Gather"):
    shape = table.codes.shape
    found = shape[:axis % len(shape)] + indices + shape[axis % len(shape) + 1:]
    return [f"%i: {tensor_type(indices, index_type)} = input()", table.constant("codes"),
            f"%w: {tensor_type(shape, table.expressed)} = dequantize(%codes)",
            f'%y: {tensor_type(found, table.expressed)} = {kind}(%w, %i) {{axis = {axis}, '
            f'name = "lookup"}}', "output(%y)"]


def whole_tables(written):
    """Operators that turn a whole table into floats: they read codes that are initializers."""
    codes = {t.name for t in written.model.graph.initializer if t.name.startswith("codes")}
    return [node.op_type for node in written.nodes
            if node.op_type in ("DequantizeLinear", "Cast") and codes & set(node.input)]


def check_lookup(rng, table, axis, extents, opset, operators, index_type="i64",
                 kind="onnx.Gather", known=True):
    lines = lookup_lines(table, axis, tuple(extents), index_type, kind)
    if not known:
        lines[0] = f"%i: tensor<*x{index_type}> = input()"
        lines[3] = lines[3].replace(lines[3].split(": ")[1].split(" =")[0],
                                    f"tensor<*x{table.expressed}>")
    with scratch() as folder:
        written = Written(folder, lines, opset)
        if operators is not None:
            assert written.operators() == operators, written.operators()
            assert not whole_tables(written), whole_tables(written)
        else:
            assert "GatherBlockQuantized" not in written.operators()
        extent = table.codes.shape[axis]
        i = rng.integers(0 if opset < 11 else -extent, extent, extents)
        found = written.run({"i": i.astype(np.int64 if index_type == "i64" else np.int32)})[0]
        expected = np.take(table.real(), i, axis)
        assert found.dtype == expected.dtype and found.shape == expected.shape, found.shape
        assert np.array_equal(found, expected), "other numbers"
        return written


ROWS = ["Gather", "Cast", "Gather", "Mul"]
ROWS_ZEROS = ["Gather", "Cast", "Gather", "Cast", "Sub", "Gather", "Mul"]
MOVED = ["Gather", "DequantizeLinear"]


def test_8_bits():
    rng = np.random.default_rng(1)
    for storage in ("i8", "u8"):
        for expressed in ("f32", "f16"):
            for zeros in (False, True):
                for extents in ((), (3,), (2, 3)):
                    for granularity, axis in ((0, 0), (1, 1), (1, -1), (1, 0), (0, 1), (None, 0)):
                        table = Quantized(rng, (9, 7), storage, granularity, zeros, expressed)
                        looked_up = granularity is not None and granularity == axis % 2
                        operators = MOVED if not looked_up else ROWS_ZEROS if zeros else ROWS
                        if expressed == "f16":
                            operators = operators + ["Cast"]
                        yield (f"{storage} {expressed} {zeros} {extents} {granularity} {axis}",
                               check_lookup, rng, table, axis, extents, 13, operators)


def test_8_bits_at_every_opset():
    rng = np.random.default_rng(2)
    for opset in (7, 10, 11, 13, 18, 21, 23, 25, 28):
        for index_type in ("i32", "i64"):
            table = Quantized(rng, (9, 7), "i8", 0, True)
            yield (f"{opset} {index_type}", check_lookup, rng, table, 0, (2, 3), opset, ROWS_ZEROS,
                   index_type)


def test_8_bits_in_blocks():
    rng = np.random.default_rng(3)
    split = lambda zeros: (["Gather", "Cast", "Reshape"] + ["Gather", "Cast", "Sub"] * zeros +
                           ["Gather", "Mul", "Reshape"])
    linear = lambda zeros: ["Gather"] * (2 + zeros) + ["DequantizeLinear"]
    for shape, block, axis in (((9, 40), (1, 20), 0), ((9, 48), (1, 16), 0), ((40, 9), (0, 16), 1),
                               ((9, 40), (1, 16), 0), ((9, 2, 8, 3), (2, 4), 1), ((9, 5), (1, 8), 0)):
        for zeros in (False, True):
            for extents in ((), (3,), (2, 3)):
                for expressed in ("f32", "f16"):
                    table = Quantized(rng, shape, "i8", block, zeros, expressed)
                    cast = ["Cast"] if expressed == "f16" else []
                    name = f"{shape} {block} {axis} {zeros} {extents} {expressed}"
                    even = shape[block[0]] % block[1] == 0 and block[0] > axis
                    new, old = linear(zeros), split(zeros) if even else None
                    if shape[block[0]] <= block[1]:
                        new = old = ROWS_ZEROS if zeros else ROWS
                    yield f"{name} 21", check_lookup, rng, table, axis, extents, 21, new + cast
                    yield (f"{name} 17", check_lookup, rng, table, axis, extents, 17,
                           old + cast if old else None)


def test_4_bits():
    rng = np.random.default_rng(4)
    for storage in ("i4", "u4"):
        for expressed in ("f32", "f16"):
            for zeros in (False, True):
                for extents in ((), (3,), (2, 3)):
                    for granularity in (0, 1, None, (1, 16), (0, 16), (1, 32), (1, 48), (1, 64),
                                        (1, 24), (1, 8)):
                        for axis in (0, 1, -1):
                            table = Quantized(rng, (37, 41), storage, granularity, zeros, expressed)
                            operators = ["GatherBlockQuantized"]
                            if expressed == "f16":
                                operators = operators + ["Cast"]
                            if granularity in ((1, 24), (1, 8)):
                                operators = None  # no such blocks: the table is dequantized
                            yield (f"{storage} {expressed} {zeros} {extents} {granularity} {axis}",
                                   check_lookup, rng, table, axis, extents, 17,
                                   operators)


def test_4_bits_of_three_dimensions():
    rng = np.random.default_rng(5)
    for granularity in (0, 1, 2, None, (1, 16), (2, 16)):
        for axis in (0, 1, 2):
            table = Quantized(rng, (5, 18, 20), "i4", granularity, True)
            yield (f"{granularity} {axis}", check_lookup, rng, table, axis, (2, 3), 13,
                   ["GatherBlockQuantized"])


def test_unknown_ranks():
    """Of the indices: what must be known of them is asked for, and what need not be is not."""
    rng = np.random.default_rng(6)
    for granularity, axis, operators in ((0, 0, ROWS), (0, 1, MOVED), (None, 0, MOVED)):
        table = Quantized(rng, (9, 7), "i8", granularity)
        yield (f"{granularity} {axis}", check_lookup, rng, table, axis, (2, 3), 13, operators,
               "i64", "onnx.Gather", False)
    yield ("4 bits", check_lookup, rng, Quantized(rng, (9, 7), "i4", 0), 0, (2, 3), 13,
           ["GatherBlockQuantized"], "i64", "onnx.Gather", False)
    yield ("left", check_lookup, rng, Quantized(rng, (9, 7), "i8", 1), 0, (2, 3), 13, None, "i64",
           "onnx.Gather", False)


def test_two_lookups_and_a_product():
    """An embedding that is read twice, and multiplied with: one table, and its `dequantize`."""
    rng = np.random.default_rng(7)
    table = Quantized(rng, (9, 7), "i8", 0)
    lines = lookup_lines(table, 0, (4,))
    lines[-1:] = ["%z: tensor<4x7xf32> = onnx.Gather(%w, %i)", "%t: tensor<7x9xf32> = transpose(%w)",
                  "%p: tensor<4x9xf32> = matmul(%y, %t)", "output(%y)", "output(%z)", "output(%p)"]
    with scratch() as folder:
        written = Written(folder, lines, 13)
        assert written.count("Gather") == 4 and written.count("DequantizeLinear") == 1
        assert [n.name for n in written.nodes].count("lookup") == 1, "the node lost its name"
        i = rng.integers(0, 9, 4)
        y, z, p = written.run({"i": i})
        expected = table.real()[i]
        assert np.array_equal(y, expected) and np.array_equal(z, expected)
        assert np.allclose(p, expected @ table.real().T, rtol=1e-5)
        packed = Written(folder, lines, 13, "--matmul-nbits")
        assert packed.count("DequantizeLinear") == 0 and packed.count("MatMulNBits") == 1
        assert np.allclose(packed.run({"i": i})[2], p, rtol=1e-4)


def test_codes_that_a_gather_moves():
    """A scheme may leave the `dequantize` behind the lookup; 4-bit codes cannot be moved so."""
    rng = np.random.default_rng(8)
    for granularity in (1, None):
        for storage in ("i4", "i8"):
            table = Quantized(rng, (9, 7), storage, granularity)
            moved = table.type().replace("<9x7x", "<4x7x", 1)
            lines = ["%i: tensor<4xi64> = input()", table.constant("codes"),
                     f"%r: {moved} = onnx.Gather(%codes, %i)",
                     "%y: tensor<4x7xf32> = dequantize(%r)", "output(%y)"]
            yield f"{storage} {granularity}", check_moved, rng, table, lines


def check_moved(rng, table, lines):
    with scratch() as folder:
        written = Written(folder, lines, 21)
        expected = MOVED if table.storage == "i8" else ["GatherBlockQuantized"]
        assert written.operators() == expected, written.operators()
        i = rng.integers(0, 9, 4)
        assert np.array_equal(written.run({"i": i})[0], table.real()[i])


if __name__ == "__main__":
    run_tests(globals())
