"""A model of 8.6 GB, in little memory: `quadrant quantize` and `convert`, and `quadrant-mpi quantize` where there is one.

    python3 tests/adapters/mpi/large_model_test.py path/to/quadrant        or with the path in $QUADRANT

It takes minutes, and 5 GB of disk where temporary files are. The model's data is a file that is almost all hole.
Needs Python's standard library alone.
"""

import array
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))

from command_case import BINARY, SCHEME, CommandTest, run_tests
from onnx_writer import external_tensor, model, node, value_info

MPI = pathlib.Path(BINARY).parent / "quadrant-mpi"
SIZE = 4096
LAYERS = 128
MEGABYTE = 1 << 20
# Runs a program and says, in a file of its own, what it took at most, in kB.
PEAK = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
open(sys.argv[1] + os.environ.get('OMPI_COMM_WORLD_RANK', ''), 'w').write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))"""


class LargeModelTest(CommandTest):
    """x W0 W1 ...: of each weight the first row and the last are there, drawn, and the others are zeros."""

    def setUp(self):
        super().setUp()
        numbers = random.Random(3)
        self.rows = [array.array("f", [numbers.gauss(0, .02) for _ in range(SIZE)]).tobytes() for _ in range(3)]
        bytes_of_weight = SIZE * SIZE * 4
        names = [f"w{i}" for i in range(LAYERS)]
        with open(self.folder / "w.bin", "wb") as file:
            for i in range(LAYERS):
                file.seek(i * bytes_of_weight)
                file.write(self.rows[i % 3])
                file.seek((i + 1) * bytes_of_weight - SIZE * 4)
                file.write(self.rows[(i + 1) % 3])
        self.put("large.onnx", model(
            [node("MatMul", [f"h{i}", names[i]], [f"h{i + 1}"]) for i in range(LAYERS)],
            [external_tensor(name, [SIZE, SIZE], "w.bin", i * bytes_of_weight) for i, name in enumerate(names)],
            [value_info("h0", ["batch", SIZE])], [value_info(f"h{LAYERS}", ["batch", SIZE])]))

    def peaks(self, *arguments, ranks=0):
        """Of each process, in MB."""
        start = [sys.executable, "-c", PEAK, "peak", BINARY]
        if ranks:
            start = ["mpirun", "-n", str(ranks), *start[:-1], str(MPI), "--rank-timeout", "900"]
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
        done = subprocess.run([*start, *map(str, arguments)], cwd=self.folder, env=environment, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = list(self.folder.glob("peak*"))
        peaks = [int(path.read_text()) // 1024 for path in found]
        for path in found:
            path.unlink()
        self.assertEqual(len(peaks), max(ranks, 1))
        print(" ".join(map(str, arguments[:1])), f"on {ranks} ranks:" if ranks else "alone:", *peaks, "MB")
        return peaks

    def take_output(self, name):
        """The data file that was written, under another name, and its old one and the model's bytes."""
        data, = self.folder.glob("out.*.data")
        made = (data.name, self.bytes_of("out.onnx"))
        (self.folder / "out.onnx").unlink()
        return data.rename(self.folder / name), made

    def same_files(self, first, second):
        return subprocess.run(["cmp", first, second], check=False).returncode == 0

    def test_memory_is_bounded(self):
        options = ("large.onnx", *SCHEME, "--threads", 1)
        self.assertLess(max(self.peaks("quantize", *options, "-o", "out.onnx", "--memory", "16MB")), 100)
        whole, wanted = self.take_output("whole")
        # Codes of the rows that are there, by the scale that is theirs alone: one for each column.
        with open(whole, "rb") as file:
            self.assertGreater(os.fstat(file.fileno()).st_size, SIZE * SIZE * LAYERS)
            first, last = (struct.unpack(f"<{SIZE}f", row) for row in self.rows[:2])
            codes = struct.unpack(f"<{SIZE}b", file.read(SIZE))
            for code, a, b in zip(codes, first, last):
                self.assertAlmostEqual(code, a / (max(abs(a), abs(b)) / 127), delta=.51)
        if MPI.is_file() and shutil.which("mpirun"):
            for ranks in (2, 3):
                self.assertLess(max(self.peaks("quantize", *options, "-o", "out.onnx", "--memory", "16MB", ranks=ranks)), 200)
                again, made = self.take_output("again")
                self.assertEqual(made, wanted)
                self.assertTrue(self.same_files(again, whole))
                again.unlink()
        whole.unlink()
        self.assertLess(max(self.peaks("convert", "large.onnx", "out.onnx", *options[1:])), 100)


if __name__ == "__main__":
    run_tests()
