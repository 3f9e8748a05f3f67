"""Operations as hooks see them, and the types of codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from . import _quadrant
from ._arguments import TEXT, Rule, checked, instance, or_none, whole
from ._arrays import _ELEMENTS, _PLAIN, Array, Packed, as_array, dtype_name, element_of, packed, unpacked
from ._errors import Error
from ._moments import WeightMoments
from ._session import Settings, session_of


def packed_codes(codes: Array, kind: QuantizedType, name: str) -> Packed:
    """As what the type says, for one of 4 bits of int8 and uint8. The name, of the value, is for errors."""
    is_fit = codes.dtype.name == _PLAIN.get(kind.dtype, kind.dtype)
    if is_fit and kind.range is not None:
        _check_within(codes, kind.range, f"codes of '{name}'")
    return packed(codes, element_of(kind.dtype if is_fit else codes.dtype))


def handle_of(type: QuantizedType | None) -> _quadrant.CodesType:
    if not isinstance(type, QuantizedType):
        raise TypeError(f"type is a QuantizedType, and not {type!r}")
    return type._handle


def _check_within(numbers: Array, range: tuple[int, int], what: str) -> None:
    least, most = range
    if numbers.size == 0 or (numbers.min() >= least and numbers.max() <= most):
        return
    place = np.unravel_index(int(np.argmax((numbers < least) | (numbers > most))), numbers.shape)
    where = f" at {[int(each) for each in place]}" if place else ""
    raise Error(f"{what} are in {least} to {most}, and not {numbers[place]}{where}")


def _points(zero_points: object, dtype: str, range: tuple[int, int]) -> Array:
    """As they are stored. Checked before, where a conversion would change them."""
    found = _numbers(zero_points, "zero points")
    if found.dtype.kind == "f" and not np.array_equal(np.trunc(found), found):
        raise Error(f"zero points are whole numbers, and not {zero_points!r}")
    _check_within(found, range, "zero points")
    return found.astype(_PLAIN.get(dtype, dtype))


def _numbers(given: object, what: str) -> Array:
    found = as_array(given, what)
    if found.dtype.kind in "OUSbcMm":
        raise TypeError(f"{what} are numbers, and not {given!r}")
    return found


def _pair(given: Any) -> tuple[int, int]:
    least, most = given
    return INTEGER.fit(least), INTEGER.fit(most)


INTEGER = whole("a whole number of 64 bits", -(2**63))
AXIS = whole("the number of an axis, from 0")
DTYPE = Rule("a dtype of numpy's, or a name, 'int4' say", element_of)
RANGE = Rule("the smallest and the largest code", _pair)


class QuantizedType:
    """What codes stand for: ``real = scale * (code - zero_point)``, or what `encode` found.

    Args:
        dtype: Of the codes, ``"int8"``, ``"uint4"``.
        scales: float16, or numbers that become float32: one; one for each index of ``axis``; with blocks, an array like
            the weight with ``axis`` divided by ``block_size``, rounded up.
        axis: Along which scales differ, from 0. None: one scale for all.
        block_size: Elements along ``axis`` that share a scale; 0: none do.
        zero_points: As many as scales, whole numbers in the range; None: all 0.
        range: The smallest and the largest code; None: those of the type.
        expressed: The dtype of the float values.

    Raises:
        Error: For numbers that codes cannot have, scales that are 0 or not finite, or several without an axis.
    """

    @checked(
        dtype=DTYPE,
        axis=or_none(AXIS),
        block_size=whole("a whole number of elements, 0 for no blocks"),
        range=or_none(RANGE),
        expressed=DTYPE,
    )
    def __init__(
        self,
        dtype: str,
        scales: object,
        *,
        axis: int | None = None,
        block_size: int = 0,
        zero_points: object = None,
        range: tuple[int, int] | None = None,
        expressed: object = "float32",
    ) -> None:
        element = element_of(dtype)
        dtype = dtype_name(element)
        least, most = range or _range(dtype)
        found = _numbers(scales, "scales")
        with np.errstate(over="ignore"):  # to infinity, which is refused
            found = found if found.dtype == np.float16 else found.astype(np.float32)
        points = None if zero_points is None else packed(_points(zero_points, dtype, (least, most)), element)
        self._handle = _quadrant.uniform(
            element, element_of(expressed), axis, block_size, (least, most),
            packed(found, element_of(found.dtype)), points,
        )  # fmt: skip

    @classmethod
    def _of(cls, handle: _quadrant.CodesType) -> QuantizedType:
        made = cls.__new__(cls)
        made._handle = handle
        return made

    @cached_property
    def _said(self) -> dict[str, Any]:
        return self._handle.describe()

    @property
    def format(self) -> str:
        """The whole of it, as text."""
        return self._said["format"]  # type: ignore[no-any-return]

    @property
    def dtype(self) -> str:
        return dtype_name(self._said["storage"])

    @property
    def expressed(self) -> str:
        return dtype_name(self._said["expressed"])

    @property
    def axis(self) -> int | None:
        return self._said.get("axis")

    @property
    def block_size(self) -> int:
        return int(self._said.get("block_size", 0))

    @property
    def range(self) -> tuple[int, int] | None:
        """The smallest and the largest code. None where they are no integers."""
        return self._said.get("range")

    @property
    def scales(self) -> Array | None:
        """None where codes are not uniform: `decode` reads those."""
        return unpacked(self._said["scales"]) if "scales" in self._said else None

    @property
    def zero_points(self) -> Array | None:
        return unpacked(self._said["zero_points"]) if "zero_points" in self._said else None

    @checked(axis=AXIS)
    def along(self, axis: int) -> QuantizedType:
        """The same scales along another axis, for what moves codes. An Error where codes are not uniform."""
        if self.axis is None and self.scales is not None:
            return self
        if self.scales is None:
            raise Error(f"codes of {self.format} have no scales that lie along one axis")
        return QuantizedType(
            self.dtype, self.scales, axis=axis, block_size=self.block_size, zero_points=self.zero_points,
            range=self.range, expressed=self.expressed,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<quadrant.QuantizedType {self.format}>"


def _range(dtype: str) -> tuple[int, int]:
    if dtype in _PLAIN:
        return (-8, 7) if dtype == "int4" else (0, 15)
    if dtype not in _ELEMENTS or np.dtype(dtype).kind not in "iu":
        known = [name for name in _ELEMENTS if name.lstrip("u").startswith("int") and not name.endswith("64")]
        raise Error(f"codes are of {', '.join(known)}, and not of '{dtype}'")
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


@checked(
    format=TEXT,
    axis=INTEGER,
    block_axis=INTEGER,
    moments=or_none(instance(WeightMoments, "those of one weight, moments['fc1.weight']")),
    rounding=TEXT,
)
def encode(
    array: Array,
    format: str,
    *,
    axis: int = 0,
    block_axis: int = 1,
    table: Sequence[float] | Array | None = None,
    moments: WeightMoments | None = None,
    rounding: str = "descent",
    threads: int = 0,
) -> tuple[Array, QuantizedType]:
    """Codes of least squared error in a number format, by the library: ``"nf4"``, ``"i4 * f16[block=32] : f32"``.

    Args:
        array: Of floats.
        format: As ``type=`` of weight-only takes it; ``channel`` in it is ``axis``, blocks lie along ``block_axis``.
            Both count as numpy's do, -1 is the last.
        table: Of a format whose table is stored, ``"codebook:16"`` say: the values, ascending, in place of those that
            are found. They are rounded to the type of the table; a code is a place in it.
        moments: What the array, a weight, is multiplied by (`quadrant.second_moments`): codes of least error at the
            results of its layer, or near it, in place of least error in the weight.
        rounding: How, with moments: ``"nearest"``, ``"weighted"``, ``"feedback"``, ``"descent"``; each does what those
            in front do, and is never worse.
        threads: 0: as many as the machine has. The codes are the same.

    Returns:
        The codes, of the array's shape, and what they stand for; `decode` makes floats of both.

    Raises:
        Error: ``usage`` for a table that does not ascend and moments of a weight of another shape, ``impossible`` for a
            table of another size, and what the format does not hold.
    """
    given = _numbers(array, "elements of the array")
    axis, block_axis = (_axis_of(given, name, each) for name, each in (("axis", axis), ("block_axis", block_axis)))
    values = None if table is None else packed(_ascending(table), "f32")
    if moments is not None:
        moments._check_of(given)
    with session_of(Settings(threads=threads)) as session:
        codes, handle = _quadrant.encode(
            session, packed(given, element_of(given.dtype)), format, axis, block_axis,
            table=values, moments=None if moments is None else moments._handle, rounding=rounding,
        )  # fmt: skip
    return unpacked(codes), QuantizedType._of(handle)


def _axis_of(array: Array, name: str, axis: int) -> int:
    """From 0. The axes of matrices, which are the defaults, may be those of any array."""
    count = array.ndim
    if not -count <= axis < max(count, 2):
        raise Error(f"{name} is an axis of the array, which has {count}, and not {axis}")
    return axis + count if axis < 0 else axis


def _ascending(table: Sequence[float] | Array) -> Array:
    with np.errstate(over="ignore"):  # to infinity, which is refused
        values = _numbers(table, "values of a table").astype(np.float32)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise Error("a table is a list of finite values that ascend")
    return values


@checked(kind=instance(QuantizedType, "a QuantizedType"))
def decode(codes: Array, kind: QuantizedType) -> Array:
    """The floats that codes stand for, as float32: the inverse of `encode`, for any type.

    Raises:
        Error: ``impossible`` for codes that are not of the type, or of a shape that it does not fit.
    """
    return unpacked(_quadrant.decode(packed_codes(_numbers(codes, "codes"), kind, "codes"), kind._handle))


class Op:
    """An operation of the graph, as one of its results; good while the hook runs that it was given to.

    As a class it is a kind of operation: derive one with a `kind`, or call `Op.of`.
    """

    kind: ClassVar[str]

    def __init__(self, node: _quadrant.Node) -> None:
        self._node = node

    @staticmethod
    @checked(kind=instance(str, "the name of a kind of operation"))
    @cache
    def of(kind: str) -> type[Op]:
        """The class of operations ``"matmul"``, ``"onnx.Relu"``: docs/operations.md lists their names."""
        return type(kind, (Op,), {"kind": kind})

    def __getattr__(self, name: str) -> Any:
        # Where the class is not of one kind.
        if name == "kind":
            return self._node.kind
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    @property
    def name(self) -> str:
        """Of the value: unique in the graph."""
        return self._node.name

    @property
    def label(self) -> str:
        """What the model calls the operation, or the name of the value."""
        return self._node.label

    @property
    def parents(self) -> list[Op | None]:
        """What it reads, in order; None where an operand is absent."""
        return [None if node is None else Op(node) for node in self._node.operands()]

    @property
    def _parents(self) -> list[str | None]:
        return [None if node is None else node.name for node in self._node.operands()]

    @property
    def results(self) -> list[Op]:
        """All results of the operation."""
        return [Op(node) for node in self._node.results()]

    @property
    def users(self) -> list[tuple[Op, int]]:
        """Who reads the value, and as which operand."""
        return [(Op(node), operand) for node, operand in self._node.users()]

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """An int for each axis, None where it is open; None where not even their number is known."""
        shape = self._node.shape
        return None if shape is None else tuple(shape)

    @property
    def dtype(self) -> str:
        """``"float32"``; of codes, theirs."""
        return dtype_name(self._node.element)

    @property
    def type(self) -> QuantizedType | None:
        """What its codes stand for, where it has become codes."""
        handle = self._node.codes_type()
        return None if handle is None else QuantizedType._of(handle)

    @property
    def attributes(self) -> dict[str, Any]:
        """Numbers, strings, lists of these, and arrays, by name."""
        return {
            name: unpacked(value) if isinstance(value, tuple) else value
            for name, value in self._node.attributes().items()
        }

    @property
    def value(self) -> Array | None:
        """The contents of a constant, read now, not kept; None for what is computed."""
        contents = self._node.contents()
        return None if contents is None else unpacked(contents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and self._node.id == other._node.id

    def __hash__(self) -> int:
        return hash(self._node.id)

    def __repr__(self) -> str:
        try:
            return f"<quadrant.Op {self.kind} '{self.name}'>"
        except Error:
            return "<quadrant.Op of a hook that has returned>"
