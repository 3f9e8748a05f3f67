"""The forms in which quantized types are written: whatever the opset, and whether or not the model can
be converted to a later one, ONNX Runtime computes scale * (code - zero point) from what is written.

The environment variable ONNX_ROUNDTRIP names a tool; that of tests/io/onnx/from_text_main.cpp lies
beside it.
"""

import _peers

import copy

import numpy as np
import onnx

from _command import run_tests, scratch
from _text import Quantized, Written, tensor_type

F32 = "tensor<1x4x2x2xf32>"
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)

# Operations that keep a model at its opset: one that nearest rounding has no word for since, and one
# whose scales are of groups until opset 20, and nobody knows how many channels there are.
KEPT = {
    10: [f"%image: {F32} = input()",
         "%sizes: tensor<4xf32> = constant() [1.0, 1.0, 0.6, 2.0]",
         "%resized: tensor<1x4x1x4xf32> = onnx.Resize(%image, %sizes)", "output(%resized)"],
    18: ["%image: tensor<?x?x2x2xf32> = input()",
         "%ones: tensor<2xf32> = constant() [1.0, 1.0]",
         "%normal: tensor<?x?x2x2xf32> = onnx.GroupNormalization(%image, %ones, %ones) "
         "{num_groups = 2}", "output(%normal)"],
}


def default_opset(model):
    return next(i.version for i in model.opset_import if i.domain == "")


def operators(model):
    """Those that the codes go through: `com.microsoft.` stands before a contrib operator."""
    names = (f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in model.graph.node)
    return [n for n in names if n not in ("Resize", "GroupNormalization")]


def signed(quantized):
    """Every second scale negative."""
    signs = np.where(np.arange(quantized.scales.size) % 2, -1, 1).astype(np.float32)
    quantized.scales = np.asarray(quantized.scales * signs.reshape(quantized.scales.shape))
    return quantized


def check_value(lines, expected, opset, kept=False, form=None, raised=None, noted=False):
    """The last value, `w`, is exactly `expected`. `form`: the operators it comes from; `raised`: the
    opset written; `noted`: whether the report says that something else than DequantizeLinear is."""
    lines = [*(KEPT[opset] if kept else ()), *lines, "output(%w)"]
    with scratch() as folder:
        written = Written(folder, lines, opset)
        found = written.run({"image": IMAGE} if kept else {})[-1]
        assert found.dtype == expected.dtype and found.shape == expected.shape, (
            f"{found.dtype} {found.shape}, not {expected.dtype} {expected.shape}")
        assert np.array_equal(found, expected), f"{found}\nnot\n{expected}"
        if form is not None:
            assert operators(written.model) == form, operators(written.model)
        if raised is not None:
            assert default_opset(written.model) == raised, default_opset(written.model)
        assert ("note:" in written.said) == noted, written.said
        if not kept:
            onnx.checker.check_model(written.model, full_check=True)


# --- one dequantize --------------------------------------------------------------------------------


def check_form(quantized, opset, kept):
    storage, granularity = quantized.storage, quantized.granularity
    packed, blocks = storage in ("i4", "u4"), isinstance(granularity, tuple)
    needed = 21 if packed or blocks or storage == "i16" else 10 if granularity is None else 13
    zeros = ["Sub"] if quantized.zeros.any() else []
    if not kept or opset >= needed:
        form = ["DequantizeLinear"]
    elif packed and not blocks:
        form = ["com.microsoft.DequantizeLinear"]
    else:
        form = ["com.microsoft.DequantizeLinear" if packed else "Cast"]
        gather = ["Gather"] if blocks else []
        form += (gather + zeros if zeros else []) + gather + ["Mul"]
    if quantized.expressed != "f32":
        form.append("Cast")
    raised = opset if kept or opset >= needed else max(needed, 13)
    lines = [quantized.constant("codes"),
             f"%w: {tensor_type(quantized.codes.shape, quantized.expressed)} = dequantize(%codes)"]
    check_value(lines, quantized.real(), opset, kept, form, raised, form[0] != "DequantizeLinear")


def test_forms():
    rng = np.random.default_rng(1)
    granularities = (None, 0, 1, 2, (0, 2), (1, 4), (1, 5), (2, 3), (2, 100))
    for opset, kept in ((7, False), (17, False), (21, False), (10, True), (18, True)):
        for storage in ("i4", "u4", "i8", "u8", "i16"):
            for granularity in granularities:
                for zeros in (False, True):
                    quantized = signed(Quantized(rng, (3, 8, 5), storage, granularity, zeros))
                    yield (f"{opset}{' kept' if kept else ''} {storage} {granularity} zeros={zeros}",
                           check_form, quantized, opset, kept)


def test_float16():
    rng = np.random.default_rng(2)
    for storage, granularity, opset, kept in (("i4", (1, 4), 17, False), ("i4", 1, 18, True),
                                              ("u4", (0, 2), 18, True), ("i8", (1, 3), 18, True)):
        quantized = Quantized(rng, (3, 8), storage, granularity, True, "f16")
        yield f"{storage} {granularity}", check_form, quantized, opset, kept


