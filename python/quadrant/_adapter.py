"""Between the engine and hooks: what these are called with, what their answers mean, and what they raise."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _quadrant
from ._context import Asking, Parents, QuantizationContext, same
from ._declare import HOOKS, Quantization, QuantizationConstraint, QuantizationMethod, Registered
from ._errors import Error
from ._op import Op
from ._states import Consumer, Quantizable, QuantizationState, Unquantized

# How often a callback is asked about one constraint, with other answers of its parents.
MOST_TRIALS = 64


def guarded(name: str, node: Op, hook: Any, *arguments: Any) -> Any:
    """What a hook returns. What it raises becomes the cause of an Error that says where."""
    try:
        return hook(*arguments)
    except Exception as raised:
        code = raised.code if isinstance(raised, Error) else "usage"
        what = raised.message if isinstance(raised, Error) else f"{type(raised).__name__}: {raised}"
        raise Error(f"{name} failed: {what}", code=code, node=node.label) from raised


class _Requests(Asking):
    """Those of `request`, which the engine hears at once."""

    def __init__(self, hook: _quadrant.Hook, parents: Parents) -> None:
        super().__init__(parents)
        self._hook = hook

    def ask(self, operand: int, constraint: QuantizationConstraint, codes: bool) -> bool:
        self._hook.benefit(operand, constraint, codes)
        return True


class _Trial(Asking):
    """Those of one call of `callback`, which presumes answers: those given, and True beyond them."""

    def __init__(self, hook: _quadrant.Hook, parents: Parents, answers: list[bool]) -> None:
        super().__init__(parents)
        self._hook = hook
        self._asked: list[tuple[int, QuantizationConstraint]] = []
        self._places: dict[int, list[int]] = {}  # in `_asked`, by operand
        self.answers = answers

    def ask(self, operand: int, constraint: QuantizationConstraint, codes: bool) -> bool:
        parent = self.parents.ops[operand]
        if parent is None or self._hook.state(parent._node) != Quantizable.index:
            return False  # known, whatever else comes true
        places = self._places.setdefault(operand, [])
        for place in places:
            if same(self._asked[place][1], constraint):
                return self.answers[place]
        places.append(len(self._asked))
        self._asked.append((operand, constraint))
        if len(self._asked) > len(self.answers):
            self.answers.append(True)
        return self.answers[len(self._asked) - 1]

    def needs(self) -> list[tuple[int, QuantizationConstraint]]:
        return [asked for asked, answer in zip(self._asked, self.answers, strict=False) if answer]

    def next_answers(self) -> list[bool]:
        """Those of the next trial: the last True turns out False. Empty: there is none."""
        answers = self.answers[: len(self._asked)]
        while answers and not answers[-1]:
            answers.pop()
        if answers:
            answers[-1] = False
        return answers


class MethodAdapter:
    """Of one method in one run."""

    def __init__(self, registered: Registered, quantization: Quantization) -> None:
        self.name = registered.method.__qualname__
        try:
            self._method = registered.method()
        except Exception as raised:
            what = f"{type(raised).__name__}: {raised}"
            raise Error(f"{self.name}() failed: {what}; methods are made without arguments") from raised
        self._op_type = registered.op_type
        self._quantization = quantization
        self._method.buddy_op = registered.op_type
        self._method.quantization = quantization
        for name, value in registered.params.items():
            setattr(self._method, name, value)
        self.hooks = [name for name in HOOKS if is_own(registered.method, name)]
        self.is_consumer = issubclass(self._method.state, Consumer)

    def _node(self, hook: _quadrant.Hook) -> Op:
        return self._op_type(hook.node())

    def _call(self, hook: str, node: Op, *arguments: Any) -> Any:
        return guarded(f"{self.name}.{hook}", node, getattr(self._method, hook), *arguments)

    def _nonsense(self, hook: str, node: Op, answer: object, wanted: str) -> Error:
        return Error(f"{self.name}.{hook} returned {answer!r}, and not {wanted}", node=node.label)

    def _context(self, hook: _quadrant.Hook, node: Op, asking: Asking | None = None) -> QuantizationContext:
        return QuantizationContext(hook, node, self._quantization, asking)

    def check_eligibility(self, hook: _quadrant.Hook) -> tuple[int, str]:
        node = self._node(hook)
        answer = self._call("check_eligibility", node, node, self._context(hook, node))
        if isinstance(answer, (bool, np.bool_)):
            answer = self._method.state if answer else Unquantized
        if isinstance(answer, type) and issubclass(answer, QuantizationState) and answer is not QuantizationState:
            answer = answer()
        if not isinstance(answer, (Quantizable, Consumer, Unquantized)):
            wanted = "Quantizable(), Consumer(), Unquantized() or a bool"
            raise self._nonsense("check_eligibility", node, answer, wanted)
        if not isinstance(answer, Unquantized):
            return answer.index, ""
        # Without a reason it is a pattern's, if that is why.
        says_no = is_own(type(self._method), "check_eligibility") and not answer.reason
        if says_no and not isinstance(self._context(hook, node).match(), Unquantized):
            return answer.index, f"{self.name}.check_eligibility says no"
        return answer.index, answer.reason

    def request(self, hook: _quadrant.Hook) -> None:
        node = self._node(hook)
        context = self._context(hook, node, _Requests(hook, Parents(node)))
        answer = self._call("request", node, node, context)
        if answer is not None:
            raise self._nonsense("request", node, answer, "None: it asks by propagate_constraint, or produce")
        if context._why is not None:
            hook.refuse(context._why)

    def callback(self, hook: _quadrant.Hook, constraint: Any) -> None:
        """An alternative for each way in which parents may answer and the callback then accepts."""
        node = self._node(hook)
        parents = Parents(node)
        answers: list[bool] = []
        accepts = False
        why = None
        for _ in range(MOST_TRIALS):
            trial = _Trial(hook, parents, answers)
            context = self._context(hook, node, trial)
            if self._accepts(constraint, node, context):
                accepts = True
                for operand, need in trial.needs():
                    hook.need(operand, need)
                hook.end_alternative()
            why = why or context._why
            answers = trial.next_answers()
            if not answers:
                break
        if not accepts and why is not None:
            hook.refuse(why)

    def _accepts(self, constraint: Any, node: Op, context: QuantizationContext) -> bool:
        answer = self._call("callback", node, constraint, node, context)
        if answer is None:
            return False
        is_one = isinstance(answer, QuantizationConstraint)
        if is_one and guarded(f"{self.name}.callback", node, same, answer, constraint):
            return True
        raise self._nonsense("callback", node, answer, f"the constraint that it was asked for, [{constraint}], or None")

    def forward(self, hook: _quadrant.Hook) -> None:
        node = self._node(hook)
        context = self._context(hook, node)
        context._reads_forms = True
        answer = self._call("forward", node, node, context)
        if isinstance(answer, Quantizable) and answer.constraints is None:
            hook.offer_requests()
        elif isinstance(answer, Quantizable):
            for constraint in answer.constraints or ():
                if not isinstance(constraint, QuantizationConstraint):
                    raise self._nonsense("forward", node, constraint, "a QuantizationConstraint in Quantizable()")
                hook.offer(constraint)
        elif isinstance(answer, (Unquantized, Consumer)):
            hook.refuse(getattr(answer, "reason", ""))
        else:
            raise self._nonsense("forward", node, answer, "Quantizable([...]) or Unquantized()")

    def storage(self, hook: _quadrant.Hook, constraint: Any) -> tuple[int, int] | None:
        node = self._node(hook)
        answer = self._call("storage", node, constraint, node)
        if answer is None:
            return None
        try:
            before, after = map(int, answer)
        except (TypeError, ValueError):
            raise self._nonsense("storage", node, answer, "two counts of bytes, or None") from None
        if min(before, after) < 0:
            raise self._nonsense("storage", node, answer, "two counts of bytes, or None")
        return before, after

    def examine(self, hook: _quadrant.Hook, constraint: Any) -> None:
        node = self._node(hook)
        self._call("examine", node, constraint, node, self._context(hook, node))

    def rewriter(self, hook: _quadrant.Hook) -> None:
        node = self._node(hook)
        context = self._context(hook, node)
        context._reads_forms = True
        self._call("rewriter", node, node, context)


class SchemeAdapter:
    """Of a scheme in one run."""

    def __init__(self, quantization: Quantization) -> None:
        self._quantization = quantization
        self._dequantizer = type(quantization)._dequantizer
        self._name = getattr(self._dequantizer, "__qualname__", "dequantizer")

    def leave(self, hook: _quadrant.Hook, result: int) -> _quadrant.Node:
        node = Op(hook.node()).results[result]
        context = QuantizationContext(hook, node, self._quantization)
        context._reads_forms = True
        made: object = Op.of("dequantize")
        if self._dequantizer is not None:
            made = guarded(self._name, node, self._dequantizer, node, context)
        if isinstance(made, type) and issubclass(made, Op):
            made = guarded(self._name, node, context.emit, made, [node])
        if not isinstance(made, Op):
            raise Error(f"{self._name} returned {made!r}, and not an operation", node=node.label)
        return made._node


def is_own(method: type[QuantizationMethod], hook: str) -> bool:
    return getattr(method, hook) is not getattr(QuantizationMethod, hook)
