#!/usr/bin/env python3
"""Times quadrant-mpi on 1, 2 and 4 ranks of one thread each, and writes what that comes to into
docs/scaling.md: strong scaling, the same work on more ranks, and weak, as much work for each.

    .venv/bin/python scripts/scaling_table.py [--repeat 5] [--columns 512] [--layers 8] [--samples 96]

The model is a chain of square products, made here. The release build has to be there, with MPI. Each
figure is the best of the repetitions, which take turns. `wall` is seconds by the clock, of use on a
machine that does nothing else, with as many cores as ranks. `processor` is the processor time of the
busiest rank: what the clock would show on such a machine, but for the time that messages are under way.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--samples", type=int, default=96)
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = folder / "model.onnx"
        make_model(model, options.columns, options.layers)
        counts = {options.samples * part for part in (1, *RANKS)}
        for count in counts:
            make_samples(folder / str(count), count, options.columns)

        def calibrate(samples):
            return ["calibrate", model, "--data", folder / str(samples), "-o", folder / "s.json", "--threads", "1"]

        def feedback(samples):
            return ["quantize", model, "-o", folder / "q.onnx", "--scheme", "weight-only", "--bits", "4", "--rounding",
                    "feedback", "--calibration", folder / str(samples), "--threads", "1"]

        cases = {}  # (name, how, ranks): what is run
        for name, of in (("calibrate", calibrate), ("quantize, feedback", feedback)):
            cases[name, "alone", 0] = ["quadrant", *of(options.samples)]
            for ranks in RANKS:
                cases[name, "strong", ranks] = ["quadrant-mpi", *of(options.samples)]
                cases[name, "weak", ranks] = ["quadrant-mpi", *of(options.samples * ranks)]
        best = {case: (float("inf"), float("inf")) for case in cases}
        for _ in range(options.repeat):
            for case, (program, *arguments) in cases.items():
                found = timed(case[2], [str(options.build / "bin" / program), *map(str, arguments)], folder)
                best[case] = tuple(map(min, zip(best[case], found)))
                print(*case, *found, file=sys.stderr, flush=True)
    lines = ["| command | scaling | ranks | speed-up, wall | efficiency, wall | efficiency, processor |",
             "|---|---|---:|---:|---:|---:|"]
    for (name, how, ranks), found in best.items():
        if ranks == 0:
            continue
        ratios = [alone / here for alone, here in zip(best[name, "alone", 0], found)]
        share = [ratio / ranks if how == "strong" else ratio for ratio in ratios]
        speed = ratios[0] if how == "strong" else ratios[0] * ranks
        lines.append(f"| {name} | {how} | {ranks} | {speed:.2f} | {share[0]:.2f} | {share[1]:.2f} |")
    table = "\n".join(lines)
    print(table)
    if options.print:
        return
    text = PAGE.read_text()
    head, rest = text.split("<!-- table: scaling -->\n")
    tail = rest[rest.index("<!-- end: scaling -->"):]
    PAGE.write_text(f"{head}<!-- table: scaling -->\n\n{table}\n\n{tail}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        run_rank(sys.argv[2], sys.argv[3:])
    main()
