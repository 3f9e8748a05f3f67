"""A wheel that has just been installed, in the environment that this runs in: what is in it, and that it works.

    python scripts/try_wheel.py WHEEL MODEL      with MODEL's samples beside it
"""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import numpy as np
import onnxruntime
import quadrant as qd

wheel, model = sys.argv[1:]


def look_into():
    names = zipfile.ZipFile(wheel).namelist()
    abi = "-cp312-abi3-" if sys.version_info >= (3, 12) else f"-cp3{sys.version_info.minor}-cp3"
    assert abi in wheel, wheel
    assert int(re.search(r"manylinux_2_(\d+)_", wheel)[1]) <= 34, wheel
    for wanted in ("quadrant/py.typed", "quadrant/_quadrant.pyi", "quadrant/bin/quadrant"):
        assert wanted in names, wanted
    package = pathlib.Path(qd.__file__).parent
    assert package.is_relative_to(sys.prefix), package
    notices = [file for file in importlib.metadata.files("quadrant") if file.name == "THIRD_PARTY_NOTICES"]
    text = notices[0].read_text()
    # Each library that goes along is named.
    for name in names:
        library = re.match(r"quadrant\.libs/lib([a-z]+[0-9]?)-", name)
        known = {"bz2": "bzip2", "crypto": "openssl", "fmt": "fmtlib", "hwy": "highway", "tbb": "onetbb"}
        if library:
            wanted = known.get(library[1], library[1])
            assert re.search(rf"^  (lib)?{wanted} [\d.]+: ", text, re.MULTILINE), name
    (module,) = package.glob("_quadrant*.so")
    listed = subprocess.run(["nm", "-D", "--defined-only", module], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["PyInit__quadrant"], listed.stdout
    command = package / "bin/quadrant"
    assert not subprocess.run(["nm", command], capture_output=True, text=True).stdout, "is not stripped"


def quadrant(*arguments):
    command = pathlib.Path(sysconfig.get_path("scripts")) / "quadrant"
    return subprocess.run([command, *arguments], capture_output=True, text=True)


def try_command():
    assert quadrant("--version").stdout.split()[-1] == qd.__version__ == importlib.metadata.version("quadrant")
    assert quadrant("inspect", "nothing.onnx").returncode == 5  # the exit code is the command's
    with tempfile.TemporaryDirectory() as folder:
        for name in ("called", "commanded"):
            path = pathlib.Path(folder) / f"{name}.onnx"
            if name == "called":
                qd.quantize(model, "weight-only").save(path)
            else:
                done = quadrant("quantize", model, "-o", path, "--scheme", "weight-only")
                assert done.returncode == 0, done.stderr
        called, commanded = ((pathlib.Path(folder) / f"{name}.onnx").read_bytes() for name in ("called", "commanded"))
        assert called == commanded


def try_model():
    """Without and with samples, against the float model."""
    images = np.load(pathlib.Path(model).with_suffix(".npz"))["image"]
    samples = [{"image": images[i : i + 8]} for i in range(0, 64, 8)]

    def run(contents):
        session = onnxruntime.InferenceSession(contents, providers=["CPUExecutionProvider"])
        return np.concatenate([session.run(None, sample)[0] for sample in samples])

    expected = run(pathlib.Path(model).read_bytes())
    for scheme, calibration in (("weight-only", None), ("static-affine", samples)):
        small = qd.quantize(model, scheme, calibration=calibration).to_onnx()
        assert len(small) < 0.6 * pathlib.Path(model).stat().st_size
        noise = ((run(small) - expected) ** 2).sum() / (expected**2).sum()
        assert 0 < noise < 0.01, (scheme, noise)


look_into()
try_command()
try_model()
print(f"{pathlib.Path(wheel).name}: installed and tried")
