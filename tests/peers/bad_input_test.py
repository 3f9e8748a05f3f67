"""The command on damaged and hostile files: an answer in one line, no crash, nothing left behind."""

import concurrent.futures
import math
import os
import random
import struct
import subprocess
import time

import _wire as wire
from _command import COMMAND, ROOT, run_tests, scratch

SECONDS = 5
KILOBYTES = 2 << 20  # of address space
MUTATIONS = 2000
TRUNCATIONS = 200

COMMANDS = {
    "inspect": lambda model, out: ["inspect", model],
    "plan": lambda model, out: ["plan", model, "--scheme", "weight-only", "-o", out],
    "quantize": lambda model, out: ["quantize", model, "-o", out, "--scheme", "weight-only"],
}


# --- one run -----------------------------------------------------------------------------------------


def run_limited(arguments):
    # The shell sets the limit: Python's preexec_fn is not for programs with threads.
    limited = ["sh", "-c", f'ulimit -c 0; ulimit -v {KILOBYTES}; exec "$@"', "sh", str(COMMAND)]
    return subprocess.run(limited + [str(a) for a in arguments], capture_output=True,
                          timeout=20 * SECONDS)


def attempt(folder, command, *options, codes=(0, 3, 4, 5)):
    """Runs a command on `folder`/model.onnx; asserts all that holds for every input."""
    names = set(os.listdir(folder))
    out = folder / f"{command}.out"
    start = time.monotonic()
    done = run_limited(COMMANDS[command](folder / "model.onnx", out) + [*options])
    seconds = time.monotonic() - start
    said = done.stderr.decode("utf-8")
    what = f"{command}: exit code {done.returncode}, stderr {said[:300]!r}"
    assert done.returncode in codes, what
    new = set(os.listdir(folder)) - names
    lines = said.splitlines()
    if done.returncode == 0:
        assert new == ({out.name} if command != "inspect" else set()), f"{what}, files {new}"
        assert all(line.startswith(("note: ", "warning: ")) for line in lines), what
        if command == "quantize":
            again = run_limited(["inspect", out])
            assert again.returncode == 0, f"the result is refused: {again.stderr!r}"
        for name in new:
            (folder / name).unlink()
    else:
        assert not new, f"{what}, files {new}"
        assert len(lines) == 1 and lines[0].startswith("quadrant: "), what
        assert said.isprintable() or said.rstrip("\n").isprintable(), what
    assert seconds < SECONDS, f"{what}, after {seconds:.1f} s"
    return done.returncode, said


def attempt_bytes(content, commands=tuple(COMMANDS), codes=(0, 3, 4, 5), says=""):
    with scratch() as folder:
        (folder / "model.onnx").write_bytes(content)
        for command in commands:
            code, said = attempt(folder, command, codes=codes)
            assert code == 0 or says in said, f"{command} says {said!r}, not {says!r}"


# --- files that are no models, or no longer ----------------------------------------------------------


def perm(*axes):
    return wire.field(1, "perm") + b"".join(wire.number(8, axis) for axis in axes) + wire.number(20, 7)


def small_model():
    """A convolution, a product through a moved weight, a subgraph, bfloat16, and names and numbers of
    all sorts: about 1.5 kB."""
    branches = [wire.graph_attribute(name, wire.graph(
        wire.node("MatMul", ["f", "w"], [name + "_out"]), outputs=[wire.value(name + "_out", [1, 3])]))
        for name in ("then_branch", "else_branch")]
    rng = random.Random(1)

    def weights(name, dims):
        values = [rng.gauss(0, 1) for _ in range(math.prod(dims))]
        return wire.tensor(name, dims, struct.pack(f"<{len(values)}f", *values))

    return wire.model(wire.graph(
        wire.node("Conv", ["x", "k"], ["c"], name="conv"),
        wire.node("Reshape", ["c", "dims"], ["f"], name="flatten"),
        wire.node("Transpose", ["v"], ["t"], perm(1, 0), name="turn"),
        wire.node("Gemm", ["f", "t"], ["h"], name="dense"),
        wire.node("If", ["condition"], ["y"], *branches, name="branch"),
        inputs=[wire.value("x", [1, 1, 5, 5]), wire.value("condition", [], 9)],
        outputs=[wire.value("y", [1, 3]), wire.value("h", ["N", 6])],
        tensors=[weights("k", [2, 1, 3, 3]), weights("v", [6, 18]), weights("w", [18, 3]),
                 wire.tensor("dims", [2], struct.pack("<2q", 1, -1), wire.INT64)]))


