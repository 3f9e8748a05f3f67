"""Instructions of a function, counted by valgrind's callgrind: the same at every run, and on every
processor that valgrind knows the vectors of."""

import re
import subprocess
import tempfile


def count(program, function, *arguments):
    """What the program printed, an integer, and the instructions from each call of `function`, a
    pattern of callgrind, to its return. A function that fits must not call another one that does: that
    call would end the counting."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}",
             "--collect-atstart=no", f"--toggle-collect={function}", program, *map(str, arguments)],
            check=True, capture_output=True, text=True)
    instructions = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
    assert instructions > 0, f"{program} does not call {function}"
    return int(done.stdout), instructions
