"""What values occur in a model that runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _quadrant
from ._arguments import checked
from ._files import in_file, read_text, write_file


class Statistics(Mapping[str, dict[str, Any]]):
    """What the values of a model were on samples, by their names.

    Each is a dict: ``min``, ``max`` and ``mean`` of finite elements, ``elements`` and ``non_finite``, which count, and
    ``samples``. Histograms are in the file that `save` writes.
    """

    def __init__(self, handle: _quadrant.Statistics) -> None:
        self._handle = handle

    @staticmethod
    @checked()
    def load(path: str | os.PathLike[str]) -> Statistics:
        """Reads what `save`, or ``quadrant calibrate``, wrote."""
        text = read_text(path)
        with in_file(path):
            return Statistics(_quadrant.Statistics.parse(text))

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .json file."""
        write_file(path, self._handle.print().encode())

    def merge(self, other: Statistics) -> None:
        """As if these had seen the other's samples, too. An Error, ``usage``, for those of another model."""
        if not isinstance(other, Statistics):
            raise TypeError(f"what is merged are Statistics, and not {other!r}")
        self._handle.merge(other._handle)

    @property
    def samples(self) -> int:
        """How many samples the model has seen."""
        return self._handle.samples

    def __getitem__(self, name: str) -> dict[str, Any]:
        if not isinstance(name, str):
            raise KeyError(name)
        return self._handle.of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle.names())

    def __len__(self) -> int:
        return len(self._handle.names())

    def __reduce__(self) -> tuple[object, ...]:
        return _of_text, (self._handle.print(),)

    def __repr__(self) -> str:
        return f"<quadrant.Statistics of {len(self)} values on {self.samples} samples>"


def _of_text(text: str) -> Statistics:
    return Statistics(_quadrant.Statistics.parse(text))
