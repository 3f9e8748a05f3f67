#!/usr/bin/env python3
"""Quantizes float models weight-only and writes what it costs and brings into docs/accuracy.md.

    .venv/bin/python scripts/accuracy_table.py                        the example models
    .venv/bin/python scripts/accuracy_table.py --models DIR --inputs DIR --table public

The release build has to be there. A model's inputs are, whichever is there first: what
docs/accuracy_inputs.json says about its file name, a test set NAME.npz beside it (arrays named like the
inputs, and `labels`), or random numbers of the declared shapes, from a fixed seed.
"""

import functools
import json
import subprocess
import sys

import no_amx
import numpy as np
import onnxruntime

from model_table import ROOT, Row, write_table

PAGE = ROOT / "docs" / "accuracy.md"
PREPARATIONS = ROOT / "docs" / "accuracy_inputs.json"
WINDOWS = 4  # of each picture, where nobody wants more
RANDOM_SAMPLES = 8
BATCH = 64
HEADER = ("model", "float", "int8", "ratio", "eligible bytes quantized", "SQNR", "inputs",
          "top-1 float", "top-1 int8")


# --- inputs ----------------------------------------------------------------------------------------


class Samples:
    """Feeds for a model, one for each run, and the class numbers that should come out."""

    def __init__(self, feeds, origin, labels=None, chosen=None, output=None):
        self.feeds, self.origin, self.labels, self.output = feeds, origin, labels, output
        self.chosen = chosen or (lambda outputs: np.concatenate(outputs))


def batches(session, arrays):
    """Feeds of as many samples as the model takes at a time."""
    fixed = session.get_inputs()[0].shape[0]
    batch = fixed if isinstance(fixed, int) and fixed > 0 else BATCH
    count = len(next(iter(arrays.values())))
    if batch == fixed:
        count -= count % batch
    return [{name: data[first:first + batch] for name, data in arrays.items()}
            for first in range(0, count, batch)]


def from_arrays(session, preparation, inputs):
    types = {value.name: value.type for value in session.get_inputs()}
    arrays = {}
    for name, source in preparation["arrays"].items():
        with np.load(inputs / source["file"]) as file:
            data = file[source["array"]]
        if "transpose" in source:
            data = data.transpose(source["transpose"])
        if types[name] == "tensor(float)":
            data = (data.astype(np.float32) - source.get("subtract", 0)) / source.get("divide", 1)
            data = data.astype(np.float32)
        arrays[name] = data
    count = len(next(iter(arrays.values())))
    origin = f"{count} recorded"
    if any(source.get("one_by_one") for source in preparation["arrays"].values()):
        feeds = [{name: data[i] for name, data in arrays.items()} for i in range(count)]
    else:
        feeds = batches(session, arrays)
    if "labels" not in preparation:
        return Samples(feeds, origin)
    wanted = preparation["labels"]
    with np.load(inputs / wanted["file"]) as file:
        labels = file[wanted["array"]]
    chosen = None
    if "lengths" in wanted:
        lengths = [int(np.ravel(feed[wanted["lengths"]])[0]) for feed in feeds]
        chosen = lambda outputs: np.concatenate([o[0, :n] for o, n in zip(outputs, lengths)])
    if "shift" in wanted:
        shift = wanted["shift"]
        labels = labels[:, shift:]
        chosen = lambda outputs: np.concatenate(outputs)[:, :-shift]
    return Samples(feeds, origin, labels, chosen, wanted.get("output"))


@functools.cache
def sample_pictures():
    from sklearn.datasets import load_sample_images
    return load_sample_images().images


def windows(height, width, count):
    """So many parts of each picture, evenly spread along its diagonal; RGB, 0 to 255."""
    for picture in sample_pictures():
        down, right = picture.shape[0] - height, picture.shape[1] - width
        for i in range(count):
            top, left = down * i // (count - 1), right * i // (count - 1)
            yield picture[top:top + height, left:left + width].astype(np.float32)


def from_pictures(session, preparation, count):
    pictures = preparation["pictures"]
    prepared = []
    for window in windows(*pictures["size"], count):
        colours = pictures.get("colours", "RGB")
        if colours == "BGR":
            window = window[..., ::-1]
        elif colours == "Y":  # luminance, ITU-R BT.601
            window = window @ np.array([[0.299], [0.587], [0.114]], np.float32)
        window = (window - pictures.get("subtract", 0)) / pictures.get("divide", 1)
        prepared.append(window.transpose(2, 0, 1) if pictures["layout"] == "CHW" else window)
    arrays = {pictures["input"]: np.stack(prepared).astype(np.float32)}
    return Samples(batches(session, arrays), f"{len(prepared)} picture windows")


