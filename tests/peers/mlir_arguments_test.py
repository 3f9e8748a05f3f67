"""Weights that functions are given: an argument with quadrant.weight becomes codes and scales, callers in the module
pass them, and what is run computes the product by its definition.
"""

import re
import resource

import _mlir  # first: ends the test where MLIR is missing

import numpy as np

from _command import run_tests
from _mlir import opt, plugin, printed_numbers, rewritten, run_main
from _mlir_modules import dense, type_of

RANDOM = np.random.default_rng(5)
VERSIONS = (19, 22)
LOWER = "quadrant-quantize{OPTIONS},quadrant-lower-quant-ops"


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


X = drawn(2, 3, 16)  # what each call passes
WEIGHTS = drawn(16, 8), drawn(16, 8) * np.linspace(0.1, 9, 8, dtype=np.float32)
PRODUCT = """func.func VISIBILITY @g(%x: tensor<3x16xf32>, %w: tensor<16x8xf32> {MARK}) -> tensor<3x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %d = linalg.fill ins(%z : f32) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x16xf32>, tensor<16x8xf32>) outs(%d : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
"""
CALL = "call @g(%x{0}, %w{0}) : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>"
BODY = [*(f"%x{i} = arith.constant {dense(x)}" for i, x in enumerate(X)), *(f"%w{i} = arith.constant {dense(w)}" for i, w in enumerate(WEIGHTS)),
        *(f"%y{i} = {CALL.format(i)}" for i in range(2)),
        "%p = tensor.empty() : tensor<6x8xf32>",
        "%q = tensor.insert_slice %y0 into %p[0, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<6x8xf32>",
        "%y = tensor.insert_slice %y1 into %q[3, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<6x8xf32>"]


def product(mark="quadrant.weight", visibility="private"):
    return PRODUCT.replace("MARK", mark).replace("VISIBILITY", visibility)


def printing(lines, result):
    return ("func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}\n"
            "func.func @main() {\n" + "\n".join(lines) + f"\n%u = tensor.cast %y : {result} to tensor<*xf32>\n"
            "call @printMemrefF32(%u) : (tensor<*xf32>) -> ()\nreturn\n}\n")


def bare(text):
    """The functions of a module, and the aliases in front of it."""
    return re.sub(r"^module \{", "", text, flags=re.M).rstrip().removesuffix("}")


def decibels(ours, theirs):
    theirs = theirs.astype(np.float64)
    return 10 * np.log10((theirs ** 2).mean() / ((ours.reshape(theirs.shape) - theirs) ** 2).mean())


def signature(text, name):
    return re.search(rf"func.func .*@{name}\((.*)\) ->", text).group(1)


def check_unchanged(version, text, why, passes="quadrant-quantize"):
    done = plugin(version, text, passes)
    assert done.returncode == 0 and re.search(why, done.stderr), f"{why}: {done.stderr[:800]}"
    assert "tensor<16x8xf32> {quadrant.weight" in done.stdout and "weight_channels" not in done.stdout, done.stdout


def rounded(weight, bits, axis):
    """The definition: the nearest of the codes, at a scale for each index of the axis, or for all."""
    most = {8: 127, 4: 7.5}[bits]
    scale = np.abs(weight).max(axis=None if axis is None else 1 - axis, keepdims=True) / most
    return np.clip(np.round(weight / scale), -127 if bits == 8 else -8, int(most)) * scale


def test_two_weights_of_one_function():
    exact = np.concatenate([x @ w for x, w in zip(X, WEIGHTS)])
    cases = [("", "8xf32", 8, 1), ("granularity=tensor", "f32", 8, None), ("bits=4", "8xf32", 4, 1)]
    for version in VERSIONS:
        for options, scales, bits, axis in cases:
            text = product() + printing(BODY, "tensor<6x8xf32>")
            made = rewritten(version, text, f"quadrant-quantize{{{options}}}")
            assert signature(made, "g") == (f"%arg0: tensor<3x16xf32>, %arg1: tensor<16x8xi{bits}> {{quadrant.codes}}, "
                                            f"%arg2: tensor<{scales}> {{quadrant.scales}}"), made
            assert made.count(f": tensor<16x8xi{bits}>\n") == 2 and "quant." not in made.split("func.func private @print")[1]
            ours = printed_numbers(run_main(text, LOWER.replace("OPTIONS", options), version=version))
            if bits == 8:
                wanted = np.concatenate([x @ rounded(w, bits, axis) for x, w in zip(X, WEIGHTS)])
                assert np.abs(ours.reshape(wanted.shape) - wanted).max() < 1e-3
            assert (35 if bits == 8 else 14) < decibels(ours, exact) < 60
    made = rewritten(22, product() + printing(BODY, "tensor<6x8xf32>"), "quadrant-quantize{granularity=block block-size=8}")
    assert "%arg2: tensor<2x8xf32> {quadrant.scales}" in signature(made, "g"), made
    text = product() + printing(BODY, "tensor<6x8xf32>")
    ours = printed_numbers(run_main(text, LOWER.replace("OPTIONS", "granularity=block block-size=8"), version=22))
    assert 35 < decibels(ours, exact) < 70


