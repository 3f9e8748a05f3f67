"""All settings of weight-only, on real models and on one small model for each operation.

The written file is read as its operators are defined. What its codes stand for must be as near to the
weights as the steps between codes promise, and the file must compute what the float model computes with
these values in the place of its weights.
"""

import _peers

from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper

from _checks import Quantized, check_interface, check_valid, check_weights
from _command import run_tests, scratch
from _fold import CODES
from _models import info, model_of, random_feeds, real_models, run, session_of, weight
from _settings import (CHANNEL, TENSOR, Setting, blocks, check_groups, check_near, check_near_outputs,
                       read_weights, squared_error, with_values)

node = helper.make_node

SETTINGS = {
    "8 channel": Setting("", forms=("behind", "fewest")),
    "8 tensor": Setting("--granularity tensor", group=TENSOR),
    "8 asymmetric": Setting("--asymmetric"),
    "4 channel absmax": Setting("--bits 4 --clip absmax", bits=4, forms=()),
    "4 channel": Setting("--bits 4", bits=4, beyond=None, least="4 channel absmax"),
    "4 blocks absmax": blocks(4, 32, "--clip absmax", forms=()),
    "4 blocks": blocks(4, 32, beyond=None, least="4 blocks absmax"),
    "4 blocks signed": blocks(4, 32, "--signed-scale", beyond=1),
    "4 blocks asymmetric": blocks(4, 32, "--asymmetric"),
    "4 blocks float16": blocks(4, 32, "--asymmetric --scales float16", forms=(), half=True),
    "4 blocks mse float16": blocks(4, 32, "--asymmetric --clip mse --scales float16", beyond=None,
                                   least="4 blocks float16", forms=(), half=True),
    "4 blocks matmulnbits": blocks(4, 32, "--asymmetric --format matmulnbits", forms=()),
    "8 blocks matmulnbits": blocks(8, 64, "--format matmulnbits", forms=()),
}

MOST = 0.95  # of the bytes that can be quantized, at least


def all_codes(result):
    """The contents of the tensors of codes that the command made, in any order."""
    return sorted(result.written.array(name).tobytes()
                  for name, tensor in result.written.tensors.items()
                  if tensor.data_type in CODES and name not in result.reader.tensors)


def check_setting(path, setting, left=(), feeds=None, tolerance=1e-4, optimised=True):
    """The setting in all its forms. Returns what was read, by name."""
    with scratch() as folder:
        result = Quantized(path, folder / "front.onnx", *setting.options)
        read, behind = read_weights(result)
        assert not behind, f"no reader of codes: {behind}"
        check_share(result, read, left)
        if not setting.options:
            check_weights(result)  # exactly as the definition says
        for entry in read.values():
            check_near(entry, setting)
            check_groups(entry, setting)
        check_interface_of(result, read)
        if feeds is None:
            feeds = random_feeds(session_of(result.target))
        expected = run(with_values(result, read), feeds)
        check_near_outputs(expected, run(result.target, feeds), tolerance, "front")
        if optimised:
            check_near_outputs(expected, run(result.target, feeds, optimised=True),
                               max(tolerance, 1e-3), "front, optimised")
        for form in setting.forms:
            check_form(form, setting, result, read, feeds, expected, max(tolerance, 1e-3), optimised)
        return read


def check_form(form, setting, front, front_read, feeds, expected, tolerance, optimised):
    """The same codes, and outputs that are those of the form in front but for rounding."""
    target = front.target.with_name(f"{form}.onnx")
    result = Quantized(front.source, target, *setting.options, "--form", form)
    read, behind = read_weights(result)
    assert set(read) | behind == set(front_read), set(read) ^ set(front_read)
    for name, entry in read.items():
        same = np.array_equal(entry.values, front_read[name].values, equal_nan=True)
        assert same, f"{name} is another one in the form {form}"
    check_interface_of(result, front_read)
    if not behind:
        assert all_codes(result) == all_codes(front), f"other codes in the form {form}"
    for is_optimised in (False, True)[:1 + optimised]:
        check_near_outputs(expected, run(target, feeds, is_optimised), tolerance,
                           form + ", optimised" * is_optimised)


def check_interface_of(result, read):
    result.axis_of = dict.fromkeys(read)
    check_interface(result)
    check_valid(result)


