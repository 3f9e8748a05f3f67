"""The plug-in for mlir-opt: modules are quantized by the four phases, lowered to LLVM and run; what they
compute is what the library's interpreter makes of the same module, exported.
"""

import re
import subprocess

import _mlir  # first: ends the test where MLIR is missing

import numpy as np
import onnx

from _command import quadrant, run_tests, scratch
from _mlir import PLUGINS, plugin, rewritten, run_main, tool
from _mlir_modules import Module, dense, networks

LOWER = "quadrant-lower-quant-ops"


def interpreted(module, passes):
    """What the library's interpreter makes of @f behind `passes`."""
    with scratch() as folder:
        model = folder / "model.onnx"
        rewritten(19, module.program(), f"{passes}quadrant-export{{to={model} function=f}}")
        np.savez(folder / "sample.npz", **{f"argument_{i}": module.values[name]
                                           for i, name in enumerate(module.inputs)})
        done = quadrant("run", model, "--data", folder / "sample.npz", "-o", folder / "out")
        assert done.returncode == 0, done.stderr
        return np.load(folder / "out" / "sample.npz")["result_0"]


def close(ours, theirs, bound=1e-5):
    error = np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())
    assert error <= bound, f"differ by {error}"


# --- whole pipelines ----------------------------------------------------------------------------


def check_float(module):
    ours = module.parse(run_main(module.program()))
    close(ours, module.values[module.result])
    close(interpreted(module, ""), module.values[module.result])


def test_the_modules_compute_what_they_say():
    for name, module in networks():
        yield name, check_float, module


def check_weights(module, options):
    quantize = f"quadrant-quantize{{{options}}},"
    text = rewritten(19, module.program(), quantize[:-1])
    codes = len(re.findall(r"arith\.constant dense<.*> : tensor<[0-9x]+xi(?:8|4)>", text))
    assert codes == len(module.weights), f"{codes} of {len(module.weights)} weights are codes"
    ours = module.parse(run_main(module.program(), quantize + LOWER))
    theirs = interpreted(module, quantize)
    close(ours, theirs)
    real = module.values[module.result]
    assert not np.array_equal(ours, real), "nothing was rounded"
    close(ours, real, 0.03 if "bits=8" in options else 0.4)  # it is still the same network


def test_weight_only():
    for options in ("bits=8", "bits=4", "bits=8 granularity=tensor", "bits=4 symmetry=asymmetric"):
        for name, module in networks():
            yield f"{options}, {name}", check_weights, module, options


def channel_codes(weight, axis, largest):
    """Symmetric codes and scales, by the definition (arXiv 1712.05877), in float32."""
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scales = np.abs(weight).max(others, keepdims=True) / np.float32(largest)
    return np.rint(weight / scales).astype(np.int32), scales.astype(np.float32)


def test_weights_are_by_their_definition():
    """Codes and scales of a matrix, without any of the library's code."""
    module = Module(20)
    module.output(module.matmul(module.input(3, 16), module.weight(16, 5)))
    text = rewritten(19, module.function(), "quadrant-quantize{bits=8}")
    codes, scales = channel_codes(next(iter(module.weights.values())), 1, 127)
    found = re.search(r"dense<(.*?)> : tensor<16x5xi8>", text)[1]
    assert np.array_equal(np.array(eval(found)), codes), "codes"
    printed = re.search(r"!quant\.uniform<i8<-127:127>:f32:1, \{(.*?)\}>", text)[1].split(",")
    assert np.array_equal(np.array([float(scale) for scale in printed], np.float32), scales[0])


def check_static(module, products, sums):
    quantize = f"quadrant-quantize{{{{scheme=static gains=unit products={{}} sums={sums}}}}},".format
    text = rewritten(19, module.program(), quantize(products)[:-1])
    assert "quant.qcast" in text, text[:3000]
    ours = module.parse(run_main(module.program(), quantize(f"{products} saturation=allow") + LOWER))
    theirs = interpreted(module, quantize("casts saturation=allow"))
    close(ours, theirs)
    real = module.values[module.result]
    close(ours, real, 0.1)  # it is still the same network
    return text


def test_static():
    for products in ("integers", "casts"):
        for sums in ("real", "codes"):
            for name, module in networks(has_stats=True):
                yield f"{products}, {sums}, {name}", check_static, module, products, sums


def test_sums_are_not_rounded_for_who_reads_real_numbers():
    """With the default, what is lost is lost by the factors alone, and a product needs no range."""
    for version in (19, 22):
        module = Module(26, has_stats=True)
        x, weight = module.input(64, 32), module.weight(32, 16)
        module.output(module.matmul(x, weight))
        exact, text = module.values[module.result], module.program()
        without = re.sub(r"linalg\.matmul \{quadrant\.stats = [^}]*\}", "linalg.matmul", text)
        assert without != text
        errors = [np.square(module.parse(run_main(of, f"quadrant-quantize{{scheme=static {options}}},{LOWER}",
                                                  version=version)) - exact).sum()
                  for of, options in ((without, ""), (text, ""), (text, "sums=codes"))]
        assert 0 < errors[0] == errors[1] < 0.8 * errors[2], errors
        # The definition, in numpy: codes of both, the integers' sum, both scales.
        data, low, high = module.values[x], module.values[x].min(), module.values[x].max()
        scale = np.float32((float(high) - float(low)) / 255)
        zero = np.clip(np.rint(-128 - low / scale), -128, 127)
        codes = np.clip(np.rint(data / scale) + zero, -128, 127) - zero
        of_weight, scales = channel_codes(module.values[weight], 1, 127)
        expected = (codes.astype(np.int64) @ of_weight) * (scale.astype(np.float64) * scales)
        close(module.parse(run_main(text, f"quadrant-quantize{{scheme=static}},{LOWER}", version=version)), expected)


def test_sums_of_integers_are_linalgs_where_it_has_them():
    wanted = {"matmul": "linalg.quantized_matmul", "batch": "linalg.quantized_batch_matmul",
              "conv nhwc_hwcf": "linalg.conv_2d_nhwc_hwcf_q",
              "depthwise": "linalg.depthwise_conv_2d_nhwc_hwc_q", "transposed": "linalg.generic"}
    for name, module in networks(has_stats=True):
        if name in wanted:
            text = rewritten(19, module.function(), "quadrant-quantize{scheme=static gains=unit}")
            assert wanted[name] in text, f"{name}: {text[:2000]}"


