"""Hosts for ranks: network namespaces of this machine, each with an address and a name of its own, on one bridge.

Needs root, iproute2 and Open MPI's mpirun, and a kernel that lets namespaces be made.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

MARK = f"q{os.getpid() % 10000}"  # of names that no one else has
NETWORK = "10.77.0"
# What starts a program on a host, in the place of ssh: it is called with options, the host and the program. Processes of
# the other hosts are none that it sees.
AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec ip netns exec $host unshare --uts --pid --fork --mount-proc bash -c "hostname $host; $*"
"""
# What a queue lets pass at once: little, so that a table is as long under way as its bytes take.
BURST = 128 * 1024


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, check=False)


def made(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode().strip()}")


def missing():
    """Why there can be none; None: there can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    tools = [name for name in ("ip", "tc", "unshare", "mpirun") if shutil.which(name) is None]
    if tools:
        return f"there is no {', '.join(tools)}"
    tried = ip("netns", "add", MARK)
    if tried.returncode != 0:
        return f"namespaces cannot be made: {tried.stderr.decode().strip()}"
    ip("netns", "del", MARK)
    return None


class Hosts:
    """So many of them, until `close`. `folder`: where the agent's script goes."""

    def __init__(self, count, folder):
        self.names = [f"{MARK}{chr(ord('a') + i)}" for i in range(count)]
        self.agent = pathlib.Path(folder, "agent")
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)
        self.at_end = contextlib.ExitStack()
        try:
            self.make()
        except RuntimeError:
            self.close()
            raise

    def make(self):
        made("ip", "link", "add", MARK, "type", "bridge")
        self.at_end.callback(ip, "link", "del", MARK)
        made("ip", "addr", "add", f"{NETWORK}.1/24", "dev", MARK)
        made("ip", "link", "set", MARK, "up")
        for i, host in enumerate(self.names):
            made("ip", "netns", "add", host)
            self.at_end.callback(ip, "netns", "del", host)
            self.at_end.callback(self.stop)
            made("ip", "link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
            self.at_end.callback(ip, "link", "del", f"v{host}")  # a namespace goes a moment later than it is told to
            made("ip", "link", "set", f"v{host}", "master", MARK, "up")
            made("ip", "-n", host, "addr", "add", f"{NETWORK}.{i + 2}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                made("ip", "-n", host, "link", "set", device, "up")

    def close(self):
        self.at_end.close()

    def set_link(self, i, state):
        """Of a host, "up" or "down"."""
        made("ip", "link", "set", f"v{self.names[i]}", state)

    def set_rate(self, bits):
        """That all links carry at most so many bits a second each way; None: as many as they can."""
        for host in self.names:
            for of in ([], ["-n", host]):
                device = "eth0" if of else f"v{host}"
                subprocess.run(["tc", *of, "qdisc", "del", "dev", device, "root"], capture_output=True, check=False)
                if bits is not None:
                    made("tc", *of, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{bits:.0f}bit", "burst", str(BURST),
                         "latency", "50ms")

    def command(self, ranks, *arguments, seconds=120):
        """Runs a program on the first hosts, a rank on each."""
        network = f"{NETWORK}.0/24"
        return ["timeout", "--kill-after=5", str(seconds), "mpirun", "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl",
                "tcp,self", "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, "-H",
                ",".join(f"{host}:1" for host in self.names[:ranks]), "-n", str(ranks), *map(str, arguments)]

    def processes(self):
        """Ids and names of what runs on them."""
        found = []
        for line in (line for host in self.names for line in ip("netns", "pids", host).stdout.split()):
            with contextlib.suppress(OSError):
                found.append((int(line), pathlib.Path(f"/proc/{int(line)}/comm").read_text().strip()))
        return found

    def stop(self):
        """All that runs on them."""
        for process, _ in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
