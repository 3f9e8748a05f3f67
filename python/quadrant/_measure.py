"""Calls that run models."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from . import _quadrant
from ._arguments import SAMPLES, checked
from ._arrays import Array, as_array, unpacked
from ._errors import Error
from ._model import Model, ModelLike, Written, read
from ._quantize import Recipe, calibrated, job_of
from ._runtime import Runtime, adapted
from ._samples import Sample, SamplesLike, names_of, packed_sample, samples_of
from ._session import Progress, Settings, session_of
from ._statistics import Statistics


@checked()
def run(
    model: ModelLike,
    inputs: Sample,
    outputs: str | Sequence[str] | None = None,
    *,
    run_memory: int | None = None,
    convert_samples: bool = False,
) -> dict[str, Array]:
    """Runs a model on one sample, by the interpreter that is built in.

    Args:
        model: What `read` takes, or gives.
        inputs: An array for each input of the model, by name, of its type and shape.
        outputs: Values to return instead of the model's outputs, inner ones too.
        run_memory: Bytes that may be used; None: 4 GiB.
        convert_samples: Converts arrays of other types to the model's.

    Returns:
        Arrays by name, read-only. Values that are quantized come as their integers.

    Raises:
        Error: ``usage`` for inputs that do not fit; ``impossible`` for operations that the interpreter does not know,
            and for more than ``run_memory``.
    """
    settings = Settings(run_memory=run_memory, convert_samples=convert_samples, allow_non_finite_samples=True)
    handle = read(model)._handle
    arrays = packed_sample(handle, inputs, "the sample", settings)
    with session_of(settings) as session:
        found = _quadrant.run(session, handle, arrays, names_of(outputs or ()))
    return {name: unpacked(array) for name, array in found}


@checked()
def calibrate(
    model: ModelLike,
    samples: SamplesLike,
    *,
    values: str | Sequence[str] = (),
    runtime: Runtime | None = None,
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
) -> Statistics:
    """Runs a model on samples and keeps what values occur: `quantize` takes it for ``calibration``.

    By another runtime::

        def by_onnxruntime(contents, values):
            session = onnxruntime.InferenceSession(contents)
            return lambda sample: session.run(values, sample)

        statistics = qd.calibrate("model.onnx", samples, runtime=by_onnxruntime)

    Args:
        values: Names of what to watch; none: all values that are floats.
        runtime: What runs the model in place of the interpreter. It is called with the bytes of an ONNX file, of the
            model with those values as outputs, and their names, and gives what runs one sample: a function of a dict of
            arrays by the names of inputs, read-only and good while it runs, which gives arrays in the order of the
            names, or a dict. So it may as well run the model that the file was made of, in torch say. Inputs and weights
            are not asked for, and what is in the bodies of loops and branches is not to be had: a warning counts such
            values. Several threads call it at a time, unless ``threads=1``.

    The others are as for `quantize`.

    Raises:
        Error: What a runtime raises comes out as it is; values that are missing, or of other types or shapes than the
            model says, are ``usage``, and so are named values in bodies; ``impossible``: a model of more than 2 GB.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    handle = read(model)._handle
    with session_of(settings) as session:
        data = samples_of(session, handle, samples, settings)
        return Statistics(_quadrant.calibrate(session, handle, data, names_of(values), adapted(runtime)))