def test_a_quantized_module_becomes_tflite():
    """All products of an exported module are on codes in TFLite."""
    module = Module(25, has_stats=True)
    hidden = module.matmul(module.input(4, 32), module.weight(32, 16))
    module.output(module.matmul(hidden, module.weight(16, 8)))
    with scratch() as folder:
        exported, model = folder / "q.onnx", folder / "q.tflite"
        rewritten(19, module.function(), "quadrant-quantize{scheme=static gains=unit products=casts},"
                  f"quadrant-export{{to={exported}}}")
        done = quadrant("convert", exported, model)
        assert done.returncode == 0, done.stderr
        assert re.search(r"matmul +2 +0", done.stdout), done.stdout


BIASED = """func.func @f(%x: tensor<4x32xf32> {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>})
    -> tensor<4x16xf32> {
  %w = arith.constant WEIGHT
  %b = arith.constant BIAS
  %e = tensor.empty() : tensor<4x16xf32>
  %d = STRETCHED
  %y = linalg.matmul {quadrant.stats = dense<[-30.0, 30.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<4x32xf32>, tensor<32x16xf32>) outs(%d : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
"""
STRETCHED = (
    "linalg.broadcast ins(%b : tensor<16xf32>) outs(%e : tensor<4x16xf32>) dimensions = [0]",
    "linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], "
    "iterator_types = [\"parallel\", \"parallel\"]} ins(%b : tensor<16xf32>) outs(%e : tensor<4x16xf32>) "
    "{ ^bb0(%i: f32, %o: f32): linalg.yield %i : f32 } -> tensor<4x16xf32>",
    "arith.constant REPEATED")


def biased(stretched):
    """The function, and its three constants and result for `x`."""
    random = np.random.default_rng(31)
    x, weight, bias = (random.standard_normal(shape).astype(np.float32)
                       for shape in ((4, 32), (32, 16), 16))
    text = BIASED.replace("STRETCHED", stretched)
    for word, value in (("WEIGHT", weight), ("BIAS", bias), ("REPEATED", np.tile(bias, (4, 1)))):
        text = text.replace(word, dense(value))
    return text, x, x @ weight + bias


def exported_values(exported, x):
    with scratch() as folder:
        np.savez(folder / "sample.npz", argument_0=x)
        done = quadrant("run", exported, "--data", folder / "sample.npz", "-o", folder / "out")
        assert done.returncode == 0, done.stderr
        return np.load(folder / "out" / "sample.npz")["result_0"]


def test_what_sums_begin_with_is_a_bias_in_tflite():
    for stretched in STRETCHED:
        text, x, expected = biased(stretched)
        with scratch() as folder:
            exported, model = folder / "q.onnx", folder / "q.tflite"
            rewritten(19, text, f"quadrant-export{{to={exported}}}")
            close(exported_values(exported, x), expected)
            rewritten(19, text, "quadrant-quantize{scheme=static gains=unit products=casts},"
                      f"quadrant-export{{to={exported}}}")
            close(exported_values(exported, x), expected, 0.02)
            done = quadrant("convert", exported, model)
            assert done.returncode == 0, done.stderr
            assert "1 of 1 operations compute on codes" in done.stdout and re.search(r"gemm +1 +0", done.stdout), done.stdout
            close(exported_values(model, x), expected, 0.02)


def test_convolutions_with_a_bias_are_on_codes_in_tflite():
    names = {name: module for name, module in networks(has_stats=True) if "with a bias" in name}
    assert len(names) == 4
    for name, module in names.items():
        with scratch() as folder:
            exported, model = folder / "q.onnx", folder / "q.tflite"
            rewritten(19, module.function(), "quadrant-quantize{scheme=static gains=unit products=casts},"
                      f"quadrant-export{{to={exported} function=f}}")
            done = quadrant("convert", exported, model)
            assert done.returncode == 0, done.stderr
            found = re.search(r"(\d+) of (\d+) operations compute on codes", done.stdout)
            assert found and found[1] == found[2], f"{name}: {done.stdout}"


REGIONS = """func.func @f(%x: tensor<2x4xf32>, %n: index) -> tensor<2x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = arith.constant dense<1.5> : tensor<4x4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<2x4xf32>) {
    %b = arith.constant dense<0.5> : tensor<4x4xf32>
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4xf32>
    %d = linalg.fill ins(%z : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
    %y = linalg.matmul ins(%a, %w : tensor<2x4xf32>, tensor<4x4xf32>) outs(%d : tensor<2x4xf32>)
      -> tensor<2x4xf32>
    %q = linalg.matmul ins(%y, %b : tensor<2x4xf32>, tensor<4x4xf32>) outs(%d : tensor<2x4xf32>)
      -> tensor<2x4xf32>
    scf.yield %q : tensor<2x4xf32>
  }
  return %r : tensor<2x4xf32>
}
"""


def test_weights_in_and_for_regions():
    quantized = rewritten(19, REGIONS, "quadrant-quantize")
    assert quantized.count("tensor<4x4xi8>\n") == 2, quantized
    assert rewritten(22, REGIONS, f"quadrant-quantize,{LOWER}").count("quant") == 0


TOSA = """func.func @g(%x: tensor<1x5x5x3xf32>, %m: tensor<1x2x4xf32>)
    -> (tensor<1x3x3x2xf32>, tensor<1x2x3xf32>, tensor<4x2xf32>) {
  %w = "tosa.const"() <{value = dense<0.25> : tensor<2x3x3x3xf32>}> : () -> tensor<2x3x3x3xf32>
  %b = "tosa.const"() <{value = dense<0.25> : tensor<2xf32>}> : () -> tensor<2xf32>
  %y = tosa.conv2d %x, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>,
    stride = array<i64: 1, 1>} : (tensor<1x5x5x3xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>)
    -> tensor<1x3x3x2xf32>
  %v = "tosa.const"() <{value = dense<0.5> : tensor<1x3x4xf32>}> : () -> tensor<1x3x4xf32>
  %p = "tosa.const"() <{value = dense<[0,2,1]> : tensor<3xi32>}> : () -> tensor<3xi32>
  %t = tosa.transpose %v, %p : (tensor<1x3x4xf32>, tensor<3xi32>) -> tensor<1x4x3xf32>
  %o = tosa.matmul %m, %t : (tensor<1x2x4xf32>, tensor<1x4x3xf32>) -> tensor<1x2x3xf32>
  %k = "tosa.const"() <{value = dense<2.0> : tensor<2x75xf32>}> : () -> tensor<2x75xf32>
  %s = arith.constant dense<1.0> : tensor<4x75xf32>
  %f = tosa.fully_connected %s, %k, %b : (tensor<4x75xf32>, tensor<2x75xf32>, tensor<2xf32>)
    -> tensor<4x2xf32>
  return %y, %o, %f : tensor<1x3x3x2xf32>, tensor<1x2x3xf32>, tensor<4x2xf32>
}
"""


