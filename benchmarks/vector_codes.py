#!/usr/bin/env python3
"""What codes of several weights (vectors, lattices, trellises) would add at 4.5 bits a weight, beside
codes of one weight each, and what decoding them costs in ONNX Runtime: a prototype in NumPy, on one
core. Writes a section of docs/accuracy.md.

    .venv/bin/python benchmarks/vector_codes.py [--dry-run] [--quick]

Every row of the first table spends 4.5 bits: 4 on a code and .5 on scales of float8 (e4m3, blocks of
16), or all of them on codes; what tables of float16 add is counted for 2^24 weights. Tables are fitted on
2^16 weights of one seed, and judged on 2^15 of another. All of it takes some five minutes.

- pairs: a table of pairs of weights, by k-means (Linde, Buzo and Gray 1980).
- E8: the nearest point of the lattice (Conway and Sloane 1982, "Fast quantizing and decoding
  algorithms"), of as many in a ball as the bits can tell apart. Numbering these is not done here.
- trellis: the value of a weight is that of a table at the last L bits of all codes so far, so that a
  code of 4 bits chooses among 16 values which the codes before it decide: trellis coded quantization
  (Marcellin and Fischer 1990), with the bit-shift trellis of QTIP (Tseng et al. 2024, arXiv 2406.11235).
  The encoder is Viterbi's, over codes and the scales of blocks together; tables start from quantiles
  in random order, and are fitted by Lloyd's iterations.
"""

import argparse
import dataclasses
import pathlib
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from model_table import markdown_table, replace_between  # noqa: E402

PAGE = ROOT / "docs" / "accuracy.md"
NAME = "vector codes"
KINDS = ("normal", "laplace", "t4")
BLOCK = 16
BITS = 4.5
SHARED = 1 << 24  # weights that share a table: a matrix of 4096 x 4096
ROW = 1024  # weights that a trellis codes from its first state on

# --- weights and scales --------------------------------------------------------------------------


def weights(kind, seed, count):
    random = numpy.random.default_rng(seed)
    draw = {"normal": random.standard_normal, "laplace": lambda size: random.laplace(size=size),
            "t4": lambda size: random.standard_t(4, size)}[kind]
    return draw(count).astype(numpy.float32)


def bound_db(kind, values):
    """Shannon's lower bound of the squared error at that many bits, as the SQNR of these values: from
    the density, whose integral is a sum here."""
    x = numpy.linspace(-400, 400, 8_000_001)
    density = {"normal": lambda: numpy.exp(-x * x / 2), "laplace": lambda: numpy.exp(-abs(x)),
               "t4": lambda: (1 + x * x / 4) ** -2.5}[kind]()
    density /= density.sum() * (x[1] - x[0])
    inside = density[density > 0]
    entropy = -(inside * numpy.log2(inside)).sum() * (x[1] - x[0])
    least = 2 ** (2 * (entropy - BITS)) / (2 * numpy.pi * numpy.e)
    return 10 * numpy.log10(numpy.mean(values.astype(float) ** 2) / least)


def sqnr_db(values, decoded):
    values = values.astype(float).ravel()
    return 10 * numpy.log10((values**2).sum() / ((values - decoded.ravel()) ** 2).sum())


# Positive numbers of e4m3: the sign stays unused where a table is as good turned around.
E4M3 = numpy.array([(8 + m if e else m) * 2.0 ** (max(e, 1) - 10) for e in range(16) for m in range(8)
                    if (e, m) not in ((0, 0), (15, 7))], numpy.float32)


def candidates(blocks, count, signed=False):
    """[..., blocks, count]: scales near the root of the mean square of each block."""
    size = numpy.sqrt((blocks.astype(float) ** 2).mean(-1))
    first = numpy.searchsorted(E4M3, size) - count // 2
    found = E4M3[numpy.clip(first, 0, E4M3.size - count)[..., None] + numpy.arange(count)]
    return numpy.concatenate([found, -found], -1) if signed else found


