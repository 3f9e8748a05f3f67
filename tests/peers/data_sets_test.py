"""Data sets: what numpy and onnx write is read, and numpy reads what `quadrant run` writes.

A model of Identity nodes passes each type through, so that the whole way is one: file, sample, result.
"""

import json
import zipfile

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from _command import quadrant, run_tests, scratch
from _models import EXAMPLES, session_of

DTYPES = {
    "?": TensorProto.BOOL, "i1": TensorProto.INT8, "u1": TensorProto.UINT8,
    "i2": TensorProto.INT16, "u2": TensorProto.UINT16, "i4": TensorProto.INT32,
    "u4": TensorProto.UINT32, "i8": TensorProto.INT64, "u8": TensorProto.UINT64,
    "f2": TensorProto.FLOAT16, "f4": TensorProto.FLOAT, "f8": TensorProto.DOUBLE,
}


def passing(path, *elements, shape=(None, None, None)):
    """A model whose outputs y0, y1, ... are its inputs x0, x1, ..."""
    nodes, inputs, outputs = [], [], []
    for i, element in enumerate(elements):
        nodes.append(helper.make_node("Identity", [f"x{i}"], [f"y{i}"]))
        for values, name in ((inputs, f"x{i}"), (outputs, f"y{i}")):
            values.append(helper.make_tensor_value_info(name, element, shape))
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), path)
    return path


def run_model(*arguments):
    done = quadrant("run", *arguments)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
    return done


def results(folder, *arguments):
    """{sample: {array: values}} of a run."""
    out = folder / "out"
    run_model(*arguments, "-o", out)
    found = {}
    for path in sorted(out.iterdir()):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None, f"{path}: a checksum is wrong"
        with np.load(path, allow_pickle=False) as arrays:
            found[path.stem] = dict(arrays)
    return found