def test_tosa():
    made = rewritten(19, TOSA, "quadrant-quantize")
    for weight, axis in (("2x3x3x3", 0), ("1x3x4", None), ("2x75", 0), ("1x4x3", 2)):
        assert f"tensor<{weight}xi8>" in made, f"{weight}: {made}"
        if axis is not None:
            assert f"tensor<{weight}x!quant.uniform<i8<-127:127>:f32:{axis}, {{" in made, made


def test_the_example():
    script = _mlir.ROOT / "examples" / "mlir" / "run.sh"
    done = subprocess.run([script, PLUGINS[19]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^[a-z].*$", done.stdout, re.MULTILINE)
    assert names == ["float", "weights of 8 bits", "weights of 4 bits", "all in 8 bits"], done.stdout
    numbers = np.array(re.findall(r"-?\d+\.\d+", done.stdout), float).reshape(4, 4)
    x = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, -1.0, 2.0]])
    w1 = np.array([[0.8, -0.3, 0.5], [-0.6, 0.9, 0.1], [0.2, 0.4, -0.7], [0.1, -0.2, 0.3]])
    w2 = np.array([[0.7, -0.4], [0.3, 0.6], [-0.5, 0.2]])
    y = ((x @ w1 + [0.1, -0.1, 0.2]) @ w2).reshape(4)
    for found, bound in zip(numbers, (1e-5, 0.02, 0.4, 0.03)):
        assert np.abs(found - y).max() < bound, f"{found}: {y}"


# --- what else holds ----------------------------------------------------------------------------


def remarks(text, passes):
    done = plugin(19, text, passes)
    assert done.returncode == 0, done.stderr
    assert done.stdout == _mlir.opt(19, text), "the report changed the module"
    return re.findall(r"remark: (.*)", done.stderr)


def test_the_report_says_what_and_why():
    module = Module(23)
    x = module.input(3, 16)
    weight, other = module.weight(16, 5), module.weight(3, 5)
    text = module.output(module.add(module.matmul(x, weight), other)).function()
    found = remarks(text, "quadrant-report{bits=4}")
    wanted = ("arith.constant#0: codes: axis=1", "arith.constant#1: float: no operation requests",
              "argument#0: float: scheme 'weight_only' has no method for 'input'",
              "func.return#0: float: scheme 'weight_only' has no method for 'func.return'",
              "1 of 2 float constants become codes")
    for words in wanted:
        assert any(words in line for line in found), f"{words}: {found}"
    assert remarks(text, "quadrant-report")  # no option is needed


ELIDED = """func.func @f(%x: tensor<2x4xf32>, %d: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = arith.constant dense_resource<__elided__> : tensor<4x3xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x3xf32>) outs(%d : tensor<2x3xf32>)
    -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""


def test_elided_contents_are_left_with_a_remark():
    for scheme in ("weight-only", "static"):
        assert rewritten(19, ELIDED, f"quadrant-quantize{{scheme={scheme}}}") == _mlir.opt(19, ELIDED)
        found = remarks(ELIDED, f"quadrant-report{{scheme={scheme}}}")
        assert any("its contents are not here" in line for line in found), found


def test_resources_of_any_size():
    """A blob of another size than its type's is left alone; one that fits becomes codes."""
    resources = '{{-#\n dialect_resources: {{ builtin: {{ blob: "0x04000000{}" }} }}\n#-}}\n'.format
    weight = np.arange(12, dtype=np.float32)
    for count in (0, 1, 5, 11, 12, 13, 100):
        content = np.resize(weight, count).tobytes().hex()
        text = ELIDED.replace("__elided__", "blob") + resources(content)
        made = rewritten(19, text, "quadrant-quantize")
        assert ("xi8>" in made) == (count == 12), f"{count}: {made}"


def test_a_large_weight_becomes_a_resource():
    module = Module(24)
    module.output(module.matmul(module.input(1, 512), module.weight(512, 256)))
    made = rewritten(19, module.function(), "quadrant-quantize")
    assert "dense_resource<" in made and "dialect_resources" in made, made[:500]
    quantize = "quadrant-quantize,"
    ours = module.parse(run_main(module.program(), quantize + LOWER))
    close(ours, interpreted(module, quantize))


ELEMENTWISE = """func.func @f(%a: tensor<2x2xf32> {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>})
    -> tensor<2x2xf32> {
  %b = arith.constant dense<[[1.0, 2.0], [3.0, -1.0]]> : tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %y = linalg.OP {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>}
    ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
"""


def test_element_by_element_is_no_product():
    for name in ("sub", "mul", "div", "max"):
        for version in (19, 22):
            for options in ("bits=8", "scheme=static gains=unit"):
                text = ELEMENTWISE.replace("OP", name)
                made = rewritten(version, text, f"quadrant-quantize{{{options}}}")
                assert f"linalg.{name}" in made and "muli" not in made and "xi8" not in made, made


