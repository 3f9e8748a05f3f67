"""Quantization, and what came of it."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _quadrant
from ._arguments import TEXT, Rule, checked, in_argument, json_of, option_text, word
from ._errors import Error
from ._files import in_file, read_text, write_file
from ._model import Model, ModelLike, Written, read
from ._moments import SecondMoments
from ._samples import SamplesLike, names_of, samples_of
from ._session import Progress, Settings, session_of
from ._statistics import Statistics

Recipe = Mapping[str, Any] | str | os.PathLike[str]

_ENDINGS = {"onnx": ".onnx", "tflite": ".tflite", "openvino": ".xml"}


@dataclass(frozen=True)
class _Destination:
    """What a quantized model is for, where `convert` writes it."""

    path: str
    target: str
    coded_borders: bool


class Report:
    """A page about a decision and its reasons, which needs no network. A notebook shows it."""

    def __init__(self, page: str) -> None:
        #: The whole HTML document.
        self.html = page

    @checked()
    def save(self, path: str | os.PathLike[str]) -> None:
        write_file(path, self.html.encode())

    def _repr_html_(self) -> str:
        # A frame keeps the page's styles and scripts from the notebook's.
        frame = 'style="width: 100%; height: 40em; border: 0" sandbox="allow-scripts"'
        return f'<iframe {frame} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<quadrant.Report of {len(self.html):,} characters: .save('report.html')>"


class Result:
    """A quantized model, and why it is quantized so."""

    def __init__(self, handle: _quadrant.Result, settings: Settings) -> None:
        self._handle = handle
        self._settings = settings

    @cached_property
    def model(self) -> Model:
        """The quantized model. Its integers are computed when they are read, or while it is written."""
        return Model(self._handle.model())

    @cached_property
    def float_model(self) -> Model:
        """The float model that was decided on: normalizations folded and layers equalized, if that was asked for."""
        return Model(self._handle.float_model())

    @cached_property
    def plan(self) -> dict[str, Any]:
        """What was decided, value by value, as ``quadrant plan`` prints it; `quantize` follows it with ``plan=``."""
        return json.loads(self._handle.plan())  # type: ignore[no-any-return]

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """What was asked for, as a recipe."""
        return json.loads(self._handle.recipe())  # type: ignore[no-any-return]

    def summary(self) -> dict[str, Any]:
        """Counts of weights, bytes and operations, and which weights stayed float and why. `str(result)` is a table."""
        return json.loads(self._handle.summary())  # type: ignore[no-any-return]

    @checked(name=TEXT)
    def explain(self, name: str) -> str:
        """Why the node, value or weight of that name is quantized as it is, or is not: several lines of text.

        Raises:
            Error: ``usage``, with similar names, where there is none of that name.
        """
        return self._handle.explain(name).rstrip("\n")

    def report(self) -> Report:
        """All of it as a page, with the graph, and the errors and histograms of weights, which are read for that."""
        with session_of(self._settings) as session:
            return Report(self._handle.report(session))

    @checked()
    def save(
        self, path: str | os.PathLike[str], *, external_data: bool = False, matmul_nbits: bool = False
    ) -> Written:
        """Writes the quantized model: see `Model.save`. Its weights are quantized now."""
        return self.model._write(path, self._settings, external_data=external_data, matmul_nbits=matmul_nbits)

    def to_onnx(self) -> bytes:
        """The quantized model as the bytes of an ONNX file."""
        return self.model.to_onnx()

    def __str__(self) -> str:
        return self._handle.summary_text().rstrip("\n")

    def __repr__(self) -> str:
        weights = self.summary()["quantized_after"]["count"]
        return f"<quadrant.Result: {len(self.plan['values'])} values quantized, {weights} of them weights>"


def _target(given: Any) -> Any:
    return given if isinstance(given, _Destination) else word(*_ENDINGS).fit(given)


def job_of(
    scheme: str | None, preset: str | None, recipe: Recipe | None, options: Mapping[str, object]
) -> _quadrant.Job:
    if (scheme is not None) + (preset is not None) + (recipe is not None) != 1:
        raise Error("one of scheme, preset and recipe says what to quantize with")
    if scheme is not None:
        job = _quadrant.Job.of_scheme(scheme)
    elif preset is not None:
        job = _quadrant.Job.of_preset(preset)
    elif isinstance(recipe, Mapping):
        text = json_of("recipe", recipe)
        with in_argument("recipe"):
            job = _quadrant.Job.of_json(text)
    else:
        assert recipe is not None
        job = _quadrant.Job.of_file(os.fspath(recipe))
    for key, value in options.items():
        job.set(key, None if value is None else option_text(key, value))
    return job


@contextmanager
def calibrated(
    session: _quadrant.Session,
    job: _quadrant.Job,
    model: Model,
    calibration: SamplesLike | Statistics | SecondMoments | None,
    settings: Settings,
) -> Iterator[None]:
    """Gives the job its samples, or what was gathered of some, which the library takes as a file."""
    if isinstance(calibration, (Statistics, SecondMoments)):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "gathered.json"  # by which the library knows statistics
            calibration.save(file)
            if isinstance(calibration, Statistics):
                job.set_samples(_quadrant.Samples.of_path(str(file)))
            else:
                job.set_moments(str(file))
            try:
                yield
            except Error as error:
                error.file = None if error.file == str(file) else error.file
                raise
        return
    if calibration is not None:
        job.set_samples(samples_of(session, model._handle, calibration, settings))
    yield


@checked(target=Rule(word(*_ENDINGS).takes, _target))
def quantize(
    model: ModelLike,
    scheme: str | None = None,
    *,
    preset: str | None = None,
    recipe: Recipe | None = None,
    calibration: SamplesLike | Statistics | SecondMoments | None = None,
    encodings: str | os.PathLike[str] | None = None,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    plan: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    target: str | _Destination = "onnx",
    target_bits: float | None = None,
    gain: str | None = None,
    hardware: str | os.PathLike[str] | None = None,
    policy: str | None = None,
    non_finite: str = "refuse",
    threads: int = 0,
    progress: Progress = False,
    run_memory: int | None = None,
    follow_links: bool = False,
    convert_samples: bool = False,
    allow_non_finite_samples: bool = False,
    **options: object,
) -> Result:
    """Quantizes a model, by a scheme with its options, a preset, or a recipe.

    ::

        result = qd.quantize("model.onnx", "weight-only", bits=4, granularity="block", block_size=32)
        result = qd.quantize("model.onnx", "static-affine", calibration=[{"x": array}, ...], optimize=["cle"])
        result = qd.quantize("model.onnx", preset="int8-static", calibration="samples/")
        result.save("out.onnx")

    Args:
        model: What `read` takes, or gives.
        scheme: ``"weight-only"`` or ``"static-affine"``; `list_schemes` has their options.
        preset: A recipe of `list_presets`.
        recipe: Schemes, and rules that say which weight gets which: a dict, or a JSON file.
        calibration: Samples: dicts with an array for each input of the model, by its name, of its type and shape; a
            sequence is read sample by sample, from any thread, another iterable at once. Or the path of a folder of
            .npz, .npy and the like. static-affine finds ranges of activations on them, weight-only rounds weights by
            them. Of static-affine also `Statistics`, or their .json file; of weight-only also `SecondMoments`.
        encodings: Of static-affine: a file of encodings, as AIMET exports them, that count instead of what would be
            found.
        include: Regular expressions: nothing else is quantized than what they match, by names of nodes and weights.
        exclude: What they match is not.
        plan: Follow a `Result.plan`, or its file, instead of deciding.
        target: Whose kernels the result is for: ``"onnx"``, ``"tflite"`` or ``"openvino"``.
        target_bits: A budget of bits for each weight, scales included: each gets 8 bits, 4 bits or floats.
        gain: The gain model: ``"bytes"``, ``"latency"``, ``"operations"`` or ``"unit"``; None: what suits the
            scheme.
        hardware: What the gain ``"latency"`` predicts with: the name of a profile, or a file.
        policy: ``"greedy"``, the default, or ``"optimal"``.
        non_finite: Weights with NaN or infinity: ``"refuse"`` the model, or ``"leave"`` them in float.
        threads: 0: as many as the machine has. Results are the same for any number.
        progress: True: bars, if the package tqdm is installed. Or a function of (task, done, total), which is called
            from another thread; what it raises ends the call.
        run_memory: Bytes that may be used to compute a sample; None: 4 GiB.
        follow_links: An ONNX model's data may be symbolic links to anywhere.
        convert_samples: Converts arrays of other types to the model's.
        allow_non_finite_samples: Takes samples with NaN or infinity.
        options: Options of the scheme, and ``optimize`` and the like, which are for recipes, too.

    Returns:
        The quantized model, to be saved, and what there is to say of it. Its weights are quantized while it is saved.

    Raises:
        Error: ``usage`` for options that are wrong, with similar names, and for samples that do not fit;
            ``impossible`` for a model that cannot have it; those of `read`. What a sequence of samples or `progress`
            raises comes out as it is, and so does KeyboardInterrupt.
    """
    settings = Settings(threads, progress, run_memory, follow_links, convert_samples, allow_non_finite_samples)
    job = job_of(scheme, preset, recipe, options)
    job.add_scope(names_of(include), names_of(exclude))
    _complete(job, target, target_bits, gain, hardware, policy, non_finite)
    if encodings is not None:
        job.set_encodings(os.fspath(encodings))
    source = read(model, follow_links=follow_links)
    with session_of(settings) as session, calibrated(session, job, source, calibration, settings):
        return Result(_quadrant.quantize(session, source._handle, job, plan_of(plan)), settings)


def _complete(
    job: _quadrant.Job,
    target: str | _Destination,
    target_bits: float | None,
    gain: str | None,
    hardware: str | os.PathLike[str] | None,
    policy: str | None,
    non_finite: str,
) -> None:
    if isinstance(target, str):
        target = _Destination(f"model{_ENDINGS[target]}", "", False)
    job.set_destination(target.path, target.target, target.coded_borders)
    if gain is not None:
        job.set_gain(gain)
    if hardware is not None:
        job.set_hardware(os.fspath(hardware))
    if policy is not None:
        job.set_policy(policy)
    if non_finite == "leave":
        job.leave_non_finite()
    if target_bits is not None:
        job.set_target_bits(target_bits)


def plan_of(plan: Mapping[str, Any] | str | os.PathLike[str] | None) -> _quadrant.Plan | None:
    if plan is None:
        return None
    if isinstance(plan, Mapping):
        text = json_of("plan", plan)
        with in_argument("plan"):
            return _quadrant.Plan.parse(text)
    text = read_text(plan)
    with in_file(plan):
        return _quadrant.Plan.parse(text)


@checked()
def convert(
    model: ModelLike,
    path: str | os.PathLike[str],
    scheme: str | None = None,
    *,
    target: str | None = None,
    coded_borders: bool = False,
    repair_ranges: bool = False,
    threads: int = 0,
    progress: Progress = False,
    **quantization: Any,
) -> Written:
    """Writes a model in another format, quantized on the way if a scheme, preset or recipe is given.

    ::

        qd.convert("model_qdq.onnx", "model.tflite")
        qd.convert("model.onnx", "model.tflite", "static-affine", calibration=samples)

    Args:
        model: What `read` takes, or gives.
        path: The ending says the format: .onnx, .tflite, .xml (OpenVINO), .mlir or .qd (text).
        scheme: As for `quantize`, which takes ``quantization``, too.
        target: Whose kernels compute on integers what they can: ``"tflite"``, the default for .tflite, ``"webnn"``,
            ``"onnx-qoperator"``, or, with .qd, ``"openvino-cpu"`` and the like.
        coded_borders: The model takes and gives integers where it quantizes inputs and dequantizes outputs.
        repair_ranges: Moves a fake_quantize whose range does not represent zero exactly, so that it becomes integers.
        threads: As for `quantize`.
        progress: As for `quantize`.

    Raises:
        Error: ``impossible`` for what the format cannot say; ``usage``; those of `quantize` and `read`.
    """
    settings = Settings(threads=threads, progress=progress)
    if scheme is None and not {"preset", "recipe"} & quantization.keys():
        if quantization:
            raise Error(f"'{next(iter(quantization))}' is for quantization, for which there is no scheme")
        source = read(model)
    else:
        for_it = _Destination(os.fspath(path), target or "", coded_borders)
        source = quantize(model, scheme, target=for_it, threads=threads, progress=progress, **quantization).model
    return source._write(
        path,
        settings,
        is_lowered=True,
        target=target,
        coded_borders=coded_borders,
        repair_ranges=repair_ranges,
    )
