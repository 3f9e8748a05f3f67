"""Quantizing a model statically, with some of its samples: what the scripts share that fill
docs/schemes/static_affine.md. Every second sample is for calibration, the others are what is measured.
"""

import subprocess
import sys

import numpy as np

from accuracy_table import samples_of
from model_table import ROOT

PAGE = ROOT / "docs" / "schemes" / "static_affine.md"
MOST_SAMPLES = 64  # of each half
WINDOWS = 64  # of each picture


def one_by_one(session, feeds):
    """Feeds of one sample each, where the model's batch is free."""
    batch = session.get_inputs()[0].shape[0] if session.get_inputs()[0].shape else 1
    for feed in feeds:
        count = len(next(iter(feed.values())))
        if isinstance(batch, int) or count == 1:
            yield feed
            continue
        for i in range(count):
            yield {name: data[i:i + 1] for name, data in feed.items()}


def halves(feeds):
    """Samples for calibration, and others to measure."""
    chosen = feeds[:: max(1, len(feeds) // (2 * MOST_SAMPLES))]
    return chosen[::2][:MOST_SAMPLES], (chosen[1::2] or chosen)[:MOST_SAMPLES]


def prepared(model, session, inputs, folder, most=MOST_SAMPLES):
    """All samples; those for calibration, of which the folder has files; those to measure."""
    samples = samples_of(model, session, inputs, WINDOWS)
    calibration, evaluation = halves(list(one_by_one(session, samples.feeds)))
    data = folder / "samples"
    data.mkdir(exist_ok=True)
    for i, feed in enumerate(calibration[:most]):
        np.savez(data / f"{i}.npz", **feed)
    return samples, calibration[:most], evaluation, data


def by_quadrant(command, model, target, samples, *options):
    done = subprocess.run([str(command), "quantize", str(model), "-o", str(target), "--scheme",
                           "static-affine", "--calibration", str(samples), "--json", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr.strip()}")


def fewer_where_large(folder, calibration, evaluation):
    """Of large inputs few are enough, and more take long: eight samples, in `folder` too, and twice as many to
    judge by, which are returned."""
    large, few = 1 << 14, 8  # numbers in a sample, samples
    if sum(array.size for array in calibration[0].values()) <= large:
        return evaluation
    for file in sorted(folder.iterdir(), key=lambda file: int(file.stem))[few:]:
        file.unlink()
    return evaluation[:few * 2]


def decibels(value):
    return "-" if value is None else f"{value:.2f} dB"