LIKE_A_PRODUCT = """func.func @f(%x: tensor<2x4xf32> {quadrant.stats = dense<[-3.0, 3.0]> : tensor<2xf32>},
    %d: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = arith.constant dense<0.5> : tensor<4x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"],
    quadrant.stats = dense<[-6.0, 6.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<2x4xf32>, tensor<4x3xf32>) outs(%d : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    BODY
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
WINDOWED = """func.func @f(%x: tensor<1x6x3xf32> {quadrant.stats = dense<[-3.0, 3.0]> : tensor<2xf32>},
    %d: tensor<1x4x5xf32>) -> tensor<1x4x5xf32> {
  %w = arith.constant dense<0.5> : tensor<3x3x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, w, f, v, c) -> (n, w + v, c)>,
    affine_map<(n, w, f, v, c) -> (v, c, f)>, affine_map<(n, w, f, v, c) -> (n, w, f)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"],
    quadrant.stats = dense<[-6.0, 6.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<1x6x3xf32>, tensor<3x3x5xf32>) outs(%d : tensor<1x4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    BODY
    linalg.yield %s : f32
  } -> tensor<1x4x5xf32>
  return %y : tensor<1x4x5xf32>
}
"""
BODIES = (  # what they compute, and whether that is a sum of products
    ("%t = arith.mulf %a, %b : f32\n%s = arith.addf %c, %t : f32", True),
    ("%t = arith.mulf %b, %a : f32\n%s = arith.addf %t, %c : f32", True),
    ("%t = arith.addf %a, %b : f32\n%s = arith.maximumf %c, %t : f32", False),
    ("%t = arith.mulf %a, %b : f32\n%s = arith.subf %c, %t : f32", False),
    ("%t = arith.mulf %a, %a : f32\n%s = arith.addf %c, %t : f32", False),
    ("%t = arith.mulf %a, %c : f32\n%s = arith.addf %b, %t : f32", False),
    ("%r = arith.subf %a, %b : f32\n%t = arith.mulf %r, %r : f32\n%s = arith.addf %c, %t : f32", False),
    ("%r = math.absf %a : f32\n%t = arith.mulf %r, %b : f32\n%s = arith.addf %c, %t : f32", False),
)


def test_only_sums_of_products_are_products():
    """Whatever the maps look like."""
    for version in (19, 22):
        for frame in (LIKE_A_PRODUCT, WINDOWED):
            for body, is_product in BODIES:
                text = frame.replace("BODY", body)
                made = rewritten(version, text, "quadrant-quantize{scheme=static gains=unit}")
                assert ("arith.muli" in made) == is_product and ("xi8>" in made) == is_product, made


def test_bodies_that_compute_nothing():
    """Version 19's own look at contractions fails there."""
    for frame in (LIKE_A_PRODUCT, WINDOWED):
        for yielded in ("%a", "%b", "%c"):
            text = frame.replace("BODY", "").replace("linalg.yield %s", f"linalg.yield {yielded}")
            for options in ("bits=8", "scheme=static gains=unit"):
                assert rewritten(19, text, f"quadrant-quantize{{{options}}}") == _mlir.opt(19, text)


def test_types_that_say_nothing_are_left():
    """Each took mlir-opt down once."""
    calibrated = ("func.func @f(%x: tensor<!quant.calibrated<f32<-1.0:1.0>>>) {\n  return\n}\n")
    unranked = ELIDED.replace("dense_resource<__elided__>", "dense<0.5>").replace(
        "  %y", "  %u = tensor.cast %w : tensor<4x3xf32> to tensor<*xf32>\n"
        "  %r = tensor.cast %u : tensor<*xf32> to tensor<4x3xf32>\n  %y").replace("%x, %w", "%x, %r")
    buffers = """func.func @f(%a: memref<2xf32>, %b: memref<2xf32>, %c: memref<2xf32>) {
  linalg.add {quadrant.stats = dense<[-1.0, 1.0]> : tensor<2xf32>}
    ins(%a, %b : memref<2xf32>, memref<2xf32>) outs(%c : memref<2xf32>)
  return
}
"""
    for text in (calibrated, unranked, buffers):
        for version in (19, 22):
            for options in ("bits=8", "scheme=static gains=unit"):
                rewritten(version, text, f"quadrant-quantize{{{options}}}")
                rewritten(version, text, f"quadrant-report{{{options}}}")
    said, = remarks(buffers, "quadrant-report")
    assert "linalg.add" in said and "buffers" in said, said


def test_non_finite_weights():
    text = ELIDED.replace("dense_resource<__elided__>",
                          "dense<[[0x7FC00000, 1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]>")
    done = plugin(19, text, "quadrant-quantize")
    # At the constant, which is in the second line.
    assert done.returncode == 1 and ":2:8: error:" in done.stderr and "nan" in done.stderr, done.stderr
    left = rewritten(19, text, "quadrant-quantize{non-finite=leave}")
    assert left == _mlir.opt(19, text), left


WEIGHT = ELIDED.replace("dense_resource<__elided__>", "dense<0.5>")


def test_what_is_computed_from_itself():
    """In blocks that nothing reaches that is allowed: the function is left, others are not."""
    loop = """func.func @loop(%x: tensor<2xf32>) {
  return
^bb1:
  %z = arith.addf %z, %x : tensor<2xf32>
  cf.br ^bb1
}
"""
    done = plugin(19, loop + WEIGHT, "quadrant-quantize")
    assert done.returncode == 0 and ":4:8: warning:" in done.stderr, done.stderr
    assert "arith.addf" in done.stdout and "xi8>" in done.stdout, done.stdout


def test_tensors_with_an_encoding_are_left():
    text = WEIGHT.replace("4x3xf32>", '4x3xf32, "packed">')
    for scheme in ("weight-only", "static"):
        assert rewritten(19, text, f"quadrant-quantize{{scheme={scheme}}}") == _mlir.opt(19, text)


RANGES = """func.func @f(%x: tensor<2x4xDATA> {quadrant.stats = dense<[-LARGE, LARGE]> : tensor<2xf32>},
    %d: tensor<2x3xSUM>) -> tensor<2x3xSUM> {
  %w = arith.constant dense<VALUE> : tensor<4x3xWEIGHT>
  %y = linalg.matmul {quadrant.stats = dense<[-1.0, 1.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<2x4xDATA>, tensor<4x3xWEIGHT>) outs(%d : tensor<2x3xSUM>) -> tensor<2x3xSUM>
  return %y : tensor<2x3xSUM>
}
"""


def ranges(data="f32", weight="f32", result="f32", large="4.0", value="0.5"):
    text = RANGES
    for word, by in zip(("DATA", "WEIGHT", "SUM", "LARGE", "VALUE"), (data, weight, result, large, value)):
        text = text.replace(word, by)
    return text


