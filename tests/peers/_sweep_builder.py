"""Models that are drawn node by node. Each node is run in ONNX Runtime as it is added, so that what is drawn
next knows the shapes and values of what is there; one that is refused, or whose results are of no use, is
left out."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from _models import model_of, session_of

LARGEST = 20000  # elements of a value
MAGNITUDES = {np.dtype(np.float16): 3e3}  # of float16; other floats:
MAGNITUDE = 1e5


class Refused(Exception):
    """What was drawn cannot be, or is of no use."""


class Value:
    def __init__(self, name, array):
        self.name, self.array = name, array

    shape = property(lambda self: self.array.shape)
    rank = property(lambda self: self.array.ndim)
    dtype = property(lambda self: self.array.dtype)


class Input:
    """How an input is fed: `draw(rng, shape)`. `open_axes` are symbols by axis: the axis, and the extent with which
    the model was made, so that equal symbols mean equal extents."""

    def __init__(self, value, draw, open_axes):
        self.name, self.shape, self.dtype = value.name, value.shape, value.dtype
        self.draw, self.open_axes = draw, open_axes

    def info(self):
        return info_of(self.name, self.dtype,
                       [self.open_axes.get(axis, extent) for axis, extent in enumerate(self.shape)])

    def data(self, rng, extents=None):
        """`extents` are those of the open axes; the ones that the model was made with otherwise."""
        shape = [(extents or {}).get(axis, extent) if axis in self.open_axes else extent
                 for axis, extent in enumerate(self.shape)]
        return np.asarray(self.draw(rng, shape), self.dtype)


def type_of(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def info_of(name, dtype, shape):
    return helper.make_tensor_value_info(name, type_of(dtype), shape)


class Builder:
    def __init__(self, rng, opset, dtype, names, constant_nodes, opens, is_common):
        """`names` is the pattern of all names; `constant_nodes` the share of constants that are nodes;
        `opens`: inputs have open extents; `is_common`: operations that most formats have."""
        self.rng, self.opset, self.dtype = rng, opset, np.dtype(dtype)
        self.names, self.constant_nodes = names, constant_nodes
        self.opens, self.is_common = opens, is_common
        self.nodes, self.inputs, self.values = [], [], []
        self.weights = {}   # arrays of initializers
        self.known = {}     # arrays of everything
        self.shared = {}    # names of constants, by what they are
        self.count = 0

    # --- drawing ---

    def chance(self, share):
        return self.rng.random() < share

    def choice(self, items):
        items = list(items)
        if not items:
            raise Refused("nothing to choose from")
        return items[self.rng.integers(len(items))]

    def integer(self, low, high):
        """From low to high, both included; so are the many of `integers`."""
        if high < low:
            raise Refused("an empty range")
        return int(self.rng.integers(low, high + 1))

    def integers(self, low, high, count):
        return [self.integer(low, high) for _ in range(count)]

    def normal(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(self.dtype)

    def positive(self, *shape, low=0.5, high=2.0):
        return self.rng.uniform(low, high, shape).astype(self.dtype)

    def pick(self, *ranks, fits=lambda value: True):
        """A value of the model's float type and of one of the ranks; recent ones more often."""
        found = [value for value in self.values
                 if value.dtype == self.dtype and (not ranks or value.rank in ranks) and fits(value)]
        return self.choice(found[-3:] if self.chance(0.75) else found)

    def axis(self, value):
        """Of either sign."""
        axis = self.integer(0, value.rank - 1)
        return axis - value.rank if self.chance(0.3) else axis

    # --- building ---

    def name(self):
        self.count += 1
        return self.names.format(self.count)

    def constant(self, array, dtype=None):
        """The name of a constant: an initializer, or the result of a Constant. Equal arrays often share one."""
        array = np.asarray(array, dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key in self.shared and self.chance(0.7):
            return self.shared[key]
        name = self.shared[key] = self.name()
        self.known[name] = array
        if self.chance(self.constant_nodes):
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        else:
            self.weights[name] = array
        return name

    def ints(self, *numbers):
        return self.constant(numbers, np.int64)

    def weight(self, array):
        """A constant of floats. At times it is one that others read, or behind an operation that moves it."""
        array = np.asarray(array, self.dtype)
        if self.chance(0.1):
            return self.choice([name for name, known in self.weights.items()
                                if known.shape == array.shape and known.dtype == array.dtype]
                               or [self.constant(array)])
        if self.chance(0.15) and array.ndim:
            order = self.rng.permutation(array.ndim)
            return self.choice([
                lambda: self.make("Transpose", self.constant(array.transpose(order)), perm=np.argsort(order)),
                lambda: self.make("Reshape", self.constant(array.reshape(-1)), self.ints(*array.shape)),
                lambda: self.make("Identity", self.constant(array)),
                lambda: self.make("Cast", self.constant(array.astype(np.float16)), to=type_of(self.dtype)),
            ])()[0].name
        return self.constant(array)

    def input(self, array, draw, open_axes=()):
        value = Value(self.name(), np.asarray(array))
        self.known[value.name] = value.array
        self.inputs.append(Input(value, draw, {axis: f"d{axis}_{value.shape[axis]}" for axis in open_axes}))
        self.values.append(value)
        return value

    def add(self, op, *inputs, **settings):
        """The results of a node, from now on values to pick."""
        made = self.make(op, *inputs, **settings)
        self.values += made
        return made

    def make(self, op, *inputs, outputs=1, domain="", **attributes):
        """The results of a node. Inputs are values, names, or None for what is left out; so are attributes."""
        names = [value.name if isinstance(value, Value) else value or "" for value in inputs]
        while names and not names[-1]:
            names.pop()
        results = [self.name() for _ in range(outputs)]
        node = helper.make_node(op, names, results, name=self.name() if self.chance(0.7) else "", domain=domain,
                                **{key: value for key, value in attributes.items() if value is not None})
        found = self.run(node)
        self.nodes.append(node)
        self.known |= dict(zip(results, found))
        return [Value(name, array) for name, array in zip(results, found)]

    def run(self, node):
        used = {name: self.known[name] for name in names_read(node)}
        model = self.model([node], [info_of(name, array.dtype, array.shape) for name, array in used.items()],
                           [helper.make_empty_tensor_value_info(name) for name in node.output], {})
        try:
            found = session_of(model).run(None, used)
        except Exception as problem:
            raise Refused(f"{node.op_type}: {problem}") from None
        for array in found:
            check_useful(array)
        return found

    def model(self, nodes, inputs, outputs, weights):
        made = model_of(nodes, inputs, outputs, weights, self.opset)
        for domain in sorted({node.domain for node in nodes} - {""}):
            made.opset_import.append(helper.make_opsetid(domain, 1))
        return made


def names_read(node):
    """The names that a node reads, in its subgraphs, too."""
    names = dict.fromkeys(name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            graph = attribute.g
            inner = {name for n in graph.node for name in n.output} | {value.name for value in graph.input}
            read = {name for n in graph.node for name in names_read(n)} | {value.name for value in graph.output}
            names |= dict.fromkeys(sorted(read - inner - {tensor.name for tensor in graph.initializer}))
    return names


def check_useful(array):
    if not 0 < array.size <= LARGEST or array.ndim > 5:
        raise Refused(f"a result of shape {array.shape}")
    if array.dtype.kind == "f":
        limit = MAGNITUDES.get(array.dtype, MAGNITUDE)
        if not np.isfinite(array).all() or np.abs(array).max() > limit:
            raise Refused("a result beyond what is useful")
