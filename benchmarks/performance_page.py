#!/usr/bin/env python3
"""Measures, and writes the tables of docs/performance.md; scripts/bench calls it.

    performance_page.py [--gigabytes 8] [--peer-gigabytes 1] [--rounds 5] [--only NAME]
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import file_to_file  # noqa: E402
import model_table  # noqa: E402
import synthetic_model  # noqa: E402

PROGRAMS = ROOT / "build/release/bin"
PAGE = ROOT / "docs/performance.md"


# --- the machine ---------------------------------------------------------------------------------


def machine(_):
    lines = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", lines)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    vectors = [flag for flag in ("avx512f", "avx2", "fma", "amx_tile", "asimd", "sve")
               if re.search(rf"\b{flag}\b", lines)]
    caches = [f"L{index.joinpath('level').read_text().strip()} {index.joinpath('size').read_text().strip()}"
              for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
              if index.joinpath("type").read_text().strip() != "Instruction"]
    return (f"{name.group(1) if name else platform.machine()}, {os.cpu_count()} cores, "
            f"{memory:.0f} GiB, caches {', '.join(caches)}; {', '.join(vectors)}; "
            f"{platform.system()} {platform.release().split('-')[0]}.")


# --- Google Benchmark ----------------------------------------------------------------------------


def benchmarks(program, *options, repetitions=1):
    """Results of one program, by name; with repetitions, their medians."""
    done = subprocess.run(
        [PROGRAMS / program, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
         "--benchmark_report_aggregates_only=" + ("true" if repetitions > 1 else "false"), *options],
        check=True, capture_output=True, text=True)
    found = {}
    for result in json.loads(done.stdout)["benchmarks"]:
        if result.get("aggregate_name", "median") == "median":
            found[result["run_name"]] = result
    return found


def kernels(_):
    found = benchmarks("quadrant_numerics_bench", "--benchmark_filter=quantize_in_memory",
                       "--benchmark_min_time=0.2", "--benchmark_enable_random_interleaving=true",
                       repetitions=5)
    rows = []
    for name, one in sorted(found.items()):
        match = re.match(r"quantize_in_memory/(\w+)/threads:1/", name)
        if not match:
            continue
        two = found[name.replace("threads:1", "threads:2")]
        rows.append((match.group(1).replace("_", " "), f"{one['of_memcpy']:.2f}",
                     f"{one['real_time'] / two['real_time']:.2f}"))
    return model_table.markdown_table(
        ("codes, groups", "of memcpy, one thread", "two threads to one"), rows, ("codes, groups",))


def search(_):
    found = benchmarks("quadrant_numerics_bench", "--benchmark_filter=scan/.*mse",
                       "--benchmark_min_time=0.5", repetitions=3)
    rows = [(name.removeprefix("scan/").replace("_", " "), f"{one['items_per_second'] / 1e6:.1f}",
             f"{one['bytes_per_second'] / 1e9:.3f}", f"{one['of_memcpy']:.4f}")
            for name, one in found.items()]
    return model_table.markdown_table(
        ("groups", "million weights/s", "GB/s of float32", "of memcpy"), rows, ("groups",))


def rounding(_):
    found = benchmarks("quadrant_rounding_bench", repetitions=3)
    rows = []
    for name, one in found.items():
        kind, size = name.removeprefix("round/").split("/")
        rows.append((kind, f"{size} x {size}", f"{one['of_product']:.1f}", f"{one['error']:.3f}"))
    return model_table.markdown_table(
        ("rounding", "weight", "times the product", "error, of nearest"), rows, ("rounding", "weight"))


def engine(_):
    found = benchmarks("quadrant_engine_bench", "--benchmark_filter=/1000(000)?$", repetitions=3)
    rows = []
    for name, one in found.items():
        shape, nodes = name.split("/")
        if nodes != "1000000":
            continue
        small = found[f"{shape}/1000"]["phases"] * 1000
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[one["time_unit"]]
        rows.append((shape, f"{one['phases']:.2f}", f"{one['phases'] / small:.2f}",
                     f"{one['real_time'] * unit:.2f}"))
    return model_table.markdown_table(
        ("graph", "10^6 nodes, seconds", "a node there, to one of 10^3", "with the plan"), rows,
        ("graph",))


def growth(_):
    done = subprocess.run([sys.executable, ROOT / "benchmarks/engine_growth.py",
                           PROGRAMS / "quadrant_engine_count", "100000"],
                          check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    rows = [row if len(row) == 4 else [*row, ""] for row in rows]
    return model_table.markdown_table(
        ("graph", "nodes", "instructions a node", "more than for a tenth"), rows, ("graph",))


def selection(_):
    found = benchmarks("quadrant_selection_bench", "--benchmark_min_time=0.1")
    rows = []
    for name, one in found.items():
        kind, nodes = name.split("/")
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[one["time_unit"]]
        rows.append((kind, nodes, f"{one['real_time'] * unit / int(nodes) * 1e6:.2f}",
                     "yes" if one["exact"] else "no"))
    return model_table.markdown_table(
        ("policy", "nodes", "microseconds a node", "proven best"), rows, ("policy",))


def calibration(_):
    found = benchmarks("quadrant_calibrate_bench", str(ROOT / "examples/models/digits_cnn.onnx"),
                       "--benchmark_filter=onnx|mobilenet")
    rows = []
    for name, one in found.items():
        model, *samples = name.removesuffix("/iterations:1").split("/")
        rows.append((model, samples[0] if samples else "100", f"{one['of_running']:.1f}",
                     f"{one['peak_MB']:.0f}"))
    return model_table.markdown_table(
        ("model", "samples", "time, of running it", "peak MB of the process so far"), rows, ("model",))


# --- files ---------------------------------------------------------------------------------------

WEIGHT_ONLY = ["quantize", "MODEL", "-o", "OUT", "--scheme", "weight-only"]
BLOCKS = ["--bits", "4", "--block-size", "32"]


def ours(model, *options):
    return [PROGRAMS / "quadrant", *(str(model) if part == "MODEL" else part for part in WEIGHT_ONLY),
            *options]


def file_table(options, element, gigabytes, settings):
    model = options.folder / "model.onnx"
    synthetic_model.write(model, gigabytes, 4096, 11008, element)
    inputs = [model.with_name(model.name + ".data")]
    best, yardstick = file_to_file.measure(
        {name: ours(model, *setting) for name, setting in settings.items()}, inputs, options.out,
        options.rounds, options.log)
    size = inputs[0].stat().st_size
    inputs[0].unlink()
    model.unlink()
    rows = [(name, f"{yardstick[name] / run.seconds:.2f}", f"{run.written / 1e9:.2f}",
             f"{run.peak_bytes / 1e6:.0f}") for name, run in best.items()]
    return (f"A transformer of {size / 1e9:.1f} GB in {element}.\n\n" + model_table.markdown_table(
        ("setting", "of reading and writing as much", "GB written", "peak MB of memory"), rows))


def files(options):
    always = {
        "int8, channels": [],
        "int4, blocks of 32": [*BLOCKS, "--signed-scale"],
        "int4, blocks of 32, MatMulNBits": [*BLOCKS, "--signed-scale", "--format", "matmulnbits"],
    }
    more = {
        "int8, channels, one thread": ["--threads", "1"],
        "int4, blocks of 32, `--memory 128MB`": [*BLOCKS, "--signed-scale", "--memory", "128MB"],
        "int4, blocks of 32, mse": [*BLOCKS, "--signed-scale", "--clip", "mse"],
    }
    return "\n\n".join((file_table(options, "float32", options.gigabytes, {**always, **more}),
                        file_table(options, "float16", options.gigabytes / 2, always)))


def sqnr(model, out):
    # In a process of its own: what starts others must stay small, since they are charged with it.
    done = subprocess.run([sys.executable, ROOT / "benchmarks/weight_error.py", model, out],
                          check=True, capture_output=True, text=True)
    return float(done.stdout)


def peers(options):
    model = options.folder / "model.onnx"
    synthetic_model.write(model, options.peer_gigabytes, 2048, 5632)
    peer = [sys.executable, ROOT / "benchmarks/run_peer.py"]
    groups = {
        "int8, channels": {
            "quadrant": ours(model, "--signed-scale"),
            "quadrant, -127..127": ours(model),
            "ONNX Runtime quantize_dynamic": [*peer, "quantize_dynamic", model, "OUT"],
            "NNCF compress_weights INT8_SYM": [*peer, "nncf_int8", model, "OUT"],
            "NumPy, codes alone": [*peer, "numpy_int8", model, "OUT"],
        },
        "int4, blocks of 32, QDQ": {
            "quadrant": ours(model, *BLOCKS, "--signed-scale"),
            "quadrant, mse": ours(model, *BLOCKS, "--signed-scale", "--clip", "mse"),
            "NNCF compress_weights INT4_SYM": [*peer, "nncf_int4", model, "OUT"],
        },
        "int4, blocks of 32, MatMulNBits": {
            "quadrant": ours(model, *BLOCKS, "--signed-scale", "--format", "matmulnbits"),
            "ONNX Runtime MatMulNBitsQuantizer": [*peer, "matmul_nbits", model, "OUT"],
        },
    }
    inputs = [model.with_name(model.name + ".data")]
    rows = []
    for form, commands in groups.items():
        best, yardstick = file_to_file.measure(commands, inputs, options.out, options.rounds,
                                               options.log)
        fastest = best["quadrant"].seconds
        for name, run in best.items():
            decibels = ""
            if "NumPy" not in name:
                out = options.out / "out.onnx"
                file_to_file.run([out if part == "OUT" else part for part in commands[name]],
                                 options.log)
                decibels = f"{sqnr(model, out):.2f}"
                file_to_file.empty(options.out)
            rows.append((form, name, f"{run.seconds / fastest:.1f}",
                         f"{yardstick[name] / run.seconds:.2f}", f"{run.peak_bytes / 1e6:.0f}",
                         f"{run.written / 1e6:.0f}", decibels))
    size = inputs[0].stat().st_size
    versions = subprocess.run(
        [sys.executable, "-c",
         "import importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in "
         "('onnxruntime', 'nncf', 'numpy')))"], check=True, capture_output=True, text=True).stdout
    return (f"A transformer of {size / 1e9:.1f} GB in float32; {versions.strip()}.\n\n"
            + model_table.markdown_table(
                ("format", "program", "times quadrant's time", "of reading and writing as much",
                 "peak MB of memory", "MB written", "weight SQNR, dB"), rows, ("format", "program")))


TABLES = {table.__name__: table for table in
          (machine, kernels, search, rounding, engine, growth, selection, calibration, files, peers)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--peer-gigabytes", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=TABLES, action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        options.folder = pathlib.Path(folder)
        options.out = options.folder / "out"
        options.out.mkdir()
        options.log = open(ROOT / "build/bench.log", "w")
        for name in ["machine", *(options.only or [table for table in TABLES if table != "machine"])]:
            print(f"== {name}", flush=True)
            content = TABLES[name](options)
            print(content, flush=True)
            PAGE.write_text(model_table.replace_between(PAGE, name, content))


if __name__ == "__main__":
    main()