def test_types_of_operands_that_differ():
    """A sum has the type of the result, whatever its factors are of."""
    for version in (19, 22):
        for types in (("f16", "f64", "f32"), ("f16", "f16", "f32"), ("bf16", "f32", "f64")):
            made = rewritten(version, ranges(*types), "quadrant-quantize{scheme=static gains=unit}")
            assert f"!quant.uniform<i32:{types[2]}:1" in made, made
            rewritten(version, made, LOWER)


def test_small_numbers_of_float16():
    """No scale is below the spacing of float16, 2^-24; version 22 would refuse it."""
    for version in (19, 22):
        for options in ("bits=8", "bits=4 symmetry=asymmetric", "scheme=static gains=unit"):
            # One step of the spacing, in a tensor large enough to be worth it.
            text = ranges("f16", "f16", "f16", value="6.0e-8").replace("4x", "40x")
            made = rewritten(version, text, f"quadrant-quantize{{{options}}}")
            scales = set(re.findall(r"5\.9604644775390625E-8(?::-?[0-9]+)?", made))
            assert len(scales) == 1 and "!quant.uniform<" in made, made
            lowered = rewritten(version, made, LOWER)
            assert "!quant" not in lowered


def test_ranges_up_to_the_largest_number():
    made = rewritten(19, ranges(large="3.4e38"), "quadrant-quantize{scheme=static gains=unit}")
    scale = float(re.search(r"!quant\.uniform<i8:f32, ([0-9.E+]+)>", made)[1])
    assert abs(scale / (2 * 3.4e38 / 255) - 1) < 0.01, scale
    # No number of float16 is as large.
    text = ranges("f16", "f16", "f16", large="1.0e6")
    made = rewritten(19, text, "quadrant-quantize{scheme=static gains=unit}")
    assert "qcast\"(%arg0)" not in made, made


def test_ranges_that_are_none():
    for stats in ("dense<[1.0, -1.0]> : tensor<2xf32>", "dense<[0.0, 1.0e300]> : tensor<2xf64>",
                  "dense<[1, 2]> : tensor<2xi32>", "dense<0.0> : tensor<3xf32>", '"wide"'):
        text = ranges().replace("dense<[-1.0, 1.0]> : tensor<2xf32>", stats)
        done = plugin(19, text, "quadrant-quantize{scheme=static}")
        assert done.returncode == 1 and ":4:8: error:" in done.stderr, done.stderr
        assert "quadrant.stats is [min, max]" in done.stderr, done.stderr
        assert "xi8>" in rewritten(19, text, "quadrant-quantize"), "weight-only has no use for it"


def test_static_says_when_nothing_came_of_it():
    done = plugin(19, ranges(), "quadrant-quantize{scheme=static}")
    assert done.returncode == 0 and done.stdout == _mlir.opt(19, ranges()), done.stdout
    assert ":1:1: remark: no value becomes codes" in done.stderr and "gains=unit" in done.stderr, done.stderr


def test_nothing_without_ranges():
    """The remedy is named, by both passes; a file's ranges are as good as attributes'."""
    bare = re.sub(r" *\{quadrant\.stats = [^}]*\}", "", ranges())
    assert "quadrant.stats" not in bare
    for name in ("quantize", "report"):
        done = plugin(19, bare, f"quadrant-{name}{{scheme=static}}")
        assert done.returncode == 0 and "no range of any is known; quadrant.stats" in done.stderr, done.stderr
    weightless = re.sub(r"arith.constant dense<.*> : tensor<(\d+x\d+)xf32>", r"tensor.empty() : tensor<\1xf32>", bare)
    assert "remark" not in plugin(19, weightless, "quadrant-quantize").stderr
    small = Module(3)
    small.output(small.matmul(small.input(2, 1), small.weight(1, 1)))  # one weight: its scale takes as much
    assert "no value becomes codes" in plugin(19, small.function(), "quadrant-quantize").stderr


def test_weights_that_are_no_numbers():
    """The report says of them what quantize does, and what may be done."""
    weight = np.ones((4, 2), np.float32)
    weight[0, 0] = np.nan
    text = f"""func.func @f(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {{
  %w = arith.constant {dense(weight)}
  %e = tensor.empty() : tensor<2x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x2xf32>) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}}
"""
    for name in ("quantize", "report"):
        done = plugin(19, text, f"quadrant-{name}{{gains=unit}}")
        assert done.returncode == 1 and ":2:8: error:" in done.stderr and "non-finite=leave" in done.stderr, done.stderr
    said = " ".join(remarks(text, "quadrant-report{gains=unit non-finite=leave}"))
    assert "0 of 1 float constants" in said and "element 0 is nan" in said, said


def test_what_a_lookup_gives_is_no_position():
    """A product of it is on integers: what was looked up is not what it was looked up by."""
    table, weight = (np.random.default_rng(9).uniform(-1, 1, shape).astype(np.float32) for shape in ((20, 16), (16, 8)))
    text = f"""func.func @f(%i: tensor<4xi64>) -> tensor<4x8xf32> {{
  %t = arith.constant {dense(table)}
  %w = arith.constant {dense(weight)}
  %e = tensor.empty() : tensor<4x16xf32>
  %h = linalg.generic {{quadrant.stats = dense<[-1.0, 1.0]> : tensor<2xf32>,
    indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
    ins(%i : tensor<4xi64>) outs(%e : tensor<4x16xf32>) {{
    ^bb0(%a: i64, %o: f32):
      %r = arith.index_cast %a : i64 to index
      %j = linalg.index 1 : index
      %v = tensor.extract %t[%r, %j] : tensor<20x16xf32>
      linalg.yield %v : f32 }} -> tensor<4x16xf32>
  %c = arith.constant 0.0 : f32
  %p = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%p : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}}
"""
    for version in (19, 22):
        assert "linalg.quantized_matmul" in rewritten(version, text, "quadrant-quantize{scheme=static gains=unit}")