class Comparison(list[dict[str, Any]]):
    """How the outputs of two models agree: a dict for each output of the first one.

    Each has ``name``, ``kind`` (of the operation that makes it), ``sqnr_db`` (signal to noise in decibels, infinite
    for equal values), ``cosine``, ``largest_error``, ``elements``, ``equal`` and ``non_finite``.

    Attributes:
        layers: The same of inner values, where they were asked for.
        samples: How many there were.
        same_class: How often both have the same class on top, ``top1`` and ``top5`` of ``rows``; None where no output
            looks like scores.
        first: How often the first model is right, where there were labels.
        second: How often the second is.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__(found["outputs"])
        self.layers: list[dict[str, Any]] = found["layers"]
        self.samples: int = found["samples"]
        self.same_class: dict[str, Any] | None = found["same_class"]
        self.first: dict[str, Any] | None = found["first"]
        self.second: dict[str, Any] | None = found["second"]
        self._text: str = found["text"]

    def __str__(self) -> str:
        return self._text.rstrip("\n")


@checked()
def compare(
    first: ModelLike,
    second: ModelLike,
    samples: SamplesLike,
    *,
    layers: bool = False,
    labels: Sequence[int] | Array | None = None,
    runtime: Runtime | None = None,
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
) -> Comparison:
    """Runs two models on the same samples and says how well they agree.

    Args:
        first: The float model, as a rule.
        second: The quantized model: with the same inputs and outputs.
        samples: As for `quantize`.
        layers: Compare inner values, too.
        labels: Which classes are right: an integer for each row of scores of all samples, in order.
        runtime: What runs both models, as for `calibrate`: it is called with the first, then with the second.

    The others are as for `quantize`.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    a, b = read(first)._handle, read(second)._handle
    with session_of(settings) as session:
        data = samples_of(session, a, samples, settings)
        return Comparison(_quadrant.compare(session, a, b, data, layers, _labels(labels), adapted(runtime)))


class Diagnosis(list[dict[str, Any]]):
    """Why a quantized model is worse than the float one: a dict for each cause, the worst first.

    Each has ``name`` (of a value, a weight or an operation), ``kind`` (see docs/compare.md), ``is_weight``, ``found``,
    a sentence, ``share`` of the error at the worst output that it makes alone, or None, and ``remedy``: None, or a dict
    with the ``recipe`` that was tried, a dict for `quantize`, and ``sqnr_db``, what that gave.

    Attributes:
        samples: How many there were.
        output: The output that agrees least.
        sqnr_db: How well it does.
        together: A remedy for several causes, where that is better than the best alone; else None.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__(cause | {"remedy": _remedy(cause["remedy"])} for cause in found["causes"])
        self.samples: int = found["samples"]
        self.output: str = found["output"]
        self.sqnr_db: float = found["sqnr_db"]
        self.together: dict[str, Any] | None = _remedy(found["together"])
        self._text: str = found["text"]

    def __str__(self) -> str:
        return self._text.rstrip("\n")


def _remedy(found: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if found is None else found | {"recipe": json.loads(found["recipe"])}


@checked()
def diagnose(
    model: ModelLike,
    quantized: ModelLike,
    samples: SamplesLike,
    *,
    calibration: SamplesLike | None = None,
    most: int = 10,
    remedies: bool = True,
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
) -> Diagnosis:
    """Finds where a quantized model loses accuracy, why, and what mends it.

    Args:
        model: The float model.
        quantized: The quantized model.
        samples: To measure on, as for `quantize`.
        calibration: What remedies calibrate on; None: ``samples``.
        most: How many causes to name.
        remedies: Quantize anew with what could mend each cause.

    The others are as for `quantize`.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    a, b = read(model)._handle, read(quantized)._handle
    with session_of(settings) as session:
        data = samples_of(session, a, samples, settings)
        own = _quadrant.Samples.of_path("") if calibration is None else samples_of(session, a, calibration, settings)
        return Diagnosis(_quadrant.diagnose(session, a, b, data, own, most, remedies))


def _labels(labels: Sequence[int] | Array | None) -> list[int] | None:
    if labels is None:
        return None
    array = as_array(labels, "labels")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"labels are integers, not {array.dtype.name}")
    if array.dtype.kind == "u" and array.size and array.max() >= 2**63:
        raise Error(f"labels are places in a row of scores, and not {array.max()}")
    return [int(label) for label in array.reshape(-1)]


