"""Calibration on a cluster of Dask: each task runs a part of the samples, and the parts' statistics are added up.

    python examples/python/dask_calibration.py MODEL SAMPLES STATISTICS.json [PARTS]

SAMPLES is a folder of .npz files, each with an array for each input. Statistics are exact sums and counts, so that the file is the same for any number of
parts and workers, and whichever is done first. Here the cluster is one of processes on this machine; on another one, the
client gets its address, and the folder is one that all machines see. Needs `distributed` (PyPI).
"""

import pathlib
import sys
import tempfile

import numpy as np
from distributed import Client, LocalCluster, as_completed

import quadrant


def calibrated(model, files):
    """The text of the statistics of these samples: what travels between processes."""
    samples = [dict(np.load(file)) for file in files]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "part.json")
        quadrant.calibrate(model, samples, threads=1).save(path)
        return path.read_text(encoding="utf-8")


def parsed(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "part.json")
        path.write_text(text, encoding="utf-8")
        return quadrant.Statistics.load(path)


def calibrate_on(client, model, folder, parts):
    """Statistics of all samples in the folder."""
    files = sorted(map(str, pathlib.Path(folder).glob("*.npz")))
    if not files:
        sys.exit(f"{folder} has no samples: .npz files, an array for each input")
    tasks = [client.submit(calibrated, model, files[i::parts]) for i in range(min(parts, len(files)))]
    total = None
    for task in as_completed(tasks):
        statistics = parsed(task.result())
        if total is None:
            total = statistics
        else:
            total.merge(statistics)
    return total


def main(model, samples, output, parts="4"):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        calibrate_on(client, model, samples, int(parts)).save(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