# --- trellises -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Trellis:
    """Weight t has codes of `bits[t % len(bits)]` bits, and the value of `tables[t % len(bits)]` at
    the state, the last `length` bits. `scales`: how many of them are tried for a block; none: no scales.
    `rounds` of Lloyd's iterations; without any, phases have the same values in other orders, which follow from
    a seed, and files need the values alone, in float16."""

    length: int
    bits: tuple
    scales: int = 0
    signed: bool = False
    rounds: int = 4
    tables: list = None

    def of_weight(self):
        stored = sum(table.size for table in self.tables) / (1 if self.signed else 2)
        if not self.rounds:
            stored /= len(self.tables)
        shared = stored * 16 / SHARED
        return sum(self.bits) / len(self.bits) + (8 / BLOCK if self.scales else 0) + shared


def start(trellis, values, seed=3):
    """Quantiles in random order, spread somewhat as the first values are best served; those of
    complementary states are each other's negatives."""
    half = 1 << (trellis.length - 1)
    sizes = abs(values)
    if trellis.scales:
        blocks = values.reshape(-1, BLOCK)
        sizes = abs(blocks / numpy.sqrt((blocks**2).mean(1, keepdims=True)))
    upper = numpy.quantile(sizes, (numpy.arange(half) + 0.5) / half)
    found = []
    for power, factor in ((1, 1), (1, 1.15), (1.2, 1), (1.2, 1.15), (1.4, 1)):
        random = numpy.random.default_rng(seed)
        trellis.tables = []
        for _ in trellis.bits:
            signed = random.permutation(factor * upper**power) * random.choice((-1, 1), half)
            trellis.tables.append(numpy.concatenate([signed, -signed[::-1]]).astype(numpy.float32))
        found.append((judge_trellis(trellis, values[:1 << 13]), trellis.tables))
    trellis.tables = max(found, key=lambda pair: pair[0])[1]


def scales_to_try(trellis, rows):
    if not trellis.scales:
        return numpy.ones((len(rows), 1, 1), numpy.float32)
    return candidates(rows.reshape(len(rows), -1, BLOCK), trellis.scales, trellis.signed)


def encode(trellis, rows):
    """(states, scales) of least squared error, of rows that each begin in state 0; exact, but that
    costs are compared with 19 bits or so.

    A cost is a positive float32, which as an integer has the same order: its last bits hold which of the
    states came before, so that one minimum gives both.
    """
    count, length = rows.shape
    states, tried = 1 << trellis.length, scales_to_try(trellis, rows)
    block = BLOCK if trellis.scales else length
    blocks, phases = length // block, len(trellis.bits)
    branches = [1 << bits for bits in trellis.bits]
    before = [numpy.arange(n, dtype=numpy.int32)[None, :, None] for n in branches]
    cost = numpy.full((count, states), 1e9, numpy.float32)
    cost[:, 0] = 0
    work = numpy.empty((count, states), numpy.float32)
    as_integers = work.view(numpy.int32)
    came = [[[None] * block for _ in range(tried.shape[2])] for _ in range(blocks)]
    chosen = numpy.zeros((blocks, count, states), numpy.uint8)
    for b in range(blocks):
        best = None
        for s in range(tried.shape[2]):
            scale = tried[:, b, s, None]
            numpy.multiply(cost, 1 / scale**2, out=work)
            for t in range(block):
                n, table = branches[t % phases], trellis.tables[t % phases]
                integers = as_integers.reshape(count, n, -1)
                integers &= -n
                integers |= before[t % phases]
                least = integers.min(axis=1)
                came[b][s][t] = (least & (n - 1)).astype(numpy.uint8)
                least &= -n
                numpy.subtract(rows[:, b * block + t, None] / scale, table[None], out=work)
                numpy.multiply(work, work, out=work)
                shaped = work.reshape(count, -1, n)
                shaped += least.view(numpy.float32)[:, :, None]
            work *= scale**2
            if best is None:
                best = work.copy()
            else:
                numpy.copyto(chosen[b], s, where=work < best)
                numpy.minimum(best, work, out=best)
        cost = best - best.min(axis=1, keepdims=True)
    # From the best last state back.
    each = numpy.arange(count)
    found = numpy.empty((count, length), numpy.int64)
    taken = numpy.empty((count, blocks), numpy.int64)
    state = cost.argmin(1)
    for b in reversed(range(blocks)):
        taken[:, b] = chosen[b, each, state]
        for t in reversed(range(block)):
            bits = trellis.bits[t % phases]
            found[:, b * block + t] = state
            older = state >> bits
            at = numpy.stack([came[b][s][t][each, older] for s in range(tried.shape[2])])
            state = (at[taken[:, b], each].astype(numpy.int64) << (trellis.length - bits)) + older
    return found, numpy.take_along_axis(tried, taken[:, :, None], 2)[:, :, 0]