def test_exported_weights_never_saturate():
    """Any two codes of a scale, times 255 each, are within 16 bits: whichever of them a kernel pairs."""
    module = Module(25, has_stats=True)
    hidden = module.matmul(module.input(4, 32), module.weight(32, 16))
    module.output(module.matmul(hidden, module.weight(16, 8)))
    with scratch() as folder:
        for granularity in ("channel", "tensor"):
            exported = folder / f"{granularity}.onnx"
            rewritten(19, module.function(), f"quadrant-quantize{{scheme=static gains=unit products=casts "
                      f"granularity={granularity}}},quadrant-export{{to={exported}}}")
            weights = [onnx.numpy_helper.to_array(each) for each in onnx.load(exported).graph.initializer]
            weights = [each.astype(int) for each in weights if each.dtype == np.int8 and each.ndim == 2]
            assert len(weights) == 2
            for codes in weights:
                codes = np.sort(codes, 0) if granularity == "channel" else np.sort(codes.reshape(-1, 1), 0)
                pairs = np.stack([codes[0] + codes[1], codes[-1] + codes[-2]])
                assert (255 * pairs >= -(2**15)).all() and (255 * pairs < 2**15).all(), pairs
                assert np.abs(codes).max() > 50, "and more than half of the codes are of use"


def test_options_are_looked_at_where_nothing_is_to_do():
    done = plugin(19, "module {}", "quadrant-quantize{scheme=bogus}")
    assert done.returncode == 1 and "scheme=bogus" in done.stderr, done.stderr


def test_casts_that_do_not_fit_are_named():
    encoded = 'tensor<2x!quant.uniform<i8:f32, 0.5>, "e">'
    negative = "tensor<2x!quant.uniform<i8:f32:-1, {0.5, 1.0}>>"
    for quantized, real, words in ((encoded, 'tensor<2xf32, "e">', "without an encoding"),
                                   (negative, "tensor<2xf32>", "axis -1")):
        text = (f"func.func @f(%x: {quantized}) -> {real} {{\n  %y = \"quant.dcast\"(%x) : ({quantized}) -> {real}\n"
                f"  return %y : {real}\n}}\n")
        done = plugin(19, text, LOWER)
        assert done.returncode == 1 and ":2:8: error:" in done.stderr and words in done.stderr, done.stderr
    axis = "tensor<2x4x!quant.uniform<i8:f32:1, {0.5, 1.0}>>"
    text = (f"func.func @f(%x: {axis}) -> tensor<2x4xf32> {{\n"
            f"  %y = \"quant.dcast\"(%x) : ({axis}) -> tensor<2x4xf32>\n  return %y : tensor<2x4xf32>\n}}\n")
    done = plugin(19, text, LOWER)
    assert done.returncode == 1 and ":2:8: error: 2 scales" in done.stderr, done.stderr


def check_attention(has_stats, options):
    m = Module(30, has_stats=has_stats)
    x = m.input(2, 6, 8)
    queries, keys, values = (m.batch_matmul(x, m.weight(2, 8, 8)) for _ in range(3))
    weights = m.softmax(m.tanh(m.batch_matmul(queries, m.transpose(keys, 0, 2, 1))))
    m.output(m.batch_matmul(m.batch_matmul(weights, values), m.weight(2, 8, 4)))
    quantize = f"quadrant-quantize{{{options}}}"
    text = rewritten(19, m.program(), quantize)
    assert text.count("xi8>") > 4, text
    close(m.parse(run_main(m.program())), m.values[m.result])
    close(m.parse(run_main(m.program(), f"{quantize},{LOWER}")), m.values[m.result], 0.1)


def test_attention():
    """Beside what NumPy makes of it: the interpreter has no such linalg.generic."""
    for options in ("bits=8", "scheme=static gains=unit", "scheme=static gains=unit products=casts"):
        yield options, check_attention, "static" in options, options


CAPTURED = """func.func @f(%x: tensor<2x4xf32> {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>},
    %d: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = arith.constant dense<0.5> : tensor<4x3xf32>
  %y = linalg.matmul {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<2x4xf32>, tensor<4x3xf32>) outs(%d : tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = tensor.empty() : tensor<2x3xf32>
  %c = arith.constant 0 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    outs(%e : tensor<2x3xf32>) {
  ^bb0(%o: f32):
    %p = tensor.extract %w[%c, %c] : tensor<4x3xf32>
    %q = tensor.extract %y[%c, %c] : tensor<2x3xf32>
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
"""


def test_what_regions_read_becomes_codes():
    """A weight and a product that the region of a linalg.generic reads, too."""
    for version in (19, 22):
        for options in ("gains=unit", "scheme=static gains=unit", "scheme=static gains=unit products=casts"):
            made = rewritten(version, CAPTURED, f"quadrant-quantize{{{options}}}")
            assert "tensor<4x3xi8>" in made, made
            assert len(re.findall(r"tensor\.extract %\w+\[.*\] : tensor<[24]x3xf32>", made)) == 2, made
            rewritten(version, CAPTURED, f"quadrant-quantize{{{options}}},{LOWER}")


def test_scales_do_not_move_through_open_extents():
    text = WEIGHT.replace("  %y", "  %u = tensor.cast %w : tensor<4x3xf32> to tensor<?x?xf32>\n"
                          "  %r = tensor.cast %u : tensor<?x?xf32> to tensor<4x3xf32>\n  %y").replace("%x, %w", "%x, %r")
    for version in (19, 22):
        for granularity, moves in (("channel", False), ("tensor", True)):
            made = rewritten(version, text, f"quadrant-quantize{{gains=unit granularity={granularity}}}")
            assert ("tensor<?x?xi8>" in made) == moves, made


BLOCKS = """func.func @f(%x: tensor<2x4xf32> {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>},
    %d: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x2xf32>
  cf.br ^later
^first:
  %z = linalg.matmul {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>}
    ins(%y, %w : tensor<2x4xf32>, tensor<4x4xf32>) outs(%d : tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = linalg.transpose ins(%z : tensor<2x4xf32>) outs(%e : tensor<4x2xf32>) permutation = [1, 0]
  return %t : tensor<4x2xf32>
^later:
  %y = linalg.matmul {quadrant.stats = dense<[-4.0, 4.0]> : tensor<2xf32>}
    ins(%x, %w : tensor<2x4xf32>, tensor<4x4xf32>) outs(%d : tensor<2x4xf32>) -> tensor<2x4xf32>
  cf.br ^first
}
"""


