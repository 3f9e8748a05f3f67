"""MLIR's quantized types: those that we print go through mlir-opt of 19 and 22 unchanged, and what these
refuse, we refuse.
"""

import _peers

import itertools
import os
import pathlib
import re
import subprocess

from _mlir import opt, refusal

from _command import run_tests

TOOL = pathlib.Path(os.environ.get("QUANTIZED_TYPES", "build/release/bin/quantized_types"))
SHAPES = {"": "4x2", ":1": "4x2"}


def ours(lines):
    """(is it a type, its text or why not) for each line."""
    done = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    answers = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    return [(kind == "ok", text) for kind, text in answers]


def function(index, text, shape, expressed):
    real, quantized = f"tensor<{shape}x{expressed}>", f"tensor<{shape}x{text}>"
    return (f'"func.func"() <{{function_type = ({real}) -> {quantized}, sym_name = "f{index}"}}> ({{\n'
            f'^bb0(%x: {real}):\n  %0 = "quant.qcast"(%x) : ({real}) -> {quantized}\n'
            f'  "func.return"(%0) : ({quantized}) -> ()\n}}) : () -> ()\n')


def module(cases):
    return ('"builtin.module"() ({\n' +
            "".join(function(i, *case) for i, case in enumerate(cases)) + "}) : () -> ()\n")


def element_types(text):
    """The results' element types, in order."""
    return re.findall(r"tensor<4x2x(!quant\.[a-z]+<.*>)> \{$", text, re.MULTILINE)


def uniform_types():
    """(text, shape, expressed): storage, narrower ranges, zero points, per tensor and per axis."""
    widths = [f"{sign}{bits}" for sign in "iu" for bits in (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32)]
    for storage, expressed in itertools.product(widths, ("f16", "bf16", "f32", "f64")):
        bits, signed = int(storage[1:]), storage[0] == "i"
        low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)
        ranges = {f"<{low}:{high}>", ""} | ({f"<{low + 1}:{high}>"} if bits > 1 else set())
        for bounds in sorted(ranges):
            zero, least = high, low + (str(low + 1) in bounds)
            yield f"!quant.uniform<{storage}{bounds}:{expressed}, 0.1:{zero}>", "4x2", expressed
            if low == 0 and str(low + 1) in bounds:
                continue  # 0, which is left out where nothing is said, is no code
            yield f"!quant.uniform<{storage}{bounds}:{expressed}, 1.0e-3>", "4x2", expressed
            yield (f"!quant.uniform<{storage}{bounds}:{expressed}, 0.0039215686274509803:{least}>",
                   "4x2", expressed)
            yield (f"!quant.uniform<{storage}{bounds}:{expressed}:0, "
                   f"{{3.0518509475997192e-05, 0.25:{zero}, 0.0078431372549019607, 60000.5}}>",
                   "4x2", expressed)
            yield (f"!quant.uniform<{storage}{bounds}:{expressed}:1, {{0.1:{zero}, 0.2}}>", "4x2",
                   expressed)


def check_unchanged(version, cases):
    printed = ours([f"{shape} {text}" for text, shape, _ in cases])
    for (text, _, _), (is_type, answer) in zip(cases, printed):
        assert is_type, f"{text}: {answer}"
    texts = [(answer, shape, expressed)
             for (_, answer), (_, shape, expressed) in zip(printed, cases)]
    back = element_types(opt(version, module(texts)))
    assert len(back) == len(texts), f"{len(back)} of {len(texts)} types"
    again = ours(back)
    for (text, _, _), theirs, (is_type, answer) in zip(texts, back, again):
        assert is_type and answer == text, f"{text} came back as {theirs}, {answer}"


def test_accepted_types_go_through_unchanged():
    cases = list(uniform_types())
    assert len(cases) > 500
    for version in (19, 22):
        yield f"{version}", check_unchanged, version, cases