def test_a_public_function_is_called_by_others():
    """Its axis as it is found, or as the attribute says; whoever calls it passes codes and scales."""
    codes, scales = np.array(RANDOM.integers(-127, 128, (16, 8)), np.int8), np.abs(drawn(8)) + 0.1
    for version in VERSIONS:
        for mark in ("quadrant.weight", 'quadrant.weight = 1, quadrant.name = "fc"'):
            made = rewritten(version, product(mark, ""), "quadrant-quantize,quadrant-lower-quant-ops")
            assert ('quadrant.name = "fc_scales"' in made) == ("name" in mark), made
            again = rewritten(version, made, "quadrant-quantize")
            assert signature(again, "g") == signature(made, "g")
            call = [f"%x = arith.constant {dense(X[0])}", f"%w = arith.constant {dense(codes)}", f"%s = arith.constant {dense(scales)}",
                    "%y = call @g(%x, %w, %s) : (tensor<3x16xf32>, tensor<16x8xi8>, tensor<8xf32>) -> tensor<3x8xf32>"]
            module = bare(made) + printing(call, "tensor<3x8xf32>")
            ours = printed_numbers(run_main(module, version=version))
            assert np.abs(ours.reshape(3, 8) - X[0] @ (codes * scales)).max() < 1e-2
        # The other axis, which sums do not keep: for the caller to know.
        assert "tensor<16xf32> {quadrant.scales}" in rewritten(version, product("quadrant.weight = 0", ""), "quadrant-quantize")


def test_arguments_are_handed_on():
    """Whatever the order of the functions; a function that calls itself, too."""
    hand = ("func.func @h(%w: tensor<16x8xf32> {quadrant.weight}, %x: tensor<3x16xf32>) -> tensor<3x8xf32> {\n"
            f"  %y = {CALL.format('')}\n  return %y : tensor<3x8xf32>\n}}\n")
    body = [line.replace("@g(%x0, %w0) : (tensor<3x16xf32>, tensor<16x8xf32>)", "@h(%w0, %x0) : (tensor<16x8xf32>, tensor<3x16xf32>)")
            for line in BODY]
    exact = np.concatenate([x @ w for x, w in zip(X, WEIGHTS)])
    for version in VERSIONS:
        for text in (product(visibility="") + hand, hand + product(visibility="")):
            text += printing(body, "tensor<6x8xf32>")
            made = rewritten(version, text, "quadrant-quantize")
            for name in "gh":
                assert "tensor<16x8xi8> {quadrant.codes}" in signature(made, name), made
            assert "16x8xf32" not in signature(made, "h")
            assert 35 < decibels(printed_numbers(run_main(text, LOWER.replace("OPTIONS", ""), version=version)), exact) < 60
        own = hand.replace("@h", "@g").replace(CALL.format(""), CALL.format("").replace("(%x, %w)", "(%w, %x)").replace(
            "(tensor<3x16xf32>, tensor<16x8xf32>)", "(tensor<16x8xf32>, tensor<3x16xf32>)"))
        check_unchanged(version, own, "no product and no lookup")
        # The callee is not marked, and others may call it, so there is nobody to hand the codes on to.
        check_unchanged(version, product("", "") + hand + printing(body, "tensor<6x8xf32>"), "no product and no lookup")
        # What one call lacks, the function that hands it on lacks, too.
        lacking = [line.replace("arith.constant " + dense(WEIGHTS[0]), "math.sqrt %w1 : tensor<16x8xf32>") for line in body]
        lacking[2], lacking[3] = lacking[3], lacking[2]
        check_unchanged(version, product(visibility="") + hand + printing(lacking, "tensor<6x8xf32>"),
                        "a call passes an argument of its own function that stays float")


