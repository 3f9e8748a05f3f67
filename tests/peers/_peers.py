"""Ends a test with status 77, skipped, where one of its peers is missing. To be imported first."""

import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "scripts"))

try:
    import no_amx
    import ml_dtypes
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)

OLDEST = os.environ.get("QUADRANT_OLDEST")
assert not OLDEST or onnxruntime.__version__ == OLDEST, onnxruntime.__version__

# The newest opset whose DequantizeLinear ONNX Runtime has, by the releases from which on it does.
_RELEASES = {(1, 20): 21, (1, 22): 22, (1, 23): 23, (1, 24): 25, (1, 25): 26, (1, 32): 27}
_RELEASE = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
assert _RELEASE >= min(_RELEASES), f"ONNX Runtime {onnxruntime.__version__} is too old"
NEWEST_OPSET = max(opset for release, opset in _RELEASES.items() if release <= _RELEASE)
