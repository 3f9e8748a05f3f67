"""The least error for each size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _quadrant
from ._arguments import SAMPLES, checked, or_none
from ._model import Model, ModelLike, read
from ._quantize import Recipe, Result, calibrated, job_of, quantize
from ._samples import SamplesLike, names_of, samples_of
from ._session import Progress, Settings, session_of
from ._statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found, import-untyped, unused-ignore]


@dataclass(frozen=True, eq=False)
class ParetoPoint:
    """One way to store the weights: nothing that was looked at is smaller and has less error.

    Attributes:
        bytes: Of the file, predicted.
        bits: For each weight, scales and zero points included.
        error: Noise power over signal power, predicted: at the output that has most, or of the weights, added up.
        sqnr_db: The same in decibels, more is better; infinite where all is float.
        change: What is different from the point before: ``name: from -> to``.
        forms: How each weight is stored: ``"float"``, or what the recipe calls it.
    """

    bytes: int
    bits: float
    error: float
    sqnr_db: float
    change: str
    forms: dict[str, str] = field(repr=False)
    _of: Pareto = field(repr=False)
    _index: int = field(repr=False)

    @property
    def plan(self) -> dict[str, Any]:
        """What `quantize` follows with ``plan=`` and the ``recipe`` of the `Pareto`."""
        return json.loads(self._of._handle.plan(self._index))  # type: ignore[no-any-return]

    @checked()
    def quantize(self, calibration: SamplesLike | None = None) -> Result:
        """The model, quantized so. With samples, weights are rounded by the inputs that they meet."""
        return quantize(self._of._model, recipe=self._of.recipe, plan=self.plan, calibration=calibration)


class Pareto(Sequence[ParetoPoint]):
    """Points of the least error for each size, the smallest first. A notebook shows the picture.

    Attributes:
        recipe: The ways to store a weight that there were to choose from.
        at_outputs: Errors are those at the outputs, on samples; else those of the weights, added up.
    """

    def __init__(self, handle: _quadrant.Frontier, model: Model, at_outputs: bool) -> None:
        self._handle = handle
        self._model = model
        self.at_outputs = at_outputs
        self.recipe: dict[str, Any] = json.loads(handle.recipe())
        self._points = [ParetoPoint(**found, _of=self, _index=i) for i, found in enumerate(handle.points())]

    def __getitem__(self, index: Any) -> Any:
        return self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws decibels over bytes with matplotlib, which has to be installed.

        Args:
            axes: To draw into; None: matplotlib's current ones.

        Returns:
            The axes.
        """
        if axes is None:
            from matplotlib import pyplot  # type: ignore[import-not-found, import-untyped, unused-ignore]

            axes = pyplot.gca()
        drawn = [point for point in self if point.error > 0]  # floats alone have no error
        axes.plot([point.bytes for point in drawn], [point.sqnr_db for point in drawn], ".-")
        axes.set_xlabel("bytes of the file")
        axes.set_ylabel("SQNR " + ("at the outputs" if self.at_outputs else "of the weights") + " (dB)")
        axes.grid(alpha=0.3)
        return axes

    def _repr_svg_(self) -> str:
        return self._handle.svg()

    def __repr__(self) -> str:
        return f"<quadrant.Pareto: {len(self)} points, {self[0].bytes:,} to {self[-1].bytes:,} bytes>"


@checked(samples=or_none(SAMPLES))
def pareto(
    model: ModelLike,
    scheme: str | None = None,
    samples: SamplesLike | None = None,
    *,
    preset: str | None = None,
    recipe: Recipe | None = None,
    calibration: SamplesLike | Statistics | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    measures_all: bool = False,
    non_finite: str = "refuse",
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
) -> Pareto:
    """Finds the least error that there is for each size of the file: each weight in 8 bits, in 4 bits, or in floats.

    ::

        frontier = qd.pareto("model.onnx", "weight-only", samples)
        frontier.plot()
        small = next(point for point in frontier if point.sqnr_db >= 30)
        small.quantize().save("small.onnx")

    Args:
        scheme: ``"weight-only"``: all its ways to store a weight.
        preset: A recipe of `list_presets` instead, or ``recipe``: its own ways.
        samples: To measure errors at the outputs on, as for `quantize`; None: errors of the weights count.
        measures_all: Measures each form of each weight at the outputs; else one of each, and others are taken to have
            errors in the ratio of the weights' errors.

    The others are as for `quantize`.

    Raises:
        Error: ``impossible`` where nothing can be quantized; ``usage`` for a scheme that is no way to store a weight;
            those of `quantize`.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    job = job_of(scheme, preset, recipe, {})
    job.take_variants()
    job.add_scope(names_of(include), names_of(exclude))
    if non_finite == "leave":
        job.leave_non_finite()
    source = read(model)
    with session_of(settings) as session, calibrated(session, job, source, calibration, settings):
        none = _quadrant.Samples.of_path("")
        data = none if samples is None else samples_of(session, source._handle, samples, settings)
        found = _quadrant.Frontier.make(session, source._handle, job, data, measures_all)
    return Pareto(found, source, samples is not None)
