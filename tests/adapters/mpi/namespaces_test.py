"""`quadrant-mpi` on two hosts: network namespaces of this machine, each with an address and a name of its own.

    python3 tests/adapters/mpi/namespaces_test.py path/to/quadrant     or with the path in $QUADRANT

quadrant-mpi lies beside it. What hosts need says _hosts.py; without it the test is skipped, unless $NAMESPACES_WANTED is set.
LINKS=10 takes a link down at so many random times in place of one.
"""

import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))

from command_case import DONE, CommandTest, run_tests
import _hosts
import mpi_test
from mpi_test import ENVIRONMENT, FOUR_BITS, MPI


class NamespacesTest(CommandTest):
    put_samples = mpi_test.MpiTest.put_samples

    def setUp(self):
        super().setUp()
        self.put_samples("data", 10)
        self.hosts = _hosts.Hosts(2, self.folder)
        self.addCleanup(self.hosts.close)

    def started(self, *arguments, seconds=120):
        """A rank on each host. What they say goes into the file `said`: a pipe stays open as long as a host that cannot be
        reached has programs."""
        with open(self.folder / "said", "wb") as said:
            return subprocess.Popen(self.hosts.command(2, MPI, *arguments, seconds=seconds), cwd=self.folder, env=ENVIRONMENT,
                                    stdout=said, stderr=said)

    def succeeds_on_hosts(self, *arguments):
        self.assertEqual(self.started(*arguments).wait(), DONE, self.bytes_of("said"))

    def test_the_same_bytes(self):
        for output, arguments in {
            "s.json": ("calibrate", self.model, "--data", "data", "-o", "s.json"),
            "m": ("calibrate", self.model, "--data", "data", "-o", "m", "--moments"),
            "q.onnx": ("quantize", self.model, "-o", "q.onnx", "--calibration", "data", *FOUR_BITS),
        }.items():
            self.run_command(*arguments)
            wanted = self.bytes_of(output)
            (self.folder / output).unlink()
            self.succeeds_on_hosts(*arguments)
            self.assertEqual(self.bytes_of(output), wanted)

    def test_a_link_that_goes_down(self):
        """Open MPI's own programs wait for ever then; ranks do not."""
        arguments = ("calibrate", self.model, "--random", "8000", "--shape", "x=50x16", "--threads", "1", "-o", "s.json",
                     "--checkpoint", "250")
        self.run_command(*arguments)
        wanted = self.bytes_of("s.json")
        (self.folder / "s.json").unlink()
        before = {*self.files(), "said"}
        draw = random.Random(1)
        cuts = 0
        while cuts < int(os.environ.get("LINKS", 1)):
            process = self.started("--rank-timeout", "2", *arguments, seconds=30)
            while process.poll() is None and not (self.folder / "s.json.checkpoint").exists():
                time.sleep(.01)
            time.sleep(draw.uniform(0, .5) if cuts else 0)
            self.hosts.set_link(1, "down")
            end = time.monotonic() + 25
            while self.ranks() and time.monotonic() < end:
                time.sleep(.1)
            self.assertEqual(self.ranks(), [])
            code = process.wait()
            self.hosts.stop()
            left = set(self.files()) - before
            if left != {"s.json"}:  # else it had done all
                cuts += 1
                self.assertNotEqual(code, DONE)
                self.assertEqual(left, {"s.json.checkpoint"})
                self.assertIn(b"goes on with the statistics", self.run_command(*arguments).stderr)
            self.assertEqual(self.bytes_of("s.json"), wanted)
            self.assertEqual(set(self.files()) - before, {"s.json"})
            (self.folder / "s.json").unlink()
            self.hosts.set_link(1, "up")

    def ranks(self):
        return [process for process, name in self.hosts.processes() if name == "quadrant-mpi"]


if __name__ == "__main__":
    reason = _hosts.missing() or (None if MPI.is_file() else "there is no quadrant-mpi")
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(1 if "NAMESPACES_WANTED" in os.environ else 77)
    run_tests()