LAYER = """func.func VISIBILITY @layer(%x: tensor<3x16xf32>, %a: tensor<16x8xf32> MARK, %n: index, %b: tensor<8x8xf32> MARK, %c: tensor<8x8xf32> MARK) -> tensor<3x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %d = linalg.fill ins(%z : f32) outs(%e : tensor<3x8xf32>) -> tensor<3x8xf32>
  %p = linalg.matmul ins(%x, %a : tensor<3x16xf32>, tensor<16x8xf32>) outs(%d : tensor<3x8xf32>) -> tensor<3x8xf32>
  %q = linalg.matmul ins(%p, %b : tensor<3x8xf32>, tensor<8x8xf32>) outs(%d : tensor<3x8xf32>) -> tensor<3x8xf32>
  %y = linalg.matmul ins(%q, %c : tensor<3x8xf32>, tensor<8x8xf32>) outs(%d : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
"""


def test_layers_of_several_weights():
    """Found without a mark where all calls of a private function pass constants; the calls of a public one have a copy."""
    weights = [[drawn(16, 8), drawn(8, 8), drawn(8, 8)] for _ in range(2)]
    lines = [f"%x{i} = arith.constant {dense(x)}" for i, x in enumerate(X)] + ["%n = arith.constant 3 : index"]
    for i, (a, b, c) in enumerate(weights):
        lines += [f"%{name}{i} = arith.constant {dense(w)}" for name, w in (("a", a), ("b", b), ("c", c))]
        lines.append(f"%y{i} = call @layer(%x{i}, %a{i}, %n, %b{i}, %c{i}) : (tensor<3x16xf32>, tensor<16x8xf32>, index, "
                     "tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>")
    text = printing(lines + BODY[-3:], "tensor<6x8xf32>")
    exact = np.concatenate([x @ a @ b @ c for x, (a, b, c) in zip(X, weights)])
    for version in VERSIONS:
        for visibility, mark in (("private", ""), ("", ""), ("", "{quadrant.weight}")):
            module = LAYER.replace("VISIBILITY", visibility).replace("MARK", mark) + text
            made = rewritten(version, module, "quadrant-quantize")
            name = "layer" if visibility or mark else "layer_0"
            said = plugin(version, module, "quadrant-report").stderr
            assert said.count("codes and scales are passed for it") == 3, said
            assert signature(made, name).count("{quadrant.codes}") == 3 and "index, %arg4" in signature(made, name), made
            assert made.count("@layer_0(") == (0 if visibility or mark else 3), made
            assert "weight_found" not in made and "weight_channels" not in made and "quadrant.copy" not in made
            ours = printed_numbers(run_main(module, LOWER.replace("OPTIONS", ""), version=version))
            assert 30 < decibels(ours, exact) < 60


def test_many_arguments_take_linear_time():
    count = 2000
    arguments = ", ".join(f"%w{i}: tensor<4x4xf32> {{quadrant.weight}}" for i in range(count))
    body = "\n".join(f"%y{i + 1} = linalg.matmul ins(%y{i}, %w{i} : tensor<4x4xf32>, tensor<4x4xf32>) outs(%y0 : tensor<4x4xf32>) "
                     "-> tensor<4x4xf32>" for i in range(count))
    text = f"func.func @g(%y0: tensor<4x4xf32>, {arguments}) -> tensor<4x4xf32> {{\n{body}\nreturn %y{count} : tensor<4x4xf32>\n}}\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert signature(rewritten(19, text, "quadrant-quantize"), "g").count("quadrant.codes") == count
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak <= max(before, 300_000), f"{peak} KiB"  # 538 MB where each changed the signature


