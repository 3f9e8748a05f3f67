"""`--checkpoint` of `quadrant calibrate` and `quadrant optimize`: runs that were stopped go on, to the bytes of one that
never was.

    python3 tests/cli/checkpoint_test.py path/to/quadrant        or with the path in $QUADRANT

KILLS=50 stops runs at so many random times in place of a few. Needs Python's standard library alone.
"""

import json
import os
import random
import re
import signal
import subprocess
import time

from command_case import BAD_INPUT, BINARY, DONE, USAGE, CommandTest, run_tests, two_layers
from run_model_test import npy

KINDS = ((), ("--moments",), ("--moments", "--grid-only"))


def stop_and_go_on(test, start, kill, output, stops, longest):
    """Runs that `start` begins, with a checkpoint beside `output`, which is there; `kill` ends them at random times up to
    `longest` seconds. Each begins where the one before was, until it is done: with the same bytes, each time."""
    wanted = test.bytes_of(output)
    before = set(test.files())
    checkpoint = f"{output}.checkpoint"
    draw = random.Random(output)

    def check():
        # One that is killed between two calls may leave a file that has not got its name yet.
        left = {name for name in test.files() if not re.fullmatch(r"\.quadrant-\d+-\d+\.tmp", name)}
        test.assertLessEqual(left, before | {checkpoint})
        return output in left

    def finish(process):
        _, error = process.communicate()
        test.assertEqual(process.returncode, DONE, error)
        test.assertEqual(test.bytes_of(output), wanted)
        test.assertNotIn(checkpoint, set(test.files()))

    (test.folder / output).unlink()
    while stops > 0:
        process = start()
        time.sleep(draw.uniform(0, longest))
        if process.poll() is None:
            kill(process)
            process.communicate()
        if process.returncode == DONE:
            finish(process)
            (test.folder / output).unlink()
        else:
            stops -= 1
            if check():  # it was killed when all was done
                test.assertEqual(test.bytes_of(output), wanted)
                (test.folder / output).unlink()
    finish(start())
    check()


class StoppedRuns(CommandTest):
    def started(self, *arguments):
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def stopped(self, *arguments, checkpoint="s.checkpoint", after=1, how=signal.SIGKILL):
        """Stopped as soon as a checkpoint is written for the `after`-th time; its exit code."""
        process = self.started(*arguments)
        seen = set()
        while process.poll() is None and len(seen) < after:
            try:
                seen.add((self.folder / checkpoint).stat().st_mtime_ns)
            except FileNotFoundError:
                time.sleep(.001)
        process.send_signal(how)
        process.communicate()
        return process.returncode

    def killed(self, *arguments, **options):
        self.assertNotEqual(self.stopped(*arguments, **options), DONE, "all was done before it could be stopped")


