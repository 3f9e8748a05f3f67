#!/usr/bin/env python3
"""Times quadrant-mpi on 1, 2 and 4 ranks of one thread each, and writes what that comes to into
docs/scaling.md: strong scaling, the same work on more ranks, and weak, as much work for each.

    .venv/bin/python scripts/scaling_table.py [--repeat 3] [--scale 1]

Models are chains of square products, made here. The release build has to be there, with MPI. Each
figure is the best of the repetitions, which take turns. `wall` is by the clock, of use on a machine that
does nothing else, with as many cores as ranks. `processor` is the processor time of the busiest rank:
what the clock would show on such a machine, but for the time that messages are under way. `lost` is how
much more that is than on one rank without the others: merging tables, and telling.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from model_table import markdown_table, replace_between

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scaling.md"
RANKS = (1, 2, 4)
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def run_rank(folder, command):
    """What mpirun starts: the command, and its processor time into a file of its own."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    pathlib.Path(folder, f"{os.getpid()}.rank").write_text(str(usage.ru_utime + usage.ru_stime))
    sys.exit(os.waitstatus_to_exitcode(status))


def make_model(path, columns, layers):
    """x W1, relu, x W2, ..., of numbers that look random."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    numbers = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for i in range(layers):
        weight = numbers.normal(0, columns ** -.5, (columns, columns)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"h{i}"]))
        value = f"y{i}"
        nodes.append(helper.make_node("Relu", [f"h{i}"], [value]))
    graph = helper.make_graph(
        nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, columns])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [64, columns])], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def make_samples(folder, count, columns):
    import numpy as np

    folder.mkdir()
    numbers = np.random.default_rng(2)
    for i in range(count):
        np.save(folder / f"{i:04}.npy", numbers.normal(size=(64, columns)).astype(np.float32))


def timed(ranks, command, folder):
    """(seconds by the clock, processor seconds of the busiest rank); 0 ranks: without MPI."""
    for file in folder.glob("*.rank"):
        file.unlink()
    runner = [sys.executable, __file__, "--rank", str(folder), *command]
    start = time.monotonic()
    subprocess.run(["timeout", "900", *(["mpirun", "-n", str(ranks)] if ranks else []), *runner], check=True,
                   env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    return seconds, max(float(file.read_text()) for file in folder.glob("*.rank"))


@dataclasses.dataclass(frozen=True)
class Command:
    """`grows`: of what N ranks get N times as much, where each has as much to do: samples or layers."""

    name: str
    words: tuple
    output: str
    columns: int
    layers: int
    samples: int
    grows: str

    def times(self, ranks):
        return dataclasses.replace(self, **{self.grows: getattr(self, self.grows) * ranks})

    def model(self, folder):
        return folder / f"{self.layers}x{self.columns}.onnx"

    def data(self, folder):
        return folder / f"{self.samples}x{self.columns}"

    def prepare(self, folder):
        if not self.model(folder).exists():
            make_model(self.model(folder), self.columns, self.layers)
        if not self.data(folder).exists():
            make_samples(self.data(folder), self.samples, self.columns)

    def call(self, folder):
        return list(map(str, (self.words[0], self.model(folder), *self.words[1:], self.data(folder), "-o", folder / self.output,
                              "--threads", "1")))


# Each some 5 s alone on a core of 2.4 GHz.
COMMANDS = (
    Command("calibrate", ("calibrate", "--data"), "s.json", 512, 8, 800, "samples"),
    Command("calibrate --moments", ("calibrate", "--moments", "--data"), "m", 1024, 8, 64, "samples"),
    Command("quantize, feedback", ("quantize", "--scheme", "weight-only", "--bits", "4", "--rounding", "feedback", "--calibration"),
            "q.onnx", 1024, 8, 40, "layers"),
)


def cases_of(scale):
    """(command, how, ranks): the program, and the command with what it gets. 0 ranks: it alone. On one rank, strong and weak
    are the same."""
    for command in COMMANDS:
        command = dataclasses.replace(command, samples=round(command.samples * scale))
        yield (command, "alone", 0), "quadrant", command
        for ranks in RANKS:
            yield (command, "strong", ranks), "quadrant-mpi", command
            if ranks > 1:
                yield (command, "weak", ranks), "quadrant-mpi", command.times(ranks)


def table_of(best):
    rows = []
    for (command, how, ranks), found in best.items():
        if ranks == 0:
            continue
        alone, one = best[command, "alone", 0], best[command, "strong", 1]
        more = 1 if how == "strong" else ranks
        wall, processor = (more * of_one / here for of_one, here in zip(alone, found))
        lost = found[1] - one[1] * more / ranks
        rows.append((command.name, how, str(ranks), f"{found[0]:.1f}", f"{wall:.2f}", f"{wall / ranks:.2f}",
                     f"{processor / ranks:.2f}", f"{lost:.2f}" if ranks > 1 else ""))
    return markdown_table(("command", "scaling", "ranks", "seconds", "speed-up, wall", "efficiency, wall",
                           "efficiency, processor", "lost, s"), rows, left=("command", "scaling"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the samples; less, to try the script")
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    options = parser.parse_args()
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for _ in range(options.repeat):
            for case, program, command in cases_of(options.scale):
                command.prepare(folder)
                found = timed(case[2], [str(options.build / "bin" / program), *command.call(folder)], folder)
                best[case] = tuple(map(min, zip(best.get(case, found), found)))
                print(case[0].name, *case[1:], *found, file=sys.stderr, flush=True)
    table = table_of(best)
    print(table)
    if not options.print:
        PAGE.write_text(replace_between(PAGE, "scaling", table))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        run_rank(sys.argv[2], sys.argv[3:])
    main()
