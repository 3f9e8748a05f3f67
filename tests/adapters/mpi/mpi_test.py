"""`quadrant-mpi` on several ranks: the files and words of the command alone, and failures that name their rank.

    python3 tests/adapters/mpi/mpi_test.py path/to/quadrant     or with the path in $QUADRANT

quadrant-mpi lies beside it. KILLS=50 kills ranks at so many random times in place of a few. Needs Open MPI's mpirun,
without which it is skipped, and Python's standard library.
"""

import array
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cli"))

from command_case import BAD_INPUT, BINARY, DONE, SCHEME, USAGE, CommandTest, run_tests, two_layers
from onnx_writer import external_tensor, model, node, value_info
from run_model_test import npy

MPI = pathlib.Path(BINARY).resolve().parent / "quadrant-mpi"
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
RANKS = (1, 2, 3, 4, 7)
FOUR_BITS = (*SCHEME, "--bits", "4", "--block-size", "16")


class MpiTest(CommandTest):
    """On y = relu(x W1) W2."""

    def setUp(self):
        super().setUp()
        self.put_samples("data", 10)

    def put_samples(self, folder, count, rows=2):
        numbers = random.Random(5)
        (self.folder / folder).mkdir()
        for i in range(count):
            self.put(f"{folder}/{i:03}.npy", npy([numbers.gauss(0, 1) for _ in range(16 * rows)], [rows, 16]))

    @staticmethod
    def command(ranks, *arguments, per_rank=None):
        """`per_rank`: what each rank is called with besides, by rank."""
        start = ["timeout", "--kill-after=5", "180", "mpirun"]
        for rank in range(ranks if per_rank else 1):
            start += [":"] if rank else []
            start += ["-n", "1" if per_rank else str(ranks), str(MPI)]
            start += list(map(str, arguments)) + (per_rank[rank] if per_rank else [])
        return start

    def on(self, ranks, *arguments, per_rank=None, folder=None):
        return subprocess.run(self.command(ranks, *arguments, per_rank=per_rank), cwd=folder or self.folder,
                              env=self.own_sessions(), capture_output=True, check=False)

    def own_sessions(self):
        """Calls that begin or end at the same time get in each other's way in Open MPI's folder for sessions."""
        sessions = tempfile.mkdtemp(prefix="mpi")
        self.addCleanup(shutil.rmtree, sessions, ignore_errors=True)
        return {**ENVIRONMENT, "TMPDIR": sessions}

    def same_on_ranks(self, outputs, *arguments, sizes=RANKS):
        """Files and standard output of the command alone, on ranks, too. Most of the time is that of starting them: all
        sizes run at the same time, each in a folder of its own."""
        def copy(name):
            folder = self.folder.parent / f"{self.folder.name}-{name}"
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            return pathlib.Path(shutil.copytree(self.folder, folder, ignore=lambda _, names: {*outputs} & {*names}))

        folders = {ranks: copy(ranks) for ranks in sizes}
        alone = self.run_command(*arguments)
        self.assertEqual(alone.returncode, DONE, alone.stderr)
        wanted = [self.bytes_of(output) for output in outputs]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            results = dict(zip(sizes, pool.map(lambda ranks: self.on(ranks, *arguments, folder=folders[ranks]), sizes)))
        for ranks, result in results.items():
            self.assertEqual(result.returncode, DONE, (ranks, result.stderr))
            self.assertEqual([(folders[ranks] / output).read_bytes() for output in outputs], wanted, ranks)
            # But for the seconds that it took.
            lines = [[line for line in text.decode().splitlines() if " s" not in line]
                     for text in (result.stdout, alone.stdout)]
            self.assertEqual(lines[0], lines[1], ranks)
            shutil.rmtree(folders[ranks])

    def test_the_same_files_and_words(self):
        calibrate = ("calibrate", self.model, "--data", "data", "-o")
        self.same_on_ranks(["s.json"], *calibrate, "s.json")
        self.same_on_ranks(["m"], *calibrate, "m", "--moments", sizes=(2, 3))
        quantize = ("quantize", self.model, "-o", "q.onnx", "--calibration", "data")
        self.same_on_ranks(["q.onnx"], *quantize, *FOUR_BITS, "--rounding", "feedback")
        self.same_on_ranks(["q.onnx"], *quantize, *FOUR_BITS, "--optimize", "bc", sizes=(3,))
        self.same_on_ranks(["q.onnx"], *quantize, "--scheme", "static-affine", sizes=(2, 4))
        self.same_on_ranks([], "compare", self.model, "q.onnx", "--data", "data", "--layers", "--json", sizes=(3, 4))
        self.same_on_ranks(["c.json"], "sensitivity", self.model, *SCHEME, "--data", "data", "--json", "--cache", "c.json",
                           sizes=(2, 7))

    def test_all_ranks_write(self):
        """Models of several megabytes, of which each rank writes some."""
        numbers = random.Random(7)
        size, names = 1024, [f"w{i}" for i in range(5)]
        self.put("w.bin", array.array("f", [numbers.gauss(0, 1) for _ in range(size * size)]).tobytes())
        large = self.put("large.onnx", model(
            [node("MatMul", [f"h{i}", name], [f"h{i + 1}"]) for i, name in enumerate(names)],
            [external_tensor(name, [size, size], "w.bin") for name in names],
            [value_info("h0", ["batch", size])], [value_info("h5", ["batch", size])]))
        quantize = ("quantize", large, "-o", "q.onnx", *SCHEME)
        self.same_on_ranks(["q.onnx"], *quantize)
        self.same_on_ranks(["c.onnx"], "convert", large, "c.onnx", *SCHEME, "--bits", "4", "--block-size", "32", sizes=(2, 3))
        self.run_command(*quantize, "--external-data")
        data, = self.folder.glob("q.*.data")
        self.same_on_ranks(["q.onnx", data.name], *quantize, "--external-data", sizes=(1, 4))

    def test_searches_and_diagnoses(self):
        """Tasks that are dealt, by all but the first of which nothing is printed or written."""
        static = ("--scheme", "static-affine", "--calibration", "data", "--weight-bits", "4")
        self.same_on_ranks(["c.tflite"], "convert", self.model, "c.tflite", *static, sizes=(3,))
        self.same_on_ranks(["q.onnx", "r.json"], "optimize", self.model, "-o", "q.onnx", "--calibration", "data", "--weight-bits",
                           "4", "--accept-sqnr", "60", "--most-float", "100", "--save-recipe", "r.json")
        self.succeeds("quantize", self.model, "-o", "low.onnx", *static)
        self.same_on_ranks([], "diagnose", self.model, "low.onnx", "--data", "data", "--json")
        budget = (*SCHEME, "--data", "data", "--target-bits", "6", "--measure", "full")
        self.same_on_ranks(["b.onnx"], "quantize", self.model, "-o", "b.onnx", *budget, sizes=(2, 7))
        self.same_on_ranks(["p.svg"], "pareto", self.model, *SCHEME, "--data", "data", "--svg", "p.svg", "--json", sizes=(3,))

    def test_labels_that_are_of_all_samples(self):
        """The search finds out only then that it cannot hold some back, and goes on."""
        numbers = random.Random(6)
        for i, rows in enumerate((1, 3)):  # two on average, as the others
            self.put(f"data/{i:03}.npy", npy([numbers.gauss(0, 1) for _ in range(16 * rows)], [rows, 16]))
        self.put("labels.txt", b"1\n" * 20)
        self.same_on_ranks(["q.onnx"], "optimize", self.model, "-o", "q.onnx", "--calibration", "data", "--labels", "labels.txt",
                           sizes=(3,))

    def test_other_commands_run_on_the_first_rank(self):
        result = self.on(3, "inspect", self.model)
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(result.stdout.decode(), self.succeeds("inspect", self.model))
        self.assertIn("note: the first rank alone runs this command", result.stderr.decode())

    def fails_on(self, code, fragments, ranks, *arguments, per_rank=None):
        before = self.files()
        result = self.on(ranks, *arguments, per_rank=per_rank)
        error = result.stderr.decode()
        self.assertEqual(result.returncode, code, error)
        self.assertEqual(result.stdout, b"")
        for fragment in fragments:
            self.assertIn(fragment, error)
        self.assertEqual(self.files(), before)
        return error

    def test_a_mistake_of_all_is_told_once(self):
        error = self.fails_on(USAGE, ["no option '--dato'"], 3, "calibrate", self.model, "--dato", "data")
        self.assertEqual(error.count("--dato'"), 1)
        (self.folder / "empty").mkdir()
        error = self.fails_on(USAGE, ["empty"], 3, "calibrate", self.model, "--data", "empty", "-o", "s.json")
        self.assertEqual(error.count("quadrant: "), 1)
        self.assertNotIn("(rank", error)

    def test_a_bad_sample_names_its_rank(self):
        self.put("data/004.npy", npy([float("nan")] * 32, [2, 16]))
        for arguments in (("calibrate", self.model, "--data", "data", "-o", "s.json"),
                          ("quantize", self.model, *FOUR_BITS, "--calibration", "data", "-o", "q.onnx")):
            self.fails_on(BAD_INPUT, ["quadrant: data/004.npy", "(rank 1 of 3 on "], 3, *arguments)

    def test_ranks_must_have_one_model_one_call_and_one_list_of_samples(self):
        self.put("other.onnx", two_layers([.5] * 512))
        for name in ("here", "there"):
            (self.folder / name).mkdir()
        self.put("here/m.onnx", self.bytes_of(self.model))
        self.put("there/m.onnx", two_layers([.5] * 512))
        result = self.apart("calibrate", "m.onnx", "--data", self.folder / "data")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("m.onnx differs between rank 0 of 2", result.stderr.decode())
        self.fails_on(USAGE, ["the command differs between rank 0", "and rank 1"], 2, "calibrate", self.model, "--data",
                      "data", per_rank=[["-o", "a"], ["-o", "b"]])

    def apart(self, *arguments):
        """Two ranks, each in a folder of its own, `here` and `there`, as on machines without a shared one."""
        start = ["timeout", "60", "mpirun"]
        for folder in ("here", "there"):
            start += [":"] if folder == "there" else []
            start += ["-n", "1", "-wdir", str(self.folder / folder), str(MPI), *map(str, arguments)]
        return subprocess.run(start, env=self.own_sessions(), capture_output=True, check=False)

    def test_ranks_must_read_the_same_files(self):
        recipe = ('{"format": "quadrant.recipe", "version": 1, "rules": [{"scheme": "ours"}],'
                  ' "schemes": {"ours": {"scheme": "weight_only", "options": {"bits": %d}}}}')
        for folder, bits in (("here", 4), ("there", 8)):
            (self.folder / folder).mkdir()
            self.put(f"{folder}/m.onnx", self.bytes_of(self.model))
            self.put(f"{folder}/r.json", (recipe % bits).encode())
        quantize = ("quantize", "m.onnx", "-o", "q.onnx", "--recipe", "r.json")
        result = self.apart(*quantize)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertIn("r.json differs between rank 0 of 2", result.stderr.decode())
        self.assertNotIn("here/q.onnx", self.files())
        (self.folder / "there/r.json").unlink()
        self.assertEqual(self.apart(*quantize).returncode, USAGE)
        self.put("there/r.json", self.bytes_of("here/r.json"))
        result = self.apart(*quantize)
        self.assertEqual(result.returncode, DONE, result.stderr)
        # Of what was measured, one rank may know more than the other.
        sensitivity = ("sensitivity", "m.onnx", *SCHEME, "--data", self.folder / "data", "--cache", "c.json")
        self.assertEqual(self.apart(*sensitivity).returncode, DONE)
        wanted = self.bytes_of("here/c.json")
        (self.folder / "here/c.json").rename(self.folder / "there/c.json")
        result = self.apart(*sensitivity)
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertEqual(self.bytes_of("here/c.json"), wanted)

    def test_a_rank_that_is_called_otherwise_is_not_waited_for(self):
        for own in (["--nonsense"], ["--help"], ["--plugin", "none.so"]):
            self.fails_on(USAGE, ["the command differs between rank 0"], 2, "calibrate", self.model, "--data", "data",
                          per_rank=[[], own])

    def started(self, ranks, *arguments):
        process = subprocess.Popen(self.command(ranks, *arguments), cwd=self.folder, env=self.own_sessions(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    @staticmethod
    def ranks_of(process):
        """Process ids of the ranks that it has started."""
        found, parents = [], {process.pid}
        for folder in sorted(pathlib.Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
            try:
                name, rest = (folder / "stat").read_text().rsplit(")", 1)
            except OSError:
                continue
            if int(rest.split()[1]) in parents:
                parents.add(int(folder.name))
                if "quadrant-mpi" in name:
                    found.append(int(folder.name))
        return found

    @staticmethod
    def processor_seconds(process):
        try:
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill_one(self, process, draw):
        """Which rank of the job it was that was killed; None: none was there any more."""
        while process.poll() is None:
            ranks = self.ranks_of(process)
            if ranks:
                break
            time.sleep(.005)
        else:
            return None
        victim = draw.choice(ranks)
        try:
            rank = re.search(rb"\bOMPI_COMM_WORLD_RANK=(\d+)", pathlib.Path(f"/proc/{victim}/environ").read_bytes())
            os.kill(victim, signal.SIGKILL)
        except OSError:
            return None
        return rank and int(rank[1])

    def killed_at_random_times(self, output, *arguments):
        """What was there stays as it was, or is what the command alone makes; what is called again, on another number of
        ranks, makes that."""
        self.run_command(*arguments)
        whole = self.bytes_of(output)
        before = set(self.files())
        kept = f"{output}.checkpoint"
        begin = time.monotonic()
        self.assertEqual(self.on(3, *arguments).returncode, DONE)
        longest = time.monotonic() - begin
        draw = random.Random(str(arguments))
        deaths = 0
        while deaths < int(os.environ.get("KILLS", 3)):
            self.put(output, b"as it was")
            size = draw.choice((2, 3, 4))
            process = self.started(size, *arguments)
            after = draw.uniform(0, longest)
            time.sleep(after)
            rank = self.kill_one(process, draw)
            error = process.communicate()[1].decode()
            if process.returncode == DONE:  # it had done all
                self.assertEqual(self.bytes_of(output), whole)
                continue
            deaths += 1
            self.assertIn(f"process rank {rank} ", error)
            self.assertIn("signal 9", error)
            left = set(self.files())
            self.assertLessEqual(left, before | {kept})
            self.assertIn(self.bytes_of(output), (b"as it was", whole))
            again = draw.choice((1, 2, 3))
            result = self.on(again, *arguments)
            self.assertEqual(result.returncode, DONE, result.stderr)
            self.assertEqual(kept in left, b"goes on with" in result.stderr, result.stderr)
            self.assertEqual(self.bytes_of(output), whole)
            self.assertEqual(set(self.files()), before)
            print(f"{arguments[0]}: rank {rank} of {size} killed after {after:.2f} s{', a checkpoint' if kept in left else ''};"
                  f" on {again} the same bytes", flush=True)

    def test_a_rank_that_dies_ends_the_job(self):
        self.put_samples("many", 1, rows=8000)
        for i in range(1, 300):  # work for a while
            os.link(self.folder / "many" / "000.npy", self.folder / "many" / f"{i:03}.npy")
        self.killed_at_random_times("q.onnx", "quantize", self.model, *FOUR_BITS, "--calibration", "many", "-o", "q.onnx")

    def test_a_calibration_goes_on_after_a_rank_died(self):
        for kind in ((), ("--moments",)):
            self.killed_at_random_times("s", "calibrate", self.model, "--random", "5000", "--shape", "x=50x16", "--threads", "1",
                                        "-o", "s", *kind, "--checkpoint", "250")

    def test_a_search_goes_on_after_a_rank_died(self):
        self.put_samples("many", 16, rows=1500)
        self.killed_at_random_times("q.onnx", "optimize", self.model, "-o", "q.onnx", "--calibration", "many", "--weight-bits", "4",
                                    "--accept-sqnr", "60", "--most-float", "100", "--save-recipe", "r.json", "--threads", "1",
                                    "--checkpoint")

    def test_a_rank_that_hangs_ends_the_job(self):
        before = self.files()
        process = self.started(3, "--rank-timeout", "2", "calibrate", self.model, "--random", "60000", "--shape", "x=50x16",
                               "--threads", "1", "-o", "s.json")
        ranks = []
        while process.poll() is None and (len(ranks) < 3 or self.processor_seconds(ranks[-1]) < .4):
            time.sleep(.02)
            ranks = self.ranks_of(process)
        os.kill(ranks[-1], signal.SIGSTOP)  # at work: MPI has long started
        _, error = process.communicate()
        self.assertNotEqual(process.returncode, DONE)
        self.assertRegex(error.decode(), r"quadrant: rank \d did not answer for 2 s.* \(rank \d of 3 on ")
        self.assertEqual(self.files(), before)
        for _ in range(1000):  # none is left, a moment later
            if not any(pathlib.Path(f"/proc/{rank}").exists() for rank in ranks):
                break
            time.sleep(.02)
        self.assertFalse([rank for rank in ranks if pathlib.Path(f"/proc/{rank}").exists()])


if __name__ == "__main__":
    if shutil.which("mpirun") is None or not MPI.is_file():
        print("skipped: there is no mpirun, or no quadrant-mpi")
        sys.exit(77)
    run_tests()