def codes_of(trellis, states):
    """The codes alone, without what a state repeats of those before."""
    phases = len(trellis.bits)
    return numpy.stack([states[:, t] & ((1 << trellis.bits[t % phases]) - 1)
                        for t in range(states.shape[1])], 1)


def decode(trellis, codes, scales):
    state = numpy.zeros(len(codes), numpy.int64)
    decoded = numpy.empty(codes.shape, numpy.float32)
    for t in range(codes.shape[1]):
        phase = t % len(trellis.bits)
        state = ((state << trellis.bits[phase]) | codes[:, t]) & ((1 << trellis.length) - 1)
        decoded[:, t] = trellis.tables[phase][state]
    return decoded * numpy.repeat(scales, codes.shape[1] // scales.shape[1], 1)


def pieces(trellis, values):
    """Rows, as many at a time as the second cache holds the costs of."""
    rows = values.reshape(-1, ROW)
    step = max(1, (1 << 17) >> trellis.length)
    return [rows[i:i + step] for i in range(0, len(rows), min(step, len(rows)))]


def fit(trellis, values, rounds):
    """Lloyd's iterations. A value moves less than all the way to the mean of its weights where these are
    few, and takes its complement's with it, so that it holds for other weights, too."""
    size = 1 << trellis.length
    for _ in range(rounds):
        sums = numpy.zeros((len(trellis.bits), size))
        squares = numpy.zeros_like(sums)
        for rows in pieces(trellis, values):
            states, scales = encode(trellis, rows)
            spread = numpy.repeat(scales, ROW // scales.shape[1], 1).astype(float)
            for phase in range(len(trellis.bits)):
                at = (slice(None), slice(phase, None, len(trellis.bits)))
                sums[phase] += numpy.bincount(states[at].ravel(), (spread * rows)[at].ravel(), size)
                squares[phase] += numpy.bincount(states[at].ravel(), (spread**2)[at].ravel(), size)
        if not trellis.signed:
            sums, squares = sums - sums[:, ::-1], squares + squares[:, ::-1]
        pull = squares.mean() if trellis.length > 4 else 1e-6
        trellis.tables = [((sums[i] + pull * table) / (squares[i] + pull)).astype(numpy.float32)
                          for i, table in enumerate(trellis.tables)]


def judge_trellis(trellis, values):
    decoded = []
    for rows in pieces(trellis, values):
        states, scales = encode(trellis, rows)
        decoded.append(decode(trellis, codes_of(trellis, states), scales))
        first = trellis.tables[0][states[:, ::len(trellis.bits)]]
        first = first * numpy.repeat(scales, ROW // scales.shape[1], 1)[:, ::len(trellis.bits)]
        assert numpy.array_equal(first, decoded[-1][:, ::len(trellis.bits)]), "codes alone decode to something else"
    return sqnr_db(values, numpy.concatenate(decoded))


# --- pairs ---------------------------------------------------------------------------------------


def nearest_pairs(values, table, tried):
    """(indices, scales) of blocks of pairs [n, pairs, 2], of least squared error over the scales tried."""
    best = numpy.full(len(values), numpy.inf)
    indices = numpy.zeros(values.shape[:2], numpy.int64)
    scales = numpy.ones(len(values), numpy.float32)
    squares = (table**2).sum(1)
    for s in range(tried.shape[1]):
        scaled = values / tried[:, s, None, None]
        away = squares - 2 * (scaled.reshape(-1, 2) @ table.T)
        index = away.argmin(1).reshape(values.shape[:2])
        error = ((values - table[index] * tried[:, s, None, None]) ** 2).sum((1, 2))
        better = error < best
        best[better], indices[better], scales[better] = error[better], index[better], tried[better, s]
    return indices, scales


def judge_pairs(size, tries, training, values, rounds):
    def tried(blocks):
        if not tries:
            return numpy.ones((len(blocks), 1), numpy.float32)
        return candidates(blocks.reshape(len(blocks), -1), tries, signed=True)

    blocks = training.reshape(-1, BLOCK // 2, 2)
    scale = numpy.sqrt((blocks**2).mean((1, 2), keepdims=True)) if tries else 1
    table = numpy.random.default_rng(3).permutation((blocks / scale).reshape(-1, 2))[:size]
    for _ in range(rounds):
        index, scales = nearest_pairs(blocks, table, tried(blocks))
        spread = numpy.repeat(scales, BLOCK // 2).astype(float)
        squares = numpy.bincount(index.ravel(), spread**2, size)
        sums = numpy.stack([numpy.bincount(index.ravel(), spread * blocks[..., i].ravel(), size)
                            for i in (0, 1)], 1)
        table = numpy.where(squares[:, None] > 0, sums / numpy.maximum(squares, 1e-9)[:, None],
                            table).astype(numpy.float32)
    blocks = values.reshape(-1, BLOCK // 2, 2)
    index, scales = nearest_pairs(blocks, table, tried(blocks))
    return sqnr_db(values, table[index] * scales[:, None, None])


# --- the lattice E8 ------------------------------------------------------------------------------


def ball(bits):
    """The largest square of a radius within which E8 has at most 2^bits points: there are 240 times the
    sum of the cubes of the divisors of n at each square of 2 n."""
    points, n = 1, 0
    while True:
        more = 240 * sum(d**3 for d in range(1, n + 2) if (n + 1) % d == 0)
        if points + more > 1 << bits:
            return 2 * n
        points, n = points + more, n + 1


def nearest_in_d8(x):
    rounded = numpy.rint(x)
    away = x - rounded
    odd = numpy.flatnonzero(rounded.sum(1) % 2)
    worst = abs(away[odd]).argmax(1)
    rounded[odd, worst] += numpy.where(away[odd, worst] < 0, -1, 1)
    return rounded


def nearest_in_e8(x):
    whole, half = nearest_in_d8(x), nearest_in_d8(x - 0.5) + 0.5
    nearer = ((x - half) ** 2).sum(1) < ((x - whole) ** 2).sum(1)
    return numpy.where(nearer[:, None], half, whole)


def nearest_in_ball(x, square):
    """The nearest point, or one near where the ball ends."""
    found = nearest_in_e8(x)
    shrunk = x.copy()
    while True:
        outside = numpy.flatnonzero((found**2).sum(1) > square)
        if not outside.size:
            return found
        size = numpy.sqrt((shrunk[outside] ** 2).sum(1, keepdims=True))
        shrunk[outside] *= numpy.minimum(0.99, numpy.sqrt(square) / size)
        found[outside] = nearest_in_e8(shrunk[outside])


def by_lattice(values, square, step, tries):
    """Decoded: `step` is the distance of points, in units of a block's scale."""
    blocks = values.astype(float).reshape(-1, BLOCK)
    tried = candidates(blocks, tries) if tries else numpy.ones((len(blocks), 1))
    best, decoded = numpy.full(len(blocks), numpy.inf), numpy.empty_like(blocks)
    for s in range(tried.shape[1]):
        unit = step * tried[:, s, None].astype(float)
        found = nearest_in_ball((blocks / unit).reshape(-1, 8), square).reshape(blocks.shape) * unit
        error = ((blocks - found) ** 2).sum(1)
        better = error < best
        best[better], decoded[better] = error[better], found[better]
    return decoded


def judge_lattice(bits, tries, training, values):
    square = ball(bits)
    steps = numpy.geomspace(0.7, 6, 22) * numpy.sqrt(8 / square) * numpy.sqrt((training**2).mean())
    if tries:
        steps = steps / numpy.sqrt((training**2).mean())
    step = max(steps, key=lambda step: sqnr_db(training, by_lattice(training, square, step, tries)))
    assert steps[0] < step < steps[-1], "the best step is none of those tried"
    return sqnr_db(values, by_lattice(values, square, step, tries))


# --- what is judged ------------------------------------------------------------------------------


def judged(kind, trellises, quick):
    """{codes: (bits a weight, dB)}, of one distribution."""
    training = weights(kind, 1, 1 << 13 if quick else 1 << 16)
    values = weights(kind, 2, 1 << 13 if quick else 1 << 15)
    found = {}

    def add(name, bits, db):
        found[name] = bits, db
        print(f"{kind:8} {name:56} {bits:.3f} {db:.2f}", flush=True)

    def add_trellis(name, trellis):
        trellis = dataclasses.replace(trellis)
        start(trellis, training)
        fit(trellis, training, trellis.rounds)
        add(name, trellis.of_weight(), judge_trellis(trellis, values))

    def add_pairs(name, size, tries):
        bits = numpy.log2(size) / 2 + (8 / BLOCK if tries else 0) + 2 * 16 * size / SHARED
        add(name, bits, judge_pairs(size, tries, training, values, 5 if quick else 15))

    add_trellis("one weight: 16 values, scales", Trellis(4, (4,), 12, signed=True, rounds=15))
    add_pairs("pairs: 256, scales", 256, 12)
    add_pairs("pairs: 512", 512, 0)
    for name, bits, tries in (("E8: 2^32 points, scales", 32, 12), ("E8: 2^36 points", 36, 0)):
        add(name, bits / 8 + (8 / BLOCK if tries else 0), judge_lattice(bits, tries, training, values))
    for name, trellis in trellises.items():
        add_trellis(name, trellis)
    found["no codes can have more (Shannon)"] = BITS, bound_db(kind, values)
    for name, (bits, db) in found.items():
        assert abs(bits - BITS) < 0.04, f"{name}: {bits} bits"
        limit = found["no codes can have more (Shannon)"][1] + 6.03 * (bits - BITS)
        # 2^15 weights are not all there are: their error differs by 2 % or so from the mean one.
        assert db < limit + 0.2, f"{name} of {kind}: {db} dB, where {limit} are possible"
    return found


def check_encoder():
    """All codes of 16 weights at 1 bit, with each scale, are tried: the encoder finds the best of them."""
    random = numpy.random.default_rng(7)
    trellis = Trellis(3, (1,), 2, tables=[random.standard_normal(8).astype(numpy.float32)])
    codes = numpy.arange(1 << BLOCK)[:, None] >> numpy.arange(BLOCK) & 1
    for row in random.standard_normal((8, 1, BLOCK)).astype(numpy.float32):
        states, scales = encode(trellis, row)
        error = ((decode(trellis, codes_of(trellis, states), scales) - row) ** 2).sum()
        least = min(((decode(trellis, codes, numpy.full((len(codes), 1), scale)) - row) ** 2).sum(1).min()
                    for scale in scales_to_try(trellis, row)[0, 0])
        assert error < least * 1.0001, f"the encoder has {error}, where {least} is possible"


def check_scalars():
    """A trellis of 4 bits that takes 4 a weight is a scalar quantizer; 16 values for a normal distribution
    have 20.22 dB at best (Max 1960)."""
    trellis = Trellis(4, (4,), rounds=60)
    training, values = weights("normal", 1, 1 << 15), weights("normal", 2, 1 << 15)
    start(trellis, training)
    fit(trellis, training, trellis.rounds)
    db = judge_trellis(trellis, values)
    assert 20.0 < db < 20.3, f"{db} dB, not 20.2"
    assert [ball(bits) for bits in (7, 8, 12)] == [0, 2, 4], "E8 has 1, 240, 2160, 6720 points by radius"
    x = numpy.random.default_rng(1).standard_normal((2000, 8)) * 3
    assert 0.0710 < ((x - nearest_in_e8(x)) ** 2).mean() < 0.0724, "the second moment of E8 is 0.07168"


# --- decoding in ONNX Runtime --------------------------------------------------------------------

SIZE = 2048  # rows and columns of the weight
WINDOW = 12  # bits: a code of 4 and the two before it


class Model:
    """`y = x @ W`, where nodes compute W."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, kind=None):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, kind), name))
        return name

    def add(self, kind, *inputs, **settings):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **settings))
        return name

    def table(self, table, indices):
        return self.add("Gather", self.constant(table), indices)

    def shaped(self, value, *shape):
        return self.add("Reshape", value, self.constant(shape, numpy.int64))

    def scaled(self, value, scales):
        """By scales of e4m3, looked up by their bytes."""
        numbers = numpy.concatenate([[0], E4M3, [0]]).astype(numpy.float32)
        numbers = numpy.concatenate([numbers, -numbers])
        of_block = self.table(numbers, self.add("Cast", self.constant(scales), to=TensorProto.INT32))
        blocks = self.add("Mul", self.shaped(value, SIZE, SIZE // BLOCK, BLOCK),
                          self.shaped(of_block, SIZE, SIZE // BLOCK, 1))
        return self.shaped(blocks, SIZE, SIZE)

    def session(self, weight, with_weight=False):
        self.nodes.append(helper.make_node("MatMul", ["x", weight], ["y"]))
        results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", SIZE])]
        if with_weight:
            results.append(helper.make_tensor_value_info(weight, TensorProto.FLOAT, [SIZE, SIZE]))
        data = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", SIZE])
        graph = helper.make_graph(self.nodes, "product", [data], results, self.constants)
        self.nodes.pop()
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"],
                                            disabled_optimizers=["ConstantFolding"])


def of_floats(packed, scales, values, pairs, weight):
    model = Model()
    return model, model.constant(weight)


def of_scalars(packed, scales, values, pairs, weight):
    """What our files have: a byte stands for two values."""
    model = Model()
    table = values[numpy.stack([numpy.arange(256) >> 4, numpy.arange(256) & 15], 1)]
    codes = model.add("Cast", model.constant(packed), to=TensorProto.INT32)
    return model, model.scaled(model.table(table, codes), scales)


def of_trellis(packed, scales, values, pairs, weight):
    """A weight at a time: its code and the two before it, 16 * 16 and 16 times as much."""
    model = Model()
    codes = model.add("Cast", model.constant(packed), to=TensorProto.INT32)
    halves = numpy.stack([numpy.arange(256) >> 4, numpy.arange(256) & 15], 1).astype(numpy.int32)
    codes = model.shaped(model.table(halves, codes), SIZE, SIZE)
    padded = model.add("Pad", codes, model.constant([0, 2, 0, 0], numpy.int64))
    axis = model.constant([1], numpy.int64)
    index = codes
    for back in (1, 2):
        ends = (model.constant([each], numpy.int64) for each in (2 - back, 2 - back + SIZE))
        before = model.add("Slice", padded, *ends, axis)
        index = model.add("Add", index, model.add("Mul", before, model.constant(16**back, numpy.int32)))
    return model, model.scaled(model.table(values, index), scales)


def of_trellis_by_bytes(packed, scales, values, pairs, weight):
    """Two weights at a time: a byte and the one before it are an index of 16 bits."""
    model = Model()
    codes = model.add("Cast", model.constant(packed), to=TensorProto.INT32)
    padded = model.add("Pad", codes, model.constant([0, 1, 0, 0], numpy.int64))
    before = model.add("Slice", padded, *(model.constant([each], numpy.int64) for each in (0, SIZE // 2, 1)))
    index = model.add("Add", codes, model.add("Mul", before, model.constant(256, numpy.int32)))
    return model, model.scaled(model.table(pairs, index), scales)


DECODERS = {"floats": of_floats, "one weight: 16 values": of_scalars, "trellis, 12 bits": of_trellis,
            "trellis, 12 bits, two weights at a time": of_trellis_by_bytes}


def decoding(rounds):
    """{weight: seconds beside 1 row and 256 rows}: the least of so many runs, in turns."""
    random = numpy.random.default_rng(5)
    codes = random.integers(0, 16, (SIZE, SIZE))
    packed = (codes[:, ::2] << 4 | codes[:, 1::2]).astype(numpy.uint8)
    scales = random.integers(60, 70, (SIZE, SIZE // BLOCK)).astype(numpy.uint8)
    spread = numpy.repeat(E4M3[scales - 1], BLOCK, 1)
    trellis = Trellis(WINDOW, (4,))
    start(trellis, weights("normal", 1, 1 << 13))
    table = trellis.tables[0]
    word = numpy.arange(1 << 16)
    pairs = table[numpy.stack([(word >> 4) & 4095, word & 4095], 1)]
    few = numpy.sort(weights("normal", 1, 16))
    by_trellis = decode(trellis, codes, E4M3[scales - 1])
    expected = {of_floats: by_trellis, of_scalars: few[codes] * spread, of_trellis: by_trellis,
                of_trellis_by_bytes: by_trellis}
    sessions = {}
    data = {rows: {"x": random.standard_normal((rows, SIZE), numpy.float32)} for rows in (1, 256)}
    for name, decoder in DECODERS.items():
        model, weight = decoder(packed, scales, few if decoder is of_scalars else table, pairs, by_trellis)
        if decoder is not of_floats:
            _, found = model.session(weight, with_weight=True).run(None, data[1])
            assert numpy.array_equal(found.view(numpy.int32), expected[decoder].view(numpy.int32)), name
        sessions[name] = model.session(weight)
        product = sessions[name].run(None, data[1])[0]
        assert numpy.allclose(product, data[1]["x"] @ expected[decoder], rtol=1e-3, atol=1e-2), name
    least = {name: [float("inf")] * len(data) for name in sessions}
    for _ in range(rounds):
        for i, feed in enumerate(data.values()):
            for name, session in sessions.items():
                begin = time.perf_counter()
                session.run(None, feed)
                least[name][i] = min(least[name][i], time.perf_counter() - begin)
    return least


# --- the section ---------------------------------------------------------------------------------

TRELLISES = {
    "trellis: 8 bits, scales": Trellis(8, (4,), 8, signed=True),
    "trellis: 12 bits, scales": Trellis(12, (4,), 8, signed=True, rounds=1),
    "trellis: 8 bits, codes of 4 and 5": Trellis(8, (4, 5), rounds=8),
    "trellis: 12 bits, codes of 4 and 5": Trellis(12, (4, 5), rounds=8),
    "trellis: 16 bits, codes of 4 and 5, not fitted": Trellis(16, (4, 5), rounds=0),
}


def gains(found):
    """A line for each trellis: how far it is from codes of one weight, and what size is worth as much."""
    lines = []
    for name in TRELLISES:
        if all(name in each for each in found):
            more = [each[name][1] - each["one weight: 16 values, scales"][1] for each in found]
            bits = [each / 6.0206 for each in (min(more), max(more))]
            lines.append(f"- {name}: {min(more):+.1f} to {max(more):+.1f} dB beside one weight a code, as much as "
                         f"{bits[0]:+.2f} to {bits[1]:+.2f} bits a weight")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the page")
    parser.add_argument("--quick", action="store_true", help="few weights and no long trellises: a test of this "
                        "script, which leaves the page")
    options = parser.parse_args()
    replace_between(PAGE, NAME, "")  # says that there is no such table before the work is done
    check_encoder()
    check_scalars()
    least = decoding(10 if options.quick else 60)
    trellises = {name: trellis for name, trellis in TRELLISES.items()
                 if not options.quick or trellis.length == 8}
    found = [judged(kind, trellises, options.quick) for kind in KINDS]
    errors = [(name, f"{bits:.2f}", *(f"{each[name][1]:.2f}" for each in found))
              for name, (bits, _) in found[0].items()]
    scalars, floats = least["one weight: 16 values"], least["floats"]
    times = [(name, *(f"{seconds / base:.1f}" for seconds, base in zip(each, floats)),
              "" if name == "floats" else f"{(each[0] - floats[0]) / (scalars[0] - floats[0]):.1f}")
             for name, each in least.items()]
    text = "\n\n".join((
        markdown_table(("codes", "bits", "normal", "Laplace", "Student t4"), errors, left=("codes",)), gains(found),
        "Time of a product with a weight of 2048 x 2048, beside that with one of floats, and of the decoding alone:",
        markdown_table(("weight", "1 row", "256 rows", "decoding, of one weight's"), times, left=("weight",))))
    print(text)
    if not options.dry_run and not options.quick:
        PAGE.write_text(replace_between(PAGE, NAME, text))


if __name__ == "__main__":
    sys.exit(main())
