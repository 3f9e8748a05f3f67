"""Quantizes neural networks, and says why.

::

    import quadrant as qd

    result = qd.quantize("model.onnx", "weight-only", bits=4, granularity="block", block_size=32)
    result.save("small.onnx")
    print(result, result.explain("fc1.weight"))
    print(qd.compare("model.onnx", result.model, samples))

Models are ONNX, TFLite or OpenVINO files; arrays are numpy's. Calls that take long run on all cores without the GIL,
and Ctrl-C ends them. What the library refuses is an `Error`; warnings are `QuadrantWarning`, and notes go to the logger
``quadrant``. `quadrant.scheme` is for schemes of your own.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _quadrant
from ._errors import Error, QuadrantWarning
from ._measure import Comparison, Diagnosis, Optimized, calibrate, compare, diagnose, optimize, run, sensitivity
from ._model import Model, Port, Weights, Written, read
from ._moments import SecondMoments, WeightMoments, second_moments
from ._pareto import Pareto, ParetoPoint, pareto
from ._quantize import Report, Result, convert, quantize
from ._runtime import Runs, Runtime
from ._statistics import Statistics

if TYPE_CHECKING:
    from . import scheme

__version__: str = _quadrant.version


def list_schemes() -> list[dict[str, Any]]:
    """The schemes: ``name``, ``summary``, ``needs_data``, and ``options``, what `quantize` takes with each.

    An option has a ``name``, a ``summary``, what it ``takes``, for people, the ``words`` that it takes, if it does,
    and its ``default``, where it is always the same.
    """
    return _quadrant.schemes()


def list_presets() -> list[dict[str, Any]]:
    """The recipes that come with the library: ``name``, ``summary`` and ``recipe``, a dict to start from."""
    return [preset | {"recipe": json.loads(preset["recipe"])} for preset in _quadrant.presets()]


def list_types() -> list[dict[str, Any]]:
    """Number formats for weights, for ``type=`` of weight-only: ``name``, ``bits_per_weight``, ``format``, ``source``.

    Bits are those of a weight in a matrix of 4096 x 4096, scales and tables included.
    """
    return _quadrant.types()


__all__ = [
    "Comparison",
    "Diagnosis",
    "Error",
    "Model",
    "Optimized",
    "Pareto",
    "ParetoPoint",
    "Port",
    "QuadrantWarning",
    "Report",
    "Result",
    "Runs",
    "Runtime",
    "SecondMoments",
    "Statistics",
    "WeightMoments",
    "Weights",
    "Written",
    "calibrate",
    "compare",
    "convert",
    "diagnose",
    "list_presets",
    "list_schemes",
    "list_types",
    "optimize",
    "pareto",
    "quantize",
    "read",
    "run",
    "scheme",
    "second_moments",
    "sensitivity",
    "__version__",
]

# In messages and documentation things are called as users call them.
for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = __name__

if not TYPE_CHECKING:  # for which a module with a __getattr__ has everything

    def __getattr__(name: str) -> Any:
        if name == "scheme":  # which needs numpy: loaded by who uses it
            return import_module(".scheme", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