def test_what_others_wrote_on_calls_is_not_believed():
    axes = ("{quadrant.weight_channels = array<i64: 7, 99999999999>, quadrant.weight_contracted = array<i64: 5, 99999999999>, "
            "quadrant.copy, quadrant.weight_found}")
    text = product() + printing([line.replace(" : (tensor<3x16xf32>, tensor<16x8xf32>) ->",
                                              f" {axes} : (tensor<3x16xf32>, tensor<16x8xf32>) ->") for line in BODY],
                                "tensor<6x8xf32>")
    for version in VERSIONS:
        for passes in ("quadrant-quantize", "func.func(quadrant-quantize)", "quadrant-report"):
            assert plugin(version, text, passes).returncode == 0
        assert "quadrant.codes" in rewritten(version, text, "quadrant-quantize")
        for mark in ("false", "true", '"no"', "1.5 : f32", "-1", "2", "3 : i128"):
            check_unchanged(version, product(f"quadrant.weight = {mark}", ""), "says nothing else, or one of its 2 axes")


def test_readers_behind_moves():
    """The axis is found through transposes, and a table has a scale for each of its rows, which alone become floats."""
    moved = product(visibility="").replace("%w: tensor<16x8xf32>", "%t: tensor<8x16xf32>").replace(
        "%z =", "%p = tensor.empty() : tensor<16x8xf32>\n  %w = linalg.transpose ins(%t : tensor<8x16xf32>) "
        "outs(%p : tensor<16x8xf32>) permutation = [1, 0]\n  %z =")
    table = """func.func @g(%w: tensor<16x5xf32> {quadrant.weight}, %ids: tensor<4xi64>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<4x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x5xf32>) {
    ^bb0(%at: i64, %o: f32): %row = arith.index_cast %at : i64 to index %column = linalg.index 1 : index
      %v = tensor.extract %w[%row, %column] : tensor<16x5xf32> linalg.yield %v : f32 } -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
"""
    rows = [3, 15, 0, 3]
    codes, scales = np.array(RANDOM.integers(-127, 128, (16, 5)), np.int8), np.abs(drawn(16))
    for version in VERSIONS:
        assert "tensor<8x16xi8> {quadrant.codes}, %arg2: tensor<8xf32>" in rewritten(version, moved, "quadrant-quantize")
        made = rewritten(version, table, "quadrant-quantize")
        assert "16x5xf32" not in made, made
        call = [f"%ids = arith.constant dense<{rows}> : tensor<4xi64>", f"%w = arith.constant {dense(codes)}",
                f"%s = arith.constant {dense(scales)}",
                "%y = call @g(%w, %s, %ids) : (tensor<16x5xi8>, tensor<16xf32>, tensor<4xi64>) -> tensor<4x5xf32>"]
        ours = printed_numbers(run_main(bare(made) + printing(call, "tensor<4x5xf32>"), version=version))
        assert np.abs(ours.reshape(4, 5) - (codes * scales[:, None])[rows]).max() < 1e-3
        if version == 22:
            assert "%arg1: tensor<16x1xf32> {quadrant.scales}" in signature(rewritten(
                version, table, "quadrant-quantize{granularity=block block-size=5}"), "g")
        half = product(visibility="").replace("f32", "f16")
        assert "tensor<8xf32> {quadrant.scales}" in rewritten(version, half, "quadrant-quantize")


