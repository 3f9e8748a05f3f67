"""What hooks are told of the run, and what they tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from . import _quadrant
from ._arguments import TEXT, Rule, checked, instance, or_none, whole
from ._arrays import Array, element_of, packed, unpacked
from ._declare import Quantization, QuantizationConstraint, op_class
from ._errors import Error
from ._op import DTYPE, INTEGER, Op, QuantizedType, handle_of, packed_codes
from ._samples import near
from ._states import STATES, Quantizable, QuantizationState, Quantized, ToQuantize, Unquantized, reason_of

Key = Op | str | int

_OPERATION = instance(Op, "an operation, of those that the hook was given or made")
_PLACE = whole("a whole number, from 0", 0, 2**32 - 1)
_CONSTRAINT = instance(QuantizationConstraint, "a QuantizationConstraint")


def _parents(given: Any) -> list[Op | None]:
    return [None if each is None else _OPERATION.fit(each) for each in given]


def _extents(given: Any) -> Any:
    return given if isinstance(given, EllipsisType) else [None if each is None else INTEGER.fit(each) for each in given]


def same(a: object, b: object) -> bool:
    """Whether two constraints ask for the same."""
    return type(a) is type(b) and a.hash() == b.hash() and bool(a.check(b))  # type: ignore[attr-defined]


class Parents:
    """What a node reads: `ops`, in order, and as which operands."""

    def __init__(self, node: Op) -> None:
        self.ops = node.parents
        self._operands: dict[Op, list[int]] = {}
        for i, op in enumerate(self.ops):
            if op is not None:
                self._operands.setdefault(op, []).append(i)

    def operands(self, value: Op) -> list[int]:
        return self._operands.get(value, [])


class Asking:
    """Where a hook's requests go. The graph does not change meanwhile."""

    def __init__(self, parents: Parents) -> None:
        self.parents = parents

    def ask(self, operand: int, constraint: QuantizationConstraint, codes: bool) -> bool:
        raise NotImplementedError


class QuantizationTable:
    """The states of values, by an `Op`, a parent's or a result's name, or the index of a parent."""

    def __init__(self, context: QuantizationContext) -> None:
        self._context = context

    def __getitem__(self, key: Key) -> QuantizationState:
        context = self._context
        value, operands = self._find(key)
        if value is None:
            return context._asked_of(Unquantized("absent"), operands)
        return context._asked_of(context._state(value), operands)

    def __len__(self) -> int:
        return len(self._context._parents().ops)

    def __iter__(self) -> Iterator[QuantizationState]:
        """Of the parents."""
        return (self[index] for index in range(len(self)))

    def __setitem__(self, key: Key, state: QuantizationState) -> None:
        """In `rewriter`: marks a result as `Quantized`, with its type."""
        value, _ = self._find(key)
        if value is None or not isinstance(state, Quantized):
            raise Error(f"a rewriter marks values as Quantized(constraint=..., type=...), and not as {state!r}")
        self._context._mark(value, state)

    def _find(self, key: Key) -> tuple[Op | None, list[int]]:
        """The value, and as which operands the node reads it."""
        parents = self._context._parents()
        if isinstance(key, int):
            if 0 <= key < len(parents.ops):
                return parents.ops[key], [key]
            most = self._context.node._node.most_operands
            if key < 0 or most is None or key >= most:
                raise Error(f"the node has {len(parents.ops)} parents, from 0 on, and none at {key}")
            return None, []  # such nodes may have it
        if isinstance(key, Op):
            return key, parents.operands(key)
        named = {op.name: op for op in [*self._context.node.results, *parents.ops] if op is not None}
        if key not in named:
            raise Error(f"the node neither reads nor makes a value '{key}'{near(str(key), named)}")
        return named[key], parents.operands(named[key])


