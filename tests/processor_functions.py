"""Fails if what is compiled for some processors alone may be called on all of them.

    processor_functions.py NM ARCHIVE...

An inline function that is not inlined is in every object that calls it, and the linker keeps one of
them: the one of inner_loops_avx2.cpp, perhaps, which then runs where there is no AVX2. So all weak
functions there have to be its own: Eigen's under another name, or of its own namespace. The same
holds for kernels, each object of which has functions for several processors.
"""

import re
import subprocess
import sys

# What shows that an object has such functions, and those that may be weak there. Highway chooses by
# FunctionCache, which is compiled for all processors.
KINDS = (
    (re.compile(r"\bquadrant::v0::avx2::"),
     re.compile(r"\bquadrant_eigen_avx2\b|\bquadrant::v0::avx2::")),
    (re.compile(r"\bquadrant::v0::kernels::N_"),
     re.compile(r"\bquadrant::v0::kernels::N_|\bhwy::N_|\bhwy::FunctionCache<")),
)


def functions_of(nm, archive):
    """Of each object: letters of its symbols, and their names."""
    command = [nm, "--print-file-name", "--demangle", "--defined-only", archive]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    objects = {}
    for line in listing.splitlines():
        # archive:object:address letter symbol
        if match := re.match(r".+?:([^:]+):[0-9a-f]+ (\w) (.+)", line):
            objects.setdefault(match[1], []).append((match[2], match[3]))
    return objects


def main(nm, *archives):
    found = 0
    shared = []
    for archive in archives:
        for name, functions in functions_of(nm, archive).items():
            # The file that chooses among them refers to them, and defines none.
            defined = [symbol for letter, symbol in functions if letter in "tTW"]
            for sign, own in KINDS:
                if not any(sign.search(symbol) for symbol in defined):
                    continue
                found += 1
                shared += [f"{name}: shared with other objects: {symbol}"
                           for letter, symbol in functions
                           if letter == "W" and not own.search(symbol)]
    print("\n".join(shared) or f"{found} objects with functions for some processors")
    sys.exit(bool(shared) or found == 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