def test_what_stays_float_is_said():
    computed = [line.replace("arith.constant " + dense(WEIGHTS[1]), "math.sqrt %w0 : tensor<16x8xf32>") for line in BODY]
    referred = product() + ("func.func @main() -> ((tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>) {\n"
                            "  %f = constant @g : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>\n"
                            "  return %f : (tensor<3x16xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>\n}\n")
    declared = "func.func private @g(tensor<3x16xf32>, tensor<16x8xf32> {quadrant.weight}) -> tensor<3x8xf32>\n"
    unread = "func.func @g(%w: tensor<16x8xf32> {quadrant.weight}) -> tensor<16x8xf32> {\n  return %w : tensor<16x8xf32>\n}\n"
    twice = product(visibility="").replace("  return", "  %q = linalg.matmul ins(%w, %v : tensor<16x8xf32>, tensor<8x8xf32>) outs(%w : "
                                           "tensor<16x8xf32>) -> tensor<16x8xf32>\n  return").replace("%x:", "%v: tensor<8x8xf32>, %x:")
    for version in VERSIONS:
        check_unchanged(version, product() + printing(computed, "tensor<6x8xf32>"), "this call passes neither a constant nor")
        check_unchanged(version, referred, "not only calls refer to the function")
        check_unchanged(version, declared, "the function has no body")
        check_unchanged(version, unread, "no product and no lookup reads it")
        check_unchanged(version, twice, "different axes; quadrant.weight = 0 says")
        check_unchanged(version, product(visibility=""), "scheme=weight-only", "quadrant-quantize{scheme=static}")
        check_unchanged(version, product(visibility=""), "runs on the module", "func.func(quadrant-quantize)")
        open_extent = product(visibility="").replace("16x8", "?x8")
        done = plugin(version, open_extent, "quadrant-quantize")
        assert done.returncode == 0 and "all extents are known" in done.stderr, done.stderr
        for text in (product() + printing(BODY, "tensor<6x8xf32>"), product(visibility="")):
            check_unchanged(version, text, "zero points are not passed", "quadrant-quantize{symmetry=asymmetric}")
        inner = "module {\nmodule {\n" + product(visibility="") + "}\n}\n"
        check_unchanged(version, inner, "runs on the module that has it")
        # NaN in what one call passes: refused, or float for both.
        broken = WEIGHTS[1].copy()
        broken[2, 3] = np.nan
        text = product() + printing([line.replace(dense(WEIGHTS[1]), dense(broken)) for line in BODY], "tensor<6x8xf32>")
        assert plugin(version, text, "quadrant-quantize").returncode == 1
        check_unchanged(version, text, "argument 1 of 'g' stays float: this call passes a constant that stays float", "quadrant-quantize{non-finite=leave}")
        assert opt(version, rewritten(version, text, "quadrant-report{non-finite=leave}")) == opt(version, text)


def test_found_arguments_that_stay_float_are_said():
    """Nobody marked them: a remark names them, and says why."""
    text = product("") + printing(BODY, "tensor<6x8xf32>")
    small = "type='i4 * bf16[block=8] : f32'"
    cases = [("type=nf4", "type=nf4: arguments become integers and one scale for each group, no other codes"),
             ("symmetry=asymmetric", "zero points are not passed: symmetry=symmetric has none"),
             (small, "scales of bf16 are not passed; scales=float16 makes them float16")]
    for version in VERSIONS:
        for options, why in cases:
            done = plugin(version, text, f"quadrant-quantize{{{options} gains=unit}}")
            assert done.returncode == 0 and "%arg1: tensor<16x8xf32>)" in done.stdout, done.stdout
            assert re.search(r"remark: argument 1 of 'g' stays float: .*" + re.escape(why), done.stderr), done.stderr
            said = plugin(version, text, f"quadrant-report{{{options} gains=unit}}").stderr
            assert re.search(r"argument#1: float: .*; .*" + re.escape(why), said), said
        done = plugin(version, text, "quadrant-quantize")
        assert "stays float" not in done.stderr and "{quadrant.codes}" in done.stdout, done.stderr
    assert "{quadrant.codes}" in rewritten(22, text, f"quadrant-quantize{{{small} scales=float16}}")
    # Of bfloat16, in blocks.
    half = text.replace("xf32", "xbf16").replace("f32", "bf16")
    for line in BODY[:4]:
        kind = line.split(" : ")[1].replace("f32", "bf16")
        half = half.replace(line.replace("f32", "bf16"), f"{line.split(' = ')[0]} = arith.constant dense<1.5> : {kind}")
    half = half[:half.index("func.func private @print")] + (
        "func.func @h() -> (tensor<3x8xbf16>, tensor<3x8xbf16>) {\n" + "\n".join(
            [f"%x{i} = arith.constant dense<{i + 1.5}> : tensor<3x16xbf16>\n%w{i} = arith.constant dense<{i + 0.5}> : tensor<16x8xbf16>\n"
             f"%y{i} = {CALL.format(i)}".replace("f32", "bf16") for i in range(2)]) +
        "\nreturn %y0, %y1 : tensor<3x8xbf16>, tensor<3x8xbf16>\n}\n")
    done = plugin(22, half, "quadrant-quantize{granularity=block block-size=8}")
    assert done.returncode == 0 and "remark: argument 1 of 'g' stays float: MLIR has the scales of its blocks as bf16 alone" in done.stderr, done.stderr
    assert "{quadrant.codes}" in rewritten(22, half, "quadrant-quantize{granularity=channel gains=unit}")


if __name__ == "__main__":
    run_tests(globals())
