"""What models are run on."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _quadrant
from ._arrays import Packed, dtype_name, fitted, packed
from ._errors import Error
from ._numpy import np
from ._session import Settings

# A sample: an array for each input, by name.
Sample = Mapping[str, Any]
SamplesLike = Iterable[Sample] | str | os.PathLike[str]


def names_of(given: str | Sequence[str]) -> list[str]:
    """One name or pattern, or several."""
    return [given] if isinstance(given, str) else list(given)


def near(name: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, names, 3)
    return "; did you mean " + " or ".join(f"'{each}'" for each in found) + "?" if found else ""


def packed_sample(model: _quadrant.Model, sample: Sample, what: str, settings: Settings) -> list[Packed]:
    """The arrays of a sample in the order of the model's inputs, of their types and shapes.

    Raises:
        TypeError: It is no mapping.
        Error: ``usage`` for what does not fit the model.
    """
    if not isinstance(sample, Mapping):
        raise TypeError(f"{what} is a {type(sample).__name__}, not a dict of arrays by the names of inputs")
    ports = model.inputs()
    names = [name for name, _, _ in ports]
    for name in sample:
        if name not in names:
            raise Error(f"{what}: the model has no input '{name}'{near(str(name), names)}", tensor=str(name))
    arrays = []
    for name, element, shape in ports:
        if name not in sample:
            raise Error(f"{what} has no array for the input '{name}'", tensor=name)
        try:
            array = fitted(sample[name], element, what=what, convert=settings.convert_samples)
        except Error as error:
            error.tensor = name
            raise
        if not _fits(array.shape, shape):
            text = "x".join("?" if extent is None else str(extent) for extent in shape or ())
            given = "x".join(map(str, array.shape))
            raise Error(f"{what} is of {given or 'no axes'}, and the model takes {text or 'no axes'}", tensor=name)
        if array.size == 0 and 0 not in (shape or ()):
            raise Error(f"{what} has no elements", tensor=name)
        is_float = dtype_name(element) in ("float16", "float32", "float64")
        if is_float and not settings.allow_non_finite_samples and not np.isfinite(array).all():
            raise Error(f"{what} has NaN or infinity; allow_non_finite_samples=True lets it pass", tensor=name)
        arrays.append(packed(array, element))
    return arrays


def _fits(given: tuple[int, ...], wanted: Sequence[int | None] | None) -> bool:
    if wanted is None:
        return True
    return len(given) == len(wanted) and all(w is None or g == w for g, w in zip(given, wanted, strict=True))


def samples_of(
    session: _quadrant.Session, model: _quadrant.Model, samples: SamplesLike, settings: Settings
) -> _quadrant.Samples:
    """A folder or file of samples, a sequence that is read sample by sample, or an iterable that is read at once."""
    if isinstance(samples, (str, os.PathLike)):
        return _quadrant.Samples.of_path(os.fspath(samples))
    if isinstance(samples, Mapping):
        raise TypeError(f"samples are several dicts, in a list say, and not one {type(samples).__name__}")
    is_sequence = hasattr(samples, "__getitem__") and hasattr(samples, "__len__")
    sequence: Any = samples if is_sequence else list(samples)

    def fetch(i: int) -> list[Packed]:
        return packed_sample(model, sequence[i], f"sample {i}", settings)

    return _quadrant.Samples.fetched(session, len(sequence), fetch)
