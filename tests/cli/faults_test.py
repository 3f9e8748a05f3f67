"""The n-th call of the system fails, or the program is killed in front of it: files are as they were, or as they
should be, and nothing else.

    python3 tests/cli/faults_test.py path/to/quadrant [--all]        or with the path in $QUADRANT

$QUADRANT_FAULTS is the library that makes calls fail (tests/faults/faults.c). --all: every call of every kind but
allocations, of which every hundredth, and a thousand kills at any time; otherwise some of each.
"""

import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from command_case import BINARY, DONE, INPUT_OUTPUT, SCHEME, CommandTest, run_tests, two_layers

FAULTS = os.environ.get("QUADRANT_FAULTS", "")
ALL = "--all" in sys.argv
RANDOM = ("--random", "3", "--shape", "x=3x16")
THREADS = ("--threads", "2")
# Kinds of calls that fail, and how many of each are drawn.
KINDS = {"open": 8, "read": 8, "write": 8, "sync": 8, "link": 8, "rename": 8, "map": 8, "thread": 4, "alloc": 12}
KILLED_AT = ("open", "write", "sync", "link", "rename")

# What each writes over files of other contents that are there.
CALLS = {
    "a model over itself, its data in a file": (
        "quantize", "model.onnx", "-o", "model.onnx", *SCHEME, "--external-data", *THREADS),
    "a model and all that is said of it": (
        "quantize", "model.onnx", "-o", "old.onnx", *SCHEME, "--report", "old.html", "--dot", "new.dot",
        "--save-recipe", "old.json", *THREADS),
    "an .xml file and its .bin file": ("convert", "model.onnx", "old.xml", *SCHEME),
    "a new .xml file and its .bin file": ("convert", "model.onnx", "new.xml"),
    "a .tflite file": ("convert", "static.onnx", "old.tflite"),
    "statistics": ("calibrate", "model.onnx", *RANDOM, "-o", "old.json", *THREADS),
    "statistics that are added to": (
        "calibrate", "model.onnx", *RANDOM, "-o", "statistics.json", "--merge", "statistics.json", *THREADS),
    "results of samples": ("run", "model.onnx", *RANDOM, "-o", "results", *THREADS),
    "results in a new folder": ("run", "model.onnx", *RANDOM, "-o", "new/folder", *THREADS),
}


