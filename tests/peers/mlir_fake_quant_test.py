"""The types that const_fake_quant stands for, against mlir-opt-15's quant-convert-simulated-quantization.

The rule: of 10,000 random attributes that MLIR accepts, each range of codes, zero point, and scale, to
the last bit, is MLIR's. There is no exception. What MLIR refuses is refused here.

The environment variable FAKE_QUANT_RANGES names the tool of tests/numerics/fake_quant_ranges_main.cpp.
"""

import collections
import fractions
import os
import pathlib
import re
import struct
import subprocess
import tempfile

import _mlir
from _command import run_tests

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.environ.get("FAKE_QUANT_RANGES", ROOT / "build" / "release" / "bin" / "fake_quant_ranges")
COUNT = 10_000
CHANNELS = 4

Attributes = collections.namedtuple("Attributes", "min max num_bits narrow_range is_signed")
Codes = collections.namedtuple("Codes", "first last scale zero_point")


def float32(value):
    return float(np.float32(value))


def random_range(rng):
    """Ends as float32: around zero, beside it, at it, of no length, very long and very short."""
    size = 10.0 ** rng.uniform(-8, 8)
    low, high = sorted(rng.uniform(-size, size, 2))
    kind = rng.integers(0, 10)
    if kind == 0:
        low, high = 0.0, abs(high)
    elif kind == 1:
        low, high = -abs(low), 0.0
    elif kind == 2:
        low = high = float(rng.choice([0.0, low, high]))
    elif kind == 3:
        low, high = -size, size
    elif kind == 4:  # float32's own extremes
        low, high = sorted(rng.choice([-3.4028234663852886e38, -1e-38, 1e-45, 0.0, 3e38], 2))
    elif kind == 5:  # ties of the zero point: steps that are powers of two
        step = 2.0 ** rng.integers(-10, 10)
        low = -step * (rng.integers(0, 255) + 0.5)
        high = low + 255 * step
    return float32(low), float32(high)


def random_cases(rng):
    """Lists of attributes: of one element per tensor, of CHANNELS per axis."""
    cases, left = [], COUNT
    while left > 0:
        codes = (int(rng.choice([8, 8, 16, rng.integers(1, 33)])), bool(rng.integers(2)), bool(rng.integers(2)))
        count = min(left, 1 if rng.integers(3) else CHANNELS)
        cases.append([Attributes(*random_range(rng), *codes) for _ in range(count)])
        left -= count
    return cases


def bits_of(value):
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08X} : f32"


def mlir_text(cases):
    lines, results, types = [], [], []
    for i, case in enumerate(cases):
        flags = (f"num_bits = {case[0].num_bits} : i64, narrow_range = {str(case[0].narrow_range).lower()}, "
                 f"is_signed = {str(case[0].is_signed).lower()}")
        if len(case) == 1:
            kind, ends = "const_fake_quant", f"min = {bits_of(case[0].min)}, max = {bits_of(case[0].max)}"
        else:
            kind = "const_fake_quant_per_axis"
            ends = ", ".join(f"{name} = [" + ", ".join(bits_of(getattr(c, name)) for c in case) + "]"
                             for name in ("min", "max")) + ", axis = 1 : i64"
        tensor = f"tensor<2x{len(case)}xf32>"
        lines.append(f'%v{i} = "quant.{kind}"(%x{len(case)}) {{{ends}, {flags}}} : ({tensor}) -> {tensor}')
        results.append(f"%v{i}")
        types.append(tensor)
    sizes = sorted({len(case) for case in cases})
    inputs = ", ".join(f"%x{size}: tensor<2x{size}xf32>" for size in sizes)
    return (f"func.func @f({inputs}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
            f"\nreturn {', '.join(results)} : {', '.join(types)}\n}}\n")


def quadrant_text(cases):
    lines = ["graph {}"]
    for size in sorted({len(case) for case in cases}):
        lines.append(f"%x{size}: tensor<2x{size}xf32> = input()")
    for i, case in enumerate(cases):
        def ends(name):
            values = ["%.17e" % getattr(c, name) for c in case]
            return values[0] if len(case) == 1 else f"[{', '.join(values)}]"
        axis = ", axis = -1" if len(case) > 1 else ""
        lines.append(f"%v{i}: tensor<2x{len(case)}xf32> = const_fake_quant(%x{len(case)}) {{min = {ends('min')}, "
                     f"max = {ends('max')}, num_bits = {case[0].num_bits}, narrow_range = "
                     f"{int(case[0].narrow_range)}, is_signed = {int(case[0].is_signed)}{axis}}}")
    return "\n".join(lines) + "\n"


