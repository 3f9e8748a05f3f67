"""Weights of MLIR in number formats that its types do not say: what is quantized is verified, lowered and run, and
multiplies by the numbers that ONNX Runtime makes of the same weight in the same format, bit by bit.

Modules multiply by an identity, so that what they compute is the weight itself.
"""

import _peers

import json
import re

import numpy as np
import onnx
from onnx import helper

from _command import quadrant, run_tests, scratch
from _mlir import plugin, printed_numbers, rewritten, run_main
from _mlir_modules import Module, dense, type_of
from _models import info, model_of, run

RANDOM = np.random.default_rng(11)
WEIGHTS = {"even": RANDOM.standard_normal((64, 64)).astype(np.float32),
           "odd": RANDOM.standard_normal((37, 5)).astype(np.float32),
           "of several blocks": RANDOM.standard_normal((288, 3)).astype(np.float32)}
MORE = ["codebook:16", "codebook:16:channel", "codebook:8:group", "f6e2m3 * f32[block=8] : f32",
        "(u4 - z) * bf16[block=32] : f32", "(u2 - z) * f8e8m0[block=32] : f32", "i4 * f16[block=16] * u6[block=4] : f32",
        "(i8<-128:7> - z) * f32[block=2] : f32", "i4 * f32[channel] * i8<-128:7>[block=2] : f32"]  # wider below zero


def types():
    done = quadrant("list", "types", "--json")
    assert done.returncode == 0, done.stderr
    return [entry["type"] for entry in json.loads(done.stdout)["types"]]


def quoted(name):
    return f"type='{name}'" if " " in name else f"type={name}"


def by_onnx_runtime(weight, name, *options):
    """What the weight becomes: of a product with it on the right."""
    rows, columns = weight.shape
    made = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [rows, rows])],
                    [info("y", [rows, columns])], {"w": weight})
    with scratch() as folder:
        onnx.save(made, folder / "m.onnx")
        done = quadrant("quantize", folder / "m.onnx", "-o", folder / "q.onnx", "--scheme", "weight-only", "--type", name,
                        *options)
        assert done.returncode == 0, done.stderr
        return run(folder / "q.onnx", {"x": np.eye(rows, dtype=np.float32)})[0]


def product(weight, turned=False):
    """An identity times the weight, or times its transpose, which is transposed."""
    module = Module(7)
    x = module.input(*[weight.shape[0]] * 2)
    module.values[x] = np.eye(weight.shape[0], dtype=np.float32)
    name = "%w"
    module.values[name] = weight.T if turned else weight
    module.lines.append(f"%w = arith.constant {dense(module.values[name])}")
    if turned:
        name = module.transpose(name, 1, 0)
    return module.output(module.matmul(x, name))


def codes_of(made):
    """The type of the codes in place of the weight."""
    return re.search(r"%\w+ = arith\.constant dense(?:_resource)?<.*> : tensor<\d+x\d+x(i\d+)>", made).group(1)


def check_type(name, weight, version):
    module = product(weight)
    quantize = f"quadrant-quantize{{gains=unit {quoted(name)}}}"
    made = rewritten(version, module.program(), quantize)
    assert codes_of(made) != "f32" and not re.search(rf"arith\.constant.*: {type_of(weight)}", made.split("@main")[0]), made
    again = rewritten(version, made, "")  # what is printed is read, and verified
    assert again == made
    ours = module.parse(run_main(module.program(), f"{quantize},quadrant-lower-quant-ops", version=version))
    expected = by_onnx_runtime(weight, name)
    assert np.abs(expected - weight).max() > 0, "codes lose something"
    assert np.array_equal(ours, expected), np.abs(ours - expected).max()


def test_each_type():
    for version in (19, 22):
        for name in types() + MORE:
            for shape in WEIGHTS if version == 19 else ["of several blocks"]:
                yield f"{name}, {shape}, {version}", check_type, name, WEIGHTS[shape], version


