"""What a scheme is made of: constraints, methods for operations, a dequantizer."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._arguments import Rule, checked
from ._errors import Error
from ._op import Op
from ._states import Consumer, EligibilityPattern, Quantizable, QuantizationState

if TYPE_CHECKING:
    from ._context import QuantizationContext

OpType = type[Op] | str
Dequantizer = Callable[[Op, "QuantizationContext"], Op | type[Op]]
_Method = TypeVar("_Method", bound="type[QuantizationMethod]")
_Function = TypeVar("_Function", bound=Dequantizer)


def _attributes_of(given: object) -> dict[str, Any]:
    """Those in slots first, of bases before others."""
    attributes: dict[str, Any] = {}
    for base in reversed(type(given).__mro__):
        slots = base.__dict__.get("__slots__", ())
        for slot in [slots] if isinstance(slots, str) else slots:
            is_private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{base.__name__.lstrip('_')}{slot}" if is_private else slot
            if name not in ("__dict__", "__weakref__") and hasattr(given, name):
                attributes[name] = getattr(given, name)
    return {**attributes, **vars(given)}


class QuantizationConstraint:
    """What can be asked of a value: a form, by numbers and texts that are attributes.

    Derive, and set these in ``__init__``. A constraint does not change.
    """

    #: What it is worth to whoever asks for it, where the run's gains are those of constraints.
    gain: int = 1

    def check(self, other: Any) -> bool:
        """Whether both ask for the same. The other is of the same class, and hashes alike."""
        return bool(self.hash() == other.hash())

    def hash(self) -> Any:
        """What is the same for equal constraints, and can be hashed. Here: all attributes but the gain."""
        return tuple(self._fields().items())

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in _attributes_of(self).items() if name != "gain"}

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and bool(self.check(other)))

    def __hash__(self) -> int:
        return hash(self.hash())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._fields().items())})"

    def __str__(self) -> str:
        """For plans, in which it is found again by this; equal gains are decided by its order."""
        return " ".join(f"{name}={value}" for name, value in self._fields().items()) or type(self).__name__


class Quantization:
    """A scheme: a class to register methods for, with options as attributes. Derived ones have its methods, too."""

    _methods: dict[str, Registered]
    _dequantizer: Dequantizer | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._methods = {}

    @property
    def name(self) -> str:
        """What plans call it."""
        return type(self).__name__

    def describe(self) -> str:
        """The options in one line, for plans."""
        return " ".join(f"{name}={value}" for name, value in _attributes_of(self).items())


class QuantizationMethod:
    """How an operation behaves under a scheme. Each run has an object of the class for each operation.

    All hooks may be left out. They are called one at a time, from another thread than the one that quantizes, and
    what they are given is good until they return. An exception ends the run: `quantise_graph` raises an `Error`
    that names class, hook and node, with the exception as its cause.

    Attributes:
        state: `Quantizable` for results that become codes, `Consumer` for nodes that gain from quantized parents.
        buddy_op: The operation that it is for.
        quantization: The scheme, with its options.
    """

    state: type[QuantizationState] = Quantizable
    buddy_op: type[Op]
    quantization: Any
    _patterns: tuple[tuple[EligibilityPattern, ...], ...] = ()

    def check_eligibility(self, node: Op, context: QuantizationContext) -> QuantizationState | bool:
        """Phase 1: a state, or whether it is `state`. Here: by `requires_parents`, always without."""
        return context.match()

    def request(self, node: Op, context: QuantizationContext) -> None:
        """Phase 2: what the node asks of its parents on its own account, by ``propagate_constraint``."""

    def callback(
        self, constraint: Any, node: Op, context: QuantizationContext
    ) -> QuantizationConstraint | None:
        """Phase 2: the constraint, if results can hold it, given what parents say to ``propagate_constraint``.

        It is called for each constraint that is asked for, and again for answers that turn out False, so it must
        depend on nothing but its arguments and these answers. Here: None.
        """

    def forward(self, node: Op, context: QuantizationContext) -> QuantizationState:
        """Phase 3: `Quantizable` with the constraints that there are, or `Unquantized`. Here: what was accepted."""
        return Quantizable()

    def storage(self, constraint: Any, node: Op) -> tuple[int, int] | None:
        """Bytes in float and as codes, for results that are stored. Here: none are."""

    def examine(self, constraint: Any, node: Op, context: QuantizationContext) -> None:
        """Before phase 4, for what was selected: looks at contents, and may ``context.refuse`` or ``keep``."""

    def rewriter(self, node: Op, context: QuantizationContext) -> None:
        """Phase 4: gives selected results a quantized type. Called for Consumers, too."""


HOOKS = ("check_eligibility", "request", "callback", "forward", "storage", "examine", "rewriter")


@dataclass(frozen=True)
class Registered:
    """A method class for one operation, with what differs between operations."""

    method: type[QuantizationMethod]
    op_type: type[Op]
    params: Mapping[str, Any]


def requires_parents(*patterns: EligibilityPattern) -> Callable[[_Method], _Method]:
    """Declares the states that parents must be in, in order. Several of these are alternatives."""
    for i, pattern in enumerate(patterns):
        if not isinstance(pattern, EligibilityPattern):
            raise TypeError(f"requires_parents takes patterns, AnyQuantizable and the like, not {pattern!r}")
        if pattern.is_variadic and i + 1 < len(patterns):
            raise TypeError("only the last pattern may be variadic")
    if len(patterns) > 8:
        raise TypeError("requires_parents takes at most eight patterns")

    def declare(method: _Method) -> _Method:
        # The decorator next to the class comes first, and stands last.
        method._patterns = (patterns, *method.__dict__.get("_patterns", ()))
        return method

    return declare


def register_quantizer(*, quantization: type[Quantization], op_type: OpType) -> Callable[[_Method], _Method]:
    """Registers a method for an operation: a class with a `kind`, or its name, ``"matmul"``."""
    return register_parameterized(quantization=quantization, params=[(op_type, {})])


@checked(params=Rule("pairs of an operation and attributes, in a list", list))
def register_parameterized(
    *, quantization: type[Quantization], params: Iterable[tuple[OpType, Mapping[str, Any]]]
) -> Callable[[_Method], _Method]:
    """Registers a method for several operations, each with attributes of its own.

    Raises:
        Error: ``usage`` where another class is registered for one of them. The same class, defined anew, takes its
            place. For a function whose name is nearly a hook's. Operations that there are not end the run.
    """
    wanted = [_pair_of(each) for each in params]

    def register(method: _Method) -> _Method:
        if not (isinstance(method, type) and issubclass(method, QuantizationMethod)):
            raise TypeError(f"{method!r} does not derive from QuantizationMethod")
        _check_hooks(method)
        for op_type, values in wanted:
            _check_state(method, values.get("state", method.state))
            _register(quantization, Registered(method, op_class(op_type), dict(values)))
        return method

    return register


def _pair_of(given: Any) -> tuple[OpType, Mapping[str, Any]]:
    if not (isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[1], Mapping)):
        raise TypeError(f"params are pairs of an operation and attributes, (\"gemm\", {{}}), and not {given!r}")
    return given[0], given[1]


def _check_state(method: type[QuantizationMethod], state: object) -> None:
    if not (isinstance(state, type) and issubclass(state, (Quantizable, Consumer))):
        raise TypeError(f"{method.__qualname__}.state is Quantizable or Consumer, and not {state!r}")


def _check_hooks(method: type[QuantizationMethod]) -> None:
    """What would never be called, or answers later."""
    for name in dir(method):
        function = inspect.getattr_static(method, name)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        where = f"{method.__qualname__}.{name}"
        if name not in HOOKS:
            for near in difflib.get_close_matches(name, HOOKS, 1, 0.86):
                raise Error(f"{where} is no hook, and '{near}' is one; other functions are named less like it")
        elif any(is_kind(function) for is_kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction,
                                                   inspect.isasyncgenfunction)):  # fmt: skip
            raise TypeError(f"{where} is async or yields, and hooks answer when they return")


def op_class(op_type: OpType) -> type[Op]:
    if isinstance(op_type, str):
        return Op.of(op_type)
    if not (isinstance(op_type, type) and issubclass(op_type, Op) and isinstance(getattr(op_type, "kind", None), str)):
        raise TypeError(f"{op_type!r} is no operation: derive a class from Op with a `kind`, or name it")
    return op_type


def _check_scheme(quantization: object) -> None:
    if not (isinstance(quantization, type) and issubclass(quantization, Quantization)) or quantization is Quantization:
        raise TypeError(f"{quantization!r} is no class that derives from Quantization")


def _register(quantization: type[Quantization], made: Registered) -> None:
    _check_scheme(quantization)
    kind = made.op_type.kind
    known = quantization._methods.get(kind)
    if known is not None and _place(known.method) != _place(made.method):
        raise Error(
            f"{quantization.__name__} has two methods for '{kind}': {_place(known.method)} and {_place(made.method)}"
        )
    quantization._methods[kind] = made


def _place(method: type[QuantizationMethod]) -> str:
    return f"{method.__module__}.{method.__qualname__}"


def methods_of(quantization: type[Quantization]) -> dict[str, Registered]:
    """By operation; those of a derived class in place of its bases'."""
    found: dict[str, Registered] = {}
    for base in reversed(quantization.__mro__):
        found.update(base.__dict__.get("_methods", {}))
    return found


def register_dequantizer(*, quantization_method: type[Quantization]) -> Callable[[_Function], _Function]:
    """Registers what makes the float form of a quantized value, once for all who read floats.

    The function takes the value and the context, and returns the operation that it emitted; or a kind of operation,
    which is emitted for it. A scheme without one dequantizes by the types of its codes.
    """

    _check_scheme(quantization_method)

    def register(function: _Function) -> _Function:
        if not callable(function):
            raise TypeError(f"a dequantizer is a function of a value and a context, and not {function!r}")
        quantization_method._dequantizer = staticmethod(function)  # type: ignore[assignment, unused-ignore]
        return function

    return register
