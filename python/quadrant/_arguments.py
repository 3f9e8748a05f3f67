"""What arguments are: a rule for each name, which says the same in all functions.

A wrong type is a TypeError, a wrong value an `Error`; both name the argument, and say what it takes.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import numbers
import operator
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ._errors import Error
from ._numpy import is_bool

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule:
    """What an argument takes, in words, and how it becomes that, by a TypeError or a ValueError if it does not."""

    takes: str
    fit: Callable[[Any], Any]
    may_be_none: bool = False

    def value(self, name: str, given: object) -> Any:
        if given is None and self.may_be_none:
            return None
        try:
            return self.fit(given)
        except (TypeError, ValueError, OverflowError) as problem:
            message = f"{name} takes {self.takes}, and not {reprlib.repr(given)}"
            # A generator of the caller's own may have failed: what it said is the cause.
            raise (TypeError if isinstance(problem, TypeError) else Error)(message) from (problem if problem.args else None)


def or_none(rule: Rule) -> Rule:
    return replace(rule, takes=f"{rule.takes}, or None", may_be_none=True)


def checked(**own: Rule) -> Callable[[_Function], _Function]:
    """Arguments of the function are checked by its own rules, and by those that their names have everywhere."""

    def decorate(function: _Function) -> _Function:
        names = list(inspect.signature(function).parameters)
        rules = [(names.index(name), name, rule) for name, rule in {**RULES, **own}.items() if name in names]

        # Hooks of schemes call some of these for each operation: nothing is bound twice. What is missing, or too much,
        # Python says.
        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            checked_ones = list(given)
            for place, name, rule in rules:
                if place < len(given):
                    checked_ones[place] = rule.value(name, given[place])
                elif name in named:
                    named[name] = rule.value(name, named[name])
            return function(*checked_ones, **named)

        return call  # type: ignore[return-value]

    return decorate


def whole(takes: str, least: int = 0, most: int = 2**63 - 1) -> Rule:
    def fit(given: Any) -> int:
        number = operator.index(_no_bool(given))
        if not least <= number <= most:
            raise ValueError
        return number

    return Rule(takes, fit)


def real(takes: str, least: float = -math.inf, most: float = math.inf) -> Rule:
    """A finite number."""

    def fit(given: Any) -> float:
        if not isinstance(_no_bool(given), numbers.Real):
            raise TypeError
        number = float(given)
        if not (math.isfinite(number) and least <= number <= most):
            raise ValueError
        return number

    return Rule(takes, fit)


def word(*words: str) -> Rule:
    def fit(given: Any) -> str:
        return words[words.index(_text(given))]

    return Rule(" or ".join(filter(None, [", ".join(map(repr, words[:-1])), repr(words[-1])])), fit)


def instance(of: type, takes: str) -> Rule:
    def fit(given: Any) -> Any:
        if not isinstance(given, of):
            raise TypeError
        return given

    return Rule(takes, fit)


def _no_bool(given: Any) -> Any:
    if is_bool(given):
        raise TypeError
    return given


def _flag(given: Any) -> bool:
    if not is_bool(given):
        raise TypeError
    return bool(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    given.encode()  # lone surrogates are no text: a ValueError
    if not given or "\0" in given:
        raise ValueError
    return given


def _path(given: Any) -> str:
    return _text(os.fspath(given))


def _model(given: Any) -> Any:
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    is_data = isinstance(given, (bytes, bytearray, memoryview))
    if not (is_data or hasattr(given, "SerializeToString") or hasattr(given, "to_onnx")):
        raise TypeError
    return given


def _samples(given: Any) -> Any:
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    if not (isinstance(given, Iterable) or hasattr(given, "__getitem__")):
        raise TypeError
    return given


def _path_or_dict(given: Any) -> Any:
    return given if isinstance(given, Mapping) else _path(given)


def _names(given: Any) -> list[str]:
    return [_text(name) for name in ([given] if isinstance(given, str) else given)]


def _progress(given: Any) -> Any:
    return given if callable(given) else _flag(given)


FLAG = Rule("True or False", _flag)
TEXT = Rule("a text, neither empty nor with NUL or surrogates", _text)
PATH = Rule("the path of a file, a text without NUL or surrogates", _path)
NAMES = Rule("a name or a pattern, or several in a list", _names)
MODEL = Rule("a path, bytes, an onnx.ModelProto or a quadrant.Model", _model)
SAMPLES = Rule("several dicts of arrays, in a list say, or the path of a folder", _samples)
DOCUMENT = or_none(Rule("a dict, or the path of a JSON file", _path_or_dict))

RULES = {
    "accept_points": real("a number of percentage points, from 0 to 100", 0, 100),
    "accept_sqnr_db": real("a finite number of decibels"),
    "allow_non_finite_samples": FLAG,
    "cache": or_none(PATH),
    "calibration": or_none(SAMPLES),
    "coded_borders": FLAG,
    "convert_samples": FLAG,
    "data": or_none(SAMPLES),
    "encodings": or_none(PATH),
    "exclude": NAMES,
    "external_data": FLAG,
    "first": MODEL,
    "follow_links": FLAG,
    "gain": or_none(Rule("a name, 'bytes' say", _text)),
    "graph": MODEL,
    "hardware": or_none(Rule("the name of a profile, or the path of a file", _path)),
    "include": NAMES,
    "inputs": instance(Mapping, "a dict of arrays, by the names of inputs"),
    "layers": FLAG,
    "matmul_nbits": FLAG,
    "measures_all": FLAG,
    "model": MODEL,
    "most": whole("a whole number of 1 or more", 1),
    "most_float": real("a share, from 0 to 1", 0, 1),
    "non_finite": word("refuse", "leave"),
    "outputs": or_none(NAMES),
    "path": PATH,
    "plan": DOCUMENT,
    "policy": or_none(TEXT),
    "preset": or_none(TEXT),
    "progress": Rule("True, False, or a function of a task, what is done and of how much", _progress),
    "quantized": MODEL,
    "recipe": DOCUMENT,
    "remedies": FLAG,
    "repair_ranges": FLAG,
    "run_memory": or_none(whole("a whole number of bytes, 1 or more", 1, 2**62 - 1)),
    "samples": SAMPLES,
    "scheme": or_none(TEXT),
    "second": MODEL,
    "target": or_none(TEXT),
    "target_bits": or_none(real("a number above 0", math.ulp(0.0))),
    "threads": whole("a whole number from 0 to 1024, 0 for as many as the machine has", 0, 1024),
    "values": NAMES,
    "weights": NAMES,
}


def option_text(name: str, given: object) -> str:
    """An option of a scheme, as the library reads it."""
    if is_bool(given):
        return "true" if given else "false"
    is_list = isinstance(given, (list, tuple))
    parts: Iterable[Any] = given if is_list else [given]  # type: ignore[assignment]
    if not all(isinstance(part, str if is_list else (str, numbers.Real)) for part in parts):
        raise TypeError(f"{name} is a number, a bool, a word or several in a list, and not {reprlib.repr(given)}")
    text = "+".join(str.__str__(part) if isinstance(part, str) else str(part) for part in parts)
    if not text.isprintable():
        raise Error(f"{name} is a text without control characters, and not {given!r}")
    return text


def json_of(name: str, given: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(given), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        message = f"{name} is a dict of what JSON has, texts, numbers, lists and dicts: {problem}"
        raise (TypeError if isinstance(problem, TypeError) else Error)(message) from None


@contextmanager
def in_argument(name: str) -> Iterator[None]:
    """Errors inside are of this argument, and of no file, which would be broken."""
    try:
        yield
    except Error as error:
        error.code = "usage" if error.code == "invalid_model" else error.code
        error.message = f"{name}: {error.message}"
        raise