def quadrant_codes(cases):
    """For each case a list, or None where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.qd"
        path.write_text(quadrant_text(cases))
        done = subprocess.run([str(TOOL), str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = [[] for _ in cases]
    for line in done.stdout.splitlines():
        name, *rest = line.split()
        index = int(name[1:])
        if rest == ["refused"]:
            found[index] = None
        else:
            found[index].append(Codes(int(rest[0]), int(rest[1]), float.fromhex(rest[2]), int(rest[3])))
    return found


STORED = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "u16": (0, 65535),
          "i32": (-2147483648, 2147483647), "u32": (0, 4294967295)}
QUANTIZED = re.compile(r"!quant\.uniform<(\w+)(?:<(-?\d+):(-?\d+)>)?:f32(:\d+)?, ?(\{[^}]*\}|[^>]*)>")


def mlir_codes(text):
    """What the types of the qcasts say, in order."""
    found = []
    for line in text.splitlines():
        if '"quant.qcast"' not in line:
            continue
        stored, first, last, axis, scales = QUANTIZED.search(line).groups()
        limits = STORED[stored] if first is None else (int(first), int(last))
        codes = []
        for item in scales.strip("{}").split(","):
            scale, _, zero_point = item.partition(":")
            codes.append(Codes(*limits, float(scale), int(zero_point or 0)))
        assert (axis is not None) == (len(codes) > 1) and axis in (None, ":1")
        found.append(codes)
    return found


def test_ten_thousand_random_attributes():
    cases = random_cases(np.random.default_rng(15))
    assert sum(len(case) for case in cases) == COUNT
    theirs = mlir_codes(_mlir.opt(15, mlir_text(cases), "-quant-convert-simulated-quantization"))
    ours = quadrant_codes(cases)
    assert len(theirs) == len(ours) == len(cases)
    different = [(case, a, b) for case, a, b in zip(cases, ours, theirs) if a != b]
    assert not different, f"{len(different)} differ; the first: {different[0]}"
    storages = collections.Counter((codes[0].first, codes[0].last) for codes in ours)
    print(f"{COUNT} attributes in {len(cases)} operations, ranges of codes: {dict(storages)}")
    assert len(storages) == 12  # 8, 16 and 32 bits, with a sign and without, narrow and not


def test_exact_arithmetic_agrees():
    """Neither side's rounding is more than a bit off what rational numbers give: a tie of the zero point
    may go either way, nothing else may."""
    cases = random_cases(np.random.default_rng(16))
    for case, channels in zip(cases, quadrant_codes(cases)):
        for given, codes in zip(case, channels):
            low, high = fractions.Fraction(given.min), fractions.Fraction(given.max)
            if float(high - low) < 2.0 ** -52:
                assert codes.scale == 1 and codes.zero_point == codes.first
                continue
            scale = (high - low) / (codes.last - codes.first)
            assert abs(fractions.Fraction(codes.scale) / scale - 1) < 2 ** -51
            wanted = min(max(codes.first - low / scale, codes.first), codes.last)
            assert abs(codes.zero_point - wanted) <= fractions.Fraction(1, 2) + fractions.Fraction(1, 2 ** 18)
            assert codes.first <= codes.zero_point <= codes.last  # real zero is a code


def test_what_both_refuse():
    for attributes in [Attributes(1.0, -1.0, 8, False, False), Attributes(0.5, 0.25, 16, True, True),
                       Attributes(0.0, 1.0, 33, False, False), Attributes(-1.0, 1.0, 64, False, True)]:
        refused = _mlir.refusal(15, mlir_text([[attributes]]), "-quant-convert-simulated-quantization")
        assert "error" in refused, attributes
        assert quadrant_codes([[attributes]]) == [None], attributes


if __name__ == "__main__":
    run_tests(globals())
