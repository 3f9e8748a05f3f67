"""Modules that are quantized twice: what a first run made of weights, codes, scales and tables, a second one leaves as it is.

What is run computes the same as after the first, bit by bit.
"""

import re

import _mlir  # first: ends the test where MLIR is missing

import numpy as np

from _command import run_tests
from _mlir import plugin, printed_numbers, rewritten, run_main
from _mlir_modules import Module, dense, type_of

RANDOM = np.random.default_rng(6)
FIRST = ["", "bits=4", "granularity=tensor symmetry=asymmetric", "type=nf4", "type=nvfp4", "type=codebook:16:channel", "type=q4_k",
         "type='i4 * f32[channel] * i8<-128:7>[block=2] : f32'"]
SECOND = ["", "type=nf4 gains=unit", "scheme=static gains=unit"]
LOWER = "quadrant-lower-quant-ops"


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def product():
    module = Module(3)
    return module.output(module.matmul(module.input(3, 64), module.weight(64, 48)))


TABLE = drawn(16, 70)
LOOKUP = f"""func.func private @printMemrefF32(tensor<*xf32>) attributes {{llvm.emit_c_interface}}
func.func @main() {{
  %ids = arith.constant dense<[3, 15, 0, 3]> : tensor<4xi64>
  %w = arith.constant {dense(TABLE)}
  %e = tensor.empty() : tensor<4x70xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x70xf32>) {{
    ^bb0(%at: i64, %o: f32): %row = arith.index_cast %at : i64 to index %column = linalg.index 1 : index
      %v = tensor.extract %w[%row, %column] : tensor<16x70xf32> linalg.yield %v : f32 }} -> tensor<4x70xf32>
  %u = tensor.cast %y : tensor<4x70xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}}
"""


def quantize(options):
    return f"quadrant-quantize{{{options}}}"


def check(text, numbers, first, version):
    """`numbers` reads what a program prints."""
    once = numbers(run_main(text, f"{quantize(first)},{LOWER}", version=version))
    for between in ("", f"{LOWER},canonicalize,cse,"):
        for second in SECOND:
            made = rewritten(version, text, f"{quantize(first)},{between}{quantize(second)}")
            plain = rewritten(version, text, f"{quantize(first)},{between}".rstrip(","))
            assert made == plain, (between, second, made)
        twice = numbers(run_main(text, f"{quantize(first)},{between}{quantize(SECOND[1])},{LOWER}", version=version))
        assert np.array_equal(twice, once), (between, np.abs(twice - once).max())


def test_twice():
    for version in (19, 22):
        for first in FIRST + ["granularity=block"] * (version == 22):
            module = product()
            yield f"a product, {first}, {version}", check, module.program(), module.parse, first, version
            yield f"a lookup, {first}, {version}", check, LOOKUP, printed_numbers, first, version


def test_it_is_said():
    text = product().function()
    for version in (19, 22):
        for first in ("", "type=nf4"):
            once = rewritten(version, text, quantize(first))
            done = plugin(version, once, "quadrant-quantize")
            assert done.returncode == 0 and "no value becomes codes: what could is quantized already" in done.stderr, done.stderr
        done = plugin(version, once, "quadrant-report")
        assert "it is a part of a weight that is quantized already" in done.stderr, done.stderr
        assert "of 0 float constants" not in done.stderr and "its contents are not here" not in done.stderr, done.stderr


LAYER = """func.func private @g(%ids: tensor<4xi64>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%at: i64, %o: f32): %row = arith.index_cast %at : i64 to index %column = linalg.index 1 : index
      %v = tensor.extract %w[%row, %column] : tensor<16x8xf32> linalg.yield %v : f32 } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
"""


def test_arguments_that_are_scales():
    """Of blocks of a table: they have rows, and are looked up, but are no weights."""
    tables = drawn(16, 8), drawn(16, 8)
    body = "\n".join(f"  %w{i} = arith.constant {dense(table)}\n  %y{i} = call @g(%ids, %w{i}) : (tensor<4xi64>, {type_of(table)}) "
                     "-> tensor<4x8xf32>" for i, table in enumerate(tables))
    text = LAYER + ("func.func @f(%ids: tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {\n" + body +
                    "\n  return %y0, %y1 : tensor<4x8xf32>, tensor<4x8xf32>\n}\n")
    for version in (19, 22):
        for options in ["", *["granularity=block block-size=4"] * (version == 22)]:
            once = rewritten(version, text, quantize(options))
            assert re.search(r"%arg2: tensor<16(x2)?xf32> \{quadrant.scales\}", once), once
            # Scales that somebody else passes, who says nothing of them, too.
            for passed in (once, once.replace("arith.constant {quadrant.part}", "arith.constant")):
                expected = rewritten(version, passed, "")
                assert rewritten(version, passed, quantize(options)) == expected


if __name__ == "__main__":
    run_tests(globals())