def test_blocks_in_any_order():
    for version in (19, 22):
        for products in ("integers", "casts"):
            quantize = f"quadrant-quantize{{scheme=static gains=unit products={products}}}"
            # The last one's sum is what is returned.
            assert rewritten(version, BLOCKS, quantize).count("quant.qcast") == (2 if products == "integers" else 3)
            rewritten(version, BLOCKS, f"{quantize},{LOWER}")


def test_products_with_maps_of_their_own():
    """In version 22, which has them for transposed factors."""
    maps = ("linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, "
            "affine_map<(i, j, k) -> (i, j)>] {")
    for options in ("bits=8", "scheme=static gains=unit"):
        module = Module(32, has_stats=True)
        x, weight = module.input(3, 8), module.weight(8, 8)
        module.output(module.matmul(x, weight))
        expected = module.values[x] @ module.values[weight].T
        text = module.program().replace("linalg.matmul {", maps)
        text = re.sub(r"dense<\[-?[0-9.e+-]+, -?[0-9.e+-]+\]> : tensor<2xf32>\} ins",
                      f"dense<[{expected.min()}, {expected.max()}]> : tensor<2xf32>}} ins", text)
        ours = module.parse(run_main(text, f"quadrant-quantize{{{options}}},{LOWER}", version=22))
        close(ours, expected, 0.05)


def test_results_have_names_of_their_own():
    """`foo:1` is the second result of an operation, or what somebody called one so."""
    text = """func.func @f(%x: tensor<2x4xf32>, %n: index, %d: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x4xf32>) {
  %a = arith.constant 0 : index
  %b = arith.constant 1 : index
  %w = arith.constant dense<0.5> : tensor<4x3xf32>
  %r:2 = scf.for %i = %a to %n step %b iter_args(%k = %x, %l = %x) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    scf.yield %k, %l : tensor<2x4xf32>, tensor<2x4xf32>
  } loc("foo")
  %o = math.exp %x {quadrant.stats = dense<[-1.0, 1.0]> : tensor<2xf32>} : tensor<2x4xf32> loc("foo:1")
  %y = linalg.matmul {quadrant.stats = dense<[-30.0, 30.0]> : tensor<2xf32>}
    ins(%r#1, %w : tensor<2x4xf32>, tensor<4x3xf32>) outs(%d : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y, %o : tensor<2x3xf32>, tensor<2x4xf32>
}
"""
    # Nothing is known of the range of the loop's second result.
    assert rewritten(19, text, "quadrant-quantize{scheme=static gains=unit}") == _mlir.opt(19, text)


def check_no_export(body, words):
    with scratch() as folder:
        done = plugin(19, body, f"quadrant-export{{to={folder / 'x.onnx'}}}")
        assert done.returncode == 1 and not (folder / "x.onnx").exists(), done
        for word in words:
            assert word in done.stderr, done.stderr


def test_what_is_not_exported_is_named():
    i8 = "tensor<1x2x2xi8>"
    mixed = "func.func @f(%a: tensor<2x2xf16>, %b: tensor<2x2xf16>, %d: tensor<2x2xf32>) -> tensor<2x2xf32> {\n" \
            "  %y = linalg.matmul ins(%a, %b : tensor<2x2xf16>, tensor<2x2xf16>) outs(%d : tensor<2x2xf32>) -> " \
            "tensor<2x2xf32>\n  return %y : tensor<2x2xf32>\n}\n"
    shifted = "func.func @f(%a: tensor<2xi32>) -> tensor<2xi32> {\n  %y = tosa.mul %a, %a {shift = 3 : i8} : " \
              "(tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>\n  return %y : tensor<2xi32>\n}\n"
    integers = f"func.func @f(%a: {i8}, %b: {i8}) -> tensor<1x2x2xi32> {{\n  %y = tosa.matmul %a, %b " \
               "{quantization_info = #tosa.matmul_quant<a_zp = 5, b_zp = 7>} : " \
               f"({i8}, {i8}) -> tensor<1x2x2xi32>\n  return %y : tensor<1x2x2xi32>\n}}\n"
    for name, body in (("linalg.matmul", mixed), ("tosa.mul", shifted), ("tosa.matmul", integers)):
        yield name, check_no_export, body, (name, "types other than one float type", ":2:8: error:")


# --- modules at random ----------------------------------------------------------------------------


def random_module(seed, has_stats):
    """A chain of operations on matrices, some of them unknown to the schemes; not all are read."""
    m = Module(seed, has_stats=has_stats)
    pick = m.random
    rows, columns = (int(n) for n in pick.integers(1, 9, 2))
    values = [m.input(rows, columns)]
    for _ in range(int(pick.integers(1, 8))):
        value = values[int(pick.integers(len(values)))]
        height, width = m.values[value].shape
        step = int(pick.integers(8))
        if step == 0:
            made = m.matmul(value, m.weight(width, int(pick.integers(1, 9))),
                            fill=float(pick.integers(3)))
        elif step == 1:
            made = m.matmul_transpose_b(value, m.weight(int(pick.integers(1, 9)), width))
        elif step == 2:
            made = m.matmul(m.weight(int(pick.integers(1, 9)), height), value)
        elif step == 3:
            made = m.transpose(value, 1, 0)
        elif step == 4:
            made = m.add(value, m.weight(height, width))
        elif step == 5:
            made = m.tanh(value)
        elif step == 6:
            weight = m.weight(height, width)
            made = m.add_into(value, weight, (value, weight)[int(pick.integers(2))])
        else:
            made = m.matmul_transpose_b(value, value)
        values.append(made)
    return m.output(values[-1])


OPTIONS = ("bits=8", "bits=4", "bits=4 symmetry=asymmetric", "granularity=tensor", "scheme=static",
           "scheme=static gains=unit", "scheme=static gains=unit products=casts",
           "scheme=static gains=unit bits=4")


