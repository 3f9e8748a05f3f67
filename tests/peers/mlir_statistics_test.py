"""Statistics of modules: instrumented, run by MLIR's runner on samples, and quantized by what that wrote."""

import json

import _mlir  # first: ends the test where MLIR is missing

import numpy as np

from _command import quadrant, run_tests, scratch
from _mlir import plugin, printed_numbers, rewritten, run_main
from _mlir_modules import dense

LOWER = "quadrant-lower-quant-ops"
RANDOM = np.random.default_rng(3)


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


W1, W2, BIAS = drawn(16, 12), drawn(12, 5), drawn(12)


LAYERS = f"""func.func @f(%x: tensor<3x16xf32>) -> tensor<3x5xf32> {{
  %w = arith.constant {dense(W1)}
  %b = arith.constant {dense(BIAS)}
  %v = arith.constant {dense(W2)}
  %zero = arith.constant 0.0 : f32
  %place = tensor.empty() : tensor<3x12xf32>
  %into = linalg.fill ins(%zero : f32) outs(%place : tensor<3x12xf32>) -> tensor<3x12xf32>
  %y = linalg.matmul ins(%x, %w : tensor<3x16xf32>, tensor<16x12xf32>) outs(%into : tensor<3x12xf32>) -> tensor<3x12xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%y, %b : tensor<3x12xf32>, tensor<12xf32>) outs(%place : tensor<3x12xf32>) {{
    ^bb0(%a: f32, %c: f32, %o: f32): %s = arith.addf %a, %c : f32 %m = arith.maximumf %s, %zero : f32
      linalg.yield %m : f32 }} -> tensor<3x12xf32>
  %last = tensor.empty() : tensor<3x5xf32>
  %end = linalg.fill ins(%zero : f32) outs(%last : tensor<3x5xf32>) -> tensor<3x5xf32>
  %z = linalg.matmul ins(%r, %v : tensor<3x12xf32>, tensor<12x5xf32>) outs(%end : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %z : tensor<3x5xf32>
}}
"""  # two products, and a fused bias and ReLU between them


def definition(x):
    y = x @ W1
    r = np.maximum(y + BIAS, 0)
    return {"f:argument#0": x, "f:linalg.matmul#0": y, "f:linalg.generic#0": r, "f:linalg.matmul#1": r @ W2}


def save(folder, samples):
    data = folder / "data"
    data.mkdir()
    for i, sample in enumerate(samples):
        np.savez(data / f"{i}.npz", argument_0=sample)
    return data


def gathered(text, folder, samples, version=19, options=""):
    file = folder / "statistics.json"
    data = save(folder, samples)
    run_main(text, f"quadrant-instrument{{to={file} data={data} {options}}}", version)
    return file, {value["value"]: value for value in json.loads(file.read_text())["values"]}


def check_statistics(version):
    samples = [drawn(3, 16) for _ in range(4)]
    with scratch() as folder:
        _, found = gathered(LAYERS, folder, samples, version)
    expected = [definition(sample) for sample in samples]
    assert found.keys() == expected[0].keys(), found.keys()
    for name, value in found.items():
        of = np.stack([one[name] for one in expected])
        assert value["samples"] == 4
        # Sums of products may be added up in another order.
        for key, wanted in (("min", of.min()), ("max", of.max())):
            assert abs(value[key] - wanted) <= 1e-6 * np.abs(of).max(), (name, key, value[key], wanted)
        if name != "f:linalg.matmul#0":
            continue
        assert value["zeros"] == 0
        assert sum(sum(run[1:]) for side in ("negative", "positive") for run in value[side]) == of.size


def test_statistics_are_those_of_the_values():
    for version in (19, 22):
        yield f"{version}", check_statistics, version


