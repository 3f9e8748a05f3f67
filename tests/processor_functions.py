"""Fails if what is compiled for some processors alone may be called on all of them.

    processor_functions.py NM ARCHIVE

An inline function that is not inlined is in every object that calls it, and the linker keeps one of
them: the one of inner_loops_avx2.cpp, perhaps, which then runs where there is no AVX2. So all weak
functions there have to be its own: Eigen's under another name, or of its own namespace.
"""

import re
import subprocess
import sys

OBJECT = "inner_loops_avx2"
OWN = re.compile(r"\bquadrant_eigen_avx2\b|\bquadrant::v0::avx2::")


def weak_functions(nm, archive):
    """None where the archive has no such object."""
    command = [nm, "--print-file-name", "--demangle", archive]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in listing.splitlines() if OBJECT in line.split()[0]]
    # archive:object:address letter symbol
    matches = [re.match(r".+?:[0-9a-f]+ W (.+)", line) for line in lines]
    return [match[1] for match in matches if match] if lines else None


def main(nm, archive):
    functions = weak_functions(nm, archive)
    if functions is None:
        print("not compiled for this kind of processor")
        return
    shared = [name for name in functions if not OWN.search(name)]
    for name in shared:
        print(f"{OBJECT}: shared with other objects: {name}")
    sys.exit(bool(shared))


if __name__ == "__main__":
    main(*sys.argv[1:])
