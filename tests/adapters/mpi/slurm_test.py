"""The scripts of docs/scaling.md, in a Slurm of this machine alone that the test starts: the bytes of the command without.

    python3 tests/adapters/mpi/slurm_test.py path/to/quadrant     or with the path in $QUADRANT

quadrant-mpi lies beside it. Needs root and Debian's slurm-wlm and munge (unpacked under $SLURM_ROOT, or installed), and Open
MPI's mpirun, without which it is skipped. Its daemons listen on this machine's ports 26817 and 26818.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))

from command_case import BINARY, CommandTest, run_tests
import mpi_test
from mpi_test import ENVIRONMENT, MPI

ROOT = pathlib.Path(os.environ.get("SLURM_ROOT", "/"))
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "scaling.md"
PLUGINS = ROOT / "usr/lib/x86_64-linux-gnu/slurm-wlm"
CONFIGURATION = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort=26817
SlurmdPort=26818
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def tool(name):
    """Debian's daemons have a name of their own, and one that is a link."""
    found = [path for folder in ("usr/sbin", "usr/bin") for path in (ROOT / folder / name, ROOT / folder / f"{name}-wlm")
             if path.is_file()]
    return str(found[0]) if found else None


def missing():
    if os.geteuid() != 0:
        return "a Slurm of its own needs root"
    tools = [name for name in ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "scontrol", "sinfo") if tool(name) is None]
    if tools:
        return f"there is no {', '.join(tools)} (slurm-wlm, munge)"
    if shutil.which("mpirun") is None or not MPI.is_file():
        return "there is no mpirun, or no quadrant-mpi"
    return None


class SlurmTest(CommandTest):
    put_samples = mpi_test.MpiTest.put_samples

    def setUp(self):
        super().setUp()
        self.put_samples("samples", 20)
        slurm = self.folder / "slurm"
        for name in ("state", "spool"):
            (slurm / name).mkdir(parents=True)
        (slurm / "key").write_bytes(os.urandom(64))
        (slurm / "key").chmod(0o600)
        host = os.uname().nodename.split(".")[0]
        configuration = slurm / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=host, folder=slurm, plugins=PLUGINS))
        self.environment = {**ENVIRONMENT, "SLURM_CONF": str(configuration), "PATH": f"{MPI.parent}:{os.environ['PATH']}"}
        if str(ROOT) != "/":
            self.environment["LD_LIBRARY_PATH"] = f"{ROOT}/usr/lib/x86_64-linux-gnu:{PLUGINS}"
        self.daemon(slurm, "munged", "--force", "--foreground", f"--key-file={slurm}/key", f"--socket={slurm}/munge.socket",
                    f"--pid-file={slurm}/munge.pid", f"--log-file={slurm}/munge.log", f"--seed-file={slurm}/munge.seed")
        self.wait_for(lambda: (slurm / "munge.socket").exists())
        self.daemon(slurm, "slurmctld", "-D", "-f", configuration)
        self.daemon(slurm, "slurmd", "-D", "-f", configuration, "-d", tool("slurmstepd"))
        self.wait_for(lambda: b"idle" in self.slurm("sinfo").stdout)

    def daemon(self, folder, name, *arguments):
        with open(folder / f"{name}.out", "wb") as log:
            process = subprocess.Popen([tool(name), *map(str, arguments)], env=self.environment, stdout=log, stderr=log)

        def stop():
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        self.addCleanup(stop)

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not come to be")
            time.sleep(.1)

    def slurm(self, name, *arguments):
        return subprocess.run([tool(name), *map(str, arguments)], cwd=self.folder, env=self.environment, capture_output=True,
                              timeout=240, check=False)

    def scripts(self):
        """Of the page, by their names in it, in its order."""
        return dict(re.findall(r"`(\w+\.sh)`(?:(?!```).)*```bash\n(.*?)```", PAGE.read_text(), re.S))

    def hand_in(self, name, *options):
        script = self.scripts()[name]
        if "LD_LIBRARY_PATH" in self.environment:  # of Slurm's own programs
            script = script.replace("\nmpirun", "\nunset LD_LIBRARY_PATH\nmpirun").replace("\nquadrant", "\nunset LD_LIBRARY_PATH\nquadrant")
        self.put(name, script.encode())
        # Not `--wait`, which looks ever more rarely.
        result = self.slurm("sbatch", "--parsable", "--cpus-per-task=1", f"--output={name}.%a.out", *options, name)
        self.assertEqual(result.returncode, 0, result.stderr)
        states = []

        def ended():
            states[:] = re.findall(rb"JobState=(\w+)", self.slurm("scontrol", "show", "job", result.stdout.decode().strip()).stdout)
            return states and not {*states} & {b"PENDING", b"CONFIGURING", b"RUNNING", b"COMPLETING"}

        self.wait_for(ended, 120)
        said = [path.read_text() for path in self.folder.glob(f"{name}.*.out")]
        self.assertEqual({*states}, {b"COMPLETED"}, said)

    def test_the_scripts_of_the_page(self):
        self.assertEqual(list(self.scripts()), ["calibrate.sh", "optimize.sh", "quantize.sh", "part.sh", "merge.sh"])
        self.succeeds("calibrate", self.model, "--data", "samples", "-o", "alone.json")
        self.hand_in("calibrate.sh", "--ntasks=3")
        self.assertEqual(self.bytes_of("statistics.json"), self.bytes_of("alone.json"))
        self.run_command("optimize", self.model, "-o", "alone.int8.onnx", "--calibration", "samples")
        self.hand_in("optimize.sh", "--ntasks=2")
        self.assertEqual(self.bytes_of("small.int8.onnx"), self.bytes_of("alone.int8.onnx"))
        self.run_command("quantize", self.model, "-o", "alone.onnx", "--scheme", "weight-only", "--bits", "4", "--block-size", "16",
                         "--calibration", "samples")
        self.hand_in("quantize.sh", "--ntasks=4")
        self.assertEqual(self.bytes_of("small.onnx"), self.bytes_of("alone.onnx"))
        self.hand_in("part.sh")
        self.hand_in("merge.sh")
        self.assertEqual(self.bytes_of("merged.json"), self.bytes_of("alone.json"))


if __name__ == "__main__":
    reason = missing()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(77)
    run_tests()