def test_the_same_bits_as_calibrate():
    """Of what is handed in, which nobody computes: whatever gathers them."""
    samples = [drawn(3, 16) for _ in range(3)]
    with scratch() as folder:
        _, found = gathered(LAYERS, folder, samples)
        model, theirs = folder / "m.onnx", folder / "calibrated.json"
        rewritten(19, LAYERS, f"quadrant-export{{to={model}}}")
        done = quadrant("calibrate", model, "--data", folder / "data", "-o", theirs)
        assert done.returncode == 0, done.stderr
        calibrated = {value["value"]: value for value in json.loads(theirs.read_text())["values"]}
        ours = dict(found["f:argument#0"], value="argument_0")
        assert ours == calibrated["argument_0"]


def test_quantized_by_what_was_gathered():
    """No range by hand; both products on integers, in both versions."""
    samples = [drawn(3, 16) for _ in range(16)]
    fresh = drawn(3, 16)
    exact = list(definition(fresh).values())[-1]
    main = ("func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}\n"
            f"func.func @main() {{\n  %x = arith.constant {dense(fresh)}\n"
            "  %y = call @f(%x) : (tensor<3x16xf32>) -> tensor<3x5xf32>\n"
            "  %u = tensor.cast %y : tensor<3x5xf32> to tensor<*xf32>\n"
            "  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()\n  return\n}\n")
    for version in (19, 22):
        with scratch() as folder:
            file, _ = gathered(LAYERS, folder, samples, version)
            quantize = f"quadrant-quantize{{scheme=static gains=unit statistics={file}}}"
            made = rewritten(version, LAYERS, quantize)
            assert made.count("linalg.quantized_matmul") == 2, made
            assert "linalg.matmul" not in made, made
            printed = run_main(LAYERS + main, f"{quantize},{LOWER}", version)
        error = np.square(printed_numbers(printed).reshape(3, 5) - exact).sum()
        reached = 10 * np.log10(np.square(exact).sum() / error)
        assert 25 < reached < 60, f"{reached} dB"


