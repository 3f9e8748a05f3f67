"""Fails if an object of the given archives runs code before main().

    no_static_constructors.py NM ARCHIVE...

Such code vanishes or runs twice, depending on how the library is linked. One exception: the headers of
Boost.Graph's algorithms define a few empty constants (boost::none, named parameters) in each unit that
includes them, for which GCC writes a constructor. A unit passes when it initialises nothing else.
"""

import re
import subprocess
import sys

CONSTRUCTOR = re.compile(r"_GLOBAL__(sub_)?I_|global constructors keyed to|__cxx_global_var_init")
# Writable data (nm's letters b, d, and u, v for inline variables) that is no static object of ours.
FOREIGN = re.compile(
    r"(guard variable for )?\(?boost::|std::in_place|std::ranges::|std::__detail::|DW\.ref\.|typeinfo |"
    r"(construction )?vtable |VTT "
)
# What Boost's headers construct.
BOOST = re.compile(r"boost::(none|detail::make_\w+_from_arg_pack)\b")


def objects(nm, archives):
    """{object: [(letter, symbol)]}; constants have the letter r, inline ones too."""
    command = [nm, "--print-file-name", "--demangle", "--format=sysv", *archives]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in listing.splitlines():
        # archive:object:symbol|address|letter|type|size|line|section; a symbol may have | itself
        place, *columns = line.rsplit("|", 6)
        match = re.match(r"(.+?\.o):(.+)", place)
        if not match or len(columns) != 6:
            continue
        letter = "r" if columns[5].startswith(".rodata") else columns[1].strip()
        found.setdefault(match[1], []).append((letter, match[2].strip()))
    return found


def offences(symbols):
    if not any(CONSTRUCTOR.search(name) for _, name in symbols):
        return []
    own = [name for letter, name in symbols if letter in "bBdDuvV" and not FOREIGN.match(name)]
    if own or any(BOOST.search(name) for _, name in symbols):
        return own
    return ["a constructor of something that the optimiser has removed"]


def main(nm, *archives):
    found = objects(nm, archives)
    if not found:
        sys.exit("no objects in: " + " ".join(archives))
    failed = False
    for place, symbols in found.items():
        for name in offences(symbols):
            print(f"{place}: static constructor: {name}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
