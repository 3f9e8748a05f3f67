"""The command ``quadrant``, which is a program beside this file."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes it, with the same arguments: signals and exit codes are its own."""
    program = Path(__file__).with_name("bin") / "quadrant"
    try:
        os.execv(program, ["quadrant", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"quadrant: {program}: {error.strerror}: install the package again")