OPEN = """func.func @f(%x: tensor<?x4xf16>, %n: tensor<i1>) -> tensor<?x4xf16> {
  %y = arith.negf %x : tensor<?x4xf16>
  return %y : tensor<?x4xf16>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = math.exp %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


def test_open_extents_and_half_floats():
    """And truth values, and one of several functions."""
    with scratch() as folder:
        data = folder / "data"
        data.mkdir()
        for rows in (1, 3):
            np.savez(data / f"{rows}.npz", argument_0=np.full((rows, 4), rows, np.float16), argument_1=np.bool_(True))
        file = folder / "s.json"
        run_main(OPEN, f"quadrant-instrument{{to={file} data={data} function=f}}")
        found = {value["value"]: value for value in json.loads(file.read_text())["values"]}
        assert found.keys() == {"f:argument#0", "f:arith.negf#0"}, found
        assert (found["f:arith.negf#0"]["min"], found["f:arith.negf#0"]["max"]) == (-3, -1)


def test_functions_of_modules_within():
    """Two of them, each with a file of its own; the outer module has what calls them, which is no function of theirs."""
    inner = "".join(f"module @{name} {{\n{OPEN.replace('@f(', f'@{name}f(')}}}\n" for name in "ab")
    with scratch() as folder:
        made = rewritten(19, inner, f"quadrant-instrument{{to={folder / 'a.json'} function=af}},"
                                    f"quadrant-instrument{{to={folder / 'b.json'} function=bf}}")
        assert made.count("call @quadrant_observe(") == 4 and made.count("func.func private @quadrant_observe(") == 2, made


TWO = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = arith.negf %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %y = func.call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


def test_two_functions_two_files():
    with scratch() as folder:
        data = folder / "data"
        data.mkdir()
        np.savez(data / "0.npz", argument_0=np.float32([1, 5]))
        files = [folder / "f.json", folder / "g.json"]
        run_main(TWO, f"quadrant-instrument{{to={files[0]} function=f}},"
                      f"quadrant-instrument{{to={files[1]} function=g data={data}}}")
        f, g = (json.loads(file.read_text()) for file in files)
    assert (f["samples"], g["samples"]) == (2, 1)
    assert {value["value"] for value in f["values"]} == {"f:argument#0", "f:arith.negf#0"}
    assert {value["value"] for value in g["values"]} == {"g:argument#0", "g:func.call#0", "g:func.call#1"}
    with scratch() as folder:
        np.savez(folder / "0.npz", argument_0=np.float32([1, 5]))
        run_main(TWO, f"quadrant-instrument{{to={folder / 's.json'} function=f}},"
                      f"quadrant-instrument{{to={folder / 's.json'} function=g data={folder / '0.npz'}}}")
        together = json.loads((folder / "s.json").read_text())["values"]
    assert {value["value"] for value in together} == {value["value"] for of in (f, g) for value in of["values"]}


def test_names_that_are_taken():
    taken = "func.func @quadrant_observe(%x: i32) { return }\n"
    done = plugin(19, taken + TWO, "quadrant-instrument{to=s.json function=f}")
    assert done.returncode == 1 and "of its own" in done.stderr, done


LOOP = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.constant 0 : index
  %b = arith.constant 1 : index
  %c = arith.constant 5 : index
  %r = scf.for %i = %a to %c step %b iter_args(%k = %x) -> tensor<4xf32> {
    %s = arith.addf %k, %k : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""


def test_each_visit_counts():
    with scratch() as folder:
        _, found = gathered(LOOP, folder, [np.ones(4, np.float32)])
        assert found["f:arith.addf#0"]["samples"] == 5
        assert (found["f:arith.addf#0"]["min"], found["f:arith.addf#0"]["max"]) == (2, 32)


def test_what_is_wrong_is_said():
    with scratch() as folder:
        data = save(folder, [drawn(3, 16)])
        (folder / "other").mkdir()
        np.savez(folder / "other" / "0.npz", x=drawn(3, 16))
        cases = {
            f"to={folder}/s.json data={folder}/none": "none",
            f"to={folder}/s.json data={folder}/other": "argument_0",
            f"data={data}": "to=FILE.json",
            f"to={folder}/s.json function=g": "no function 'g'",
        }
        for options, words in cases.items():
            done = plugin(19, LAYERS, f"quadrant-instrument{{{options}}}")
            assert done.returncode == 1 and words in done.stderr and "func.func" not in done.stdout, (options, done.stderr)
        has_main = LAYERS + "func.func @main() {\n  return\n}\n"
        done = plugin(19, has_main, f"quadrant-instrument{{to={folder}/s.json data={data} function=f}}")
        assert done.returncode == 1 and "entry=NAME" in done.stderr, done.stderr
        fed = rewritten(19, has_main, f"quadrant-instrument{{to={folder}/s.json data={data} function=f entry=feed}}")
        assert "@feed()" in fed, fed
        (folder / "loop").mkdir()
        file, _ = gathered(LOOP, folder / "loop", [np.ones(4, np.float32)])
        for options, words in ((f"scheme=static statistics={file}", "of another module"),
                               (f"statistics={file}", "needs no ranges"),
                               ("scheme=static statistics=nowhere.json", "nowhere.json")):
            done = plugin(19, LAYERS, f"quadrant-quantize{{{options}}}")
            assert done.returncode == 1 and words in done.stderr, done.stderr


def test_where_they_cannot_be_written():
    with scratch() as folder:
        data = save(folder, [drawn(3, 16)])
        lowered = rewritten(19, LAYERS, f"quadrant-instrument{{to={folder}/none/s.json data={data}}},{_mlir.TO_LLVM}")
        done = _mlir.tool(19, "mlir-cpu-runner", "-e", "main", "-entry-point-result=void",
                          f"-shared-libs={_mlir.OBSERVERS}", text=lowered)
        assert "statistics are lost" in done.stderr and "none" in done.stderr, done.stderr


if __name__ == "__main__":
    run_tests(globals())