def check_share(result, read, left):
    """Nearly all is quantized; what is not is said."""
    eligible = result.document["summary"]["eligible"]
    quantized = result.document["summary"]["eligible_quantized"]
    assert eligible["count"] == len(result.weights), (eligible, list(result.weights))
    assert quantized["count"] == len(read), (quantized, set(result.weights) - set(read))
    floats = set(result.weights) - set(read)
    if left is None:  # a real model
        for name in sorted(floats):
            print(f"{result.source.stem}: {name} {list(result.weights[name].array.shape)} stays in "
                  f"float: {result.left_in_float()[name]}")
    else:
        assert floats == set(left), f"left in float: {floats}"
    if not left:
        assert quantized["bytes"] >= MOST * eligible["bytes"], (quantized, eligible)


# --- real models -------------------------------------------------------------------------------------


def check_real_model(path):
    read, problems = {}, []
    for name, setting in SETTINGS.items():
        try:
            read[name] = check_setting(path, setting, None)
        except Exception as problem:  # ONNX Runtime's are of many types
            problems.append(f"{name}: {problem}")
        if setting.least in read and name in read:
            for weight_name, entry in read[name].items():
                least, error = squared_error(entry), squared_error(read[setting.least][weight_name])
                if least > error * (1 + 1e-5):
                    problems.append(f"{name}: {weight_name}: {least} is more than {error}")
    assert not problems, "\n  ".join(["", *problems])


def test_real_models():
    for path in real_models():
        yield path.stem, check_real_model, path


# --- small models ------------------------------------------------------------------------------------


def check_small(model, settings=tuple(SETTINGS), left=None, unoptimised=(), **options):
    """All settings. `left`: the weights that stay in float, by the name of the setting. `unoptimised`:
    settings whose files ONNX Runtime turns into what it cannot run."""
    problems = []
    with scratch() as folder:
        path = folder / "made.onnx"
        onnx.save(model, path)
        for name in settings:
            setting = SETTINGS[name] if isinstance(name, str) else name
            stays = (left or {}).get(name, ())
            try:
                check_setting(path, setting, stays, optimised=name not in unoptimised, **options)
            except Exception as problem:  # ONNX Runtime's are of many types
                problems.append(f"{name if isinstance(name, str) else setting.options}: {problem}")
    assert not problems, "\n  ".join(["", *problems])


def small(nodes, x, y, weights, opset=17, **extra):
    return model_of(nodes, [info("x", x)], [info("y", y)], weights, opset, **extra)


def near(*shape, seed=1, dtype=np.float32):
    """Weights of one size, as trained ones are."""
    return np.random.default_rng(seed).normal(0, 0.1, shape).astype(dtype)


def test_convolutions():
    def conv(x, w, groups=1, op="Conv", **attributes):
        channels = w.shape[0] if op == "Conv" else w.shape[1] * groups
        return small([node(op, ["x", "w", "b"], ["h"], "conv", group=groups, **attributes),
                      node("Relu", ["h"], ["y"])], x, [x[0], channels] + [None] * (len(x) - 2),
                     {"w": w, "b": near(channels, seed=2)})

    yield "1-D", check_small, conv([2, 64, 9], near(48, 64, 3))
    yield "2-D", check_small, conv([1, 40, 8, 9], near(24, 40, 3, 2), strides=[2, 1])
    yield "2-D, wide weights", check_small, conv([1, 40, 8, 9], weight(24, 40, 3, 2))
    yield "3-D", check_small, conv([1, 36, 5, 6, 7], near(16, 36, 2, 3, 2), dilations=[1, 2, 1])
    yield "pointwise", check_small, conv([1, 64, 5, 5], near(48, 64, 1, 1))
    yield "grouped", check_small, conv([1, 80, 7, 7], near(24, 40, 3, 3), groups=2)
    yield "depthwise", check_small, conv([1, 40, 7, 7], near(40, 1, 3, 3), groups=40)
    for groups in (1, 2, 4):
        yield f"transposed, {groups} groups", check_small, conv(
            [1, 80, 5, 5], near(80, 36, 3, 3), groups, "ConvTranspose", strides=[2, 2])
    yield "transposed, 1-D", check_small, conv([1, 70, 9], near(70, 20, 3), 1, "ConvTranspose")
    yield "transposed, 3-D", check_small, conv([1, 40, 3, 4, 3], near(40, 12, 2, 2, 3), 1,
                                               "ConvTranspose")