def test_bits_that_are_stored():
    """Codes and scales are no wider than the format has them, but for integers between 4 and 8 bits."""
    expected = {"nf4": ["i4", "f32"], "fp8-e4m3": ["i8", "f32"], "mxfp4": ["i4", "i8"], "nvfp4": ["i4", "f32", "i8"],
                "codebook:16": ["i4"], "q4_k": ["i4", "f16", "i8", "f16", "i8"], "lpbq4": ["i4", "f32", "i8"]}
    for version in (19, 22):
        for name, kinds in expected.items():
            made = rewritten(version, product(WEIGHTS["of several blocks"]).program(),
                             f"quadrant-quantize{{gains=unit type={name}}}")
            read = re.search(r"ins\((?:%\w+(?:, )?)+ : ([^)]*)\) outs\(%\w+ : tensor<288x3xf32>\)", made).group(1)
            assert re.findall(r"(?:x|<)(i\d+|f\d+)>", read) == kinds, (name, read)


def test_uniform_types_are_quantized_types():
    weight = WEIGHTS["even"]
    for version in (19, 22):
        made = rewritten(version, product(weight).program(), "quadrant-quantize{type=int8}")
        assert re.search(r"!quant\.uniform<i8(<-\d+:127>)?:f32:1, ?\{", made), made
        # Blocks of unsigned integers: 22 has a type for them where they divide the weight.
        made = rewritten(version, product(weight).program(), "quadrant-quantize{type=uint4}")
        assert ("!quant.uniform<u4:f32:{0:32" in made) == (version == 22), made


def test_blocks_and_transposes():
    weight = WEIGHTS["even"]
    for version in (19, 22):
        for turned in (False, True):
            module = product(weight, turned)
            for options in ("type=nf4 block-size=16", "type=uint4 block-size=16"):
                quantize = f"quadrant-quantize{{gains=unit {options}}}"
                for pipeline in (quantize, f"func.func({quantize})"):
                    ours = module.parse(run_main(module.program(), f"{pipeline},quadrant-lower-quant-ops", version=version))
                    expected = by_onnx_runtime(weight, options.split()[0][5:], "--block-size", 16)
                    assert np.array_equal(ours, expected), (options, turned, np.abs(ours - expected).max())


LOOKUP = """func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}
func.func @main() {
  %ids = arith.constant dense<[3, 15, 0, 3]> : tensor<4xi64>
  CONSTANT
  %e = tensor.empty() : tensor<4x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<4xi64>) outs(%e : tensor<4x70xf32>) {
    ^bb0(%at: i64, %o: f32): %row = arith.index_cast %at : i64 to index %column = linalg.index 1 : index
      %v = tensor.extract %w[%row, %column] : tensor<16x70xf32> linalg.yield %v : f32 } -> tensor<4x70xf32>
  %u = tensor.cast %y : tensor<4x70xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
"""


def test_rows_that_are_looked_up():
    """Only what is read becomes floats; blocks lie along the rows."""
    table = RANDOM.standard_normal((16, 70)).astype(np.float32)
    text = LOOKUP.replace("CONSTANT", f"%w = arith.constant {dense(table)}")
    for version in (19, 22):
        for name in ("nf4", "nvfp4", "codebook:16:channel", "q4_k"):
            quantize = f"quadrant-quantize{{type={name} gains=unit}},quadrant-lower-quant-ops"
            assert "tensor<16x70xf32>" not in rewritten(version, text, quantize), name
            ours = printed_numbers(run_main(text, quantize, version=version)).reshape(4, 70)
            expected = by_onnx_runtime(np.ascontiguousarray(table.T), name).T[[3, 15, 0, 3]]
            assert np.allclose(ours, expected, rtol=1e-5, atol=1e-6), (name, np.abs(ours - expected).max())


def test_floats_of_other_widths():
    weight = WEIGHTS["even"]
    half = weight.astype(np.float16)
    text = (f"func.func @f(%x: tensor<2x64xf16>, %d: tensor<2x64xf16>) -> tensor<2x64xf16> {{\n"
            f'  %w = arith.constant dense<"0x{half.tobytes().hex().upper()}"> : tensor<64x64xf16>\n'
            "  %y = linalg.matmul ins(%x, %w : tensor<2x64xf16>, tensor<64x64xf16>) outs(%d : tensor<2x64xf16>) "
            "-> tensor<2x64xf16>\n  return %y : tensor<2x64xf16>\n}\n")
    for version in (19, 22):
        made = rewritten(version, text, "quadrant-quantize{type=nf4}")
        assert "arith.truncf" in made and "tensor<64x64xi4>" in made, made