# --- 4-bit codes that move -------------------------------------------------------------------------


def moved(quantized, move, granularity=None, scales=None, zeros=None):
    """The result of an operation that moves codes with `move`."""
    result = copy.copy(quantized)
    result.codes, result.granularity = move(quantized.codes), granularity
    result.scales = quantized.scales if scales is None else np.asarray(scales)
    result.zeros = quantized.zeros if zeros is None else np.asarray(zeros)
    return result


def integers(name, values):
    return f"%{name}: tensor<{len(values)}xi64> = constant() [{', '.join(map(str, values))}]"


def moves(rng, storage):
    """(name, operands, lines, operation, results): the operation reads the operands as %a, %b."""
    one = signed(Quantized(rng, (4, 6), storage, 0, True))
    whole = Quantized(rng, (4, 6), storage, None, True)
    blocks = Quantized(rng, (4, 6), storage, (1, 3), True)
    yield ("reshape", [one], [integers("s", [4, 3, 2])], "onnx.Reshape(%a, %s)",
           [moved(one, lambda c: c.reshape(4, 3, 2), 0)])
    yield ("transpose", [blocks], [], "onnx.Transpose(%a) {perm = [1, 0]}",
           [moved(blocks, lambda c: c.T, (0, 3), blocks.scales.T, blocks.zeros.T)])
    yield ("slice", [one], [integers("s", [1]), integers("e", [3]), integers("d", [0])],
           "onnx.Slice(%a, %s, %e, %d)",
           [moved(one, lambda c: c[1:3], 0, one.scales[1:3], one.zeros[1:3])])
    yield ("gather", [blocks], [integers("i", [3, 0, 3])], "onnx.Gather(%a, %i) {axis = 0}",
           [moved(blocks, lambda c: c[[3, 0, 3]], (1, 3), blocks.scales[[3, 0, 3]],
                  blocks.zeros[[3, 0, 3]])])
    yield ("expand", [whole], [integers("s", [2, 4, 6])], "onnx.Expand(%a, %s)",
           [moved(whole, lambda c: np.broadcast_to(c, (2, 4, 6)))])
    yield ("split", [one], [integers("s", [1, 3])], "onnx.Split(%a, %s) {axis = 0}",
           [moved(one, lambda c: c[:1], 0, one.scales[:1], one.zeros[:1]),
            moved(one, lambda c: c[1:], 0, one.scales[1:], one.zeros[1:])])
    other = signed(Quantized(rng, (3, 6), storage, 0, True))
    yield ("concat", [one, other], [], "onnx.Concat(%a, %b) {axis = 0}",
           [moved(one, lambda c: np.concatenate([c, other.codes]), 0,
                  np.concatenate([one.scales, other.scales]),
                  np.concatenate([one.zeros, other.zeros]))])


def move_lines(operands, lines, operation, results, also_read=()):
    """Results are %r0, %r1, ..., their real values %d0, ..."""
    made = [operand.constant("ab"[i]) for i, operand in enumerate(operands)] + lines
    made.append(", ".join(f"%r{i}: {r.type()}" for i, r in enumerate(results)) + " = " + operation)
    made += also_read
    made += [f"%d{i}: {tensor_type(r.codes.shape, 'f32')} = dequantize(%r{i})"
             for i, r in enumerate(results)]
    return made


def check_moves(operands, lines, operation, results, opset):
    expected = [r.real() for r in results]
    made = move_lines(operands, lines, operation, results)
    made += [f"output(%d{i})" for i in range(len(results))]
    kept = opset in KEPT
    with scratch() as folder:
        written = Written(folder, [*KEPT.get(opset, ()), *made], opset)
        found = written.run({"image": IMAGE} if kept else {})[-len(results):]
        for a, b in zip(expected, found):
            assert np.array_equal(a, b), f"{b}\nnot\n{a}"
        # The codes are dequantized where they lie, and once.
        linear = [n for n in operators(written.model) if n.endswith("DequantizeLinear")]
        assert len(linear) == len(operands), operators(written.model)


def test_moves():
    rng = np.random.default_rng(3)
    for storage in ("i4", "u4"):
        for opset in (13, 18, 21):
            for name, *move in moves(rng, storage):
                yield f"{name} {storage} {opset}", check_moves, *move, opset


def unscaled(quantized):
    """The same codes and zero points under a type whose scales are 1."""
    result = copy.copy(quantized)
    result.scales = np.ones_like(quantized.scales)
    return result