@checked()
def sensitivity(
    model: ModelLike,
    scheme: str | None,
    samples: SamplesLike,
    *,
    preset: str | None = None,
    recipe: Recipe | None = None,
    calibration: SamplesLike | Statistics | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    cache: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
    **options: object,
) -> list[dict[str, Any]]:
    """Quantizes each weight alone and says what that costs at the outputs, the most sensitive weight first.

    Args:
        samples: To measure on, as for `quantize`.
        calibration: What the scheme itself needs, if it does: static-affine.
        cache: File of measurements: read if it exists, written as the work goes on.

    The others are as for `quantize`.

    Returns:
        A dict for each weight, or group of weights that can only be quantized together: ``layer``, its name,
        ``sqnr_db`` at the output that suffers most, and ``outputs``, as in a `Comparison`.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    job = job_of(scheme, preset, recipe, options)
    job.add_scope(names_of(include), names_of(exclude))
    source = read(model)
    with session_of(settings) as session, calibrated(session, job, source, calibration, settings):
        data = samples_of(session, source._handle, samples, settings)
        return _quadrant.sensitivity(session, source._handle, job, data, os.fspath(cache or ""))


class Optimized:
    """The best of what `optimize` tried.

    Attributes:
        model: The quantized model.
        attempts: A dict for each: ``settings``, in words; ``optimizations``; ``excluded``, names of what stays float,
            each with the reason; ``sqnr_db`` of the worst output on the samples that it is judged on,
            ``fitted_sqnr_db`` on those that it was fitted on, ``held_back_sqnr_db`` on those that are neither (of the
            first and the best alone); ``points_lost`` of top-1 where there are labels; ``weights`` that could be
            quantized and ``quantized_weights`` that were; ``seconds``.
        best: The index of the best of them.
        recipe: What `quantize` makes the same with, of the same samples.
        is_good_enough: It is as good as was asked for, on samples that it was not fitted on.
    """

    def __init__(self, found: _quadrant.OptimizeOutcome, settings: Settings) -> None:
        names = (
            *("settings", "optimizations", "excluded", "sqnr_db", "fitted_sqnr_db", "held_back_sqnr_db"),
            *("points_lost", "weights", "quantized_weights", "seconds"),
        )
        self.attempts = [{name: getattr(attempt, name) for name in names} for attempt in found.attempts]
        self.best = found.best
        self.is_good_enough = found.is_good_enough
        self.recipe: dict[str, Any] = json.loads(found.recipe)
        self.model = Model(found.model)
        self._settings = settings

    @checked()
    def save(self, path: str | os.PathLike[str]) -> Written:
        """Writes the quantized model: see `Model.save`."""
        return self.model._write(path, self._settings)

    def __repr__(self) -> str:
        best = self.attempts[self.best]
        return f"<quadrant.Optimized: {best['settings']}, {best['sqnr_db']:.2f} dB, good enough: {self.is_good_enough}>"


@checked(calibration=SAMPLES)
def optimize(
    model: ModelLike,
    calibration: SamplesLike,
    *,
    data: SamplesLike | None = None,
    labels: Sequence[int] | Array | None = None,
    accept_points: float = 0.5,
    accept_sqnr_db: float = 30,
    most_float: float = 0.25,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
    **options: object,
) -> Optimized:
    """Searches for the quantization by static-affine that is accurate enough: encodings, corrected biases, equalized
    channels, and at last the fewest products that stay float.

    Args:
        calibration: Samples to find ranges and correct biases on, as for `quantize`.
        data: Samples to judge on; None: a part of ``calibration``, which nothing is then fitted on.
        labels: Which classes are right: an integer for each row of scores of all samples, in order.
        accept_points: So many percentage points of top-1 may be lost, where there are labels.
        accept_sqnr_db: So many decibels the worst output must have, where there are none.
        most_float: The share of the products that may stay float because they cost most; 0: nothing is excluded.
        options: Those of static-affine.

    The others are as for `quantize`.
    """
    settings = Settings(threads, progress, run_memory, False, convert_samples, allow_non_finite_samples)
    job = job_of("static_affine", None, None, options)
    job.add_scope(names_of(include), names_of(exclude))
    handle = read(model)._handle
    with session_of(settings) as session:
        job.set_samples(samples_of(session, handle, calibration, settings))
        seen = _quadrant.Samples.of_path("") if data is None else samples_of(session, handle, data, settings)
        accept = (accept_points, accept_sqnr_db, most_float)
        found = _quadrant.optimize(session, handle, job, seen, _labels(labels), *accept)
        return Optimized(found, settings)
