"""Runs programs that quantize a model file, beside reading and writing as many bytes."""

import dataclasses
import pathlib
import subprocess
import sys
import time

# What both reading and writing are fastest with. Larger writes ask the system for memory in larger pieces,
# which a virtual machine may have to get back from its host first, at a tenth of the rate.
CHUNK = 256 << 10


@dataclasses.dataclass
class Run:
    seconds: float
    peak_bytes: int = 0
    written: int = 0


# A small process between: Linux charges a program with the memory of the one that starts it.
START = """
import os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - begin, usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(command, log):
    """Elapsed time and peak resident memory of a command, which must succeed."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", START, *map(str, command)],
                          stdout=subprocess.PIPE, stderr=log, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: see {log.name}")
    seconds, peak = done.stdout.split()
    return Run(float(seconds), int(peak))


def read_all(path):
    """Reads a file once, on one thread; seconds."""
    buffer = bytearray(CHUNK)
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - begin


def write_all(path, size):
    """Writes so many bytes, on one thread; seconds. The file goes."""
    buffer = bytes(CHUNK)
    begin = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        left = size
        while left:
            left -= file.write(buffer[:min(left, CHUNK)])
    taken = time.perf_counter() - begin
    path.unlink()
    return taken


def files_of(folder):
    return [path for path in folder.iterdir() if path.is_file()]


def empty(folder):
    for path in files_of(folder):
        path.unlink()


def size_of(folder):
    return sum(path.stat().st_size for path in files_of(folder))


def measure(commands, inputs, folder, rounds, log):
    """For each of `commands`, by name, what takes `OUT` as the model to write: the best Run of so many
    rounds, and the least seconds for reading `inputs` and writing as much as it wrote. All take turns,
    so that a slow minute of the machine meets all of them; one round is enough for what takes twenty
    times as long as the fastest."""
    out = pathlib.Path(folder) / "out.onnx"
    best, yardstick = {}, {}
    for turn in range(rounds):
        for name, command in commands.items():
            if turn > 0 and best[name].seconds > 20 * min(run.seconds for run in best.values()):
                continue
            empty(out.parent)
            done = run([out if part == "OUT" else part for part in command], log)
            done.written = size_of(out.parent)
            empty(out.parent)
            copying = sum(map(read_all, inputs)) + write_all(out, done.written)
            if name not in best or done.seconds < best[name].seconds:
                best[name] = done
            yardstick[name] = min(copying, yardstick.get(name, copying))
            empty(out.parent)
    return best, yardstick
