"""`quadrant-mpi` on two hosts: network namespaces of this machine, each with an address and a name of its own.

    python3 tests/adapters/mpi/namespaces_test.py path/to/quadrant     or with the path in $QUADRANT

quadrant-mpi lies beside it. Needs root, iproute2 and Open MPI's mpirun, and a kernel that lets namespaces be made; else it is
skipped, unless $NAMESPACES_WANTED is set.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))

from command_case import DONE, CommandTest, run_tests
import mpi_test
from mpi_test import ENVIRONMENT, FOUR_BITS, MPI

MARK = f"q{os.getpid() % 10000}"  # of names that no one else has
HOSTS = (f"{MARK}a", f"{MARK}b")
NETWORK = "10.77.0"
# What starts a program on a host, in the place of ssh: it is called with options, the host and the program. Processes of
# the other host are none that it sees.
AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec ip netns exec $host unshare --uts --pid --fork --mount-proc bash -c "hostname $host; $*"
"""


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, check=False)


def missing():
    if os.geteuid() != 0:
        return "namespaces need root"
    tools = [name for name in ("ip", "unshare", "mpirun") if shutil.which(name) is None]
    if tools or not MPI.is_file():
        return f"there is no {', '.join(tools) or 'quadrant-mpi'}"
    made = ip("netns", "add", MARK)
    if made.returncode != 0:
        return f"namespaces cannot be made: {made.stderr.decode().strip()}"
    ip("netns", "del", MARK)
    return None


class NamespacesTest(CommandTest):
    put_samples = mpi_test.MpiTest.put_samples

    def setUp(self):
        super().setUp()
        self.put_samples("data", 10)
        self.put("agent", AGENT.encode())
        (self.folder / "agent").chmod(0o755)
        self.made("link", "add", MARK, "type", "bridge")
        self.addCleanup(ip, "link", "del", MARK)
        self.made("addr", "add", f"{NETWORK}.1/24", "dev", MARK)
        self.made("link", "set", MARK, "up")
        for i, host in enumerate(HOSTS):
            self.made("netns", "add", host)
            self.addCleanup(ip, "netns", "del", host)
            self.addCleanup(self.stop_hosts)
            self.made("link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
            self.addCleanup(ip, "link", "del", f"v{host}")  # a namespace goes a moment later than it is told to
            self.made("link", "set", f"v{host}", "master", MARK, "up")
            self.made("-n", host, "addr", "add", f"{NETWORK}.{i + 2}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                self.made("-n", host, "link", "set", device, "up")

    def made(self, *arguments):
        done = ip(*arguments)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))

    def started(self, *arguments, seconds=120):
        """Two ranks, one on each host. What they say goes into the file `said`: a pipe stays open as long as a host that
        cannot be reached has programs."""
        network = f"{NETWORK}.0/24"
        start = ["timeout", "--kill-after=5", str(seconds), "mpirun", "--mca", "plm_rsh_agent", str(self.folder / "agent"), "--mca",
                 "btl", "tcp,self", "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, "-H",
                 ",".join(f"{host}:1" for host in HOSTS), "-n", "2", str(MPI)]
        with open(self.folder / "said", "wb") as said:
            return subprocess.Popen([*start, *map(str, arguments)], cwd=self.folder, env=ENVIRONMENT, stdout=said, stderr=said)

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
        process = self.started("--rank-timeout", "2", *arguments, seconds=30)
        while process.poll() is None and not (self.folder / "s.json.checkpoint").exists():
            time.sleep(.01)
        self.made("link", "set", f"v{HOSTS[1]}", "down")
        end = time.monotonic() + 25
        while self.ranks() and time.monotonic() < end:
            time.sleep(.1)
        self.assertEqual(self.ranks(), [])
        self.assertNotEqual(process.wait(), DONE)
        self.assertEqual(set(self.files()) - before, {"s.json.checkpoint"})
        self.stop_hosts()
        alone = self.run_command(*arguments)  # goes on
        self.assertIn(b"goes on with the statistics", alone.stderr)
        self.assertEqual(self.bytes_of("s.json"), wanted)
        self.assertEqual(set(self.files()) - before, {"s.json"})

    @staticmethod
    def of_hosts():
        """Ids of the processes on the two hosts."""
        return [int(line) for host in HOSTS for line in ip("netns", "pids", host).stdout.split()]

    def ranks(self):
        found = []
        for process in self.of_hosts():
            try:
                name = pathlib.Path(f"/proc/{process}/comm").read_text().strip()
            except OSError:
                continue
            if name == "quadrant-mpi":
                found.append(process)
        return found

    def stop_hosts(self):
        for process in self.of_hosts():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


if __name__ == "__main__":
    reason = missing()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(1 if "NAMESPACES_WANTED" in os.environ else 77)
    run_tests()
