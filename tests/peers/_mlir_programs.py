"""Modules that the command writes, run: with a `main` that calls them and prints bits."""

import numpy as np

from _mlir import run_main

PRINTED = {"i32": "I32", "i64": "I64"}
KINDS = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "uint8": "i8", "int16": "i16",
         "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64", "bool": "i1"}


def type_of(shape, kind):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + kind + ">"


def constant(name, array):
    """Lines that make `array` the value `name`."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    kind = KINDS[array.dtype.name]
    shape = type_of(array.shape, kind)
    if not array.size:
        return [f"{name} = arith.constant dense<> : {shape}"]
    digits = array.tobytes().hex().upper()
    if kind != "i1":
        return [f'{name} = arith.constant dense<"0x{digits}"> : {shape}']
    bytes_of = type_of(array.shape, "i8")
    return [f'{name}_bytes = arith.constant dense<"0x{digits}"> : {bytes_of}',
            f"{name} = arith.trunci {name}_bytes : {bytes_of} to {shape}"]


def printing(name, shape, kind):
    """Lines that print a result's bits, and the width of the integers that they are printed as."""
    lines, bits = [], kind
    if kind.startswith("f"):
        bits = "i" + kind[1:]
        lines.append(f"{name}_bits = arith.bitcast {name} : {type_of(shape, kind)} to {type_of(shape, bits)}")
    else:
        lines.append(f"{name}_bits = arith.bitcast {name} : {type_of(shape, kind)} to {type_of(shape, kind)}")
    wide = bits if bits in PRINTED else "i32"
    last = f"{name}_bits"
    if bits != wide:
        lines.append(f"{name}_wide = arith.extui {last} : {type_of(shape, bits)} to {type_of(shape, wide)}")
        last = f"{name}_wide"
    lines += [f"{name}_any = tensor.cast {last} : {type_of(shape, wide)} to tensor<*x{wide}>",
              f"func.call @printMemref{PRINTED[wide]}({name}_any) : (tensor<*x{wide}>) -> ()"]
    return lines


def program(text, feeds, wanted):
    """The module `text` with a `main` that feeds its function and prints what that gives: arrays of
    the types and shapes of `wanted`."""
    assert text.count('sym_name = "main"') == 1
    assert text.endswith("}) : () -> ()\n")
    lines = [line for i, array in enumerate(feeds) for line in constant(f"%in{i}", array)]
    inputs = ", ".join(type_of(array.shape, KINDS[array.dtype.name]) for array in feeds)
    results = [type_of(array.shape, KINDS[array.dtype.name]) for array in wanted]
    names = ", ".join(f"%in{i}" for i in range(len(feeds)))
    out = f"%out:{len(wanted)}"
    lines.append(f"{out} = func.call @model({names}) : ({inputs}) -> ({', '.join(results)})")
    for i, array in enumerate(wanted):
        kind = KINDS[array.dtype.name]
        same = type_of(array.shape, kind)
        lines.append(f"%r{i} = tensor.cast %out#{i} : {same} to {same}")
        lines += printing(f"%r{i}", array.shape, kind)
    printers = "".join(
        f"func.func private @printMemref{ending}(tensor<*x{kind}>) attributes {{llvm.emit_c_interface}}\n"
        for kind, ending in PRINTED.items())
    body = "\n  ".join(lines + ["return"])
    inner = text.replace('sym_name = "main"', 'sym_name = "model"')[:-len("}) : () -> ()\n")]
    return inner + printers + "func.func @main() {\n  " + body + "\n}\n}) : () -> ()\n"


def parse(printed, wanted):
    """The results that a program printed."""
    found = []
    for part, array in zip(printed.split("data =")[1:], wanted, strict=True):
        numbers = part.split("Unranked")[0].replace("[", " ").replace("]", " ").replace(",", " ").split()
        if array.size == 0:  # printed as if it had elements
            found.append(np.zeros_like(array))
            continue
        bits = np.array([int(number) for number in numbers], np.int64)
        width = array.dtype.itemsize
        bits = bits.astype({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[width])
        found.append(bits.view(array.dtype).reshape(array.shape))
    return found


def computed(text, feeds, wanted, passes="", version=19):
    """What the module `text` gives for `feeds`, compiled behind `passes`."""
    return parse(run_main(program(text, feeds, wanted), passes, version), wanted)
