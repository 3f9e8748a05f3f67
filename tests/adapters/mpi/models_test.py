"""`quadrant-mpi` on real models: files of the command alone, byte by byte, for 1, 2, 3, 4 and 7 ranks.

    .venv/bin/python tests/adapters/mpi/models_test.py path/to/quadrant [NAME]...     or with the path in $QUADRANT

Of the models of examples/models and, where that is there, of ../shared/models; with names, of those that hold one of them.
quadrant-mpi lies beside the command. It takes minutes. Prints a table: for each model and command the number of ranks' numbers
that gave the same bytes.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "peers")]

import numpy as np

from _models import random_feeds, real_models, session_of
from command_case import BINARY, DONE
from mpi_test import ENVIRONMENT, MPI, RANKS

SAMPLES = 10
CALIBRATED = ("--calibration", "data")
# Files by what they are called in the table: what makes them, of the model and the samples.
COMMANDS = {
    "statistics": ("calibrate", "{model}", "--data", "data", "-o", "out"),
    "moments": ("calibrate", "{model}", "--data", "data", "--moments", "-o", "out"),
    "plan": ("plan", "{model}", "--scheme", "static-affine", *CALIBRATED, "-o", "out"),
    "4 bits, feedback": ("quantize", "{model}", "--scheme", "weight-only", "--bits", "4", "--rounding", "feedback", *CALIBRATED,
                         "-o", "out.onnx"),
    "3 bits, descent": ("quantize", "{model}", "--scheme", "weight-only", "--type", "int3", "--block-size", "16", *CALIBRATED,
                        "-o", "out.onnx"),
    "static int8": ("quantize", "{model}", "--scheme", "static-affine", *CALIBRATED, "-o", "out.onnx"),
}


def made_by(start, command, folder):
    """Bytes that it writes."""
    for old in folder.glob("out*"):
        old.unlink()
    done = subprocess.run(["timeout", "600", *start, *command], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    if done.returncode != DONE:
        raise RuntimeError(f"{' '.join(map(str, start))} ... {' '.join(command)}: {done.stderr.decode().strip()}")
    return {path.name: path.read_bytes() for path in folder.glob("out*")}


def same(model, folder):
    """Of each command, for how many ranks its bytes are those of the command alone, or what went wrong."""
    (folder / "data").mkdir()
    session = session_of(str(model))
    for i in range(SAMPLES):
        np.savez(folder / "data" / f"{i:03}.npz", **random_feeds(session, i))
    found = {}
    for name, arguments in COMMANDS.items():
        command = [argument.format(model=model) for argument in arguments]
        try:
            wanted = made_by([BINARY], command, folder)
            bad = [ranks for ranks in RANKS if made_by(["mpirun", "-n", str(ranks), str(MPI)], command, folder) != wanted]
            found[name] = f"not {', '.join(map(str, bad))}" if bad else f"{len(RANKS)} of {len(RANKS)}"
        except RuntimeError as error:
            found[name] = "failed"
            print(error)
    return found


def main():
    names = sys.argv[2:]
    good = f"{len(RANKS)} of {len(RANKS)}"
    rows = {}
    for model in real_models():
        if names and not any(name in model.name for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows[model.stem] = same(model, pathlib.Path(folder))
        print(model.stem, rows[model.stem], flush=True)
    print("| model |", " | ".join(COMMANDS), "|\n|---" + "|---:" * len(COMMANDS) + "|")
    for model, found in rows.items():
        print("|", model, "|", " | ".join(found.values()), "|")
    results = [result for found in rows.values() for result in found.values()]
    print(f"{results.count(good)} passed, {len(results) - results.count(good)} failed")
    sys.exit(0 if results and all(result == good for result in results) else 1)


if __name__ == "__main__":
    if shutil.which("mpirun") is None or not MPI.is_file():
        print("skipped: there is no mpirun, or no quadrant-mpi")
        sys.exit(77)
    main()
