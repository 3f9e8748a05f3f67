"""Models with bodies: branches that hold networks, a decoder in a loop, a recurrent cell in a scan."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Body:
    """Nodes and constants of one graph. Weights are float32, or of `dtype`."""

    def __init__(self, opset, seed, dtype=np.float32):
        self.opset, self.random, self.dtype = opset, np.random.default_rng(seed), dtype
        self.element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.nodes, self.initializers = [], []

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, name, *shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 16)
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype(self.dtype))

    def node(self, kind, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"node_{outputs[0]}",
                                           **attributes))
        return outputs[0]

    def unsqueeze(self, value, axis, output):
        if self.opset >= 13:
            axes = self.constant(f"{output}_axes", np.array([axis], np.int64))
            return self.node("Unsqueeze", [value, axes], output)
        return self.node("Unsqueeze", [value], output, axes=[axis])

    def squeeze(self, value, axis, output):
        if self.opset >= 13:
            axes = self.constant(f"{output}_axes", np.array([axis], np.int64))
            return self.node("Squeeze", [value, axes], output)
        return self.node("Squeeze", [value], output, axes=[axis])

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)


def value(name, element, shape):
    return helper.make_tensor_value_info(name, element, shape)


def model_of(graph, opset):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                             ir_version={8: 4, 11: 6, 13: 7, 16: 8}.get(opset, 10))


def voice_branch(opset, seed, name, dtype, channels, inner):
    """Two convolutions, the first with fixed filters as of a Fourier transform, an LSTM, and a product
    with a weight from outside. `inner`: an If in between, whose branches have weights, too."""
    body = Body(opset, seed, dtype)
    # The same names in both branches, as exporters write them.
    x = body.unsqueeze("audio", 1, "framed")
    x = body.node("Conv", [x, body.weight("basis", 2 * channels, 1, 64)], "spectrum", strides=[32])
    x = body.node("Abs", [x], "magnitude")
    x = body.node("Conv", [x, body.weight("conv.weight", 64, 2 * channels, 3),
                           body.weight("conv.bias", 64)], "features", pads=[1, 1])
    x = body.node("Relu", [x], "rectified")
    if inner:
        branches = {}
        for branch, width in (("then_branch", 1), ("else_branch", 3)):
            part = Body(opset, seed + width, dtype)
            part.node("Conv", ["rectified", part.weight("inner.weight", 64, 64, width)], "inner_out",
                      pads=[width // 2, width // 2])
            branches[branch] = part.graph(f"{name}_{branch}", [],
                                          [value("inner_out", body.element, None)])
        x = body.node("If", ["wide"], "chosen", **branches)
    x = body.node("Transpose", [x], "steps", perm=[2, 0, 1])
    hidden = 64
    body.node("LSTM", [x, body.weight("W", 1, 4 * hidden, 64), body.weight("R", 1, 4 * hidden, hidden),
                       body.weight("B", 1, 8 * hidden), "", "state", "state"],
              ["", "last"], hidden_size=hidden)
    x = body.squeeze("last", 0, "last_flat")
    x = body.node("MatMul", [x, "shared.weight"], "projected")
    x = body.node("Gemm", [x, body.weight("head.weight", 64, 48)], "logits")
    body.node("Sigmoid", [x], "speech")
    return body.graph(name, [], [value("speech", body.element, None)])


def voice_model(opset, dtype=np.float32):
    """As voice detectors for two rates are exported: an If between whole networks."""
    outer = Body(opset, 1, dtype)
    element = outer.element
    outer.weight("shared.weight", 64, 64)
    outer.node("Abs", ["audio"], "loud")
    outer.node("If", ["fast"], "result",
               then_branch=voice_branch(opset, 2, "fast", dtype, 48, inner=True),
               else_branch=voice_branch(opset, 5, "slow", dtype, 32, inner=False))
    graph = outer.graph("voice", [value("audio", element, [1, 512]), value("state", element, [1, 1, 64]),
                                  value("fast", BOOL, []), value("wide", BOOL, [])],
                        [value("result", element, None), value("loud", element, None)])
    graph.output[0].CopyFrom(value("result", element, [1, 48]))
    graph.output[1].CopyFrom(value("loud", element, [1, 512]))
    random = np.random.default_rng(9)
    samples = [{"audio": random.standard_normal((1, 512)).astype(dtype),
                "state": random.standard_normal((1, 1, 64)).astype(dtype),
                "fast": np.array(fast), "wide": np.array(wide)}
               for fast, wide in ((True, True), (True, False), (False, True))]
    return model_of(graph, opset), samples


def decoder_model(opset, dtype=np.float32):
    """Greedy decoding: each trip looks up a token, computes the next state and the next token, and
    stops at a certain one. The embedding is outside, read in the loop as a table and by its
    transpose; the other weights are inside."""
    vocabulary, width = 96, 64
    body = Body(opset, 11, dtype)
    element = body.element
    x = body.node("Gather", ["embedding", "token"], "embedded")
    x = body.node("MatMul", [x, body.weight("in.weight", width, width)], "from_token")
    y = body.node("MatMul", ["memory", body.weight("state.weight", width, width)], "from_state")
    x = body.node("Add", [x, y], "sum")
    body.node("Tanh", [x], "memory_out")
    x = body.node("MatMul", ["memory_out", body.weight("up.weight", width, 4 * width)], "wide")
    x = body.node("Relu", [x], "wide_relu")
    x = body.node("MatMul", [x, body.weight("down.weight", 4 * width, width)], "narrow")
    body.node("Transpose", ["embedding"], "unembedding", perm=[1, 0])
    body.node("MatMul", [x, "unembedding"], "scores")
    body.node("ArgMax", ["scores"], "token_out", axis=-1, keepdims=0)
    body.node("Equal", ["token_out", body.constant("stop", np.array([-1], np.int64))], "stopped")
    body.node("Not", ["stopped"], "going")
    body.squeeze("going", 0, "going_on")
    graph = body.graph("step", [value("trip", INT64, []), value("going_in", BOOL, []),
                                value("token", INT64, [1]), value("memory", element, [1, width])],
                       [value("going_on", BOOL, []), value("token_out", INT64, [1]),
                        value("memory_out", element, [1, width]),
                        value("scores", element, [1, vocabulary])])
    outer = Body(opset, 12, dtype)
    outer.weight("embedding", vocabulary, width)
    outer.node("Loop", ["trips", "", "first_token", "first_memory"],
               ["last_token", "last_memory", "all_scores"], body=graph)
    model = outer.graph("decoder", [value("trips", INT64, []), value("first_token", INT64, [1]),
                                    value("first_memory", element, [1, width])],
                        [value("last_token", INT64, [1]), value("last_memory", element, [1, width]),
                         value("all_scores", element, ["trips", 1, vocabulary])])
    random = np.random.default_rng(19)
    samples = [{"trips": np.array(trips, np.int64), "first_token": np.array([7], np.int64),
                "first_memory": random.standard_normal((1, width)).astype(dtype)}
               for trips in (5, 1, 0)]
    return model_of(model, opset), samples


def scan_model(opset, dtype=np.float32):
    """A recurrent cell over the second axis, backwards; what it yields is stacked along the second."""
    width = 64
    body = Body(opset, 21, dtype)
    element = body.element
    x = body.node("MatMul", ["x", body.weight("input.weight", 32, width)], "from_input")
    y = body.node("MatMul", ["h", "outer.weight"], "from_state")
    x = body.node("Add", [x, y], "sum")
    body.node("Tanh", [x], "h_out")
    body.node("Gemm", ["h_out", body.weight("out.weight", width, width), body.weight("out.bias", width)],
              "y")
    graph = body.graph("cell", [value("h", element, [2, width]), value("x", element, [2, 32])],
                       [value("h_out", element, [2, width]), value("y", element, [2, width])])
    outer = Body(opset, 22, dtype)
    outer.weight("outer.weight", width, width)
    outer.node("Scan", ["start", "sequence"], ["last", "all"], body=graph, num_scan_inputs=1,
               scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1],
               scan_output_directions=[1])
    model = outer.graph("recurrent", [value("start", element, [2, width]),
                                      value("sequence", element, [2, "steps", 32])],
                        [value("last", element, [2, width]), value("all", element, [2, "steps", width])])
    random = np.random.default_rng(29)
    samples = [{"start": random.standard_normal((2, width)).astype(dtype),
                "sequence": random.standard_normal((2, steps, 32)).astype(dtype)} for steps in (6, 1)]
    return model_of(model, opset), samples


MODELS = {"voice": voice_model, "decoder": decoder_model, "scan": scan_model}