def test_any_and_calibrated():
    texts = ["!quant.any<i8<-16:15>:f32>", "!quant.any<i8:f32>", "!quant.any<u3:f32>",
             "!quant.calibrated<f32<-0.998:1.2321>>", "!quant.calibrated<f32<0.5:1.0e+20>>"]
    for version in (19, 22):
        yield f"{version}", check_unchanged, version, [(text, "4x2", "f32") for text in texts]


def test_types_without_real_numbers():
    """An argument, since no operation makes one."""
    for version in (19, 22):
        for text in ("!quant.any<i8<-16:15>>", "!quant.any<u3>"):
            printed = ours([text])[0][1]
            made = opt(version, f'"builtin.module"() ({{ "func.func"() <{{function_type = '
                       f'(tensor<4x2x{printed}>) -> (), sym_name = "f"}}> ({{ ^bb0(%x: '
                       f'tensor<4x2x{printed}>): "func.return"() : () -> () }}) : () -> () }}) '
                       ': () -> ()')
            assert printed == text and f"tensor<4x2x{text}>" in made, made


def test_blocks_are_for_22():
    cases = [("!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:1}, {0.2:2}, {0.3}, {0.4}}>", "4x2", "f32"),
             ("!quant.uniform<i4:f32:{0:2, 1:1}, {{0.1, 0.2:2}, {0.3, 0.4}}>", "4x2", "f32")]
    check_unchanged(22, cases)
    for case in cases:
        assert refusal(19, module([case])), "19 reads blocks now"


# What 22 refuses; and where it does not, why we do.
REJECTED = {
    "!quant.uniform<i8, 0.1>": "", "!quant.uniform<i8:f32, 1>": "", "!quant.uniform<i33:f32, 0.1>": "",
    "!quant.uniform<i64:f32, 0.1>": "", "!quant.uniform<i8<-129:127>:f32, 0.1>": "",
    "!quant.uniform<u8<-1:127>:f32, 0.1>": "", "!quant.uniform<i8<5:-5>:f32, 0.1>": "",
    "!quant.uniform<i8<-16,15>:f32, 0.1>": "", "!quant.calibrated<f32<0.0:0.0>>": "",
    "!quant.calibrated<f32<1.0:0.0>>": "", "!quant.uniform<i8:f32:2, {0.1, 0.2}>": "",
    "!quant.uniform<i8:f32:-1, {0.1, 0.2}>": "", "!quant.uniform<i8:f32:1, {0.1, 0.2, 0.3}>": "",
    "!quant.uniform<i8:f32:1, {}>": "", "!quant.uniform<i8:f32, 0.0>": "",
    "!quant.uniform<i8:f32, -1.0>": "", "!quant.uniform<i8:f32, 1.0e-50>": "",
    "!quant.uniform<i8:f32, 1.0e+39>": "", "!quant.uniform<i8:f32, 1.0e-5": "",
    "!quant.uniform<i8:f32:{0:3, 1:1}, {{0.1, 0.2}, {0.3, 0.4}}>": "",
    "!quant.uniform<i8<5:5>:f32, 0.1:5>": "", "!quant.uniform<i8:f32, inf>": "",
    "!quant.uniform<i8:f32, nan>": "", "!quant.uniform<i8:f32, 1e-05>": "",
    "!quant.uniform<i8:f32, 0.1:200>": "a zero point that is no code",
    "!quant.uniform<u8:f32, 0.1:-1>": "a zero point that is no code",
    "!quant.uniform<i8<-127:127>:f32, 0.1:-128>": "a zero point that is no code",
    "!quant.uniform<i8:f32:{0:2, 1:2}, {{0.1}, {0.2}}>": "blocks along two axes have no type here",
}


def test_rejected_types_are_rejected():
    answers = ours([f"4x2 {text}" for text in REJECTED])
    for (text, reason), (is_type, answer) in zip(REJECTED.items(), answers):
        assert not is_type, f"{text} became {answer}"
        assert len(answer) > 15, f"{text}: {answer}"
        theirs = refusal(22, module([(text, "4x2", "f32")]))
        assert bool(theirs) == (not reason), f"{text}: 22 says {theirs or 'it is fine'}"


if __name__ == "__main__":
    run_tests(globals())
