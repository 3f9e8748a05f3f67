"""Tensors of the library as numpy arrays, and the other way.

They cross the border as ``(element, shape, bytes)``: the library's name of the element type, and an array of uint8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = Any
Packed = tuple[str, list[int], Array]

# Names of the types in numpy, or in the package ml_dtypes.
DTYPES = {
    "i1": "bool",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i4": "int4",
    "u4": "uint4",
}
_ELEMENTS = {name: element for element, name in DTYPES.items()}
# A byte each, whoever holds them.
_PLAIN = {"int4": "int8", "uint4": "uint8"}


def dtype_name(element: str) -> str:
    return DTYPES.get(element, element)


def element_of(dtype: object) -> str:
    """The library's name of numpy's, or of ``"int4"`` and the like."""
    if dtype is None:  # which numpy takes for float64
        raise TypeError("a dtype is not None")
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name  # type: ignore[call-overload]
    return _ELEMENTS.get(name, name)


def unpacked(packed: Packed) -> Array:
    """The same elements, not copied; integers of 4 bits are int8 and uint8."""
    element, shape, raw = packed
    name = dtype_name(element)
    name = _PLAIN.get(name, name)
    if name == "bfloat16":
        import ml_dtypes  # type: ignore[import-not-found, import-untyped, unused-ignore]  # numpy itself has none

        dtype = np.dtype(ml_dtypes.bfloat16)
    else:
        dtype = np.dtype(name)
    array: Array = raw.view(dtype).reshape(shape)
    return array


def packed(array: Array, element: str) -> Packed:
    """`array` is of the type `element`, or for one of 4 bits of int8 and uint8."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return element, list(array.shape), native.reshape(-1).view(np.uint8)


def as_array(given: object, what: str) -> Array:
    """Of whatever numpy makes an array of, or has memory to lend by DLPack; not copied where it need not be."""
    try:
        if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
            return np.from_dlpack(given)  # type: ignore[arg-type, unused-ignore]
        return np.asarray(given)
    except Exception as problem:  # numpy's, and those of whoever lends it
        raise Error(f"{what} is a {type(given).__name__}, of which no array can be made: {problem}") from problem


def fitted(given: object, element: str, *, what: str, convert: bool | None) -> Array:
    """An array of that element type. Without `convert`, another type is an error; None: and cannot be had, either."""
    array = as_array(given, what)
    name = dtype_name(element)
    name = _PLAIN.get(name, name)
    if array.dtype.name == name:
        return array
    message = f"{what} is an array of {array.dtype.name}, and the model takes {name}"
    if array.dtype.kind not in "biuf" and array.dtype.name not in _ELEMENTS:
        raise Error(message, code="usage")
    if not convert:
        advice = "" if convert is None else "; convert_samples=True converts it"
        raise Error(message + advice, code="usage")
    if name == "bfloat16" or name not in _ELEMENTS or array.dtype.kind not in "biuf":
        raise Error(f"{message}, to which it cannot be converted", code="usage")
    if np.dtype(name).kind in "biu":
        with np.errstate(invalid="ignore"):
            converted = array.astype(name)
        if not np.array_equal(converted.astype(array.dtype), array):
            raise Error(f"{message}, which does not have all its numbers", code="usage")
        return converted
    return array.astype(name)