def from_random(session):
    rng = np.random.default_rng(0)
    feeds = []
    for _ in range(RANDOM_SAMPLES):
        feed = {}
        for value in session.get_inputs():
            shape = [d if isinstance(d, int) and d > 0 else 4 for d in value.shape]
            is_float = value.type in ("tensor(float)", "tensor(float16)", "tensor(double)")
            data = rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)
            kinds = {"float": "float32", "double": "float64"}
            kind = value.type[len("tensor("):-1]
            feed[value.name] = data.astype(kinds.get(kind, kind))
        feeds.append(feed)
    return Samples(feeds, f"{RANDOM_SAMPLES} random")


def samples_of(model, session, inputs, windows_of_each=WINDOWS):
    """`windows_of_each`: of each picture, 2 at least, where the samples are made of pictures."""
    preparation = json.loads(PREPARATIONS.read_text()).get(model.name)
    if preparation and "pictures" in preparation:
        return from_pictures(session, preparation, windows_of_each)
    if preparation and inputs:
        return from_arrays(session, preparation, inputs)
    if model.with_suffix(".npz").is_file():
        with np.load(model.with_suffix(".npz")) as file:
            arrays = {value.name: file[value.name] for value in session.get_inputs()}
            labels = file["labels"]
        return Samples(batches(session, arrays), f"{len(labels)} test samples", labels)
    return from_random(session)


# --- measuring ---------------------------------------------------------------------------------------


def session_of(model, rounds_data=True):
    """`rounds_data`: as by default, what is multiplied by weights that stay codes becomes 8 bits in
    products of which ONNX Runtime makes MatMulNBits."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not rounds_data:
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def run(session, feeds):
    """The outputs of all runs, by name."""
    names = [value.name for value in session.get_outputs()]
    runs = [session.run(None, feed) for feed in feeds]
    return {name: [one[i] for one in runs] for i, name in enumerate(names)}


def sqnr(before, after):
    """Of the worst output: power of the float output over power of the difference, in dB."""
    worst = np.inf
    for name, outputs in before.items():
        if not np.issubdtype(outputs[0].dtype, np.floating):
            continue
        signal = sum(np.sum(a.astype(np.float64) ** 2) for a in outputs)
        noise = sum(np.sum((a.astype(np.float64) - b) ** 2) for a, b in zip(outputs, after[name]))
        worst = min(worst, 10 * np.log10(signal / noise) if noise else np.inf)
    return worst


def difference(before, ones, others):
    """By how many dB `ones` are nearer to `before` than `others`, and its standard error, by the jackknife over samples
    (Efron and Stein, The jackknife estimate of variance, 1981)."""
    def without(outputs, i):
        return {name: arrays[:i] + arrays[i + 1:] for name, arrays in outputs.items()}

    count = len(next(iter(before.values())))
    ahead = sqnr(before, ones) - sqnr(before, others)
    if count < 2 or not np.isfinite(ahead):
        return ahead, np.inf
    each = np.array([sqnr(without(before, i), without(ones, i)) - sqnr(without(before, i), without(others, i))
                     for i in range(count)])
    return ahead, np.sqrt((count - 1) / count * np.sum((each - each.mean()) ** 2))


def top1(samples, outputs):
    if samples.labels is None:
        return "-"
    name = samples.output or next(iter(outputs))
    found = samples.chosen(outputs[name])
    if np.issubdtype(found.dtype, np.floating):
        found = np.argmax(found, axis=-1)
    return f"{np.mean(found.reshape(samples.labels.shape) == samples.labels):.2%}"


def megabytes(size):
    return f"{size / 1e6:.3f} MB"


def quantize(command, model, target, *options):
    """The document that the command prints."""
    done = subprocess.run([str(command), "quantize", str(model), "-o", str(target), "--scheme",
                           "weight-only", "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(options, model, folder):
    """The model's row, with a note for each eligible weight that stays in float."""
    target = folder / model.name
    document = quantize(options.command, model, target)
    summary = document["summary"]
    eligible, quantized = summary["eligible"]["bytes"], summary["eligible_quantized"]["bytes"]

    before, after = session_of(model), session_of(target)
    samples = samples_of(model, before, options.inputs)
    floats, integers = run(before, samples.feeds), run(after, samples.feeds)
    sizes = summary["file_bytes_before"], summary["file_bytes_after"]
    cells = (model.stem, megabytes(sizes[0]), megabytes(sizes[1]), f"{sizes[0] / sizes[1]:.2f}",
             f"{quantized / eligible:.2%}" if eligible else "-", f"{sqnr(floats, integers):.1f} dB",
             samples.origin, top1(samples, floats), top1(samples, integers))
    notes = [f"- `{model.stem}`: `{left['name']}` ({left['bytes']:,} bytes): {left['reason']}"
             for left in summary["left_in_float"] if left["eligible"]]
    if document["written"]["fallback_reason"]:
        notes.append(f"- `{model.stem}`: {document['written']['fallback_reason']}")
    return [Row(cells, notes)]


def all_quantized(rows):
    """The remark of a table that has none."""
    return [] if any(row.notes for row in rows) else ["Every eligible weight is quantized."]


if __name__ == "__main__":
    write_table(__doc__, PAGE, HEADER, measure, closing=all_quantized)