class CalibrateTest(StoppedRuns):
    def command(self, samples, *arguments, seed=1):
        return ("calibrate", self.model, "--random", samples, "--seed", seed, "--shape", "x=50x16", *arguments)

    def test_the_same_bytes(self):
        for kind in KINDS:
            alone = self.succeeds(*self.command(23, "-o", "s", *kind))
            wanted = self.bytes_of("s")
            for every in (1, 5, 23, 100):
                self.assertEqual(self.succeeds(*self.command(23, "-o", "s", *kind, "--checkpoint", every)), alone)
                self.assertEqual(self.bytes_of("s"), wanted)
            self.assertEqual(set(self.files()), {"model.onnx", "s"})

    def test_what_was_stopped_goes_on(self):
        for kind in KINDS:
            self.succeeds(*self.command(8000, "-o", "whole", *kind))
            self.killed(*self.command(8000, "-o", "s", *kind, "--checkpoint", 40, "--threads", 1))
            self.assertNotIn("s", set(self.files()))
            result = self.run_command(*self.command(8000, "-o", "s", *kind, "--checkpoint", 900))
            self.assertEqual(result.returncode, DONE, result.stderr)
            said = re.search(rb"note: s\.checkpoint: goes on with the \w+ of (\d+) of 8000 samples", result.stderr)
            self.assertEqual(int(said[1]) % 40, 0)
            self.assertEqual(self.bytes_of("s"), self.bytes_of("whole"))
            self.assertEqual(set(self.files()), {"model.onnx", "s", "whole"})
            (self.folder / "s").unlink()

    def test_stopped_at_random_times(self):
        for kind in KINDS[:2]:
            self.succeeds(*self.command(4000, "-o", "s", *kind, "--threads", 1))
            begin = time.monotonic()
            command = self.command(4000, "-o", "s", *kind, "--threads", 1, "--checkpoint", 100)
            self.succeeds(*command)
            longest = time.monotonic() - begin
            stop_and_go_on(self, lambda command=command: self.started(*command), lambda process: process.kill(), "s",
                           int(os.environ.get("KILLS", 6)), longest)

    def test_of_another_run(self):
        self.put("other.onnx", two_layers([.5] * 512))
        self.succeeds(*self.command(3, "-o", "earlier"))
        again = ("-o", "s", "--checkpoint", 40)
        self.killed(*self.command(20000, *again, "--threads", 1))
        whole = self.bytes_of("s.checkpoint")
        for what, arguments in {
            "the samples (20000 of hash": self.command(20001, *again),
            "of hash": self.command(20000, *again, seed=2),
            "the part (1 of 1; now 1 of 2)": self.command(20000, *again, "--part", "1/2"),
            "what is gathered (statistics; now moments)": self.command(20000, *again, "--moments"),
            "what it is merged with": self.command(20000, *again, "--merge", "earlier"),
            "the runtime (interpreter; now onnxruntime-avx2)": self.command(20000, *again, "--runtime",
                                                                           "onnxruntime-avx2"),
            "the model": ("calibrate", "other.onnx", *self.command(20000, *again)[2:]),
        }.items():
            self.fails(USAGE, ["s.checkpoint: this checkpoint is of another run, which differs in ", what], *arguments)
        self.put("s.checkpoint", whole.replace(self.version().encode(), b"9.9.9", 1))
        self.fails(USAGE, f"differs in the version (9.9.9; now {self.version()})", *self.command(20000, *again))

    def test_damaged(self):
        self.killed(*self.command(3000, "-o", "s", "--checkpoint", 40, "--threads", 1))
        command = self.command(3000, "-o", "s", "--checkpoint", 40)
        whole = self.bytes_of("s.checkpoint")
        for size in (8, 20, 200, len(whole) // 2, len(whole) - 1):
            self.put("s.checkpoint", whole[:size])
            self.fails(BAD_INPUT, "s.checkpoint: this checkpoint is damaged", *command)
        self.put("s.checkpoint", whole + b"x")
        self.fails(BAD_INPUT, "s.checkpoint: this checkpoint is damaged", *command)
        self.put("s.checkpoint", whole.replace(b'"quadrant.statistics"', b'"quadrant.stakistics"', 1))
        self.fails(BAD_INPUT, "s.checkpoint: ", *command)
        self.put("s.checkpoint", b"a letter")
        self.fails(USAGE, "s.checkpoint: this is no checkpoint", *command)

    def test_mistakes_in_the_call(self):
        self.fails(USAGE, ["--checkpoint", "--output", "--checkpoint-file"], *self.command(9, "--checkpoint", 3))
        self.fails(USAGE, "s", *self.command(9, "-o", "s", "--checkpoint", 3, "--checkpoint-file", "s"))
        self.fails(USAGE, "is read", *self.command(9, "-o", "s", "--checkpoint", 3, "--checkpoint-file", self.model))
        self.fails(USAGE, "--checkpoint", *self.command(9, "-o", "s", "--checkpoint", 0))
        self.fails(USAGE, "--checkpoint", *self.command(9, "-o", "s", "--checkpoint-file", "c"))
        self.succeeds(*self.command(9, "-o", "s"))
        self.fails(USAGE, "samples are missing", "calibrate", self.model, "--merge", "s", "-o", "t", "--checkpoint", 3)
        self.succeeds(*self.command(9, "--checkpoint", 3, "--checkpoint-file", "elsewhere"))
        self.assertNotIn("elsewhere", set(self.files()))


class OptimizeTest(StoppedRuns):
    """A search of two halves of samples, up to products in float."""

    def setUp(self):
        super().setUp()
        self.put_samples("data", 16)

    def put_samples(self, folder, count, seed=4):
        numbers = random.Random(seed)
        (self.folder / folder).mkdir()
        for i in range(count):
            rows = 20 * (1 + 2 * (i % 2))
            values = [numbers.gauss(0, 1) for _ in range(rows * 16)]
            self.put(f"{folder}/{i:02}.npy", npy(values * 20, [rows * 20, 16]))

    def command(self, *arguments, model=None, data="data", most_float=100):
        return ("optimize", model or self.model, "-o", "q.onnx", "--calibration", data, "--weight-bits", 4, "--accept-sqnr", 60,
                "--most-float", most_float, "--save-recipe", "r.json", *arguments)

    def killed(self, *arguments, **options):
        super().killed(*self.command("--checkpoint", "--threads", 1, *arguments), checkpoint="q.onnx.checkpoint", **options)

    def files_of(self, *arguments):
        """What a call writes, and says."""
        result = self.run_command(*self.command(*arguments))
        self.assertEqual(result.returncode, DONE, result.stderr)
        said = re.sub(r" *\d+\.\d s *", " ", result.stdout.decode())
        made = [self.bytes_of(name) for name in ("q.onnx", "r.json")] + [said]
        for name in ("q.onnx", "r.json"):
            (self.folder / name).unlink()
        return made, result.stderr.decode()

    def test_the_same_bytes(self):
        before = set(self.files())
        self.assertEqual(self.files_of("--checkpoint"), self.files_of())
        self.assertEqual(set(self.files()), before)

    def test_what_was_stopped_goes_on(self):
        """Also where labels turn out not to be equally many for each sample, after which the search begins again."""
        self.put("labels.txt", b"1\n" * (16 * 40 * 20))
        before = set(self.files())
        for options in ((), ("--labels", "labels.txt", "--accept", "0")):
            whole, notes = self.files_of(*options)
            for after in (1, 2, 5, 8):
                self.killed(*options, after=after)
                self.assertNotIn("q.onnx", set(self.files()))
                made, more = self.files_of("--checkpoint", *options)
                self.assertEqual(made, whole)
                said = re.search(r"note: q\.onnx\.checkpoint: goes on with what (\d+) attempts? came to\n", more)
                self.assertGreaterEqual(int(said[1]), 1 if after == 1 else 2)
                self.assertEqual(more.replace(said[0], ""), notes)
                self.assertEqual(set(self.files()), before)

    def test_stopped_at_random_times(self):
        self.succeeds(*self.command("--threads", 1))
        begin = time.monotonic()
        command = self.command("--threads", 1, "--checkpoint")
        self.succeeds(*command)
        longest = time.monotonic() - begin
        stop_and_go_on(self, lambda: self.started(*command), lambda process: process.kill(), "q.onnx",
                       int(os.environ.get("KILLS", 6)), longest)

    def test_ctrl_c_leaves_it(self):
        """The best until then is written, and the search can go on."""
        whole, _ = self.files_of()
        call = self.command("--checkpoint", "--threads", 1)
        self.assertEqual(self.stopped(*call, checkpoint="q.onnx.checkpoint", after=2, how=signal.SIGINT), DONE)
        self.assertIn("q.onnx", set(self.files()))
        self.assertIn("q.onnx.checkpoint", set(self.files()))
        made, notes = self.files_of("--checkpoint")
        self.assertEqual(made, whole)
        self.assertIn("goes on with what", notes)
        self.assertNotIn("q.onnx.checkpoint", set(self.files()))

    def test_of_another_run(self):
        self.put("other.onnx", two_layers([.5] * 512))
        self.put("labels.txt", b"1\n" * (16 * 40 * 20))
        self.put_samples("others", 16, seed=5)
        self.killed()
        whole = self.bytes_of("q.onnx.checkpoint")
        for what, arguments in {
            "the model": self.command(model="other.onnx"),
            "the samples (16 of hash": self.command(data="others"),
            "the samples to judge on (16 of hash": self.command("--data", "others"),
            "the labels (none; now ": self.command("--labels", "labels.txt"),
            "the recipe": self.command("--weights", "tensor"),
            "what is good enough (0.5 points, 60 dB; now 0.25 points, 60 dB)": self.command("--accept", .25),
            "what may stay float (1; now 0.5)": self.command(most_float=50),
        }.items():
            self.fails(USAGE, ["q.onnx.checkpoint: this checkpoint is of another run, which differs in ", what],
                       *arguments, "--checkpoint")
        self.fails(USAGE, "what is gathered (attempts of a search; now statistics)", "calibrate", self.model, "--data", "data",
                   "-o", "q.onnx", "--checkpoint", 5)
        self.put("q.onnx.checkpoint", whole.replace(self.version().encode(), b"9.9.9", 1))
        self.fails(USAGE, f"differs in the version (9.9.9; now {self.version()})", *self.command("--checkpoint"))

    def test_damaged(self):
        self.killed(after=3)
        command = self.command("--checkpoint")
        whole = self.bytes_of("q.onnx.checkpoint")
        for size in (8, 20, 200, len(whole) // 2, len(whole) - 1):
            self.put("q.onnx.checkpoint", whole[:size])
            self.fails(BAD_INPUT, "q.onnx.checkpoint: this checkpoint is damaged", *command)
        self.put("q.onnx.checkpoint", b"a letter")
        self.fails(USAGE, "q.onnx.checkpoint: this is no checkpoint", *command)

    def test_mistakes_in_the_call(self):
        self.fails(USAGE, "--checkpoint", *self.command("--checkpoint-file", "c"))
        self.fails(USAGE, "is read", *self.command("--checkpoint", "--checkpoint-file", self.model))
        self.fails(USAGE, "q.onnx", *self.command("--checkpoint", "--checkpoint-file", "q.onnx"))
        self.put("q.onnx.checkpoint", b"a letter")
        self.files_of("--checkpoint", "--checkpoint-file", "elsewhere")
        self.assertEqual(self.bytes_of("q.onnx.checkpoint"), b"a letter")
        self.assertNotIn("elsewhere", set(self.files()))


if __name__ == "__main__":
    run_tests()
