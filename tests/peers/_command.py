"""The command, and a runner of tests: what the tests of this folder share that needs no peer."""

import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("QUADRANT", ROOT / "build" / "release" / "bin" / "quadrant"))


def quadrant(*arguments):
    return subprocess.run([str(COMMAND), *map(str, arguments)], capture_output=True, text=True,
                          timeout=300)


def tests_in(namespace):
    """(name, call) for each function `test_*`. One that yields holds a test for each tuple
    (name, function, *arguments) that it yields."""
    for name, function in list(namespace.items()):
        if not name.startswith("test_"):
            continue
        if inspect.isgeneratorfunction(function):
            for case, check, *arguments in function():
                yield f"{name}[{case}]", lambda c=check, a=arguments: c(*a)
        else:
            yield name, function


def run_tests(namespace):
    """Runs the tests whose names contain one of the command's arguments; all of them without any."""
    if not COMMAND.is_file():
        print(f"the command is not there: {COMMAND} (the environment variable QUADRANT names it)")
        sys.exit(1)
    passed = failed = 0
    for name, call in tests_in(namespace):
        if len(sys.argv) > 1 and not any(part in name for part in sys.argv[1:]):
            continue
        try:
            call()
            passed += 1
        except Exception as problem:
            failed += 1
            print(f"FAILED {name}: {type(problem).__name__}: {problem}")
            if not isinstance(problem, AssertionError) or not str(problem):
                traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


class scratch(tempfile.TemporaryDirectory):
    """A temporary folder as a path, for `with`."""

    def __enter__(self):
        return pathlib.Path(super().__enter__())