ARGUMENT = """func.func @f(%x: tensor<3x64xf32>, %w: tensor<64x8xf32> {quadrant.weight}, %d: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<3x64xf32>, tensor<64x8xf32>) outs(%d : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
"""


def test_arguments():
    short = ARGUMENT.replace("64", "50")  # the last block is
    for version in (19, 22):
        done = plugin(version, short, "quadrant-quantize{type=int8 block-size=32}")
        assert done.returncode == 0 and "%arg1: tensor<50x8xf32>" in done.stdout, done.stdout
        assert "argument 1 of 'f' stays float: no quantized type of this version of MLIR is" in done.stderr, done.stderr
        done = plugin(version, ARGUMENT, "quadrant-quantize{type=int4}")
        assert done.returncode == 0 and "stays float: type=int4: scales below zero are not passed" in done.stderr, done.stderr
        for name in ("nf4", "lpbq4"):
            done = plugin(version, ARGUMENT, f"quadrant-quantize{{type={name}}}")
            assert done.returncode == 0 and "%arg1: tensor<64x8xf32>" in done.stdout, done.stdout
            assert f"argument 1 of 'f' stays float: type={name}: arguments become integers" in done.stderr, done.stderr
        done = plugin(version, ARGUMENT, "quadrant-quantize{type=uint8}")
        assert "stays float: type=uint8: zero points are not passed, and type=int8 has none" in done.stderr, done.stderr
        for advice, bits in (("type=int8", 8), ("bits=4", 4), *([("type='i4 * f16[block=32] : f32'", 4)] * (version == 22))):
            assert f"%arg1: tensor<64x8xi{bits}> {{quadrant.codes}}" in rewritten(version, ARGUMENT, f"quadrant-quantize{{{advice}}}")


def test_report():
    text = product(WEIGHTS["even"]).program()
    for version in (19, 22):
        done = plugin(version, text, "quadrant-report{type=nf4}")
        assert done.returncode == 0, done.stderr
        assert "arith.constant#0: codes of nf4: axis=0 block=64" in done.stderr, done.stderr
        assert "1 of 1 float constants become codes of nf4" in done.stderr, done.stderr
        assert done.stdout == rewritten(version, text, "")
        # Codes are those of the weight behind its transpose, which is one weight.
        said = plugin(version, product(WEIGHTS["even"], turned=True).program(), "quadrant-report{type=nf4}").stderr
        assert "1 of 1 float constants become codes of nf4" in said, said


DEPTHWISE = """func.func @f(%x: tensor<1x6x6x4xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %w = "tosa.const"() <{value = dense<0.5> : tensor<3x3x4x1xf32>}> : () -> tensor<3x3x4x1xf32>
  %y = tosa.depthwise_conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    : (tensor<1x6x6x4xf32>, tensor<3x3x4x1xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  return %y : tensor<1x4x4x4xf32>
}
"""


def test_why_a_depthwise_weight_has_no_blocks():
    said = plugin(19, DEPTHWISE, "quadrant-report{type=nf4}").stderr
    assert "runs along no whole axis of the weight, on which blocks would lie" in said and "no channels" not in said, said


def test_contents_that_are_not_here():
    weight = WEIGHTS["even"]
    text = product(weight).program()
    elided = re.sub(r"arith\.constant dense<[^>]*> : tensor<64x64xf32>\n(?=.*matmul)",
                    "arith.constant dense_resource<__elided__> : tensor<64x64xf32>\n", text, count=1, flags=re.DOTALL)
    assert "__elided__" in elided, text[:2000]
    for version in (19, 22):
        done = plugin(version, elided, "quadrant-quantize")
        assert done.returncode == 0 and "no value becomes codes: quadrant-report says why" in done.stderr, done.stderr
        assert "its contents are not here" in plugin(version, elided, "quadrant-report").stderr


