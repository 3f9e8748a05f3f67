"""Schemes that are written in Python, decided by the library's engine.

::

    from quadrant.scheme import *

    class MyQuantization(Quantization): ...

    @register_quantizer(quantization=MyQuantization, op_type="transpose")
    @requires_parents(AnyQuantizable)
    class Transpose(QuantizationMethod): ...

    result = quantise_graph(graph="model.onnx", quantization=MyQuantization())

docs/python_schemes.md shows how.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _quadrant
from ._adapter import MethodAdapter, SchemeAdapter
from ._arguments import checked, word
from ._context import QuantizationContext, QuantizationTable
from ._declare import (
    Quantization,
    QuantizationConstraint,
    QuantizationMethod,
    methods_of,
    register_dequantizer,
    register_parameterized,
    register_quantizer,
    requires_parents,
)
from ._errors import Error
from ._model import ModelLike, read
from ._op import Op, QuantizedType, decode, encode
from ._quantize import Result, plan_of
from ._samples import names_of
from ._session import Progress, Settings, session_of
from ._states import (
    AnyConsumer,
    AnyQuantizable,
    AnyQuantized,
    AnyState,
    AnyUnquantized,
    Consumer,
    EligibilityPattern,
    Quantizable,
    QuantizationState,
    Quantized,
    ToQuantize,
    Unquantized,
    or_absent,
    variadic,
)


@checked(policy=word("greedy", "optimal"))
def quantise_graph(
    *,
    graph: ModelLike,
    quantization: Quantization,
    gain: str | None = None,
    policy: str = "greedy",
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    plan: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    non_finite: str = "refuse",
    progress: Progress = False,
) -> Result:
    """Quantizes a model by a scheme of Python: the four phases, in which the engine calls the scheme's methods.

    Args:
        graph: What `quadrant.read` takes, or gives. It stays as it is.
        quantization: The scheme, with its options.
        gain: The gain model: ``"bytes"``, by `storage`, ``"unit"``, ``"operations"``, ``"latency"``; None: what
            constraints say that are asked for.
        policy: ``"greedy"``, or ``"optimal"``, which does not ask `forward`.
        non_finite: What `examine` refuses ends the run, ``"refuse"``, or stays in float, ``"leave"``.

    The others are as for `quadrant.quantize`.

    Returns:
        The quantized model, its plan, and why it is so. Schemes may run at the same time, from several threads; hooks
        of one run are called one at a time. A hook may not start a run.

    Raises:
        Error: What a hook raises is the cause of one that names class, hook and node; ``impossible`` for what engine
            or model refuse; ``usage``.
    """
    if not isinstance(quantization, Quantization):
        raise TypeError(f"quantization is a Quantization, not {type(quantization).__name__}")
    if _quadrant.runs_hooks():
        raise Error("a hook may not start a run")
    registered_methods = methods_of(type(quantization))
    if not registered_methods:
        raise Error(f"{type(quantization).__name__} has no methods; register_quantizer adds them")
    builder = _quadrant.SchemeBuilder(quantization.name, quantization.describe(), SchemeAdapter(quantization))
    for kind, registered in registered_methods.items():
        adapter = MethodAdapter(registered, quantization)
        patterns = [
            [(pattern.states, pattern.is_optional, pattern.is_variadic) for pattern in patterns]
            for patterns in registered.method._patterns
        ]
        builder.add(kind, adapter.name, patterns, adapter.is_consumer, adapter.hooks, adapter)
    settings = Settings(progress=progress)
    source = read(graph)
    with session_of(settings) as session:
        made = builder.quantize(
            session,
            source._handle,
            gain=gain or "",
            policy=policy,
            leave_non_finite=non_finite == "leave",
            include=names_of(include),
            exclude=names_of(exclude),
            plan=plan_of(plan),
        )
    return Result(made, settings)


__all__ = [
    "AnyConsumer",
    "AnyQuantizable",
    "AnyQuantized",
    "AnyState",
    "AnyUnquantized",
    "Consumer",
    "EligibilityPattern",
    "Op",
    "Quantizable",
    "Quantization",
    "QuantizationConstraint",
    "QuantizationContext",
    "QuantizationMethod",
    "QuantizationState",
    "QuantizationTable",
    "Quantized",
    "QuantizedType",
    "ToQuantize",
    "Unquantized",
    "decode",
    "encode",
    "or_absent",
    "quantise_graph",
    "register_dequantizer",
    "register_parameterized",
    "register_quantizer",
    "requires_parents",
    "variadic",
]
