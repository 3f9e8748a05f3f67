"""What `convert --target openvino-cpu` makes of FakeQuantize models, against OpenVINO's own execution of
them in int8; and the weights of models that OpenVINO ships in two forms.
"""

import _peers

import re
import sys
import xml.etree.ElementTree as xml

import numpy as np
import onnx
import openvino
from onnx import numpy_helper
from openvino import opset13 as ops

from _command import quadrant, run_tests, scratch
from _models import SHARED
from _openvino import compiled_by_openvino

core = openvino.Core()
SAMPLES = 24


def outputs(model, samples):
    compiled = compiled_by_openvino(model)
    return [np.array(compiled([sample])[0]) for sample in samples], compiled


def convert(source, target, *options):
    done = quadrant("convert", source, target, *options)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr.strip()}"
    return done.stdout


def run_here(model, name, samples, folder):
    """What the interpreter computes; on codes, where the model says so."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for i, sample in enumerate(samples):
        np.savez(data / f"{i:03}.npz", **{name: sample})
    out = folder / f"out_{model.stem}"
    done = quadrant("run", model, "--data", data, "-o", out)
    assert done.returncode == 0, done.stderr
    results = []
    for path in sorted(out.glob("*.npz")):
        with np.load(path) as arrays:
            results.append(arrays[arrays.files[0]])
    return results


def distances(found, wanted):
    """The largest difference, and the root of the mean square."""
    differences = np.concatenate([np.ravel(a - b) for a, b in zip(found, wanted)]).astype(np.float64)
    return np.abs(differences).max(), np.sqrt(np.mean(differences ** 2))


# --- networks made here -------------------------------------------------------------------------------


class Network:
    """A network of quantized layers, built in OpenVINO and as a graph of reals without FakeQuantize."""

    def __init__(self, seed, shape):
        self.rng = np.random.default_rng(seed)
        self.input = ops.parameter(shape, np.float32, name="x")
        self.input.output(0).set_names({"x"})

    def constant(self, *shape, low=-1, high=1):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    @staticmethod
    def fake(node, low, high, levels=256):
        bounds = [ops.constant(np.asarray(bound, np.float32)) for bound in (low, high, low, high)]
        return ops.fake_quantize(node, *bounds, levels)

    def activation(self, node, low, high):
        """256 levels, zero among them: per tensor, or per channel for lists."""
        low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
        scale = (high - low) / 255
        zero = np.rint(-low / scale)
        return self.fake(node, (0 - zero) * scale, (255 - zero) * scale)

    def weight(self, *shape):
        """255 levels, each output channel with its own. Its signs alternate in the order (height, width,
        input), so that no two neighbours' products leave 16 bits together (`_saturation`)."""
        reals = self.constant(*shape)
        alternating = (-1) ** np.arange(np.prod(shape[1:])).reshape(*shape[2:], shape[1])
        first = np.sign(reals.reshape(shape[0], -1)[:, 0]).reshape(-1, *[1] * (len(shape) - 1))
        reals = np.abs(reals) * first * np.moveaxis(alternating, -1, 0).astype(np.float32)
        most = np.abs(reals).reshape(shape[0], -1).max(1).reshape(-1, *[1] * (len(shape) - 1))
        return self.fake(ops.constant(reals), -most, most, 255)

    def conv(self, node, outputs_, inputs, size=3):
        made = ops.convolution(node, self.weight(outputs_, inputs, size, size), [1, 1], [0, 0], [0, 0], [1, 1])
        return ops.add(made, ops.constant(self.constant(1, outputs_, 1, 1)))

    def depthwise(self, node, channels, size=3):
        weights = ops.reshape(self.weight(channels, 1, size, size),
                              ops.constant(np.array([channels, 1, 1, size, size])), False)
        made = ops.group_convolution(node, weights, [1, 1], [0, 0], [0, 0], [1, 1])
        return ops.add(made, ops.constant(self.constant(1, channels, 1, 1)))


