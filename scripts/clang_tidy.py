#!/usr/bin/env python3
"""Runs clang-tidy on sources, except on those that it found nothing in before.

    scripts/clang_tidy.py BUILD_FOLDER PATTERN...

The sources are those of BUILD_FOLDER/compile_commands.json whose path one of the regular expressions matches; one that
matches none is an error. What counts as the same is all that clang-tidy sees: its version and settings, this script, the
command, the preprocessed source, and the files of the repository in it, wherever the repository is. The hashes of clean
sources are kept in ~/.cache/quadrant/clang-tidy, for 60 days after their last use.
"""

import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "quadrant" / "clang-tidy"
TIDY = "clang-tidy-19"
KEPT_DAYS = 60


def what_it_sees(commands, version):
    """A hash, or None where the source does not even preprocess: clang-tidy says why."""
    seen = hashlib.sha256(version)
    files = {pathlib.Path(__file__)}
    for entry in commands:
        source = pathlib.Path(entry["file"])
        files.update(folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT))
        command = shlex.split(entry["command"])
        preprocess = command[: command.index("-o")] + ["-E", str(source)]
        run = subprocess.run(preprocess, cwd=entry["directory"], capture_output=True, check=False)
        if run.returncode:
            return None
        seen.update(b"\0".join((entry["command"].encode(), run.stdout)).replace(str(ROOT).encode(), b"."))
        # Comments, macros and the spelling of directives are not in there.
        files.update(pathlib.Path(name) for name in re.findall(rf'^# \d+ "({re.escape(str(ROOT))}[^"]*)"', run.stdout.decode(), re.M))
    for path in sorted(files):
        if path.is_file():
            seen.update(path.read_bytes() + b"\0")
    return seen.hexdigest()


def is_clean(folder, commands, version):
    seen = what_it_sees(commands, version)
    if seen and (CACHE / seen).exists():
        (CACHE / seen).touch()
        return True
    run = subprocess.run([TIDY, "--quiet", "-p", folder, commands[0]["file"]], capture_output=True, text=True, check=False)
    noise = [line for line in run.stderr.splitlines() if "warnings generated" not in line]
    print(*filter(None, (run.stdout.rstrip(), *noise)), sep="\n", end="\n" if run.stdout or noise else "", flush=True)
    if run.returncode == 0 and seen:
        (CACHE / seen).touch()
    return run.returncode == 0


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: scripts/clang_tidy.py BUILD_FOLDER PATTERN...")
    folder, patterns = sys.argv[1], [re.compile(pattern) for pattern in sys.argv[2:]]
    commands = json.loads(pathlib.Path(folder, "compile_commands.json").read_text())
    sources = collections.defaultdict(list)  # a source may belong to several targets
    used = set()
    for entry in commands:
        matching = [pattern for pattern in patterns if pattern.search(entry["file"])]
        used.update(matching)
        if matching:
            sources[entry["file"]].append(entry)
    if unused := [pattern.pattern for pattern in patterns if pattern not in used]:
        sys.exit(f"no source matches {', '.join(unused)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.check_output([TIDY, "--version"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = list(pool.map(lambda source: is_clean(folder, source, version), sources.values()))
    for path in list(CACHE.iterdir()):
        with contextlib.suppress(FileNotFoundError):  # another run may be doing the same
            if path.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                path.unlink()
    print(f"clang-tidy: {sum(clean)} of {len(clean)} sources are clean")
    sys.exit(not all(clean))


if __name__ == "__main__":
    main()