def test_products():
    def einsum(equation, x, w, y, first=False):
        return small([node("Einsum", ["w", "x"] if first else ["x", "w"], ["y"], "einsum",
                           equation=equation)], x, y, {"w": w})

    yield "einsum, product", check_small, einsum("ij,jk->ik", [5, 70], near(70, 48), [5, 48])
    yield "einsum, transposed", check_small, einsum("bij,kj->bik", [2, 5, 70], near(48, 70),
                                                    [2, 5, 48])
    yield "einsum, heads", check_small, einsum("bsd,dhk->bshk", [2, 5, 70], near(70, 3, 40),
                                               [2, 5, 3, 40])
    yield "einsum, two summed", check_small, einsum("bshk,hkd->bsd", [2, 5, 3, 40], near(3, 40, 64),
                                                    [2, 5, 64])
    yield "einsum, batched", check_small, einsum("bij,bjk->bik", [3, 5, 70], near(3, 70, 48),
                                                 [3, 5, 48])
    yield "einsum, weight first", check_small, einsum("ki,bij->bkj", [2, 70, 5], near(48, 70),
                                                      [2, 48, 5], first=True)
    yield "einsum, swapped result", check_small, einsum("ij,jk->ki", [5, 70], near(70, 48), [48, 5])

    def matmul(x, y, nodes=None, **weights):
        return small(nodes or [node("MatMul", ["x", "w"], ["y"], "product")], x, y, weights)

    yield "batched", check_small, matmul([3, 5, 70], [3, 5, 48], w=near(3, 70, 48))
    yield "on the left", check_small, matmul(
        [70, 5], [48, 5], [node("MatMul", ["w", "x"], ["y"], "product")], w=near(48, 70))
    bias = [node("MatMul", ["x", "w"], ["h"], "product"), node("Add", ["b", "h"], ["y"], "sum")]
    yield "with a bias", check_small, matmul([5, 70], [5, 48], bias, w=near(70, 48), b=near(48))
    shortcut = [node("MatMul", ["x", "w"], ["h"], "product"), node("Add", ["h", "x"], ["y"], "sum")]
    yield "with a shortcut", check_small, matmul([5, 64], [5, 64], shortcut, w=near(64, 64))
    shared = [node("MatMul", ["x", "w"], ["h"], "product"), node("Add", ["h", "b"], ["s"], "sum"),
              node("Add", ["s", "h"], ["y"], "again")]
    yield "read twice", check_small, matmul([5, 70], [5, 48], shared, w=near(70, 48), b=near(48))
    gemm = [node("Gemm", ["x", "w", "b"], ["y"], "gemm", alpha=0.5, beta=-2.0, transB=1)]
    yield "gemm", check_small, matmul([5, 70], [5, 48], gemm, w=near(48, 70), b=near(48))
    gemm = [node("Gemm", ["x", "w", "b"], ["y"], "gemm")]
    yield "gemm, bias of a matrix", check_small, matmul([5, 70], [5, 48], gemm, w=near(70, 48),
                                                        b=near(5, 48))
    yield "two weights", check_weights_alone, {"v": near(40, 64), "w": near(64, 48)}, ["v", "w"]
    yield "with itself", check_weights_alone, {"w": near(64, 64)}, ["w", "w"]
    turned = [node("Transpose", ["w"], ["t"], perm=[1, 0]), node("MatMul", ["x", "w"], ["h"], "up"),
              node("MatMul", ["h", "t"], ["y"], "down")]
    yield "and its transpose", check_small, matmul([5, 64], [5, 64], turned, w=near(64, 96))


def check_weights_alone(weights, operands):
    """A product without an input."""
    shape = [weights[operands[0]].shape[0], weights[operands[1]].shape[1]]
    # ONNX Runtime 1.23 makes MatMulIntegerToFloat of it, which takes one zero point on the left.
    check_small(model_of([node("MatMul", operands, ["y"], "product")], [], [info("y", shape)],
                         weights), unoptimised=["8 asymmetric"])