def test_random_modules():
    """1,000 of them, 50 a process: functions of a module. All verify, behind each pass."""
    for start in range(0, 1000, 50):
        yield f"{start}", check_random, range(start, start + 50), OPTIONS[start // 50 % len(OPTIONS)]


def check_random(seeds, options):
    text = "".join(random_module(seed, seed % 2 == 0).function().replace("@f(", f"@f{seed}(") for seed in seeds)
    quantized = rewritten(19, text, f"quadrant-quantize{{{options}}}")
    assert "xi8>" in quantized or "xi4>" in quantized
    lowered = rewritten(19, text, f"quadrant-quantize{{{options}}},{LOWER}")
    assert "!quant" not in lowered
    rewritten(19, text, f"quadrant-report{{{options}}}")


def test_functions_in_parallel():
    """mlir-opt runs a pass of functions in as many threads as there are."""
    text = "".join(random_module(seed, seed % 2 == 0).function().replace("@f(", f"@f{seed}(")
                   for seed in range(60))
    for options in ("bits=8", "scheme=static gains=unit"):
        passes = f"quadrant-quantize{{{options}}},{LOWER}"
        assert rewritten(19, text, f"func.func({passes})") == rewritten(19, text, passes)


def test_resources_of_functions_in_parallel():
    """Their keys do not depend on which thread comes first."""
    def large(seed):
        module = Module(seed)
        module.output(module.matmul(module.input(1, 256), module.weight(256, 256)))
        return module.function().replace("@f(", f"@f{seed}(")

    text = "".join(map(large, range(12)))
    one_by_one = rewritten(19, text, "quadrant-quantize")
    assert one_by_one.count("quadrant_f") == 24, "a use and a content for each"
    for _ in range(3):
        assert rewritten(19, text, "func.func(quadrant-quantize)") == one_by_one


def check_random_numbers(seed, options):
    module = random_module(seed, "static" in options)
    quantize = f"quadrant-quantize{{{options}}},"
    ours = module.parse(run_main(module.program(), quantize + LOWER))
    # The interpreter has no sums of integers with scales of their own.
    reference = options + (" products=casts saturation=allow sums=real" if "static" in options and "products" not in options else "")
    close(ours, interpreted(module, f"quadrant-quantize{{{reference}}},"))


def test_numbers_of_random_modules():
    for seed in range(40):
        options = OPTIONS[seed % len(OPTIONS)]
        yield f"{seed} {options}", check_random_numbers, 5000 + seed, options


def test_version_22_makes_the_same():
    for name, module in networks(has_stats=True):
        if "matmul_transpose_b" in module.function():  # an operation that 22 does not have any more
            continue
        for passes in ("quadrant-quantize{bits=4}", "quadrant-quantize{scheme=static gains=unit}",
                       f"quadrant-quantize{{scheme=static gains=unit}},{LOWER}"):
            # Both print the generic form alike, but for what 22 names otherwise.
            texts = [rewritten(version, module.function(), passes) for version in (19, 22)]
            counts = [sorted(re.findall(r"(?:linalg|arith|math|quant|tensor)\.[a-z_0-9]+", text))
                      for text in texts]
            types = [sorted(re.findall(r"!quant\.[^>]*>(?:[^>]*>)?", text)) for text in texts]
            assert counts[0] == counts[1], f"{name}, {passes}: operations"
            assert types[0] == types[1], f"{name}, {passes}: types"


def test_nothing_to_do_changes_nothing():
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n"
    plain = _mlir.opt(19, text)
    for scheme in ("weight-only", "static"):
        assert rewritten(19, text, f"quadrant-quantize{{scheme={scheme}}}") == plain


def test_a_quantized_module_is_left_as_it_is():
    module = Module(21)
    module.output(module.matmul(module.input(3, 16), module.weight(16, 5)))
    once = rewritten(19, module.function(), "quadrant-quantize")
    assert rewritten(19, once, "quadrant-quantize") == once


def check_refusal(passes, words):
    module = Module(22)
    module.output(module.matmul(module.input(3, 4), module.weight(4, 5)))
    done = plugin(19, module.function(), passes)
    assert done.returncode == 1 and "error:" in done.stderr, done
    for word in words:
        assert word in done.stderr, done.stderr


def test_mistakes_are_explained():
    for passes, *words in (
            ("quadrant-quantize{scheme=dynamic}", "scheme=dynamic", "weight-only", "static"),
            ("quadrant-quantize{bits=5}", "8 or 4"),
            ("quadrant-quantize{granularity=row}", "granularity=row", "channel"),
            ("quadrant-quantize{block-size=0}", "granularity=block", "channel"),
            ("quadrant-quantize{scheme=static block-size=16}", "granularity=block"),
            ("quadrant-quantize{scheme=static saturation=sometimes}", "saturation=sometimes", "7bit"),
            ("quadrant-quantize{saturation=avoid}", "scheme=static"),
            ("quadrant-quantize{symmetry=odd}", "symmetry=odd", "asymmetric"),
            ("quadrant-quantize{scheme=static products=x}", "products=x", "casts"),
            ("quadrant-quantize{products=casts}", "scheme=static"),
            ("quadrant-quantize{scheme=static symmetry=asymmetric}", "scheme=weight-only"),
            ("quadrant-quantize{non-finite=drop}", "non-finite=drop", "refuse, leave"),
            ("quadrant-report{scheme=static products=bogus}", "products=bogus"),
            ("func.func(quadrant-export{to=x.onnx})", "on the module"),
            ("quadrant-lower-quant-ops{ties=up}", "half-even", "half-away"),
            ("quadrant-export", "FILE.onnx"),
            ("quadrant-export{to=x.onnx function=g}", "'g'")):
        yield passes, check_refusal, passes, words


def test_no_type_information_of_mlir_is_needed():
    """LLVM's builds have none unless told."""
    for library in PLUGINS.values():
        done = subprocess.run(["nm", "--dynamic", "--undefined-only", "--demangle", library], capture_output=True, text=True,
                              check=True)
        assert "mlir::" in done.stdout and not re.search(r"typeinfo for (mlir|llvm)::", done.stdout), library


def test_a_plugin_that_does_not_load_is_noticed():
    with scratch() as folder:
        broken = folder / "QuadrantPlugin.so"
        broken.write_bytes(b"no library")
        before, PLUGINS[19] = PLUGINS[19], broken
        try:
            plugin(19, "module {}", "quadrant-quantize")
        except AssertionError as problem:
            assert "Failed to load" in str(problem)
        else:
            raise AssertionError("it was not noticed")
        finally:
            PLUGINS[19] = before


if __name__ == "__main__":
    run_tests(globals())