def test_no_model():
    yield "empty", attempt_bytes, b"", tuple(COMMANDS), (3,)
    yield "text", attempt_bytes, b"This is no model.\n" * 100, tuple(COMMANDS), (3,)
    yield "JSON", attempt_bytes, b'{"model": [1, 2, 3]}\n', tuple(COMMANDS), (3,)
    yield "zeros", attempt_bytes, bytes(4096), tuple(COMMANDS), (3,)
    for seed in range(20):
        content = random.Random(seed).randbytes(1 << seed)
        yield f"random {seed}", attempt_bytes, content, ("quantize",), (3,)


def test_small_model_is_fine():
    attempt_bytes(small_model(), codes=(0,))


def test_missing():
    with scratch() as folder:
        for command in COMMANDS:
            attempt(folder, command, codes=(5,))
        (folder / "model.onnx").mkdir()
        for command in COMMANDS:
            attempt(folder, command, codes=(3, 5))


def many(contents):
    """`quantize` reads each, `plan` and `inspect` take turns. What is wrong is collected, so that one
    failure shows more of them."""
    def one(job):
        i, (name, content) = job
        try:
            attempt_bytes(content, ["quantize", "plan" if i % 2 else "inspect"])
        except Exception as problem:
            return f"\n  {name}: {problem}"
        return ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(one, enumerate(contents)) if problem]
    assert not problems, f"{len(problems)} of them:{''.join(problems[:10])}"


def real_model():
    """The example model with the fewest bytes."""
    paths = sorted((ROOT / "examples" / "models").glob("*.onnx"), key=lambda p: p.stat().st_size)
    return paths[0].read_bytes()


def test_truncations():
    def cut(content, count):
        for end in sorted({round(i * len(content) / count) for i in range(count)}):
            yield f"first {end} bytes", content[:end]

    small = small_model()
    yield "small model", many, list(cut(small, min(len(small), TRUNCATIONS)))
    yield "real model", many, list(cut(real_model(), TRUNCATIONS // 4))


def mutated(content, seed):
    """One to eight bytes changed, or a piece removed, repeated or put elsewhere; more often in front,
    where the structure is."""
    rng = random.Random(seed)
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 8])):
        at = min(int(rng.expovariate(3) * len(data)), len(data) - 1)
        action = rng.randrange(8)
        if action < 3:
            data[at] = rng.randrange(256)
        elif action < 5:
            data[at] ^= 1 << rng.randrange(8)
        elif action == 5:
            data[at] = rng.choice([0, 0x7F, 0x80, 0xFF])
        elif action == 6:
            del data[at:at + rng.randrange(1, 16)]
        else:
            piece = data[at:at + rng.randrange(1, 64)]
            to = rng.randrange(len(data))
            data[to:to] = piece
    return bytes(data)