def recurrent(op, gates, directions, hidden=40, inputs=70):
    weights = {"w": near(directions, gates * hidden, inputs),
               "r": near(directions, gates * hidden, hidden, seed=2),
               "b": near(directions, 2 * gates * hidden, seed=3)}
    direction = "bidirectional" if directions == 2 else "reverse"
    return small([node(op, ["x", "w", "r", "b"], ["y"], op.lower(), hidden_size=hidden,
                       direction=direction)],
                 [6, 2, inputs], [6, directions, 2, hidden], weights)


def test_recurrent():
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for directions in (1, 2):
            yield f"{op}, {directions}", check_small, recurrent(op, gates, directions)


def moved(moves, w, x, y, **more):
    """x * (w after these nodes, from `w` to `m`)."""
    return small([*moves, node("MatMul", ["x", "m"], ["y"], "product")], x, y, {"w": w, **more})


def numbers(*values):
    return np.array(values, np.int64)


def test_moves():
    x, y = [5, 70], [5, 48]
    yield "identity", check_small, moved([node("Identity", ["w"], ["m"])], near(70, 48), x, y)
    yield "transpose", check_small, moved([node("Transpose", ["w"], ["m"])], near(48, 70), x, y)
    yield "squeeze", check_small, moved([node("Squeeze", ["w", "axes"], ["m"])], near(1, 70, 1, 48),
                                        x, y, axes=numbers(0, 2))
    yield "unsqueeze", check_small, moved([node("Unsqueeze", ["w", "axes"], ["m"])], near(70, 48),
                                          x, [1, *y], axes=numbers(0))
    yield "flatten", check_small, moved([node("Flatten", ["w"], ["m"], axis=2)], near(7, 10, 6, 8),
                                        x, y)
    yield "reshape", check_small, moved([node("Reshape", ["w", "dims"], ["m"])], near(70, 6, 8), x,
                                        y, dims=numbers(70, -1))
    slices = [node("Slice", ["w", "starts", "ends", "axes"], ["m"])]
    for start in (10, 64):
        cut = moved(slices, near(140, 48), x, y, starts=numbers(start), ends=numbers(start + 70),
                    axes=numbers(0))
        # Where a slice starts within a block, what it is made of has no blocks.
        within = [name for name, setting in SETTINGS.items() if setting.group > CHANNEL]
        left = dict.fromkeys(within if start == 10 else (), ["w"])
        yield f"slice of rows from {start}", partial(check_small, cut, left=left)
    ends = dict(starts=numbers(-2), ends=numbers(1), axes=numbers(1), steps=numbers(-2))
    slices = [node("Slice", ["w", "starts", "ends", "axes", "steps"], ["m"])]
    yield "slice of columns", check_small, moved(slices, near(70, 99), x, [5, 48], **ends)
    parts = [node("Split", ["w", "sizes"], ["m", "n"], axis=1),
             node("MatMul", ["x", "n"], ["z"], "other")]
    split = moved(parts, near(70, 88), x, y, sizes=numbers(48, 40))
    split.graph.output.append(info("z", [5, 40]))
    yield "split", check_small, split
    # Each part has its own scales: they can be joined along an axis that has a scale for each index.
    both = ["w", "v"]
    columns = moved([node("Concat", ["w", "v"], ["m"], axis=1)], near(70, 40), x, y,
                    v=near(70, 8, seed=2))
    yield "concat of columns", partial(check_small, columns, left={"8 tensor": both})
    rows = moved([node("Concat", ["w", "v"], ["m"], axis=0)], near(32, 48), x, y,
                 v=near(38, 48, seed=2))
    channels = [name for name, setting in SETTINGS.items() if setting.group not in (16, 32)]
    yield "concat of rows", partial(check_small, rows, left=dict.fromkeys(channels, both))
    yield "expand", check_small, moved([node("Expand", ["w", "dims"], ["m"])], near(1, 70, 48),
                                       [3, 5, 70], [3, 5, 48], dims=numbers(3, 70, 48))
    for kind, element in ((np.float16, TensorProto.FLOAT), (np.float64, TensorProto.FLOAT)):
        cast = moved([node("Cast", ["w"], ["m"], to=element)], near(70, 48, dtype=kind), x, y)
        tolerance = 1e-3 if kind == np.float16 else 1e-4
        yield f"cast of {kind.__name__}", partial(check_small, cast, tolerance=tolerance)
    chain = [node("Cast", ["w"], ["a"], to=TensorProto.FLOAT), node("Identity", ["a"], ["b"]),
             node("Transpose", ["b"], ["c"], perm=[2, 0, 1]),
             node("Reshape", ["c", "dims"], ["m"])]
    yield "a chain", check_small, moved(chain, near(6, 8, 70, dtype=np.float64), x, y,
                                        dims=numbers(70, 48))