def values_for(dtype, shape=(2, 3, 4)):
    """Numbers of that type, its extremes among them; no two bytes of one are alike in general."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    rng = np.random.default_rng(0)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind == "f":
        made = rng.standard_normal(count).astype(kind)
        made[:3] = np.finfo(kind).max, np.finfo(kind).smallest_subnormal, -0.0
    else:
        made = rng.integers(0, 256, count * kind.itemsize, np.uint8).view(kind)
        made[:2] = np.iinfo(kind).min, np.iinfo(kind).max
    return made.reshape(shape)


def assert_same(found, expected, what):
    assert found.dtype == expected.dtype.newbyteorder("="), f"{what}: {found.dtype}"
    assert found.shape == expected.shape, f"{what}: {found.shape}, not {expected.shape}"
    native = np.ascontiguousarray(expected).astype(found.dtype)
    assert found.tobytes() == native.tobytes(), f"{what}: {found}, not {expected}"


# --- .npy -----------------------------------------------------------------------------------------


def check_npy(dtype):
    """Both byte orders, by rows and by columns, from views too; the three format versions."""
    with scratch() as folder:
        model = passing(folder / "model.onnx", DTYPES[dtype])
        base = values_for(dtype)
        expected = {}
        (folder / "data").mkdir()
        for order in "<>":
            typed = base.astype(np.dtype(dtype).newbyteorder(order))
            forms = {"rows": typed, "columns": np.asfortranarray(typed), "view": typed[:, ::2, 1:],
                     "turned": typed.T, "none": typed[:0], "one": typed[:1, :1, :1]}
            for form, array in forms.items():
                name = f"{'little' if order == '<' else 'big'}_{form}"
                np.save(folder / "data" / f"{name}.npy", array)
                expected[name] = array
            for version in ((1, 0), (2, 0), (3, 0)):
                name = f"{'little' if order == '<' else 'big'}_version_{version[0]}"
                with open(folder / "data" / f"{name}.npy", "wb") as file:
                    np.lib.format.write_array(file, typed, version)
                expected[name] = typed
        found = results(folder, model, "--data", folder / "data")
        assert found.keys() == expected.keys(), found.keys()
        for name, array in expected.items():
            assert_same(found[name]["y0"], array, name)


def test_npy():
    for dtype in DTYPES:
        yield dtype, check_npy, dtype


def test_scalars():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT, shape=())
        np.save(folder / "x.npy", np.float32(1.5))
        found = results(folder, model, "--data", folder / "x.npy")
        assert_same(found["x"]["y0"], np.array(1.5, np.float32), "a scalar")


# --- .npz -----------------------------------------------------------------------------------------


def check_npz(writer, *options):
    with scratch() as folder:
        model = passing(folder / "model.onnx", *DTYPES.values())
        (folder / "data").mkdir()
        samples = {}
        for count in (1, 2, 300):
            arrays = {f"x{i}": values_for(dtype, (count, 5, 7)) for i, dtype in enumerate(DTYPES)}
            arrays["x3"] = np.asfortranarray(arrays["x3"])
            arrays["x5"] = arrays["x5"].astype(arrays["x5"].dtype.newbyteorder(">"))
            writer(folder / "data" / f"s{count}.npz", **arrays, label=np.arange(3))
            samples[f"s{count}"] = arrays
        found = results(folder, model, "--data", folder / "data", *options)
        assert found.keys() == samples.keys(), found.keys()
        for name, arrays in samples.items():
            assert list(found[name]) == [f"y{i}" for i in range(len(DTYPES))], list(found[name])
            for i in range(len(DTYPES)):
                assert_same(found[name][f"y{i}"], arrays[f"x{i}"], f"{name}, x{i}")


def test_npz():
    yield "savez", check_npz, np.savez
    yield "savez_compressed", check_npz, np.savez_compressed
    yield "written compressed", check_npz, np.savez_compressed, "--compress"


def test_compressed_is_smaller():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT)
        np.save(folder / "x0.npy", np.zeros((1, 100, 100), np.float32))
        sizes = []
        for options in ((), ("--compress",)):
            run_model(model, "--data", folder / "x0.npy", "-o", folder / "out", *options)
            sizes.append((folder / "out" / "x0.npz").stat().st_size)
        assert sizes[0] > 40_000 and sizes[1] < 1_000, sizes


def test_zip_methods_that_are_not_read():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT)
        np.save(folder / "x0.npy", np.zeros((1, 1, 1), np.float32))
        with zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
            archive.write(folder / "x0.npy", "x0.npy")
        done = quadrant("run", model, "--data", folder / "a.npz", "-o", folder / "out")
        assert done.returncode == 3 and "method 14" in done.stderr, done.stderr
        assert not (folder / "out").exists()


def test_types_that_are_not_read():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT)
        others = {"complex64": np.complex64, "<U3": "U3", "datetime64": "M8[s]", "float128": "f16",
                  "bfloat16": ml_dtypes.bfloat16, "records": [("a", "f4"), ("b", "i4")]}
        for name, dtype in others.items():
            path = folder / "x0.npy"
            np.save(path, np.zeros((1, 2, 3), dtype))
            done = quadrant("run", model, "--data", path, "-o", folder / "out")
            assert done.returncode == 3, (name, done)
            assert "save booleans, integers" in done.stderr, (name, done.stderr)


# --- .pb ------------------------------------------------------------------------------------------


def check_pb(element, dtype):
    """As raw data, and in typed fields. What numpy has no type for comes out as the one that holds it."""
    stored = {TensorProto.BFLOAT16: np.float32, TensorProto.INT4: np.int8,
              TensorProto.UINT4: np.uint8}.get(element, dtype)
    # 15 elements: of 4 bits, the last byte is half full.
    if element in (TensorProto.INT4, TensorProto.UINT4):
        low = -8 if element == TensorProto.INT4 else 0
        array = (np.arange(15) % 16 + low).reshape(1, 3, 5).astype(dtype)
    else:
        array = np.array([-1.5, 0, 1e-3] * 5).reshape(1, 3, 5) if stored == np.float32 else None
        array = values_for(dtype, (1, 3, 5)) if array is None else array.astype(dtype)
    with scratch() as folder:
        model = passing(folder / "model.onnx", element)
        raw = numpy_helper.from_array(array, "any name")
        typed = helper.make_tensor("", element, array.shape, array.flatten().tolist())
        assert raw.HasField("raw_data") and not typed.HasField("raw_data")
        (folder / "data").mkdir()
        (folder / "data" / "raw.pb").write_bytes(raw.SerializeToString())
        (folder / "data" / "typed.pb").write_bytes(typed.SerializeToString())
        found = results(folder, model, "--data", folder / "data")
        for name in ("raw", "typed"):
            assert_same(found[name]["y0"], array.astype(stored), name)


def test_pb():
    for dtype, element in DTYPES.items():
        yield dtype, check_pb, element, np.dtype(dtype)
    yield "bfloat16", check_pb, TensorProto.BFLOAT16, ml_dtypes.bfloat16
    yield "int4", check_pb, TensorProto.INT4, ml_dtypes.int4
    yield "uint4", check_pb, TensorProto.UINT4, ml_dtypes.uint4


def test_folders_of_onnx():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT, TensorProto.INT64)
        expected = {}
        for i in range(3):
            data = folder / "t" / f"test_data_set_{i}"
            data.mkdir(parents=True)
            arrays = [np.full((1, 1, 2), i, np.float32), np.full((2, 1, 1), -i)]
            for number, array in enumerate(arrays):
                for what in ("input", "output"):
                    tensor = numpy_helper.from_array(array)
                    (data / f"{what}_{number}.pb").write_bytes(tensor.SerializeToString())
            expected[f"test_data_set_{i}"] = arrays
        found = results(folder, model, "--data", folder / "t")
        assert found.keys() == expected.keys(), found.keys()
        for name, arrays in expected.items():
            assert_same(found[name]["y0"], arrays[0], name)
            assert_same(found[name]["y1"], arrays[1], name)


# --- raw, lists -------------------------------------------------------------------------------------


def test_lists_of_raw_files():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT, shape=(1, 2, 3))
        arrays = {f"s{i}": np.random.default_rng(i).standard_normal((1, 2, 3)).astype("<f4")
                  for i in (3, 1, 2)}
        (folder / "raw").mkdir()
        for name, array in arrays.items():
            array.tofile(folder / "raw" / f"{name}.raw")
        lines = [f"x0:=raw/{name}.raw" for name in arrays]
        (folder / "input_list.txt").write_text("\n".join(lines) + "\n")
        for data in (folder / "input_list.txt", folder / "raw"):
            found = results(folder, model, "--data", data)
            for name, array in arrays.items():
                assert_same(found[name]["y0"], array, name)


# --- conversion ---------------------------------------------------------------------------------------


def check_conversion(element, dtype):
    """Rounded to the nearest, once, as numpy rounds doubles."""
    rng = np.random.default_rng(1)
    doubles = rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 4, 2000)
    # Middles of neighbours in the narrow type, and the doubles next to them.
    near = doubles[:500].astype(dtype)
    above = near.view(np.dtype(f"u{near.dtype.itemsize}")) + 1
    middles = (near.astype(float) + above.view(dtype).astype(float)) / 2
    doubles = np.concatenate([doubles, middles, np.nextafter(middles, np.inf),
                              np.nextafter(middles, -np.inf)])
    with scratch() as folder:
        model = passing(folder / "model.onnx", element)
        np.save(folder / "x.npy", doubles.reshape(1, 1, -1))
        found = results(folder, model, "--data", folder / "x.npy", "--convert")["x"]["y0"]
        expected = doubles.astype(dtype)
        if element == TensorProto.BFLOAT16:
            # ml_dtypes rounds through float32, and so twice; the nearest of three decides.
            expected = nearest_bfloat16(doubles)
        assert np.array_equal(found.ravel().astype(float), expected.astype(float)), dtype


def nearest_bfloat16(doubles):
    bits = doubles.astype(np.float32).view(np.uint32) & 0xffff0000
    best = bits.view(np.float32).astype(float)
    for step in (-0x10000, 0x10000):
        other = (bits.astype(np.int64) + step).astype(np.uint32).view(np.float32).astype(float)
        nearer = np.abs(other - doubles) - np.abs(best - doubles)
        even = (other.astype(np.float32).view(np.uint32) >> 16) % 2 == 0
        best = np.where((nearer < 0) | ((nearer == 0) & even), other, best)
    return best


def test_conversion():
    yield "float32", check_conversion, TensorProto.FLOAT, np.float32
    yield "float16", check_conversion, TensorProto.FLOAT16, np.float16
    yield "bfloat16", check_conversion, TensorProto.BFLOAT16, ml_dtypes.bfloat16


# --- random samples -----------------------------------------------------------------------------------


def split_mix(state):
    """SplitMix64: the next state, and 64 bits."""
    mask = (1 << 64) - 1
    state = (state + 0x9e3779b97f4a7c15) & mask
    bits = ((state ^ state >> 30) * 0xbf58476d1ce4e5b9) & mask
    bits = ((bits ^ bits >> 27) * 0x94d049bb133111eb) & mask
    return state, bits ^ bits >> 31


def random_numbers(seed, sample, number, count):
    """The definition: a sequence for each seed, sample and input; sums of twelve 16-bit numbers."""
    for part in (sample, number):
        seed = split_mix(seed)[1] ^ part
    numbers = []
    for _ in range(count):
        total = 0
        for _ in range(3):
            seed, bits = split_mix(seed)
            total += sum(bits >> shift & 0xffff for shift in (0, 16, 32, 48))
        numbers.append((2 * total - 12 * 0xffff) / 2**17)
    return np.array(numbers, np.float32)


def test_random_samples():
    with scratch() as folder:
        model = passing(folder / "model.onnx", TensorProto.FLOAT, TensorProto.FLOAT)
        found = results(folder, model, "--random", 12, "--seed", 5, "--shape", "x0=2x1x3",
                        "--shape", "x1=1x1x4", "--threads", 3)
        assert len(found) == 12, found.keys()
        for i in range(12):
            for number, (name, shape) in enumerate((("y0", (2, 1, 3)), ("y1", (1, 1, 4)))):
                expected = random_numbers(5, i, number, int(np.prod(shape))).reshape(shape)
                assert_same(found[f"random_{i}"][name], expected, f"sample {i}, {name}")


# --- a real model ---------------------------------------------------------------------------------------


def test_real_model():
    """Pictures of digits, one a file: the example's scores are ONNX Runtime's."""
    with np.load(EXAMPLES / "digits_cnn.npz") as data:
        images = data["image"][:20]
    model = EXAMPLES / "digits_cnn.onnx"
    with scratch() as folder:
        (folder / "data").mkdir()
        for i, image in enumerate(images):
            np.savez(folder / "data" / f"{i}.npz", image=image[None])
        found = results(folder, model, "--data", folder / "data")
        expected = session_of(model).run(None, {"image": images})[0]
        for i, row in enumerate(expected):
            assert np.allclose(found[str(i)]["logits"][0], row, rtol=1e-4, atol=1e-4), i
        document = json.loads(run_model(model, "--data", EXAMPLES / "digits_cnn.npz", "-o",
                                        folder / "all", "--json").stdout)
        assert [(o["name"], o["shape"]) for o in document["outputs"]] == [("logits", [360, 10])]
        assert "'labels'" in document["diagnostics"][0]["message"], document["diagnostics"]
        with np.load(folder / "all" / "digits_cnn.npz") as arrays:
            assert np.allclose(arrays["logits"][:20], expected, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    run_tests(globals())
