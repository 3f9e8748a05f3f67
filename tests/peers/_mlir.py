"""MLIR's tools, of the versions that the tests use: 15 has instrumentation and fake quantization,
19 is what the plug-in is built for, 22 has the strictest verifier.

To be imported first: ends a test with status 77, skipped, where one is missing.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
APART = ROOT / ".packages"  # packages that cannot be installed beside others: see scripts/setup

FOLDERS = {
    15: pathlib.Path("/usr/lib/llvm-15"),
    19: pathlib.Path("/usr/lib/llvm-19"),
    22: APART / "usr/lib/llvm-22",
}

for _version, _folder in FOLDERS.items():
    if not (_folder / "bin" / "mlir-opt").is_file():
        print(f"mlir-opt of version {_version} is not there: run scripts/setup")
        sys.exit(77)


def tool(version, name, *arguments, text="", timeout=300):
    """A finished process of MLIR's tool, with `text` as its input. Never raises for its status."""
    libraries = APART / "usr/lib/x86_64-linux-gnu"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if version == 22 else None
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