def test_outputs():
    model = small([node("MatMul", ["x", "w"], ["y"], "product")], [5, 70], [5, 48],
                  {"w": near(70, 48)})
    model.graph.output.append(info("w", [70, 48]))
    yield "the weight", check_small, model
    model = moved([node("Transpose", ["w"], ["m"])], near(48, 70), [5, 70], [5, 48])
    model.graph.output.append(info("m", [70, 48]))
    yield "the weight, moved", check_small, model


def tied(opset=17, kind=np.float32):
    element = TensorProto.FLOAT if kind == np.float32 else TensorProto.FLOAT16
    return model_of([node("Gather", ["table", "tokens"], ["e"], "lookup"), node("Relu", ["e"], ["h"]),
                     node("Transpose", ["table"], ["t"], perm=[1, 0]),
                     node("MatMul", ["h", "t"], ["y"], "head")],
                    [info("tokens", [2, 5], TensorProto.INT64)], [info("y", [2, 5, 90], element)],
                    {"table": near(90, 64, dtype=kind)}, opset)


def test_taken_names():
    """Names that the form behind would choose."""
    taken = ("y_multiply", "y_add", "y_unscaled", "w_scale", "b_unscaled", "w_unscaled",
             "w_unscaled_dequantize")
    nodes = [node("MatMul", ["x", "w"], ["h"], taken[0]), node("Add", ["h", "b"], ["y"], taken[1])]
    nodes += [node("Relu", ["y"], [name], (taken + ("r0", "r1"))[i + 2])
              for i, name in enumerate(taken)]
    model = small(nodes, [5, 70], [5, 48], {"w": near(70, 48), "b": near(48)})
    model.graph.output.extend(info(name, [5, 48]) for name in taken)
    check_small(model)


def test_tied_embedding():
    qdq = [name for name, setting in SETTINGS.items() if "matmulnbits" not in setting.options]
    for opset in (11, 17, 21):
        yield f"opset {opset}", check_small, tied(opset)
        yield f"opset {opset}, stored once", check_stored_once, tied(opset), qdq


def check_stored_once(model, settings):
    """The file holds the table's codes once, and no operator makes floats of all of them for the
    lookup."""
    for name in settings:
        with scratch() as folder:
            onnx.save(model, folder / "tied.onnx")
            result = Quantized(folder / "tied.onnx", folder / "out.onnx", *SETTINGS[name].options)
            sizes = [int(np.prod(t.dims)) for t in result.after.graph.initializer]
            assert sizes.count(90 * 64) == 1, f"{name}: tables of {sizes}"
            made = {"tokens"}  # what comes of the tokens; a lookup reads nothing that is made
            for n in result.after.graph.node:
                if "Gather" in n.op_type and "tokens" in n.input:
                    assert n.input[0] in result.written.tensors, f"{name}: {n.input[0]} is computed"
                    made.update(n.output)
            assert len(made) > 1, f"{name}: no lookup"


def test_block_sizes():
    for size in (16, 32, 48, 100, 128):
        for bits in (4, 8):
            for extra in ("", "--clip absmax", "--signed-scale", "--asymmetric", "--asymmetric --format matmulnbits"):
                beyond = 1 if "signed" in extra else 0.5
                if bits == 4 and extra == "":
                    beyond = None  # least squared error, which may clip
                setting = blocks(bits, size, extra, beyond=beyond, forms=("behind",) if extra == "" else ())
                yield f"{size}, {bits} bits {extra}", check_small, blocky(), [setting]


