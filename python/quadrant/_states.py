"""The states of a value under a scheme, and patterns of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import TYPE_CHECKING, ClassVar

from ._arguments import FLAG, Rule, checked, instance, or_none, whole
from ._errors import Error

if TYPE_CHECKING:
    from ._declare import QuantizationConstraint
    from ._op import QuantizedType

Ask = Callable[["QuantizationConstraint", bool], bool]


class QuantizationState:
    """What a value is in a phase. Hooks read states, and answer with states of their own."""

    index: ClassVar[int]  # of the library's State
    _ask: Ask | None = None

    def propagate_constraint(self, constraint: QuantizationConstraint, *, codes: bool = False) -> bool:
        """Asks for the value in this form, in `callback` and `request`.

        Args:
            codes: In `request`: the node would read the codes themselves, which its rewriter makes it do.

        Returns:
            False where the value cannot have it. True promises nothing yet: the answer is known when all requests
            are. In `callback` True is what the value is presumed to say, and the engine asks again for what there
            is if it says False.
        """
        if self._ask is None:
            raise Error("propagate_constraint is for parents, in callback and request")
        return self._ask(constraint, FLAG.value("codes", codes))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def reason_of(text: object) -> str:
    """The text, which explanations can show."""
    if not isinstance(text, str):
        raise TypeError(f"a reason is a text, and not {text!r}")
    # Lone surrogates are no text in files.
    return text.encode("utf-8", "backslashreplace").decode()


class Unquantized(QuantizationState):
    """Float throughout, for `reason`."""

    index = 0

    def __init__(self, reason: str = "") -> None:
        self.reason = reason_of(reason)


class Quantizable(QuantizationState):
    """Some quantization of the parents allows it. From `forward`: these `constraints`, None for all asked for."""

    index = 1

    @checked(constraints=or_none(Rule("several QuantizationConstraints, in a list", list)))
    def __init__(self, constraints: Iterable[QuantizationConstraint] | None = None) -> None:
        self.constraints = None if constraints is None else list(constraints)


class Quantized(QuantizationState):
    """Held as codes of the form `constraint`; `...` is the one that was selected.

    `type` says what the codes stand for. Without it, a rewriter hands on that of the first quantized parent.
    """

    index = 3

    def __init__(
        self, constraint: QuantizationConstraint | EllipsisType | None = None, type: QuantizedType | None = None
    ) -> None:
        self.constraint = constraint
        self.type = type


class ToQuantize(Quantized):
    """Selected, and not rewritten yet: to `forward`, what its parents will be."""

    index = 2


class Consumer(QuantizationState):
    """Made, in float, by a node that gains from quantized parents."""

    index = 4


STATES: tuple[type[QuantizationState], ...] = (Unquantized, Quantizable, ToQuantize, Quantized, Consumer)


_STATES = whole("a bit for each state, one at least", 1, (1 << len(STATES)) - 1)


@dataclass(frozen=True)
class EligibilityPattern:
    """The states that a parent may be in. `|` is either of two."""

    states: int
    is_optional: bool = False
    is_variadic: bool = False

    def __post_init__(self) -> None:
        _STATES.value("states", self.states)
        FLAG.value("is_optional", self.is_optional)
        FLAG.value("is_variadic", self.is_variadic)

    def __or__(self, other: EligibilityPattern) -> EligibilityPattern:
        if not isinstance(other, EligibilityPattern):
            return NotImplemented
        return EligibilityPattern(
            self.states | other.states, self.is_optional or other.is_optional, self.is_variadic or other.is_variadic
        )


_PATTERN = instance(EligibilityPattern, "a pattern, AnyQuantizable and the like")


def _any(*states: type[QuantizationState]) -> EligibilityPattern:
    return EligibilityPattern(sum(1 << state.index for state in states))


AnyQuantizable = _any(Quantizable)
AnyQuantized = _any(Quantized, ToQuantize)
AnyUnquantized = _any(Unquantized, Consumer)
"""Matches parents that stay float, consumers among them."""
AnyConsumer = _any(Consumer)
"""Matches parents that gain from codes, and whose results are float."""
AnyState = _any(*STATES)
"""Matches any parent."""


@checked(pattern=_PATTERN)
def or_absent(pattern: EligibilityPattern) -> EligibilityPattern:
    """Matches a parent that is not there, too: a convolution's bias."""
    return replace(pattern, is_optional=True)


@checked(pattern=_PATTERN)
def variadic(pattern: EligibilityPattern) -> EligibilityPattern:
    """As the last pattern: matches each of the parents that are left, one at least."""
    return replace(pattern, is_variadic=True)
