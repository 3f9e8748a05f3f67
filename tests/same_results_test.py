"""The same decisions and integers from every build: by hash, of all that the command writes.

    same_results_test.py NAME=COMMAND NAME=COMMAND...

COMMAND: a program, or words with one at their end, such as `qemu-x86_64 -cpu Nehalem build/release/bin/quadrant`.
The first writes what the others are held to. Plans and what is made of given statistics must be the same, byte for
byte. Statistics are sums and products of real numbers, which processors with AVX2 round at other places (fused
multiplications) and other C libraries compute otherwise: of them, ranges may differ by 1e-5 of what they span, and
so may parameters that are found from data. Needs Python's standard library alone.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = sorted((ROOT / "examples" / "models").glob("*.onnx"))
TOLERANCE = 1e-5

# What is written for each model: name of the file, no two with one stem and a weights file, and the words of the
# command that writes it.
RUNS = {
    "greedy.json": "plan {model} --scheme weight-only -o {out}",
    "optimal.json": "plan {model} --scheme weight-only --policy optimal -o {out}",
    "int8.onnx": "quantize {model} -o {out} --scheme weight-only",
    "int4.onnx": "quantize {model} -o {out} --scheme weight-only --bits 4 --block-size 32 --asymmetric --clip mse",
    "nbits.onnx": "quantize {model} -o {out} --scheme weight-only --bits 4 --block-size 32 --format matmulnbits",
    "static.onnx": "quantize {model} -o {out} --scheme static-affine --calibration {statistics}",
    "mse.onnx": "quantize {model} -o {out} --scheme static-affine --calibration {statistics} --activation-encoding mse",
    "entropy.onnx":
        "quantize {model} -o {out} --scheme static-affine --calibration {statistics} --activation-encoding entropy",
    "openvino.xml": "convert {model} {out} --scheme static-affine --calibration {statistics}",
    "int8.tflite": "convert {model} {out} --scheme static-affine --calibration {statistics}",
}


def run(command, line):
    done = subprocess.run([*command, *shlex.split(line), "--threads", "1"], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def result(command, name, model, statistics, folder):
    """The hash of what the run `name` of RUNS wrote, or what it said instead."""
    out = folder / name
    status, said = run(command, RUNS[name].format(model=model, out=out, statistics=statistics))
    if status:
        return said.replace(str(folder), "")
    files = [file for file in sorted(folder.glob(f"{out.stem}.*")) if file.suffix in (out.suffix, ".bin")]
    return "".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def is_hash(text):
    return bool(re.fullmatch(r"([0-9a-f]{64})+", text))


def furthest(a, b):
    """The largest difference of two statistics' ranges, as a share of what a range spans."""
    most = 0.0
    for one, other in zip(a["values"], b["values"], strict=True):
        assert one["value"] == other["value"]
        span = one["max"] - one["min"] or 1.0
        for end in ("min", "max"):
            apart = abs(one[end] - other[end]) / span
            most = most if apart <= most else apart  # what is no number is not near
    return most


def main():
    commands = dict(argument.split("=", 1) for argument in sys.argv[1:])
    commands = {name: shlex.split(words) for name, words in commands.items()}
    first, *others = commands
    passed, failures, written = 0, [], set()

    def check(what, holds, why=""):
        nonlocal passed
        passed += holds
        if not holds:
            failures.append(what)
            print(f"{what}: {why}")

    for model in MODELS:
        with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            folders = {name: pathlib.Path(made) / str(i) for i, name in enumerate(commands)}
            statistics = {name: folders[name] / "statistics.json" for name in commands}
            for folder in folders.values():
                folder.mkdir()
            calibrated = {
                name: pool.submit(run, command, f"calibrate {model} --random 8 -o {statistics[name]}")
                for name, command in commands.items()
            }
            for name in commands:
                status, said = calibrated[name].result()
                check(f"{model.stem}: calibrate of {name}", status == 0, said)
            made_of = {
                (name, line): pool.submit(result, command, line, model, statistics[first], folders[name])
                for line in RUNS for name, command in commands.items()
            }
            for line in RUNS:
                wanted = made_of[first, line].result()
                print(f"{model.stem:18} {line:14} {wanted}")
                if is_hash(wanted):
                    written.add(line)
                for name in others:
                    found = made_of[name, line].result()
                    check(f"{model.stem}: {line} of {name}", found == wanted, found[:200])
            for name in others:
                apart = furthest(*(json.loads(statistics[one].read_text()) for one in (first, name)))
                print(f"{model.stem:18} statistics of {name}: ranges within {apart:.1e}")
                check(f"{model.stem}: statistics of {name}", apart <= TOLERANCE, f"{apart:.2e}")
    for line in RUNS:
        check(f"{line} is written of a model", line in written)
    print(*failures, sep="\n")
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