def test_mutations():
    """Fixed seeds: the same files in each run. Three quarters are of the small model, whose bytes are
    mostly structure."""
    yield "small model", many, [(f"seed {seed}", mutated(small_model(), seed))
                                for seed in range(MUTATIONS * 3 // 4)]
    yield "real model", many, [(f"seed {seed}", mutated(real_model(), seed))
                               for seed in range(MUTATIONS // 4)]


# --- models that lie ---------------------------------------------------------------------------------


def dense(tensors=(), nodes=(), x=(1, 4), w="w", **extra):
    return wire.model(wire.graph(wire.node("MatMul", ["x", w], ["y"], name="dense"), *nodes,
                                 inputs=[wire.value("x", x)], outputs=[wire.value("y", [1, 3])],
                                 tensors=tensors, **extra))


GOOD = wire.tensor("w", [4, 3], struct.pack("<12f", *range(12)))


def refuse(content, says=""):
    """Refused as bad input by all commands, in a line that names the place."""
    attempt_bytes(content, codes=(3,), says=says)


def test_graphs():
    yield "cycle of one", refuse, dense([GOOD], [wire.node("Relu", ["a"], ["a"], name="turn")])
    cycle = [wire.node("Relu", ["b"], ["a"], name="first"),
             wire.node("Relu", ["a"], ["b"], name="second")]
    yield "cycle of two", refuse, dense([GOOD], cycle)
    yield "missing input", refuse, dense([], w="nowhere"), "nowhere"
    yield "one name twice", refuse, dense([GOOD], [wire.node("Relu", ["x"], ["y"])]), "y"
    yield "output from nowhere", refuse, wire.model(
        wire.graph(outputs=[wire.value("nowhere", [1])])), "nowhere"
    yield "no graph", refuse, wire.model_start()
    yield "no opset", refuse, wire.number(1, 8) + wire.field(7, wire.graph())
    for opset in (0, 6, 24, -1, 2**62):
        yield f"opset {opset}", attempt_bytes, wire.model(wire.graph(), opset)
    yield "empty graph", attempt_bytes, wire.model(wire.graph())


def test_tensors():
    raw = struct.pack("<12f", *range(12))
    yield "too few bytes", refuse, dense([wire.tensor("w", [4, 4], raw)]), "w"
    yield "too many bytes", refuse, dense([wire.tensor("w", [2, 3], raw)]), "w"
    yield "no bytes", refuse, dense([wire.tensor("w", [4, 3])]), "w"
    yield "negative dimension", refuse, dense([wire.tensor("w", [-4, 3], raw)]), "w"
    yield "two negative dimensions", refuse, dense([wire.tensor("w", [-4, -3], raw)]), "w"
    yield "huge dimension", refuse, dense([wire.tensor("w", [2**62, 3], raw)]), "w"
    yield "dimensions that overflow", refuse, dense([wire.tensor("w", [2**32, 2**32, 12], raw)]), "w"
    yield "dimensions that overflow to 12", refuse, dense([wire.tensor("w", [2**62 + 3, 4], raw)]), "w"
    yield "100,000 dimensions", attempt_bytes, dense([wire.tensor("w", [1] * 100_000, raw)])
    yield "unknown type", refuse, dense([wire.tensor("w", [4, 3], raw, kind=99)]), "w"
    yield "zero dimension", attempt_bytes, dense([wire.tensor("w", [0, 3])], x=(1, 0))
    yield "negative input", attempt_bytes, dense([GOOD], x=(-1, 4))
    yield "huge input", attempt_bytes, dense([GOOD], x=(2**62, 4))
    yield "huge shape", attempt_bytes, dense(
        [GOOD, wire.tensor("s", [2], struct.pack("<2q", 2**62, 2**62), wire.INT64)],
        [wire.node("Reshape", ["x", "s"], ["r"]), wire.node("ConstantOfShape", ["s"], ["c"]),
         wire.node("Expand", ["x", "s"], ["e"]), wire.node("Reshape", ["w", "s"], ["v"]),
         wire.node("MatMul", ["x", "v"], ["z"])])
    yield "bad perm", attempt_bytes, dense([GOOD], [
        wire.node("Transpose", ["w"], ["t"], perm(7, -1)), wire.node("MatMul", ["x", "t"], ["z"])])


def test_external_data():
    for location in ("../secret", "/etc/passwd", "a/../../secret", "..", ".", "", "./../secret",
                     "missing.bin", "a\0b", "x" * 10_000):
        for command in COMMANDS:
            yield f"{location[:20]!r} {command}", check_external, command, dict(location=location)
    for entries in (dict(offset=-4), dict(offset=2**63), dict(offset=60), dict(length=2**63),
                    dict(length=-1), dict(offset="four"), dict(length=""), dict(length=44),
                    dict(offset=2**64 - 4, length=48), dict(offset="0x0"), dict(offset=" 0")):
        yield f"{entries}", check_external, "quantize", dict(location="inside", **entries)
    yield "outside through a link", check_external, "quantize", dict(location="link"), (0, 3, 5)
    yield "no location", check_external, "quantize", dict(offset=0)
    yield "as it should be", check_external, "quantize", dict(location="inside", length=48), (0,)


def check_external(command, entries, codes=(3, 5)):
    with scratch() as outer:
        folder = outer / "model"
        folder.mkdir()
        for secret in (outer / "secret", folder / "inside"):
            secret.write_bytes(struct.pack("<12f", *range(12)))
        (folder / "link").symlink_to("../secret")
        (folder / "model.onnx").write_bytes(dense([wire.external_tensor("w", [4, 3], **entries)]))
        attempt(folder, command, codes=codes)


def test_nesting():
    def graphs(size):
        inside = wire.field(1, "then_branch") + wire.header(6, size)
        end = wire.number(20, 5)
        attribute = len(inside) + size + len(end)
        start = wire.field(1, "x") + wire.field(2, "d") + wire.field(4, "If")
        node = len(start) + len(wire.header(5, attribute)) + attribute
        return (wire.header(1, node) + start + wire.header(5, attribute) + inside, end)

    for levels in (50, 1000, 100_000):
        yield f"{levels} subgraphs", attempt_bytes, wire.model(wire.nested(levels, graphs, b""))

    def types(size):  # sequences of sequences
        sequence = len(wire.header(1, size)) + size
        return wire.header(4, sequence) + wire.header(1, size), b""

    for levels in (50, 100_000):
        described = wire.field(1, "x") + wire.field(2, wire.nested(levels, types, b""))
        yield f"{levels} types", attempt_bytes, wire.model(wire.graph(inputs=[described]))
    yield "groups", attempt_bytes, wire.model_start() + b"\x0b" * 100_000


def test_many():
    """Much of one thing: the time must not grow with its square."""
    count = 50_000

    def relu(*nodes, inputs=(), outputs=(), attributes=(), **extra):
        first = wire.node("Relu", ["x", *inputs], ["y", *outputs], *attributes, name="n")
        return wire.model(wire.graph(first, *nodes, inputs=[wire.value("x", [1, 4])], **extra))

    def number(i):
        return wire.field(1, f"a{i}") + wire.number(3, i) + wire.number(20, 2)

    def attempt_many(content, command="plan"):
        attempt_bytes(content, (command,))

    branch = wire.graph(wire.node("Relu", ["x"], ["z"]), outputs=[wire.value("z", [1, 4])])
    branches = [wire.graph_attribute(name, branch) for name in ("then_branch", "else_branch")]
    yield "inputs", attempt_many, relu(inputs=["x"] * count)
    yield "outputs", attempt_many, relu(outputs=[f"y{i}" for i in range(count)])
    yield "attributes", attempt_many, relu(attributes=map(number, range(count)))
    yield "nodes of one name", attempt_many, relu(
        *(wire.node("Relu", ["x"], [f"y{i}"], name="n") for i in range(count)))
    yield "tensors", attempt_many, relu(
        tensors=[wire.tensor(f"w{i}", [1], bytes(4)) for i in range(count)])
    yield "readers of a weight", attempt_many, relu(
        *(wire.node("MatMul", ["x", "w"], [f"y{i}"]) for i in range(count)), tensors=[GOOD])
    yield "names that the weight would get", attempt_many, relu(
        wire.node("MatMul", ["x", "w"], ["z"]),
        tensors=[GOOD, *(wire.tensor(f"w_quantized_{i}", [1], bytes(4)) for i in range(count))]), "quantize"
    yield "subgraphs", attempt_many, relu(
        *(wire.node("If", ["x"], [f"y{i}"], *branches) for i in range(count // 10)))


# --- weights that are not numbers --------------------------------------------------------------------


def test_non_finite():
    for name, number in (("NaN", "nan"), ("infinity", "inf"), ("minus infinity", "-inf")):
        yield name, check_non_finite, float(number)


def check_non_finite(number):
    values = [float(i) for i in range(40)]
    values[17] = number
    bad = wire.tensor("the_weight", [4, 10], struct.pack("<40f", *values))
    good = wire.tensor("other", [4, 10], struct.pack("<40f", *range(40)))
    content = wire.model(wire.graph(
        wire.node("MatMul", ["x", "the_weight"], ["y"]), wire.node("MatMul", ["x", "other"], ["z"]),
        inputs=[wire.value("x", [1, 4])],
        outputs=[wire.value("y", [1, 10]), wire.value("z", [1, 10])], tensors=[bad, good]))
    with scratch() as folder:
        (folder / "model.onnx").write_bytes(content)
        for command in ("inspect", "plan"):
            attempt(folder, command, codes=(0,))
        _, said = attempt(folder, "quantize", codes=(4,))
        assert "the_weight" in said and "other" not in said, said
        attempt(folder, "quantize", "--non-finite", "leave", codes=(0,))
        shown = run_limited(COMMANDS["quantize"](folder / "model.onnx", folder / "left.onnx")
                            + ["--non-finite", "leave"]).stdout.decode()
        assert "1 of 2 eligible weights" in shown and "the_weight" in shown, shown


if __name__ == "__main__":
    run_tests(globals())
