"""What a written file says of its weights, read as its operators are defined, and what a setting
promises of them."""

import copy

import numpy as np
from onnx import numpy_helper

from _fold import GraphReader


class Setting:
    """Options of the command, and what they promise."""

    def __init__(self, options, bits=8, group=0, beyond=0.5, forms=("behind",), least=None,
                 half=False):
        self.options, self.bits, self.group = options.split(), bits, group
        self.forms = forms    # others than the one in front
        self.beyond = beyond  # how many steps a weight may lie beyond the codes; None: any number
        self.least = least    # the setting of which the squared errors are never smaller
        self.half = half      # scales have 11 bits

    def slack(self):
        """In steps: what rounding a scale to float16 moves the outermost code by."""
        return 2**-11 * 2**self.bits if self.half else 2**-10


def blocks(bits, size, extra="", **promises):
    return Setting(f"--bits {bits} --block-size {size} {extra}", bits, size, **promises)


TENSOR, CHANNEL = -1, 0


# --- what the file says ------------------------------------------------------------------------------


class Read:
    """A weight as a written file has it: arrays of the weight's shape, NaN where nobody reads it."""

    def __init__(self, weight):
        self.weight = weight
        self.values, self.step, self.low, self.high = (
            np.full(weight.array.size, np.nan) for _ in range(4))
        self.steps = []  # as the readers have them, whose shapes may be others

    def add(self, use, arrays):
        places, elements = self.weight.places(use)
        self.steps.append(arrays["step"])
        for what in ("values", "step", "low", "high"):
            old, new = getattr(self, what), arrays[what].ravel()[places].astype(np.float64)
            known = ~np.isnan(old[elements])
            # Scales of float16 products are float16.
            assert np.allclose(old[elements][known], new[known], 2**-10, 0), (
                f"{self.weight.name}: {use} reads another {what}")
            old[elements] = new


def read_weights(result):
    """The weights by name: those of which all readers read codes. Readers behind which the scale is
    multiplied are None of them."""
    read, behind = {}, set()
    for name, weight in result.weights.items():
        entry = Read(weight)
        found = result.found(weight)
        behind |= {name for _, arrays in found if arrays is None}
        found = [(use, arrays) for use, arrays in found if arrays is not None]
        is_quantized = ["step" in arrays for _, arrays in found]
        assert all(is_quantized) or not any(is_quantized), f"{name} is also stored in float"
        if found and all(is_quantized):
            for use, arrays in found:
                entry.add(use, arrays)
            read[name] = entry
    return read, behind


def check_near(entry, setting):
    """As near as the step says, wherever the codes reach; and they reach as far as they promise."""
    name, w = entry.weight.name, entry.weight.array.ravel().astype(np.float64)
    is_read = ~np.isnan(entry.values)
    w, values, step, low, high = (
        a[is_read] for a in (w, entry.values, entry.step, entry.low, entry.high))
    rounding = np.abs(w) * (2**-10 if entry.weight.array.dtype == np.float16 else 2**-20)
    reached = np.clip(w, low, high)
    off = np.abs(reached - values) - step / 2 - rounding
    worst = off.argmax()
    assert off[worst] <= 2**-10 * step[worst], (
        f"{name}: {w[worst]} became {values[worst]}, with steps of {step[worst]}")
    if setting.beyond is not None:
        beyond = np.abs(w - reached) - rounding - (setting.beyond + setting.slack()) * step
        worst = beyond.argmax()
        assert beyond[worst] <= 0, (
            f"{name}: {w[worst]} is beyond {low[worst]} to {high[worst]}, steps of {step[worst]}")
    # A step serves the weights: 2^bits of them reach from the largest to its negative. Groups of zeros
    # have a step of 1, and the step of least error may be up to twice what suffices.
    largest = np.abs(entry.weight.array).max()
    enough = 2 * largest / (2**setting.bits - 2) * (1 + 2**-10)
    if setting.beyond is None:
        enough *= 2
    assert not w[step > enough].any(), f"{name}: steps of {step.max()}, {enough} suffices"
    # Rounding errors are spread evenly between half a step down and up: their variance is step^2 / 12.
    if w.size >= 1000 and setting.beyond is not None:
        noise = np.sum((w - values) ** 2)
        expected = np.sum(step**2) / 12 + np.sum((w - reached) ** 2)
        assert noise <= 1.3 * expected, f"{name}: SQNR {decibel(w, noise):.1f} dB, the steps " \
                                        f"promise {decibel(w, expected):.1f} dB"


def decibel(w, noise):
    return 10 * np.log10(np.sum(w**2) / max(noise, 1e-300))


def squared_error(entry):
    off = entry.weight.array.ravel().astype(np.float64) - entry.values
    return np.nansum(off**2)


def check_groups(entry, setting):
    """The weights that share a scale are at least those that the setting says, of the weight or, behind
    moves that mix its axes, of what a reader sees."""
    step = entry.step.reshape(entry.weight.array.shape)
    if setting.group == TENSOR:
        assert len(np.unique(step[~np.isnan(step)])) == 1, f"{entry.weight.name}: several scales"
        return
    assert any(has_groups(seen, setting.group) for seen in [step, *entry.steps]), (
        f"{entry.weight.name} {step.shape}: no axis has these groups")


def has_groups(step, size):
    """There is an axis with one step for each index, or for each `size` of them."""
    for axis, extent in enumerate(step.shape):
        first = [slice(0, 1)] * step.ndim
        first[axis] = slice(None)
        if np.array_equal(step, np.broadcast_to(step[tuple(first)], step.shape), equal_nan=True):
            return True
        if CHANNEL < size <= extent:
            starts = np.arange(extent) // size * size
            if np.array_equal(step, np.take(step, starts, axis), equal_nan=True):
                return True
    return False


# --- what the file computes --------------------------------------------------------------------------


def with_values(result, read):
    """The original model with the values that codes stand for in the place of its weights."""
    model = copy.deepcopy(result.before)
    reader = GraphReader(model)
    for name, entry in read.items():
        old = entry.weight.array
        new = np.where(np.isnan(entry.values), old.ravel(), entry.values).reshape(old.shape)
        reader.tensors[name].CopyFrom(numpy_helper.from_array(new.astype(old.dtype),
                                                              reader.tensors[name].name))
    return model


def check_near_outputs(expected, found, tolerance, what):
    assert len(expected) == len(found)
    for i, (a, b) in enumerate(zip(expected, found)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {a.shape} became {b.shape}"
        if a.size == 0 or np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            continue
        wide = a.astype(np.float64)
        error = np.abs(wide - b.astype(np.float64)).max() / np.abs(wide).max()
        assert error <= tolerance, f"{what}: output {i} is off by {error:.2e} of its largest value"
