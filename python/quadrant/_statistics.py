"""What values occur in a model that runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _quadrant
from ._errors import Error


class Statistics(Mapping[str, dict[str, Any]]):
    """What the values of a model were on samples, by their names.

    Each is a dict: ``min``, ``max`` and ``mean`` of finite elements, ``elements`` and ``non_finite``, which count, and
    ``samples``. Histograms are in the file that `save` writes.
    """

    def __init__(self, handle: _quadrant.Statistics) -> None:
        self._handle = handle

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Statistics:
        """Reads what `save`, or ``quadrant calibrate``, wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise Error(f"cannot be read: {error.strerror}", code="io", file=os.fspath(path)) from error
        try:
            return Statistics(_quadrant.Statistics.parse(text))
        except Error as error:
            error.file = os.fspath(path)
            raise

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .json file."""
        Path(path).write_text(self._handle.print(), encoding="utf-8")

    def merge(self, other: Statistics) -> None:
        """As if these had seen the other's samples, too."""
        self._handle.merge(other._handle)

    @property
    def samples(self) -> int:
        """How many samples the model has seen."""
        return self._handle.samples

    def __getitem__(self, name: str) -> dict[str, Any]:
        return self._handle.of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle.names())

    def __len__(self) -> int:
        return len(self._handle.names())

    def __repr__(self) -> str:
        return f"<quadrant.Statistics of {len(self)} values on {self.samples} samples>"