def state(folder):
    """Contents by path, but for names that a program which was killed may leave."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*") if not path.name.startswith(".quadrant-")}


class FaultsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.put("static.onnx", two_layers())
        for name in ("old.html", "old.json", "old.onnx", "old.tflite"):
            self.put(name, b"old")
        self.succeeds("convert", self.model, "old.xml")
        self.succeeds("calibrate", self.model, *RANDOM, "-o", "statistics.json")
        (self.folder / "results").mkdir()
        self.put("results/random_1.npz", b"old")

    def faulty(self, call, fault, log=None):
        """A run in a copy of the folder: exit code, last words, and what files there are."""
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "copy"
            shutil.copytree(self.folder, folder)
            environment = {**os.environ, "LD_PRELOAD": FAULTS, "QUADRANT_FAULT": fault}
            if log:
                environment["QUADRANT_FAULT_LOG"] = str(log)
            done = subprocess.run([BINARY, *call], cwd=folder, capture_output=True, timeout=300, check=False,
                                  env=environment)
            left = [path.name for path in folder.rglob(".quadrant-*")]
            return done.returncode, done.stderr.decode(), state(folder), left

    def counts(self, call):
        with tempfile.TemporaryDirectory() as parent:
            log = pathlib.Path(parent) / "log"
            code, error, after, left = self.faulty(call, "", log)
            self.assertEqual((code, error, left), (DONE, "", []), call)
            return dict((kind, int(count)) for kind, count in
                        re.findall(r"^([a-z]+) (\d+)$", log.read_text(), re.M)), after

    def places(self, kind, count, seed):
        if ALL:
            return range(1, count + 1, 100 if kind == "alloc" else 1)
        return sorted(random.Random(seed).sample(range(1, count + 1), min(count, KINDS[kind])))

    def check_failed(self, what, before, after, outcome):
        code, error, found, left = outcome
        self.assertEqual(left, [], what)
        if code == DONE:
            self.assertEqual(found, after, what)
        else:
            self.assertEqual(code, INPUT_OUTPUT, (what, error))
            self.assertRegex(error, r"\A(quadrant: [^\n]+\n)?\Z")
            self.assertEqual(found, before, what)

    def check_killed(self, what, before, after, found):
        """Each file is the old one or the new one; a model that is there has its own data."""
        for name, contents in found.items():
            known = [files[name] for files in (before, after) if name in files]
            self.assertIn(contents, known, (what, name))
        for name in before:
            if not name.endswith(".xml"):
                self.assertIn(name, found, what)
        for name in found:
            data = {".xml": ".bin"}.get(pathlib.Path(name).suffix)
            if data:
                pair = [name, name[:-4] + data]
                self.assertIn([found[part] for part in pair],
                              [[files.get(part) for part in pair] for files in (before, after)], what)
        for name in set(after) - set(before):
            if name.endswith(".data") and found.get("model.onnx") == after["model.onnx"]:
                self.assertIn(name, found, what)

    def test_calls(self):
        done = {"failed": 0, "killed": 0}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, call in CALLS.items():
                before = state(self.folder)
                counts, after = self.counts(call)
                self.assertNotEqual(before, after)
                faults = [f"{kind}:{n}" for kind in KINDS for n in self.places(kind, counts[kind], name + kind)]
                kills = [f"kill:{kind}:{n}" for kind in KILLED_AT
                         for n in self.places(kind, counts[kind], name + kind)]
                outcomes = pool.map(lambda fault, call=call: self.faulty(call, fault), faults + kills)
                for fault, outcome in zip(faults + kills, outcomes):
                    with self.subTest(name=name, fault=fault):
                        if fault in kills:
                            self.assertEqual(outcome[0], -9)
                            self.check_killed((name, fault), before, after, outcome[2])
                        else:
                            self.check_failed((name, fault), before, after, outcome)
                done["failed"] += len(faults)
                done["killed"] += len(kills)
        print(f"{done['failed']} calls failed, {done['killed']} times killed")
        self.assertGreater(done["failed"], 100)
        self.assertGreater(done["killed"], 50)

    def test_nothing_is_lost_where_no_name_can_be_given_back(self):
        """A file that cannot be put back is still there, by another name, which is told."""
        renamed = 0
        for name, call in CALLS.items():
            counts, after = self.counts(call)
            for n in range(1, counts["rename"] + 1):
                with self.subTest(name=name, n=n), tempfile.TemporaryDirectory() as parent:
                    folder = pathlib.Path(parent) / "copy"
                    shutil.copytree(self.folder, folder)
                    done = subprocess.run(
                        [BINARY, *call], cwd=folder, capture_output=True, timeout=300, check=False,
                        env={**os.environ, "LD_PRELOAD": FAULTS, "QUADRANT_FAULT": f"rename:{n}+"})
                    if done.returncode == DONE:
                        self.assertEqual(state(folder), after)
                        continue
                    self.assertEqual(done.returncode, INPUT_OUTPUT, done.stderr)
                    found = {path.read_bytes(): path for path in folder.rglob("*") if path.is_file()}
                    for old, contents in state(self.folder).items():
                        if contents is None:
                            continue
                        self.assertIn(contents, found, old)
                        # Where it is by another name alone, the message says which.
                        if contents not in state(folder).values():
                            self.assertRegex(done.stderr.decode(),
                                             f"what was '[^']*{old}' is '[^']*{found[contents].name}' now")
                            renamed += 1
        self.assertGreater(renamed, 0)

    def test_what_fails_at_last_says_no_more_than_that(self):
        """Notes are for what was done: a call whose files get no names prints its error alone."""
        call = ("calibrate", "model.onnx", "--random", "2", "-o", "old.json")
        done = self.run_command(*call)
        self.assertRegex(done.stderr.decode(), r"\Anote: [^\n]+\n\Z")
        code, error, _, _ = self.faulty(call, "rename:1")
        self.assertEqual(code, INPUT_OUTPUT)
        self.assertRegex(error, r"\Aquadrant: [^\n]+\n\Z")

    def test_kills_at_any_time(self):
        """Between the calls, too."""
        times = 125 if ALL else 4
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, call in CALLS.items():
                before = state(self.folder)
                _, after = self.counts(call)
                started = time.monotonic()
                self.faulty(call, "")
                whole = time.monotonic() - started
                draw = random.Random(name)
                delays = [draw.uniform(0, 1.2 * whole) for _ in range(times)]
                for delay, found in zip(delays, pool.map(lambda delay, call=call: self.killed_after(call, delay), delays)):
                    with self.subTest(name=name, delay=delay):
                        self.check_killed((name, delay), before, after, found)

    def killed_after(self, call, delay):
        """The files in a copy of the folder, once a run there was killed, or had ended before."""
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "copy"
            shutil.copytree(self.folder, folder)
            with subprocess.Popen([BINARY, *call], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                time.sleep(delay)
                run.kill()
            return state(folder)

    def test_standard_output_that_fails(self):
        """What cannot say what it did has not done it."""
        before = state(self.folder)
        for call in CALLS.values():
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BINARY, *call], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                      timeout=60, check=False)
            self.assertEqual(done.returncode, INPUT_OUTPUT, (call, done.stderr))
            self.assertEqual(state(self.folder), before, call)


if __name__ == "__main__":
    if not FAULTS:
        print("QUADRANT_FAULTS names no library")
        sys.exit(77)
    run_tests()
