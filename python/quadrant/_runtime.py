"""Runtimes of others: what runs a model in place of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _quadrant
from ._arrays import Array, Packed, as_array, element_of, fitted, packed, unpacked
from ._errors import Error
from ._model import Model

Runs = Callable[[dict[str, Array]], Sequence[Any] | Mapping[str, Any]]
"""Runs one sample: arrays by the names of inputs in, values out, in the order in which they were asked for, or by name."""
Runtime = Callable[[bytes, list[str]], Runs]
"""Makes a model, the bytes of an ONNX file, ready to give the values of these names, which are its outputs."""


def adapted(runtime: Runtime | None) -> Callable[..., Any] | None:
    """A runtime, as the library calls it."""
    if runtime is None:
        return None
    if not callable(runtime):
        raise TypeError(f"runtime is a function of a model and names of values, not {type(runtime).__name__}")

    def load(handle: _quadrant.Model, values: list[tuple[str, str]]) -> Callable[[list[Packed]], list[Packed]]:
        model, names = Model(handle), [name for name, _ in values]
        runs = runtime(model.to_onnx(), list(names))
        if not callable(runs):
            raise Error(f"the runtime is to give a function that runs a sample, and gave a {type(runs).__name__}")
        inputs = [port.name for port in model.inputs]

        def run(arrays: list[Packed]) -> list[Packed]:
            found = runs({name: unpacked(array) for name, array in zip(inputs, arrays, strict=True)})
            return [_packed(array, name, element) for array, (name, element) in zip(_all(found, names), values, strict=True)]

        return run

    return load


def _all(found: Any, names: list[str]) -> list[Any]:
    if isinstance(found, Mapping):
        for name in names:
            if name not in found:
                raise Error("the runtime gave no such value", tensor=name)
        return [found[name] for name in names]
    if isinstance(found, (str, bytes)) or not isinstance(found, Sequence):
        raise Error(f"the runtime is to give arrays in a list or by name, and gave a {type(found).__name__}")
    if len(found) != len(names):
        raise Error(f"the runtime gave {len(found)} arrays of the {len(names)} that it was asked for")
    return list(found)


def _packed(given: Any, name: str, element: str) -> Packed:
    what = "what the runtime gave"
    try:
        if element == "undefined":  # the model does not say
            array = as_array(given, what)
            return packed(array, element_of(array.dtype))
        return packed(fitted(given, element, what=what, convert=None), element)
    except Error as error:
        error.tensor = name
        raise
