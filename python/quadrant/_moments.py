"""What weights are multiplied by: second moments of the inputs of layers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from . import _quadrant
from ._arguments import checked, instance, or_none, whole
from ._arrays import Array, unpacked
from ._errors import Error
from ._files import in_file, read_file, write_file
from ._model import ModelLike, read
from ._runtime import Runtime, adapted
from ._samples import SamplesLike, names_of, samples_of
from ._session import Progress, Settings, session_of


class WeightMoments:
    """Of one weight, for rounders of your own and for `quadrant.scheme.encode`.

    A weight is one matrix, or several: a convolution has one for each group. Rows are the sums that a layer computes,
    columns what they are computed from.
    """

    def __init__(self, handle: _quadrant.WeightMoments) -> None:
        self._handle = handle

    @cached_property
    def mean(self) -> Array:
        """E[x xᵀ] of the inputs x of each matrix: float64, of ``[matrices, columns, columns]``.

        An error e of a row adds ``e @ mean @ e`` to the mean squared error of the layer's result. Sums are exact, of
        inputs that were rounded to a grid of 65535 points for each column.
        """
        return unpacked(self._handle.mean())

    @cached_property
    def places(self) -> Array:
        """Where the numbers of the matrices are: int64, of ``[matrices, rows, columns]``, into ``weight.reshape(-1)``."""
        return unpacked(self._handle.places())

    @property
    def counts(self) -> tuple[int, ...]:
        """How many inputs each matrix has seen."""
        return tuple(self._handle.counts())

    def _check_of(self, weight: Array) -> None:
        shape = self._handle.shape
        if shape is not None and tuple(shape) != weight.shape:
            raise Error(f"these are moments of a weight of {list(shape)}, and the array is of {list(weight.shape)}")


class SecondMoments(Mapping[str, WeightMoments]):
    """What the weights of a model are multiplied by, by the names of weights.

    Attributes:
        left: Weights of products that have none, with the reason.
    """

    def __init__(self, handle: _quadrant.Moments) -> None:
        self._handle = handle

    @staticmethod
    @checked()
    def load(path: str | os.PathLike[str]) -> SecondMoments:
        """Reads what `save`, or ``quadrant calibrate --moments``, wrote."""
        contents = read_file(path)
        with in_file(path):
            return _of_bytes(contents)

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the command's file: ``quadrant quantize --moments`` takes it. Equal contents have equal bytes."""
        write_file(path, self._handle.print())

    def merge(self, other: SecondMoments) -> None:
        """As if these had seen the other's samples, too: of the same model, counted on the same grid.

        Raises:
            Error: ``usage`` for another model, and where grids differ, as they do unless one was given to
                `second_moments`. Nothing is added.
        """
        if not isinstance(other, SecondMoments):
            raise TypeError(f"what is merged are SecondMoments, and not {other!r}")
        self._handle.merge(other._handle)

    @property
    def samples(self) -> int:
        """How many samples the model has seen."""
        return self._handle.samples

    @property
    def left(self) -> dict[str, str]:
        return self._handle.left()

    def __contains__(self, name: object) -> bool:
        return name in self._handle.names()

    def __getitem__(self, name: str) -> WeightMoments:
        if not isinstance(name, str):
            raise KeyError(name)
        if name not in self and name in self.left:
            raise KeyError(f"{name}: {self.left[name]}")
        return WeightMoments(self._handle.of(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle.names())

    def __len__(self) -> int:
        return len(self._handle.names())

    def __reduce__(self) -> tuple[object, ...]:
        return _of_bytes, (self._handle.print(),)

    def __repr__(self) -> str:
        return f"<quadrant.SecondMoments of {len(self)} weights on {self.samples} samples>"


def _of_bytes(contents: bytes) -> SecondMoments:
    return SecondMoments(_quadrant.Moments.parse(contents))


@checked(
    grid=or_none(instance(SecondMoments, "what second_moments gave")),
    block=or_none(whole("a whole number of columns, 1 or more", 1)),
    memory=or_none(whole("a whole number of bytes, 1 or more", 1)),
)
def second_moments(
    model: ModelLike,
    samples: SamplesLike,
    *,
    weights: str | Sequence[str] = (),
    grid: SecondMoments | None = None,
    block: int | None = None,
    memory: int | None = None,
    runtime: Runtime | None = None,
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
) -> SecondMoments:
    """Runs a model on samples, twice, and keeps what its weights are multiplied by: `quantize` takes it for ``calibration``.

    Args:
        weights: Names of those that are wanted; none: all weights of products.
        grid: What was gathered on other samples of the same model: these are counted on the same grid, so that both can
            be merged. The model then runs once.
        block: Columns that are counted together, neighbours of each other: 1 keeps the diagonal alone. Moments of others are 0, and
            take no memory. None: all columns. A grid has its own.
        memory: Bytes for the sums of all weights together: those of a layer that finds no room are of smaller blocks, down to the
            diagonal, and of one that finds none then, in `left`. None: 4 GiB.
        runtime: As for `calibrate`; it is loaded twice, for the grid and for the sums.

    The others are as for `quantize`. The result does not depend on threads or the order of samples.

    Raises:
        Error: ``usage`` for names of what no layer multiplies by, a grid of another model, blocks beside a grid, and without samples.
    """
    if grid is not None and block is not None:
        raise Error("a grid says which columns are counted together: leave out block")
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    handle = read(model)._handle
    with session_of(settings) as session:
        data = samples_of(session, handle, samples, settings)
        counted_on = None if grid is None else grid._handle
        found = _quadrant.second_moments(session, handle, data, names_of(weights), adapted(runtime), counted_on, block, memory)
        return SecondMoments(found)
