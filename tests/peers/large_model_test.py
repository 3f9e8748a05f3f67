"""Large models: the memory of `inspect` and `plan` must not grow with the weights, nor their time
faster than the graph."""

import os
import subprocess
import time

import _wire as wire
from _command import COMMAND, run_tests, scratch

MEGABYTE = 1 << 20
GIBIBYTE = 1 << 30
MEMORY = 300 * 10**6
SECONDS = 20  # generous: this is no measurement
NODES = 100_000


def run_measured(*arguments, limit=600):
    """The seconds, and the most memory, in bytes, that the command held at a time. The figure may hold
    what Python itself has in the moment when it starts the command."""
    start = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen([str(COMMAND), *map(str, arguments)], stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    assert process.returncode == 0, f"{arguments[0]}: exit code {process.returncode}"
    assert seconds < limit, f"{arguments[0]}: {seconds:.1f} s"
    return seconds, usage.ru_maxrss * 1024


# --- 2 GiB of weights --------------------------------------------------------------------------------


def write_large(path):
    """A chain of products whose seven weights of 8192 x 8192 floats, and one that fills up, lie in the
    file: just under 2 GiB, which is all that protobuf allows. They are zeros, and holes on the disk."""
    width = 8192
    matrix = 4 * width * width
    sizes = [(f"w{i}", [width, width], matrix) for i in range(7)]
    rows = (2 * GIBIBYTE - 7 * matrix - MEGABYTE) // (4 * width)
    sizes.append(("w7", [width, rows], 4 * width * rows))
    nodes = [wire.node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"], name=f"dense{i}")
             for i in range(8)]
    pieces = [b"".join(nodes) + wire.field(2, "large")]
    for name, dims, size in sizes:
        start = wire.tensor_header(name, dims) + wire.header(9, size)
        pieces += [wire.header(5, len(start) + size) + start, size]
    pieces.append(wire.field(11, wire.value("h0", [1, width])) +
                  wire.field(12, wire.value("h8", [1, rows])))
    graph = sum(piece if isinstance(piece, int) else len(piece) for piece in pieces)
    with open(path, "wb") as file:
        file.write(wire.model_start() + wire.header(7, graph))
        for piece in pieces:
            if isinstance(piece, int):
                file.seek(piece, os.SEEK_CUR)
            else:
                file.write(piece)
    return os.path.getsize(path)


def test_two_gibibytes():
    with scratch() as folder:
        path = folder / "large.onnx"
        size = write_large(path)
        assert 2 * GIBIBYTE - 2 * MEGABYTE < size < 2 * GIBIBYTE, size
        for arguments in (["inspect", path], ["plan", path, "--scheme", "weight-only"]):
            seconds, memory = run_measured(*arguments)
            print(f"{arguments[0]} of {size / 1e9:.2f} GB: {memory / 1e6:.0f} MB, {seconds:.2f} s")
            assert memory < MEMORY, f"{arguments[0]} holds {memory / 1e6:.0f} MB"


# --- 100,000 nodes -----------------------------------------------------------------------------------


def write_chain(path, weight_of):
    """Relu after Relu, and a product with `weight_of(i)` in each tenth place."""
    nodes = []
    for i in range(NODES):
        op, operands = ("Relu", []) if i % 10 else ("MatMul", [weight_of(i)])
        nodes.append(wire.node(op, [f"h{i}", *operands], [f"h{i + 1}"], name=f"n{i}"))
    names = sorted({weight_of(i) for i in range(0, NODES, 10)})
    path.write_bytes(wire.model(wire.graph(
        *nodes, inputs=[wire.value("h0", [4, 4])], outputs=[wire.value(f"h{NODES}", [4, 4])],
        tensors=[wire.tensor(name, [4, 4], bytes(64)) for name in names])))


def write_one_weight(path):
    write_chain(path, lambda i: "w")


def write_many_weights(path):
    write_chain(path, lambda i: f"w{i}")


def write_moves(path):
    """A weight that goes through 100,000 transpositions before a product reads it."""
    nodes = [wire.node("Transpose", [f"h{i}"], [f"h{i + 1}"], name=f"n{i}") for i in range(NODES)]
    nodes.append(wire.node("MatMul", ["x", f"h{NODES}"], ["y"], name="dense"))
    path.write_bytes(wire.model(wire.graph(
        *nodes, inputs=[wire.value("x", [4, 4])], outputs=[wire.value("y", [4, 4])],
        tensors=[wire.tensor("h0", [4, 4], bytes(64))])))


def check_chain(write):
    with scratch() as folder:
        path = folder / "chain.onnx"
        write(path)
        for command, *options in (["inspect"], ["plan", "--scheme", "weight-only"],
                                  ["quantize", "--scheme", "weight-only", "-o", folder / "out.onnx"]):
            seconds, memory = run_measured(command, path, *options, limit=SECONDS)
            print(f"{command} of {NODES} nodes, {write.__name__[6:]}: {seconds:.2f} s, "
                  f"{memory / 1e6:.0f} MB")


def test_chains():
    for write in (write_one_weight, write_many_weights, write_moves):
        yield write.__name__[6:], check_chain, write


if __name__ == "__main__":
    run_tests(globals())