def chain(net):
    """Convolutions, PRelu, pooling, one depthwise with channels of their own: requantized throughout."""
    y = net.conv(net.activation(net.input, -1.28, 1.27), 8, 3)
    y = ops.prelu(y, ops.constant(net.constant(8, low=0.05, high=0.4)))
    channels = np.linspace(2, 6, 8).reshape(1, 8, 1, 1)
    y = net.depthwise(net.activation(y, -channels / 3, channels), 8)
    y = ops.max_pool(net.activation(ops.relu(y), 0, 4), [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
    return net.conv(y, 5, 8, 1)


def residual(net):
    """An Add of two that are quantized differently, neither around zero."""
    x = net.activation(net.input, -0.5, 2.05)
    a = net.activation(net.conv(x, 6, 3), -2, 3)
    b = net.activation(net.conv(x, 6, 3), -1, 5)
    return net.conv(net.activation(ops.add(a, b), -3, 8), 4, 6, 1)


def branches(net):
    """A Concat of two ranges, in front of a convolution, which takes one."""
    x = net.activation(net.input, -1.28, 1.27)
    a = net.activation(ops.relu(net.conv(x, 4, 3)), 0, 2.55)
    b = net.activation(ops.relu(net.conv(x, 4, 3)), 0, 1.275)
    return net.conv(ops.concat([a, b], 1), 4, 8, 1)


NETWORKS = {"chain": chain, "residual": residual, "branches": branches}


def check_network(build, seed):
    """What FakeQuantize says, but for ties; and no farther from OpenVINO's int8, whose kernels round on
    their way, than that is from the model in floats."""
    net = Network(seed, [1, 3, 10, 10])
    model = openvino.Model([build(net)], [net.input], "net")
    samples = [net.constant(1, 3, 10, 10, low=-1.5, high=2) for _ in range(SAMPLES)]
    with scratch() as folder:
        openvino.save_model(model, folder / "net.xml", compress_to_fp16=False)
        said = convert(folder / "net.xml", folder / "codes.qd", "--target", "openvino-cpu")
        integers, compiled = outputs(core.read_model(str(folder / "net.xml")), samples)
        kinds = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
        assert any(kind["layerType"].astype(str) == "Convolution" and
                   kind["runtimePrecision"].astype(str) in ("u8", "i8") for kind in kinds)
        plain = re.sub("levels=\"25[56]\"", "levels=\"16777217\"", (folder / "net.xml").read_text())
        (folder / "plain.xml").write_text(plain)
        (folder / "plain.bin").write_bytes((folder / "net.bin").read_bytes())
        floats, _ = outputs(core.read_model(str(folder / "plain.xml")), samples)
        ours = run_here(folder / "codes.qd", "x", samples, folder)
        convert(folder / "net.xml", folder / "defined.qd")
        defined = run_here(folder / "defined.qd", "x", samples, folder)
        convolutions = re.search(r"conv +(\d+) +(\d+)", said)
        assert convolutions and convolutions[2] == "0", said
        worst, usual = distances(ours, integers)
        most, mean = distances(integers, floats)
        assert worst <= most and usual <= mean, f"{worst:.3g} of {most:.3g}, {usual:.3g} of {mean:.3g}"
        if build is branches:  # aligned to one grid, here as there: not what FakeQuantize says
            return
        largest = max(np.abs(result).max() for result in defined)
        off = np.concatenate([np.ravel(np.abs(a - b)) for a, b in zip(ours, defined)]) > 1e-5 * largest
        assert off.mean() <= 0.01, f"{off.mean():.1%} are not what FakeQuantize says, beside a tie or not"


def test_networks():
    for name, build in NETWORKS.items():
        for seed in range(4):
            yield f"{name} {seed}", check_network, build, seed


# --- models that are shipped --------------------------------------------------------------------------


def stored_integers(path):
    """The int8 and uint8 constants of an IR, in order, as int8 around zero; read without us."""
    contents = path.with_suffix(".bin").read_bytes()
    found = []
    for layer in xml.parse(path).getroot().find("layers"):
        data = layer.find("data")
        if layer.get("type") == "Const" and data.get("element_type") in ("i8", "u8"):
            offset, size = int(data.get("offset")), int(data.get("size"))
            if data.get("element_type") == "i8":
                codes = np.frombuffer(contents, np.int8, size, offset)
            else:
                codes = np.frombuffer(contents, np.uint8, size, offset).astype(np.int16) - 127
            found.append(codes.astype(np.int8))
    return found


def weights_of(path, folder):
    """(codes, scales) of the weights that convolutions of an IR have, in their order, by way of ONNX."""
    convert(path, folder / "model.onnx")
    graph = onnx.load(folder / "model.onnx").graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made = {node.output[0]: node for node in graph.node}
    weights = []
    for node in graph.node:
        if node.op_type != "Conv":
            continue
        source = made[node.input[1]]
        while source.op_type == "Reshape":
            source = made[source.input[0]]
        assert source.op_type == "DequantizeLinear", f"{node.name}: {source.op_type}"
        assert len(source.input) < 3 or not constants[source.input[2]].any()
        weights.append((constants[source.input[0]], constants[source.input[1]]))
    return weights


def pairs_of_forms():
    """Models that are there in IR version 10 and 11."""
    for old in sorted(SHARED.glob("*_v10.xml")) if SHARED.is_dir() else []:
        new = old.with_name(old.name.replace("_v10", ""))
        if new.is_file():
            yield old, new


def test_both_forms_of_shipped_weights():
    """The same integers; the scales are those that each file has, which are rounded to float16
    in version 10."""
    for old, new in pairs_of_forms():
        with scratch() as folder:
            first, second = weights_of(old, folder), weights_of(new, folder)
        assert len(first) == len(second) > 0
        for (a, scale_a), (b, scale_b), codes in zip(first, second, stored_integers(new)):
            assert np.array_equal(a, b) and np.array_equal(np.ravel(b), codes)
            assert np.array_equal(scale_b.astype(np.float16).astype(np.float32), scale_a)


def check_shipped(path):
    """On codes from the first FakeQuantize to the output, and no farther from OpenVINO's int8 than that is
    from the float model."""
    whole = core.read_model(str(SHARED / re.sub("_fp16-int8.*", "_fp32.xml", path.name)))
    shape = [dim.get_length() for dim in whole.inputs[0].partial_shape]
    rng = np.random.default_rng(0)
    samples = [rng.uniform(0, 255, shape).astype(np.float32) for _ in range(SAMPLES)]
    integers, _ = outputs(core.read_model(str(path)), samples)
    floats, _ = outputs(whole, samples)
    with scratch() as folder:
        said = convert(path, folder / "codes.qd", "--target", "openvino-cpu")
        name = re.search(r"^%(\S+): [^\n]* = input\(", (folder / "codes.qd").read_text(), re.M)[1]
        ours = run_here(folder / "codes.qd", name, samples, folder)
    for kind in ("conv", "onnx.PRelu", "onnx.MaxPool"):
        assert re.search(rf"{kind} +\d+ +0\n", said), said
    (worst, usual), (most, mean) = distances(ours, integers), distances(integers, floats)
    assert worst <= most and usual <= mean, f"{worst:.3g} of {most:.3g}, {usual:.3g} of {mean:.3g}"


def test_shipped_models():
    for path in sorted(SHARED.glob("*_fp16-int8*.xml")) if SHARED.is_dir() else []:
        yield path.name, check_shipped, path


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
