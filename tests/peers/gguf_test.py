"""What we encode, packed into the blocks of GGUF files, is to the `gguf` package the numbers that we decode."""

import _peers

import os
import pathlib
import subprocess
import sys

import numpy as np

from _command import run_tests

try:
    from gguf import GGMLQuantizationType as Type
    from gguf.quants import dequantize
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)

TOOL = pathlib.Path(os.environ.get("ENCODED", "build/release/bin/encoded"))
ROWS, COLUMNS = 6, 1024


def encoded(name, values, *sizes):
    """Codes, levels of the sizes that are given, decoded values."""
    done = subprocess.run([TOOL, name, str(ROWS), str(COLUMNS)], input=values.tobytes(), capture_output=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    codes = np.frombuffer(done.stdout[:values.size], np.uint8)
    floats = np.frombuffer(done.stdout[values.size:], np.float32)
    assert floats.size == sum(sizes) + values.size
    return codes, *np.split(floats, np.cumsum(sizes))


def halves(values):
    return values.astype(np.float16).reshape(-1, 1).view(np.uint8)


def nibbles(codes, half):
    """The first `half` codes in the low halves of bytes, the next in the high ones."""
    pairs = codes.reshape(codes.shape[0], -1, 2, half)
    return (pairs[:, :, 0] | pairs[:, :, 1] << 4).reshape(codes.shape[0], -1)


def k_scales(scales, minima):
    """Eight scales and minima of 6 bits in 12 bytes."""
    s, m = (numbers.astype(np.uint8).reshape(-1, 8) for numbers in (scales, minima))
    return np.concatenate([s[:, :4] | s[:, 4:] >> 4 << 6, m[:, :4] | m[:, 4:] >> 4 << 6,
                           s[:, 4:] & 15 | (m[:, 4:] & 15) << 4], axis=1)


def q4_k(values):
    blocks = values.size // 256
    codes, d, scales, dmin, minima, out = encoded("q4_k", values, blocks, blocks * 8, blocks, blocks * 8)
    packed = [halves(d), halves(dmin), k_scales(scales, minima), nibbles(codes.reshape(blocks, 256), 32)]
    return Type.Q4_K, packed, out


def q5_k(values):
    blocks = values.size // 256
    codes, d, scales, dmin, minima, out = encoded("q5_k", values, blocks, blocks * 8, blocks, blocks * 8)
    codes = codes.reshape(blocks, 8, 32)
    fifth = np.bitwise_or.reduce(codes >> 4 << np.arange(8, dtype=np.uint8).reshape(1, 8, 1), axis=1)
    packed = [halves(d), halves(dmin), k_scales(scales, minima), fifth,
              nibbles((codes & 15).reshape(blocks, 256), 32)]
    return Type.Q5_K, packed, out


def q6_k(values):
    blocks = values.size // 256
    codes, d, scales, out = encoded("q6_k", values, blocks, blocks * 16)
    codes = (codes + np.uint8(32)).reshape(blocks, 2, 4, 32)  # from two's complement
    low = (codes & 15).reshape(blocks, 2, 2, 64)
    high = codes >> 4
    packed = [(low[:, :, 0] | low[:, :, 1] << 4).reshape(blocks, 128),
              np.bitwise_or.reduce(high << np.arange(0, 8, 2, dtype=np.uint8).reshape(1, 1, 4, 1),
                                   axis=2).reshape(blocks, 64),
              scales.astype(np.int8).reshape(blocks, 16).view(np.uint8), halves(d)]
    return Type.Q6_K, packed, out


def iq4_nl(values):
    codes, scales, out = encoded("iq4nl", values, values.size // 32)
    return Type.IQ4_NL, [halves(scales), nibbles(codes.reshape(-1, 32), 16)], out


def mxfp4(values):
    codes, scales, out = encoded("mxfp4", values, values.size // 32)
    exponents = (np.log2(scales) + 127).astype(np.uint8).reshape(-1, 1)
    return Type.MXFP4, [exponents, nibbles(codes.reshape(-1, 32), 16)], out


def q4_0(values):
    codes, scales, out = encoded("int4", values, values.size // 32)
    return Type.Q4_0, [halves(scales), nibbles((codes + np.uint8(8)).reshape(-1, 32), 16)], out


def check(form, values):
    kind, packed, ours = form(values)
    theirs = dequantize(np.concatenate(packed, axis=1), kind)
    np.testing.assert_array_equal(theirs.ravel(), ours)


def test_blocks():
    random, shape = np.random.default_rng(1), (ROWS, COLUMNS)
    cases = {"normal": random.standard_normal(shape), "laplace": random.laplace(3, 20, shape),
             "zeros": np.zeros(shape), "negative": -np.abs(random.standard_t(4, shape))}
    for name, values in cases.items():
        for form in (q4_k, q5_k, q6_k, iq4_nl, mxfp4, q4_0):
            yield f"{form.__name__}-{name}", check, form, values.astype(np.float32)


if __name__ == "__main__":
    run_tests(globals())