def blocky():
    """Weights whose blocks end short, along each of two axes, and a lookup."""
    return model_of([node("Gather", ["table", "i"], ["x"], "lookup"),
                     node("MatMul", ["x", "w"], ["h"], "first"),
                     node("Gemm", ["h", "v", "b"], ["y"], "second", transB=1)],
                    [info("i", [5], TensorProto.INT64)], [info("y", [5, 30])],
                    {"table": near(40, 170), "w": near(170, 140, seed=2),
                     "v": near(30, 140, seed=3), "b": near(30, seed=4)})


def network(opset, kind=np.float32):
    """Convolution, a product, a lookup and a recurrent layer, valid in all opsets."""
    element = TensorProto.FLOAT if kind == np.float32 else TensorProto.FLOAT16
    weights = {"k": near(24, 40, 3, dtype=kind), "b": near(24, dtype=kind),
               "w": near(24, 48, seed=2, dtype=kind), "v": near(70, 48, seed=3, dtype=kind),
               "table": near(50, 48, seed=4, dtype=kind)}
    return model_of([node("Conv", ["x", "k", "b"], ["c"], "conv", pads=[1, 1]),
                     node("Transpose", ["c"], ["t"], perm=[0, 2, 1]),
                     node("MatMul", ["t", "w"], ["h"], "product"),
                     node("Gather", ["table", "i"], ["e"], "lookup"),
                     node("Add", ["h", "e"], ["s"]), node("Transpose", ["v"], ["u"], perm=[1, 0]),
                     node("MatMul", ["s", "u"], ["y"], "head")],
                    [info("x", [2, 40, 9], element), info("i", [2, 9], TensorProto.INT64)],
                    [info("y", [2, 9, 70], element)], weights, opset)


def test_vector_in_one_block():
    """It has one scale, which ONNX Runtime takes for that of a tensor, and then refuses a block size."""
    w = near(64)
    model = small([node("MatMul", ["x", "w"], ["y"])], [3, 64], [3], {"w": w}, opset=21)
    x = near(3, 64, seed=2)
    for bits in (4, 8):
        with scratch() as folder:
            onnx.save(model, folder / "made.onnx")
            result = Quantized(folder / "made.onnx", folder / "out.onnx",
                               *blocks(bits, 64).options)
            assert "DequantizeLinear" in [made.op_type for made in result.after.graph.node]
            (y,) = run(folder / "out.onnx", {"x": x}, optimised=True)
            error = np.abs(x).sum(1) * np.abs(w).max() / (2 ** (bits - 1) - 1) / 2
            assert np.all(np.abs(y - x @ w) <= error * 1.01), f"{bits} bits"


def test_opsets():
    for opset in (7, 9, 11, 13, 17, 21, 23):
        # For opset 23, ONNX Runtime 1.23 moves the Transpose in front of the DequantizeLinear, and
        # puts a QuantizeLinear between, which it has not.
        yield str(opset), partial(check_small, network(opset),
                                  unoptimised=["4 channel"] if opset == 23 else [])
        # ONNX Runtime leaves the Cast to float16 and back out, and sums in another order.
        yield f"{opset}, float16", partial(check_small, network(opset, np.float16),
                                           tolerance=2**-7)


def test_weights_read_in_branches():
    """Branches that read weights: these are floats there."""
    for opset in (11, 17, 21):
        branches = [helper.make_graph([node(op, ["h", other], [name])], name, [], [info(name, None)])
                    for op, other, name in (("Add", "v", "more"), ("Sub", "w", "less"))]
        model = model_of([node("Conv", ["x", "k"], ["c"], "conv"), node("Squeeze", ["c"], ["s"]),
                          node("MatMul", ["s", "w"], ["h"], "product"),
                          node("Gather", ["v", "i"], ["rows"], "lookup"),
                          node("If", ["condition"], ["y"], "if", then_branch=branches[0],
                               else_branch=branches[1])],
                         [info("x", [1, 40, 68, 72]), info("i", [4], TensorProto.INT64),
                          info("condition", [], TensorProto.BOOL)],
                         [info("y", [68, 68]), info("rows", [4, 68])],
                         {"k": near(1, 40, 1, 5), "w": near(68, 68), "v": near(68, 68, seed=2)},
                         opset)
        yield str(opset), check_small, model


if __name__ == "__main__":
    run_tests(globals())