def check_unscaled(operands, lines, operation, results, opset):
    """Codes are read as they are, behind the move, and scaled."""
    made, expected = [], []
    for i, result in enumerate(results):
        raw, element = unscaled(result), tensor_type(result.codes.shape, result.storage)
        made += [f"%p{i}: {element} = storage_cast(%r{i})",
                 f"%q{i}: {raw.type()} = storage_cast(%p{i})",
                 f"%u{i}: {tensor_type(result.codes.shape, 'f32')} = dequantize(%q{i})"]
        expected += [result.real(), raw.real()]
    made = move_lines(operands, lines, operation, results, made)
    made += [f"output(%{v}{i})" for i in range(len(results)) for v in "du"]
    with scratch() as folder:
        written = Written(folder, [*KEPT.get(opset, ()), *made], opset)
        found = written.run({"image": IMAGE} if opset in KEPT else {})[-len(expected):]
        for a, b in zip(expected, found):
            assert np.array_equal(a, b), f"{b}\nnot\n{a}"
        assert "Identity" not in operators(written.model), operators(written.model)


def test_codes_that_moved_are_read_unscaled():
    rng = np.random.default_rng(4)
    for storage in ("i4", "u4"):
        for opset in (13, 18, 21):
            for name, *move in moves(rng, storage):
                yield f"{name} {storage} {opset}", check_unscaled, *move, opset


def test_unscaled_codes_of_constants():
    rng = np.random.default_rng(5)
    for storage in ("i4", "u4", "i8"):
        for granularity in (None, 0, (1, 3)):
            weight = Quantized(rng, (4, 6), storage, granularity, True)
            raw, plain = unscaled(weight), tensor_type((4, 6), storage)
            lines = [weight.constant("codes"), f"%p: {plain} = storage_cast(%codes)",
                     f"%q: {raw.type()} = storage_cast(%p)",
                     "%s: tensor<4x6xf32> = dequantize(%codes)", "output(%s)",
                     "%w: tensor<4x6xf32> = dequantize(%q)"]
            yield f"{storage} {granularity}", check_value, lines, raw.real(), 21


# --- fewer codes than the storage type has -----------------------------------------------------------


def check_part(storage, low, high, zero, axis, expressed):
    rng = np.random.default_rng(6)
    scales = rng.uniform(0.1, 1, () if axis is None else (3, 4)[axis]).astype(np.float32)
    where = "" if axis is None else f":{axis}"
    values = ", ".join(f"{float(scale):.9e}:{zero}" for scale in scales.ravel())
    values = values if axis is None else "{" + values + "}"
    codes = tensor_type((3, 4), f"!quant.uniform<{storage}<{low}:{high}>:{expressed}{where}, {values}>")
    real = tensor_type((3, 4), expressed)
    lines = [f"%x: {real} = input()", f"%q: {codes} = quantize(%x)", f"%y: {real} = dequantize(%q)",
             "output(%y)"]
    scales = scales.reshape(scales.shape + (1,) * (1 - (axis or 0))) if axis is not None else scales
    # Far outside, at the ends, and anywhere.
    steps = np.concatenate([[-1e4, 1e4, low - zero, high - zero],
                            rng.uniform(2 * low - zero, 2 * high - zero, 8)]).reshape(3, 4)
    x = (steps * scales).astype({"f32": np.float32, "f16": np.float16}[expressed])
    wanted = np.clip(np.rint(x.astype(np.float32) / scales) + zero, low, high) - zero
    wanted = (wanted.astype(np.float32) * scales).astype(x.dtype)
    with scratch() as folder:
        written = Written(folder, lines)
        onnx.checker.check_model(written.model, full_check=True)
        (found,) = written.run({"x": x})
        assert np.array_equal(found, wanted), f"{found}\nnot\n{wanted}"


def test_part_of_the_codes():
    for storage, low, high, zero in (("i4", -7, 7, 0), ("i4", -3, 5, 1), ("u4", 1, 14, 3), ("u4", 0, 3, 2),
                                     ("i8", -127, 127, 0), ("u8", 3, 250, 128), ("i16", -2047, 2047, 0),
                                     ("i16", -500, 32767, 100), ("u16", 0, 4095, 2048)):
        for axis in (None, 0, 1):
            for expressed in ("f32", "f16"):
                yield (f"{storage}<{low}:{high}> {axis} {expressed}", check_part, storage, low, high, zero,
                       axis, expressed)


# --- outputs that are no results of their own --------------------------------------------------------


def test_outputs_of_one_value_and_of_an_input():
    lines = ["%x: tensor<4xf32> = input()", "%y: tensor<4xf32> = onnx.Neg(%x)", "output(%y)",
             'output(%y) {name = "y"}', "output(%x)", 'output(%x) {name = "same"}']
    x = np.arange(4, dtype=np.float32)
    with scratch() as folder:
        written = Written(folder, lines)
        onnx.checker.check_model(written.model, full_check=True)
        names = [value.name for value in written.model.graph.output]
        assert names == ["y", "y_1", "x_1", "same"], names
        found = written.run({"x": x})
    for array, wanted in zip(found, (-x, -x, x, x)):
        assert np.array_equal(array, wanted)
        assert not np.shares_memory(array, x)


if __name__ == "__main__":
    run_tests(globals())