class QuantizationContext:
    """Of one call of a hook, after which it is no longer good.

    Attributes:
        node: The operation at hand.
        quantization: The scheme, with its options.
        quantization_table: The states of values; see `QuantizationTable`.
    """

    def __init__(
        self, hook: _quadrant.Hook, node: Op, quantization: Quantization, asking: Asking | None = None
    ) -> None:
        self.node = node
        self.quantization: Any = quantization
        self._hook = hook
        self._asking = asking
        self._reads_forms = False  # else states of phase 1
        self._why: str | None = None

    @property
    def quantization_table(self) -> QuantizationTable:
        return QuantizationTable(self)

    # Phases 1 to 3

    def match(self) -> QuantizationState:
        """In `check_eligibility`: what `requires_parents` says of the parents."""
        return STATES[self._hook.match()]()

    def refuse(self, why: str) -> None:
        """Says why not, for `Result.explain`; in `examine`, keeps the value in float."""
        if self._asking is not None:
            self._why = self._why or reason_of(str(why))  # of the first answer
        else:
            self._hook.refuse(reason_of(str(why)))

    @checked(constraint=_CONSTRAINT)
    def produce(self, constraint: QuantizationConstraint) -> None:
        """In `request`: asks for the node's own results in this form; `callback` says how."""
        self._hook.produce(constraint)

    # Between phases 3 and 4

    def keep(self, array: Array) -> None:
        """In `examine`: keeps an array for the node's rewriter."""
        found = np.asarray(array)
        self._hook.keep(packed(found, element_of(found.dtype)))

    @checked(index=_PLACE)
    def kept(self, index: int = 0) -> Array | None:
        """In `rewriter`: what the index-th `keep` kept."""
        found = self._hook.kept(index)
        return None if found is None else unpacked(found)

    # Phase 4

    @checked(value=or_none(_OPERATION))
    def selected(self, value: Op | None = None) -> Any:
        """The constraint that a value, by default the node's result, is made in; None for floats."""
        return self._hook.form((value or self.node)._node)

    @checked(operand=_PLACE)
    def read(self, operand: int) -> Any:
        """The constraint that the node reads an operand in; None for floats."""
        return self._hook.read(operand)

    @checked(value=_OPERATION)
    def set_type(self, value: Op, type: QuantizedType) -> None:
        """The value holds codes of this type; its shape stays."""
        self._hook.set_type(value._node, handle_of(type))

    @checked(value=_OPERATION)
    def set_weight(self, value: Op, codes: Array, type: QuantizedType) -> None:
        """Codes take the place of a constant's contents."""
        handle = handle_of(type)
        self._hook.set_constant(value._node, packed_codes(np.asarray(codes), type, value.name), handle)

    @checked(user=_OPERATION, operand=_PLACE, value=_OPERATION)
    def set_parent(self, user: Op, operand: int, value: Op) -> None:
        """`user` reads `value` instead."""
        self._hook.set_operand(user._node, operand, value._node)

    @checked(
        parents=Rule("operations, or None, in a list", _parents),
        name=or_none(TEXT),
        dtype=or_none(DTYPE),
        shape=or_none(Rule("an int for each axis, or None, in a list", _extents)),
    )
    def emit(
        self,
        op_type: type[Op] | str,
        parents: Sequence[Op | None],
        *,
        name: str | None = None,
        dtype: object = None,
        shape: Sequence[int | None] | EllipsisType | None = ...,
        type: QuantizedType | None = None,
        **attributes: Any,
    ) -> Op:
        """Adds an operation of one result.

        Args:
            name: Of the value; None: that of the value at hand. One that is taken gets a suffix.
            dtype: None: that of the codes of `type`, else of what the first parent's elements stand for.
            shape: None where it is not known; by default the first parent's.
            type: What its codes stand for; None: they are no codes.
            attributes: Numbers, strings, lists of these, arrays.
        """
        handle = None if type is None else handle_of(type)
        like = parents[0] if parents else None
        if dtype is None:
            codes = type or (like.type if like else None)
            dtype = type.dtype if type else codes.expressed if codes else like.dtype if like else "float32"
        if isinstance(shape, EllipsisType):
            shape = like.shape if like else None
        return Op(
            self._hook.emit(
                op_class(op_type).kind,
                [None if parent is None else parent._node for parent in parents],
                name or self.node.name,
                element_of(dtype),
                None if shape is None else list(shape),
                handle,
                {key: _attribute(value) for key, value in attributes.items()},
            )
        )

    @checked(name=TEXT)
    def emit_constant(self, array: Array, *, name: str, type: QuantizedType | None = None) -> Op:
        """Adds a constant; with a type, of codes."""
        handle = None if type is None else handle_of(type)
        found = np.asarray(array)
        contents = packed_codes(found, type, name) if type else packed(found, element_of(found.dtype))
        return Op(self._hook.emit_constant(name, contents, handle))

    @checked(codes=_OPERATION)
    def relabel(self, codes: Op, type: QuantizedType) -> Op:
        """The same integers, which stand for something else."""
        plain = self.emit("storage_cast", [codes], dtype=codes.dtype)
        return self.emit("storage_cast", [plain], type=type)

    @checked(value=_OPERATION, made=_OPERATION, suffix=TEXT)
    def replace(self, value: Op, made: Op, *, suffix: str = "_replaced") -> None:
        """`made` takes the place and the name of a result of the node, which gets the suffix behind its own."""
        self._hook.take_place(value._node, made._node, suffix)

    # What states are in this phase

    def _parents(self) -> Parents:
        return Parents(self.node) if self._asking is None else self._asking.parents

    def _state(self, value: Op) -> QuantizationState:
        if not self._reads_forms:
            return STATES[self._hook.state(value._node)]()
        type = value.type
        form = self._hook.form(value._node)
        if type is not None:
            return Quantized(form, type)
        if form is not None:
            return ToQuantize(form)
        state = STATES[self._hook.state(value._node)]
        return Unquantized() if issubclass(state, Quantizable) else state()

    def _asked_of(self, state: QuantizationState, operands: list[int]) -> QuantizationState:
        asking = self._asking
        if asking is None or not operands:
            return state
        can_be = isinstance(state, Quantizable)

        def ask(constraint: QuantizationConstraint, codes: bool) -> bool:
            if not isinstance(constraint, QuantizationConstraint):
                raise Error(f"propagate_constraint takes a QuantizationConstraint, not {constraint!r}")
            # All are asked, that explanations show it.
            return all([asking.ask(operand, constraint, codes) for operand in operands]) and can_be

        state._ask = ask
        return state

    def _mark(self, value: Op, state: Quantized) -> None:
        selected = self.selected(value)
        if state.constraint is not ... and not same(state.constraint, selected):
            raise Error(f"'{value.name}' is marked as [{state.constraint}], and selected was [{selected}]")
        if state.type is not None:
            self.set_type(value, state.type)
        elif value.type is None:
            types = [parent.type for parent in self.node.parents if parent is not None and parent.type is not None]
            if not types:
                raise Error(f"'{value.name}' is marked as Quantized and has no type: Quantized(constraint, type)")
            self.set_type(value, types[0])


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return packed(value, element_of(value.dtype))
    if isinstance(value, tuple):
        return list(value)
    return value
