"""MLIR's tools, of the versions that the tests use: 15 has instrumentation and fake quantization,
19 is what the plug-in is built for, 22 has the strictest verifier.

Ends a test with status 77, skipped, where one that it uses is missing: Debian 13 has no version 15.
"""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np

from _command import COMMAND

ROOT = pathlib.Path(__file__).resolve().parents[2]
APART = ROOT / ".packages"  # packages that cannot be installed beside others: see scripts/setup

FOLDERS = {
    15: pathlib.Path("/usr/lib/llvm-15"),
    19: pathlib.Path("/usr/lib/llvm-19"),
    22: APART / "usr/lib/llvm-22",
}


def tool(version, name, *arguments, text="", timeout=300):
    """A finished process of MLIR's tool, with `text` as its input. Never raises for its status."""
    if not (FOLDERS[version] / "bin" / "mlir-opt").is_file():
        print(f"mlir-opt of version {version} is not there: run scripts/setup")
        sys.exit(77)
    libraries = ":".join(map(str, APART.glob("usr/lib/*-linux-gnu")))
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if version == 22 else None
    return subprocess.run([str(FOLDERS[version] / "bin" / name), *map(str, arguments)], input=text,
                          capture_output=True, text=True, timeout=timeout, env=environment)


def opt(version, text, *arguments):
    """What mlir-opt prints for `text`; an assertion with its message where it refuses."""
    done = tool(version, "mlir-opt", *arguments, text=text)
    assert done.returncode == 0, f"mlir-opt {version}: {done.stderr[:2000]}"
    return done.stdout


def refusal(version, text, *arguments):
    """Why mlir-opt refuses `text`; empty where it does not."""
    done = tool(version, "mlir-opt", *arguments, text=text)
    return done.stderr if done.returncode else ""


# --- the plug-in --------------------------------------------------------------------------------

_LIBRARIES = COMMAND.parent.parent / "lib"
PLUGINS = {19: _LIBRARIES / "QuadrantPlugin.so", 22: _LIBRARIES / "QuadrantPlugin22.so"}


def plugin(version, text, passes, *arguments):
    """A finished mlir-opt with the plug-in. One that does not load is an error: mlir-opt prints a line
    and goes on."""
    done = tool(version, "mlir-opt", f"--load-pass-plugin={PLUGINS[version]}",
                f"--pass-pipeline=builtin.module({passes})", *arguments, text=text)
    assert "Failed to load" not in done.stderr, done.stderr[:500]
    return done


def rewritten(version, text, passes, *arguments):
    """What the plug-in's passes make of `text`; an assertion with its message where they fail."""
    done = plugin(version, text, passes, *arguments)
    assert done.returncode == 0, f"mlir-opt {version}: {done.stderr[:2000]}"
    return done.stdout


def printed_numbers(text):
    """The elements that printMemrefF32 printed, in a row."""
    return np.array([float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", text.split("data =")[1])])


# From linalg on tensors to LLVM.
TO_LLVM = (ROOT / "examples" / "mlir" / "to_llvm.txt").read_text("utf-8").replace("\n", "")


RUNNERS = {19: "mlir-cpu-runner", 22: "mlir-runner"}


OBSERVERS = _LIBRARIES / "libquadrant_observers.so"


def run_main(text, passes="", version=19):
    """What `main` of a module prints, compiled and run behind `passes`, for which the plug-in is loaded."""
    if passes:
        lowered = rewritten(version, text, f"{passes},{TO_LLVM}")
    else:
        lowered = opt(version, text, f"--pass-pipeline=builtin.module({TO_LLVM})")
    libraries = ",".join(str(FOLDERS[version] / "lib" / f"libmlir_{name}runner_utils.so")
                         for name in ("", "c_"))
    if "quadrant-instrument" in passes:
        libraries += f",{OBSERVERS}"
    done = tool(version, RUNNERS[version], "-e", "main", "-entry-point-result=void",
                f"-shared-libs={libraries}", text=lowered)
    assert done.returncode == 0, f"{RUNNERS[version]}: {done.stderr[:2000]}"
    return done.stdout