def test_formats_without_a_sign():
    """What is below zero is lost, which is said, and the type that is advised has it."""
    weight = WEIGHTS["even"]
    name = "u8 * f32[channel] : f32"
    better = "type='(u8 - z) * f32[channel] : f32'"
    for version in (19, 22):
        for passes in ("quantize", "report"):
            done = plugin(version, product(weight).program(), f"quadrant-{passes}{{type='{name}'}}")
            assert done.returncode == 0, done.stderr
            assert f"what is below zero in arith.constant#0 becomes zero, since type='{name}' has no such values; {better} has" in \
                done.stderr, done.stderr
            done = plugin(version, product(np.abs(weight)).program(), f"quadrant-{passes}{{type='{name}'}}")
            assert done.returncode == 0 and "below zero" not in done.stderr, done.stderr
            assert "below zero" not in plugin(version, product(weight).program(), f"quadrant-{passes}{{{better}}}").stderr
        module = product(weight)
        ours = module.parse(run_main(module.program(), f"quadrant-quantize{{{better}}},quadrant-lower-quant-ops", version=version))
        assert np.abs(ours - weight).max() < np.ptp(weight, 0).max() / 255


def test_advice_works_as_printed():
    """`exclude` and `scales`, which the library's messages name."""
    broken, tiny = WEIGHTS["even"].copy(), WEIGHTS["even"] * np.float32(1e-7)
    broken[3, 4] = np.nan
    blocks = "type='i4 * f16[block=32] : f32'"
    for version in (19, 22):
        text = product(broken).function()
        said = plugin(version, text, "quadrant-quantize").stderr
        assert "exclude=arith.constant#0, or non-finite=leave" in said, said
        for advice in ("exclude=arith.constant#0", "exclude=f:arith.constant#0", "exclude=linalg.matmul#0", "non-finite=leave"):
            for passes in ("quantize", "report"):
                done = plugin(version, text, f"quadrant-{passes}{{{advice}}}")
                assert done.returncode == 0 and "xi8>" not in done.stdout, (advice, done.stderr)
        said = plugin(version, text, "quadrant-report{exclude=linalg.matmul#0,arith.constant#0}").stderr
        assert "excluded by exclude=arith.constant#0" in said, said
        done = plugin(version, product(WEIGHTS["even"]).program(), "quadrant-quantize{exclude=w}")
        assert done.returncode == 1 and "exclude=w: no function has it; quadrant-report says the names" in done.stderr, done.stderr
        text = product(tiny).program()
        done = plugin(version, text, f"quadrant-quantize{{{blocks}}}")
        assert done.returncode == 1 and "scales of float32 hold them" in done.stderr, done.stderr
        assert "x64xi4>" in rewritten(version, text, f"quadrant-quantize{{{blocks} scales=float32}}")
        for options, words in (("scales=f32", "scales=f32: there are float32, float16"),
                               ("scheme=static scales=float32", "scales is for scheme=weight-only")):
            done = plugin(version, text, f"quadrant-quantize{{{options}}}")
            assert done.returncode == 1 and words in done.stderr, done.stderr


def test_mistakes():
    text = product(WEIGHTS["even"]).program()
    for options, words in (("type=nf4 bits=8", "a type says what bits would"),
                           ("type=nf4 symmetry=symmetric", "a type says what symmetry would"),
                           ("type=nf4 granularity=tensor", "a type says what granularity would"),
                           ("type=nf4 clip=mse", "a type says what clip would"),
                           ("type=nf4 scheme=static", "type is for scheme=weight-only"),
                           ("type='i1 * f32[channel] : f32'", "codes of 1 bits: they have 2 to 16"),
                           ("type=nf5", "nf5"), ("type=int8 block-size=0", "block-size"),
                           ("type=codebook:16 block-size=8", "block")):
        for name in ("quadrant-quantize", "quadrant-report"):
            done = plugin(19, text, f"{name}{{{options}}}")
            assert done.returncode == 1 and words in done.stderr, (options, done.stderr)


if __name__ == "__main__":
    run_tests(globals())
