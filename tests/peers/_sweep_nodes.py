"""The nodes of a random model, each run alone in ONNX Runtime, so that what goes from one to the next can be
changed."""

from onnx import helper, numpy_helper

from _models import session_of
from _sweep_builder import info_of, names_read


class Nodes:
    def __init__(self, builder, graph):
        self.builder, self.graph = builder, graph
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._sessions = {}

    def run(self, node, known):
        """The results, of operands that are known by name."""
        used = {name: known[name] for name in names_read(node)}
        key = node.output[0], tuple(array.shape for array in used.values())
        if key not in self._sessions:
            infos = [info_of(name, array.dtype, array.shape) for name, array in used.items()]
            outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
            self._sessions[key] = session_of(self.builder.model([node], infos, outputs, {}))
        return self._sessions[key].run(None, used)

    def values(self, feed, changed):
        """All values by name; `changed(node, name, array)` is what a result becomes before it is read."""
        known = {**self.constants, **feed}
        for node in self.graph.node:
            for name, array in zip(node.output, self.run(node, known), strict=True):
                known[name] = changed(node, name, array)
        return known
