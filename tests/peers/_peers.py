"""Ends a test with status 77, skipped, where one of its peers is missing. To be imported first."""

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
