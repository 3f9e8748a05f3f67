"""Small models of one operation each, as OpenVINO's IR and as ONNX, with their inputs."""

import numpy as np
import openvino as ov
from onnx import TensorProto, helper
from openvino import opset1, opset2, opset3, opset4, opset5, opset6, opset7, opset8, opset9, opset10
from openvino import opset11, opset12, opset13, opset14, opset15, opset16 as ops

from _models import model_of

F, I, L, B = np.float32, np.int32, np.int64, bool


def random(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype == bool:
        return rng.random(shape) > 0.5
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 3, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


# --- IR --------------------------------------------------------------------------------------------


def divided_to_zero(x, y):
    """Where integers are rounded towards zero."""
    made = ops.divide(x, y)
    made.set_attribute("m_pythondiv", False)
    return made


class In:
    """An input of a model: a Parameter, and what is fed. `open` axes have no extent in the model."""

    def __init__(self, *shape, dtype=F, values=None, open=()):
        self.array = None if values is None else np.asarray(values, dtype)
        self.shape = tuple(shape) if values is None else self.array.shape
        self.dtype, self.open = dtype, open

    def node(self):
        shape = [-1 if i in self.open else extent for i, extent in enumerate(self.shape)]
        return ops.parameter(shape, self.dtype)

    def data(self, seed):
        return random(self.shape, self.dtype, seed) if self.array is None else self.array


class IrCase:
    def __init__(self, name, inputs, build, tolerance=2e-6, carried=False, copy_tolerance=0):
        self.name, self.inputs, self.build = name, inputs, build
        self.tolerance, self.is_carried, self.copy_tolerance = tolerance, carried, copy_tolerance

    def model(self):
        nodes = [given.node() for given in self.inputs]
        made = self.build(*nodes)
        results = [output for node in (made if isinstance(made, list) else [made])
                   for output in ([node] if isinstance(node, ov.Output) else node.outputs())]
        return ov.Model([ops.result(output) for output in results], nodes, "made")

    def feeds(self):
        return [given.data(seed) for seed, given in enumerate(self.inputs)]


IRS = []


def ir(name, inputs, build, **settings):
    IRS.append(IrCase(name, inputs if isinstance(inputs, list) else [inputs], build, **settings))


def c(values, dtype=L):
    return ops.constant(np.array(values, dtype))


def rnd(*shape, seed=7, dtype=F):
    return ops.constant(random(shape, dtype, seed))


# axes
ir("squeeze", In(1, 3, 1), lambda x: opset1.squeeze(x, c([0])))
ir("squeeze_scalar_axis", In(1, 3, 1), lambda x: opset1.squeeze(x, c(2)))
ir("squeeze_all", In(1, 3, 1), lambda x: ops.squeeze(x))
ir("unsqueeze", In(2, 3), lambda x: ops.unsqueeze(x, c([0, 3], I)))
ir("unsqueeze_scalar_axis", In(2, 3), lambda x: ops.unsqueeze(x, c(-1)))
ir("reshape_copies", In(2, 3, 4), lambda x: ops.reshape(x, c([0, -1]), True))
ir("transpose_reversed", In(2, 3, 4), lambda x: ops.transpose(x, ops.constant(np.zeros(0, L))))
# copies
ir("broadcast_numpy", In(3), lambda x: ops.broadcast(x, c([2, 3])))
ir("broadcast_bidirectional", In(2, 1, 3), lambda x: ops.broadcast(x, c([4, 1]), None, "BIDIRECTIONAL"))
ir("broadcast_explicit", In(3), lambda x: ops.broadcast(x, c([2, 3, 4]), c([1]), "EXPLICIT"))
ir("broadcast_computed", [In(3), In(values=[2, 3], dtype=I)], lambda x, s: ops.broadcast(x, s))
ir("tile", In(2, 3), lambda x: ops.tile(x, c([2, 1])))
ir("tile_more_repeats", In(2, 3), lambda x: ops.tile(x, c([2, 1, 3])))
ir("tile_fewer_repeats", In(2, 3, 2), lambda x: ops.tile(x, c([2, 1], I)))
ir("tile_computed_repeats", [In(2, 3, 2), In(values=[2, 1], dtype=L)], lambda x, n: ops.tile(x, n))
for mode in "constant", "edge", "reflect", "symmetric":
    ir(f"pad_{mode}", In(3, 4), lambda x, m=mode: ops.pad(x, c([1, 0]), c([0, 2]), m, ops.constant(F(7)) if m == "constant" else None),
       carried=mode == "symmetric")
ir("pad_1", In(3, 4), lambda x: opset1.pad(x, c([1, 0], I), c([0, 2], I), "constant"))
ir("pad_negative", In(3, 4), lambda x: ops.pad(x, c([-1, 0]), c([0, 2]), "constant", ops.constant(F(7))))
ir("pad_computed", [In(3, 4), In(values=[1, 1], dtype=I)], lambda x, n: ops.pad(x, n, n, "constant"))
# pixels
for mode in "blocks_first", "depth_first":
    ir(f"depth_to_space_{mode}", In(1, 8, 2, 3), lambda x, m=mode: ops.depth_to_space(x, m, 2))
    ir(f"space_to_depth_{mode}", In(1, 2, 4, 6), lambda x, m=mode: ops.space_to_depth(x, m, 2))
    ir(f"depth_to_space_1d_{mode}", In(1, 8, 3), lambda x, m=mode: ops.depth_to_space(x, m, 2))
    ir(f"depth_to_space_3d_{mode}", In(1, 16, 2, 3, 2), lambda x, m=mode: ops.depth_to_space(x, m, 2))
    ir(f"space_to_depth_3d_{mode}", In(2, 3, 4, 2, 6), lambda x, m=mode: ops.space_to_depth(x, m, 2))
ir("space_to_batch", In(2, 4, 5, 2), lambda x: opset2.space_to_batch(x, c([1, 2, 3, 1]), c([0, 1, 0, 0]), c([0, 1, 1, 0])))
ir("batch_to_space", In(12, 2, 3, 2), lambda x: opset2.batch_to_space(x, c([1, 2, 3, 1]), c([0, 1, 2, 0]), c([0, 0, 1, 0])))
ir("roll", In(4, 5), lambda x: opset7.roll(x, c([2, -1]), c([0, 1])))
ir("roll_same_axis", In(4, 5), lambda x: opset7.roll(x, c([7, -1]), c([-1, -1])))
ir("shuffle_channels", In(2, 6, 3, 3), lambda x: ops.shuffle_channels(x, 1, 3))
ir("shuffle_channels_open", In(2, 6, 3, 3, open=(0,)), lambda x: ops.shuffle_channels(x, -3, 2))
ir("reverse_sequence", In(3, 4, 2), lambda x: ops.reverse_sequence(x, c([1, 4, 2], I), 0, 1))
ir("reverse_sequence_time_first", In(4, 3, 2), lambda x: ops.reverse_sequence(x, c([1, 4, 2]), 1, 0))
# splits and slices
ir("split", In(4, 6), lambda x: ops.split(x, c(1), 3))
ir("split_negative_axis", In(4, 6), lambda x: ops.split(x, c(-2), 2))
ir("variadic_split", In(4, 6), lambda x: ops.variadic_split(x, c(1), c([1, -1, 2])))
ir("variadic_split_computed", [In(4, 6), In(values=[2, 4], dtype=L)], lambda x, n: ops.variadic_split(x, c(1), n), carried=True)
ir("slice", In(4, 6), lambda x: ops.slice(x, c([1]), c([5]), c([2]), c([1])))
ir("slice_backwards", In(4, 6), lambda x: ops.slice(x, c([3, -1], I), c([-99, 1], I), c([-1, -2], I)))
ir("slice_computed", [In(4, 6), In(values=[1, 2], dtype=I)], lambda x, s: ops.slice(x, s, c([4, 6], I), c([1, 1], I)))


def strided(x, begin, end, strides=None, b=None, e=None, new=None, shrink=None, ellipsis=None):
    zeros = [0] * len(begin)
    return ops.strided_slice(x, c(begin), c(end), c(strides or [1] * len(begin)), b or zeros, e or zeros,
                             new or zeros, shrink or zeros, ellipsis or zeros)


ir("strided_slice", In(4, 6), lambda x: strided(x, [1, 0], [3, 5], [1, 2]))
ir("strided_slice_masks", In(4, 6), lambda x: strided(x, [1, 3], [3, 5], b=[0, 1], e=[1, 0]))
ir("strided_slice_backwards", In(4, 6), lambda x: strided(x, [0, -1], [0, 0], [-1, -2], b=[1, 0], e=[1, 1]))
ir("strided_slice_shrink", In(4, 6), lambda x: strided(x, [-1, 2], [0, 0], shrink=[1, 0], e=[0, 1]))
ir("strided_slice_new_axis", In(4, 6), lambda x: strided(x, [0, 1, 0], [0, 3, 6], new=[1, 0, 0]))
ir("strided_slice_ellipsis", In(4, 6, 2, 3), lambda x: strided(x, [1, 0, 0, 1], [3, 0, 0, 2], ellipsis=[0, 1, 0, 0], new=[0, 0, 1, 0]))
ir("strided_slice_short", In(4, 6), lambda x: strided(x, [1], [3]))
ir("strided_slice_computed", [In(4, 6), In(values=[1, 2], dtype=L)], lambda x, n: ops.strided_slice(x, n, c([4, 6]), c([1, 1]), [0, 0], [0, 0]))
# by index
ir("gather_1", In(4, 3), lambda x: opset1.gather(x, c([2, 0], I), c(0)))
ir("gather_7", In(4, 3), lambda x: opset7.gather(x, c([[2, 0]]), c(-1)))
ir("gather_8", In(4, 3), lambda x: ops.gather(x, c([-1, 0]), c(0)))
ir("gather_scalar", In(4, 3), lambda x: ops.gather(x, c(1), c(1)))
ir("gather_batch", In(2, 4, 3), lambda x: ops.gather(x, c([[1, 0], [2, -1]]), c(1), 1))
ir("gather_batch_negative", In(2, 4, 3), lambda x: ops.gather(x, c([[1], [2]], I), c(-2), -1))
ir("gather_batch_far_axis", In(2, 4, 3), lambda x: ops.gather(x, c([[1, 0], [2, 1]]), c(2), 1), carried=True)
for right in False, True:
    ir(f"bucketize_{right}", In(3, 4), lambda x, w=right: opset3.bucketize(x, c([-1, 0, .5], F), "i32", w))
    ir(f"bucketize_on_a_limit_{right}", In(values=[-2, 0, 1, 4], dtype=L), lambda x, w=right: opset3.bucketize(x, c([0, 1, 4]), "i64", w))
    ir(f"search_sorted_{right}", In(2, 3), lambda x, w=right: ops.search_sorted(c([[-1, 0, .5], [0, 0, 1]], F), x, w))
    ir(f"search_sorted_list_{right}", In(values=[[0, 1], [5, 2]], dtype=L), lambda x, w=right: ops.search_sorted(c([0, 1, 1, 2]), x, w))
ir("embedding_bag", In(5, 3), lambda x: opset3.embedding_bag_packed_sum(x, c([[0, 2], [4, 4], [1, 0]], I)))
ir("embedding_bag_weights", In(5, 3, 2), lambda x: opset3.embedding_bag_packed_sum(x, c([[0, 2], [4, 4]]), rnd(2, 2)))
ir("eye", In(values=[3], dtype=L), lambda n: opset9.eye(n, c([4]), c([1]), "f32"))
ir("eye_int", In(values=3, dtype=I), lambda n: opset9.eye(n, n, c(-1), "i64"))
for axis in None, 0:
    ir(f"unique_{axis}", In(values=[[3, 1], [0, 2], [3, 1]], dtype=F), lambda x, i=axis: opset10.unique(x, None if i is None else c(i)))
ir("unique_unsorted", In(values=[3, 1, 3, 0], dtype=L), lambda x: opset10.unique(x, None, False, "i32"), carried=True)
for mode in "avg", "max":
    for aligned in "asymmetric", "half_pixel_for_nn", "half_pixel":  # ONNX Runtime's largest is of weighted pixels
        ir(f"roi_align_{mode}_{aligned}", In(2, 3, 8, 7), lambda x, m=mode, w=aligned: opset9.roi_align(
            x, c([[0, 0, 6, 5], [1, 2, 4.5, 6]], F), c([1, 0], I), 3, 2, 2, .5, m, w), carried=mode == "max" or aligned == "half_pixel", tolerance=1e-5)
for sorts in False, True:
    ir(f"nms_{sorts}", [In(values=[[[0, 0, 1, 1], [0, .1, 1, 1.1], [0, 10, 1, 11]]]), In(values=[[[.9, .8, .7], [.1, .6, .95]]])],
       lambda b, s, o=sorts: opset9.non_max_suppression(b, s, c(2), c(.5, F), c(.3, F), sort_result_descending=o, output_type="i64").output(0), carried=sorts)
ir("columns", In(1, 12, 9), lambda x: opset15.col2im(x, c([4, 4]), c([2, 2])))
ir("columns_settings", In(2, 12, 12), lambda x: opset15.col2im(x, c([7, 4], I), c([2, 2], I), [2, 1], [2, 1], [1, 0], [0, 1]))
ir("promoted", [In(2, 3, dtype=np.int8), In(2, 3)], lambda x, y: opset14.convert_promote_types(x, y))
ir("divide_down", [In(values=[7, -7, 7, -7, 6], dtype=I), In(values=[2, 2, -2, -2, 3], dtype=I)], lambda x, y: ops.divide(x, y))
ir("divide_down_broadcast", In(values=[[7, -7], [8, 1]], dtype=L), lambda x: ops.divide(x, c([2, -3])))
ir("divide_to_zero", [In(values=[7, -7, 7, -7, 6], dtype=I), In(values=[2, 2, -2, -2, 3], dtype=I)], divided_to_zero)
for name, build in {"dft": opset7.dft, "idft": opset7.idft}.items():
    ir(name, In(2, 6, 2), lambda x, f=build: f(x, c([1])), tolerance=1e-5)
    ir(f"{name}_axes", In(3, 4, 5, 2), lambda x, f=build: f(x, c([0, -1])), tolerance=1e-5, copy_tolerance=1e-5)
    ir(f"{name}_sizes", In(2, 6, 2), lambda x, f=build: f(x, c([1]), c([8])), tolerance=1e-5)
ir("rdft", In(2, 6), lambda x: opset9.rdft(x, c([1])), tolerance=1e-5)
ir("rdft_axes", In(3, 4, 6), lambda x: opset9.rdft(x, c([0, 2])), tolerance=1e-5, copy_tolerance=1e-5)
ir("irdft", In(2, 4, 2), lambda x: opset9.irdft(x, c([1])), carried=True)
ir("gather_elements", In(4, 3), lambda x: ops.gather_elements(x, c([[0, 2, 1]], I), 0))
ir("gather_nd", In(4, 3, 2), lambda x: ops.gather_nd(x, c([[0, 2], [3, 1]], I)))
ir("gather_nd_batch", In(4, 3, 2), lambda x: ops.gather_nd(x, c([[2], [1], [0], [1]]), 1))
ir("scatter_elements", In(4, 3), lambda x: opset3.scatter_elements_update(x, c([[0, 2, 1]]), rnd(1, 3), c(0)))
for reduction in "none", "sum", "prod", "min", "max", "mean":
    ir(f"scatter_elements_{reduction}", In(4, 3), lambda x, r=reduction: ops.scatter_elements_update(x, c([[0, 2, 1], [1, 2, 0]], I), rnd(2, 3), c(0), r),
       carried=reduction == "mean")
for reduction in "none", "sum", "prod", "min", "max", "sub":
    ir(f"scatter_nd_{reduction}", In(4, 3), lambda x, r=reduction: ops.scatter_nd_update(x, c([[0], [2]], I), rnd(2, 3), r),
       carried=reduction == "sub")
ir("scatter_nd_4", In(4, 3), lambda x: opset4.scatter_nd_update(x, c([[0], [2]]), rnd(2, 3)))
ir("scatter_rows", In(4, 3), lambda x: ops.scatter_update(x, c([3, 1], I), rnd(2, 3), c(0)))
ir("scatter_columns", In(4, 3), lambda x: ops.scatter_update(x, c([2]), rnd(4, 1), c(1)), carried=True)
# shapes and indices
ir("shape_of_1", In(2, 3, open=(0,)), lambda x: opset1.shape_of(x))
ir("shape_of_i32", In(2, 3, open=(0, 1)), lambda x: ops.shape_of(x, "i32"))
ir("range", [In(values=5, dtype=L)], lambda n: ops.range(c(1), n, c(2), "i64"))
ir("range_cast", [In(values=5, dtype=L)], lambda n: ops.range(c(1), n, c(2), "f32"))
ir("range_computed", [In(2, 5, open=(0, 1))], lambda x: ops.range(c(0), ops.gather(ops.shape_of(x), c(1), c(0)), c(1), "i32"))
ir("one_hot", In(values=[0, 2, -1, 5], dtype=I), lambda x: opset1.one_hot(x, c(4), ops.constant(F(2)), ops.constant(F(-1)), -1))
for mode in "ignore_negative", "normalize":
    ir(f"one_hot_{mode}", In(values=[0, 2, -1], dtype=L), lambda x, m=mode: ops.one_hot(x, c(4), ops.constant(F(2)), ops.constant(F(-1)), 0, m))
ir("non_zero", In(values=[[0, 1], [2, 0]]), lambda x: ops.non_zero(x))
ir("non_zero_i32", In(values=[[0, 1], [2, 0]], dtype=I), lambda x: ops.non_zero(x, "i32"))
# ranking
ir("topk_1", In(4, 6), lambda x: opset1.topk(x, c(2), 1, "max", "value"))
ir("topk_3_min", In(4, 6), lambda x: opset3.topk(x, c(2, I), 0, "min", "value"))
ir("topk_11", In(4, 6), lambda x: ops.topk(x, c(3), -1, "max", "value", "i64", True))
ir("topk_11_ties", In(values=[[1, 3, 3, 2, 3, 1]]), lambda x: ops.topk(x, c(4), -1, "max", "value", "i64", True))
ir("topk_index", In(4, 6), lambda x: opset3.topk(x, c(3), 1, "max", "index"), carried=True)
ir("topk_computed", [In(4, 6), In(values=2, dtype=L)], lambda x, k: opset3.topk(x, k, 1, "max", "value"))
# reductions
for name in "l1", "l2", "max", "mean", "min", "prod", "sum":
    reduce = getattr(ops, f"reduce_{name}")
    ir(f"reduce_{name}", In(3, 4, 5), lambda x, f=reduce: f(x, c([0, -1]), False))
    ir(f"reduce_{name}_keep", In(3, 4, 5), lambda x, f=reduce: f(x, c(1, I), True))
ir("reduce_sum_i32", In(3, 4, dtype=I), lambda x: ops.reduce_sum(x, c([1])))
ir("reduce_and", In(3, 4, dtype=B), lambda x: ops.reduce_logical_and(x, c([1]), False))
ir("reduce_or", In(3, 4, dtype=B), lambda x: ops.reduce_logical_or(x, c([1]), True))
ir("softmax", In(3, 4), lambda x: opset1.softmax(x, 0))
ir("softmax_8", In(3, 4), lambda x: ops.softmax(x, -1))
ir("log_softmax", In(3, 4), lambda x: ops.log_softmax(x, 1))
ir("cum_sum", In(3, 4), lambda x: ops.cum_sum(x, c(1)))
ir("cum_sum_reverse", In(3, 4), lambda x: ops.cum_sum(x, c(0, I), True, True))


# --- ONNX ------------------------------------------------------------------------------------------


class OnnxCase:
    """One node. Inputs are arrays; those named in `weights` are initializers."""

    def __init__(self, name, op, inputs, outputs=1, weights=(), opset=21, tolerance=5e-6,
                 impossible=False, open=False, domain="", **attributes):
        self.name, self.op, self.inputs, self.outputs = name, op, inputs, outputs
        self.weights, self.opset, self.tolerance = weights, opset, tolerance
        self.is_impossible, self.is_open, self.attributes = impossible, open, attributes
        self.domain = domain

    def model(self):
        names = ["" if array is None else f"x{i}" for i, array in enumerate(self.inputs)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, domain=self.domain, **self.attributes)
        values, weights = [], {}
        for i, array in enumerate(self.inputs):
            if array is None:
                continue
            if i in self.weights:
                weights[names[i]] = array
                continue
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = [f"d{i}{axis}" for axis in range(array.ndim)] if self.is_open else array.shape
            values.append(helper.make_tensor_value_info(names[i], kind, shape))
        outputs = [helper.make_empty_tensor_value_info(name) for name in results]
        model = model_of([node], values, outputs, weights, self.opset)
        if self.domain:
            model.opset_import.append(helper.make_opsetid(self.domain, 1))
        return model

    def feeds(self):
        return [array for i, array in enumerate(self.inputs)
                if array is not None and i not in self.weights]


ONNXES = []


def op(name, op_type, *inputs, **settings):
    ONNXES.append(OnnxCase(name, op_type, inputs, **settings))


def r(*shape, dtype=F, seed=3):
    return random(shape, dtype, seed)


def a(values, dtype=L):
    return np.array(values, dtype)


for opset in 11, 21:
    new = opset >= 13
    op(f"squeeze_{opset}", "Squeeze", r(1, 3, 1), *([a([0])] if new else []), weights=(1,), opset=opset, **({} if new else {"axes": [0]}))
    op(f"unsqueeze_{opset}", "Unsqueeze", r(3), *([a([0, 2])] if new else []), weights=(1,), opset=opset, **({} if new else {"axes": [0, 2]}))
    op(f"split_{opset}", "Split", r(4, 6), *([a([1, 5])] if new else []), weights=(1,), outputs=2, opset=opset, axis=1, **({} if new else {"split": [1, 5]}))
op("squeeze_all", "Squeeze", r(1, 3, 1))
op("split_equal", "Split", r(4, 6), outputs=2, opset=13, axis=1)
op("squeeze_all_open", "Squeeze", r(1, 3, 1), open=True, impossible=True)
op("split_uneven", "Split", r(4, 7), outputs=3, axis=-1, num_outputs=3)
op("split_uneven_open", "Split", r(4, 7), outputs=3, axis=-1, num_outputs=3, open=True)
op("split_even_open", "Split", r(4, 6), outputs=2, axis=1, num_outputs=2, open=True)
for axis in -1, 0, 1, 2, 3:
    op(f"flatten_{axis}", "Flatten", r(2, 3, 4), axis=axis)
    op(f"flatten_open_{axis}", "Flatten", r(2, 3, 4), axis=axis, open=True)
op("expand", "Expand", r(3, 1), a([2, 1, 4]), weights=(1,))
op("expand_computed", "Expand", r(3, 1), a([2, 1, 4]))
op("tile", "Tile", r(3, 2), a([2, 3]), weights=(1,))
op("tile_computed", "Tile", r(3, 2), a([2, 3]))
for mode in "constant", "edge", "reflect":
    op(f"pad_{mode}", "Pad", r(3, 4), a([1, 0, 2, 1]), weights=(1,), mode=mode)
    op(f"pad_2_{mode}", "Pad", r(3, 4), opset=10, pads=[1, 0, 2, 1], mode=mode, **({"value": 3.0} if mode == "constant" else {}))
op("pad_axes", "Pad", r(3, 4), a([1, 2]), F(7), a([-1]), weights=(1, 2, 3))
op("pad_negative", "Pad", r(3, 4), a([-1, 0, 2, -1]), a(2.5, F), weights=(1, 2))
op("pad_computed", "Pad", r(3, 4), a([1, 0, 2, 1]), a(2.5, F))
op("pad_wrap", "Pad", r(3, 4), a([1, 0, 2, 1]), weights=(1,), mode="wrap", impossible=True)
op("pad_int", "Pad", r(3, 4, dtype=L), a([1, 0, 2, 1]), a(5), weights=(1, 2))
for mode in "DCR", "CRD":
    op(f"depth_to_space_{mode}", "DepthToSpace", r(2, 8, 2, 3), blocksize=2, mode=mode)
op("space_to_depth", "SpaceToDepth", r(2, 2, 4, 6), blocksize=2)
op("reverse_sequence", "ReverseSequence", r(4, 3, 2), a([1, 4, 2]))
op("reverse_sequence_batch", "ReverseSequence", r(3, 4, 2), a([1, 4, 2]), batch_axis=0, time_axis=1)
op("slice_9", "Slice", r(4, 6), opset=9, starts=[1, 0], ends=[3, 9999], axes=[0, 1])
op("slice", "Slice", r(4, 6), a([1, -1]), a([2**63 - 1, -100]), a([0, 1]), a([1, -2]), weights=(1, 2, 3, 4))
op("slice_no_axes", "Slice", r(4, 6), a([1, 2]), a([3, 5]), weights=(1, 2))
op("slice_computed", "Slice", r(4, 6), a([1]), a([3]), a([1]), a([1]))
op("slice_to_front", "Slice", r(4, 6), a([-1]), a([-2**63]), a([1]), a([-1]), weights=(1, 2, 3, 4))
op("gather", "Gather", r(4, 3), a([[0, -1]]), weights=(1,), axis=0)
op("gather_computed", "Gather", r(4, 3), a([2, -3], I), axis=1)
op("gather_elements", "GatherElements", r(4, 3), a([[0, -1, 2]]), axis=0)
op("gather_elements_computed", "GatherElements", r(4, 3), a([[0], [-1], [2], [1]], I), axis=1)
op("gather_nd", "GatherND", r(4, 3, 2), a([[0, -1], [3, 1]]))
op("gather_nd_batch", "GatherND", r(4, 3, 2), a([[0], [1], [-1], [2]]), batch_dims=1)
for reduction in "none", "add", "mul", "min", "max":
    op(f"scatter_elements_{reduction}", "ScatterElements", r(4, 3), a([[0, 2, -1], [1, 2, 0]]), r(2, 3, seed=4), axis=0, reduction=reduction)
    op(f"scatter_nd_{reduction}", "ScatterND", r(4, 3), a([[0], [-1]]), r(2, 3, seed=4), reduction=reduction)
op("scatter_9", "Scatter", r(4, 3), a([[0, 2, 1]]), r(1, 3), opset=9)
op("columns", "Col2Im", r(1, 12, 9), a([4, 4]), a([2, 2]), weights=(1, 2))
op("columns_settings", "Col2Im", r(2, 12, 12), a([7, 4]), a([2, 2]), weights=(1, 2), strides=[2, 1], dilations=[2, 1], pads=[1, 0, 0, 1])
for opset, mode in (10, None), (16, "half_pixel"), (16, "output_half_pixel"):
    for kind in "avg", "max":
        op(f"roi_align_{opset}_{mode}_{kind}", "RoiAlign", r(2, 3, 8, 7), a([[0, 0, 6, 5], [1, 2, 4.5, 6]], F), a([1, 0]),
           weights=(1, 2), opset=opset, output_height=3, output_width=2, sampling_ratio=2, spatial_scale=.5, mode=kind, impossible=kind == "max",
           tolerance=1e-5, **({} if mode is None else {"coordinate_transformation_mode": mode}))
op("dft", "DFT", r(2, 6, 2), None, a(1), weights=(2,), tolerance=1e-5)
op("dft_inverse", "DFT", r(2, 6, 2), None, a(-2), weights=(2,), inverse=1, tolerance=1e-5)
op("dft_real", "DFT", r(2, 6, 1), a(8), a(1), weights=(1, 2), tolerance=1e-5)
op("dft_half", "DFT", r(2, 6, 1), None, a(1), weights=(2,), onesided=1, tolerance=1e-5)
op("dft_17", "DFT", r(2, 6, 2), opset=17, axis=1, tolerance=1e-5)
op("compress", "Compress", r(4, 3), a([0, 1, 1], B), axis=1)
op("compress_flat", "Compress", r(4, 3), a([0, 1, 1, 0, 1], B))
op("shape", "Shape", r(4, 3, 2), open=True)
op("shape_part", "Shape", r(4, 3, 2), open=True, start=-2, end=3)
op("size", "Size", r(4, 3, 2), open=True)
op("constant_of_shape", "ConstantOfShape", a([2, 3]), value=helper.make_tensor("v", TensorProto.INT64, [1], [5]))
op("constant_of_shape_default", "ConstantOfShape", a([2, 3]))
op("constant_of_shape_known", "ConstantOfShape", a([2, 3]), weights=(0,))
for dtype in F, L, I:
    op(f"range_{dtype.__name__}", "Range", a(1, dtype), a(10, dtype), a(2, dtype))
for upper in 0, 1:
    op(f"trilu_{upper}", "Trilu", r(2, 4, 5), upper=upper)
    op(f"trilu_{upper}_k", "Trilu", r(4, 5, dtype=L), a(-1), upper=upper, open=True)
for axis in None, 1:
    op(f"unique_{axis}", "Unique", a([[3, 1, 3], [0, 2, 0]], F), outputs=4, **({} if axis is None else {"axis": axis}))
op("unique_values", "Unique", a([3, 1, 3, 0], F))
op("unique_in_order", "Unique", a([3, 1, 3, 0], F), sorted=0, impossible=True)
op("eye_like", "EyeLike", r(3, 4), k=1)
op("eye_like_open", "EyeLike", r(3, 4), dtype=TensorProto.INT64, open=True)
op("non_zero", "NonZero", a([[1, 0], [0, 2]], F))
op("non_zero_bool", "NonZero", a([[1, 0], [0, 1]], B))
op("one_hot", "OneHot", a([0, 2, -1, 9]), a([4]), a([-1, 3], F), weights=(1, 2), axis=-1)
op("one_hot_axis", "OneHot", a([[0, 2, -1]]), a(4), a([0, 1]), axis=1)
op("topk", "TopK", r(4, 6), a([2]), weights=(1,), outputs=2, axis=0)
op("topk_ties", "TopK", a([[1, 3, 3, 2, 3, 1]], F), a([4]), weights=(1,), outputs=2)
op("topk_smallest", "TopK", a([[1, 3, 3, 2, 3, 1]], F), a([4]), outputs=2, largest=0)
op("topk_9", "TopK", r(4, 6), outputs=2, opset=9, k=3)
op("topk_int", "TopK", r(4, 6, dtype=L), a([5]), outputs=2)
for name in "ArgMax", "ArgMin":
    for last in 0, 1:
        for keep in 0, 1:
            op(f"{name}_{last}_{keep}", name, a([[1, 3, 3, 1], [0, 0, -1, -1]], F), axis=1, select_last_index=last, keepdims=keep)
op("hardmax", "Hardmax", a([[1, 3, 3, 1], [0, 0, -1, -1]], F), axis=1)
BOXES = a([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], F)
SCORES = a([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.2, 0.9, 0.1, 0.8, 0.4]]], F)
op("nms", "NonMaxSuppression", BOXES, SCORES, a([3]), a([0.5], F), a([0.2], F), weights=(2, 3, 4))
op("nms_center", "NonMaxSuppression", np.abs(BOXES), SCORES, a([2]), a([0.5], F), center_point_box=1)
for name in "L1", "L2", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare", "LogSum", "LogSumExp":
    positive = np.abs(r(3, 4, 5)) + F(0.1)
    op(f"reduce_{name}", f"Reduce{name}", positive, a([0, 2]), weights=(1,), keepdims=0, opset=18)
    op(f"reduce_{name}_all", f"Reduce{name}", positive, opset=18)
    op(f"reduce_{name}_11", f"Reduce{name}", positive, axes=[-1], opset=11)
for axes in [1, -1], [], [2]:
    for idle in 0, 1:
        if axes or not idle:  # no axes at all: OpenVINO cannot run that
            op(f"reduce_computed_{axes}_{idle}", "ReduceSum", r(3, 4, 5), a(axes), opset=18, noop_with_empty_axes=idle)
op("reduce_max_bool", "ReduceMax", r(3, 4, dtype=B), a([1]), weights=(1,))
op("reduce_min_bool", "ReduceMin", r(3, 4, dtype=B), a([1]), weights=(1,), keepdims=0)
op("reduce_sum_int", "ReduceSum", r(3, 4, dtype=I), a([1]), weights=(1,))
for name in "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool":
    op(name, name, r(2, 3, 4, 5))
for p in 1, 3:
    op(f"GlobalLpPool_{p}", "GlobalLpPool", r(2, 3, 4), p=p)
for opset in 11, 13:
    for axis in -1, 0, 1:
        op(f"softmax_{opset}_{axis}", "Softmax", r(2, 3, 4), axis=axis, opset=opset)
        op(f"log_softmax_{opset}_{axis}", "LogSoftmax", r(2, 3, 4), axis=axis, opset=opset, open=True)
op("cum_sum", "CumSum", r(3, 4), a(1), weights=(1,))
op("cum_sum_all", "CumSum", r(3, 4), a([-2], I), exclusive=1, reverse=1)


# --- normalization ---------------------------------------------------------------------------------


def positive(*shape, seed=5):
    return ops.constant(np.abs(random(shape, F, seed)) + F(0.5))


ir("batch_norm", In(2, 3, 4, 5), lambda x: ops.batch_norm_inference(x, rnd(3), rnd(3, seed=8), rnd(3, seed=9), positive(3), 1e-3))
ir("batch_norm_1", In(2, 3, 4, 5), lambda x: opset1.batch_norm_inference(x, rnd(3), rnd(3, seed=8), rnd(3, seed=9), positive(3), 1e-3))
for name, axes, shape in (("last", [-1], (2, 3, 8)), ("images", [2, 3], (2, 3, 4, 5)), ("channels", [1], (2, 6, 4)),
                          ("all", [1, 2, 3], (2, 3, 4, 5))):
    for mode in "inside_sqrt", "outside_sqrt":
        exact = mode == "inside_sqrt" and name != "channels"
        ir(f"mvn_{name}_{mode}", In(*shape), lambda x, a=axes, m=mode: ops.mvn(x, c(a), True, 1e-3, m), tolerance=1e-5, copy_tolerance=0 if exact else 1e-5)
ir("mvn_open", In(2, 3, 4, 5, open=(0, 2, 3)), lambda x: ops.mvn(x, c([2, 3]), True, 1e-3, "inside_sqrt"), tolerance=1e-5)
ir("mvn_mean_alone", In(2, 3, 8), lambda x: ops.mvn(x, c([2]), False, 1e-3, "inside_sqrt"), tolerance=1e-5, copy_tolerance=1e-6)

ir("mvn_2", In(2, 3, 4, 5), lambda x: opset2.mvn(x, False, True, 1e-3), tolerance=1e-5)
ir("mvn_2_across", In(2, 3, 4, 5), lambda x: opset2.mvn(x, True, True, 1e-3), tolerance=1e-5)
for mode in "add", "max":
    ir(f"normalize_l2_{mode}", In(2, 6, 4, 4), lambda x, m=mode: ops.normalize_l2(x, c([1]), 1e-3, m), copy_tolerance=1e-6)
ir("lrn", In(2, 6, 4, 4), lambda x: ops.lrn(x, c([1]), 0.3, 0.7, 2, 3))
ir("grn", In(2, 6, 4, 4), lambda x: opset1.grn(x, .3), copy_tolerance=1e-6)
ir("lrn_images", In(2, 6, 4, 4), lambda x: ops.lrn(x, c([2, 3]), 0.3, 0.7, 1.5, 3), carried=True)
ir("group_norm", In(2, 6, 4), lambda x: ops.group_normalization(x, rnd(6), rnd(6, seed=8), 3, 1e-3), tolerance=1e-5)

op("batch_norm", "BatchNormalization", r(2, 3, 4), r(3), r(3, seed=4), r(3, seed=5), np.abs(r(3, seed=6)) + F(0.1), weights=(1, 2, 3, 4), epsilon=1e-3)
op("batch_norm_computed", "BatchNormalization", r(2, 3), r(3), r(3, seed=4), r(3, seed=5), np.abs(r(3, seed=6)) + F(0.1), opset=9)
op("instance_norm", "InstanceNormalization", r(2, 3, 4, 5), r(3), r(3, seed=4), weights=(1, 2), tolerance=1e-5)
op("instance_norm_computed", "InstanceNormalization", r(2, 3, 4), r(3), r(3, seed=4), epsilon=1e-2, tolerance=1e-5)
op("layer_norm", "LayerNormalization", r(2, 3, 8), r(8), r(8, seed=4), weights=(1, 2), tolerance=1e-5)
op("layer_norm_axis", "LayerNormalization", r(2, 3, 8), r(3, 8), axis=1, tolerance=1e-5)
op("layer_norm_mean", "LayerNormalization", r(2, 3, 8), r(8), outputs=2, impossible=True)
for opset in 18, 21:
    op(f"group_norm_{opset}", "GroupNormalization", r(2, 6, 4), r(3 if opset == 18 else 6), r(3 if opset == 18 else 6, seed=4), weights=(1, 2), num_groups=3, opset=opset, tolerance=1e-5)
op("mean_variance", "MeanVarianceNormalization", r(2, 3, 4, 5), tolerance=1e-5)
op("mean_variance_axes", "MeanVarianceNormalization", r(2, 3, 4), axes=[0, 2], tolerance=1e-5)
for p in 1, 2:
    op(f"lp_norm_{p}", "LpNormalization", np.concatenate([r(3, 4), np.zeros((1, 4), F)]), p=p, axis=1)
op("rms_norm", "RMSNormalization", r(2, 3, 8), r(8), weights=(1,), opset=23, tolerance=1e-5)
# What ONNX Runtime calls by names of its own, of these and others.
own = {"domain": "com.microsoft", "tolerance": 1e-5}
op("own_gelu", "Gelu", r(3, 6), **own)
op("own_gelu_bias", "BiasGelu", r(3, 6), r(6, seed=4), weights=(1,), **own)
op("own_gelu_fast", "FastGelu", r(3, 6), r(6, seed=4), weights=(1,), **own)
op("own_gelu_quick", "QuickGelu", r(3, 6), alpha=1.5, **own)
op("own_rms_norm", "SimplifiedLayerNormalization", r(3, 6), r(6, seed=4), weights=(1,), axis=-1, epsilon=0.01, tolerance=1e-5)
op("own_skip_norm", "SkipLayerNormalization", r(3, 4), r(3, 4, seed=4), r(4), r(4, seed=5), r(4, seed=6), weights=(2, 3, 4), epsilon=0.01, **own)
op("own_skip_rms_norm", "SkipSimplifiedLayerNormalization", r(3, 4), r(3, 4, seed=4), r(4), r(4, seed=6), weights=(2, 3), epsilon=0.01, **own)
op("own_gemm", "FusedGemm", r(3, 6), r(6, 5), r(5), weights=(1, 2), alpha=0.5, activation="LeakyRelu", activation_alpha=0.2, **own)
op("own_matmul", "FusedMatMul", r(6, 3), r(6, 5), weights=(1,), alpha=0.5, transA=1, **own)
op("own_conv", "FusedConv", r(1, 4, 6, 6), r(5, 4, 3, 3), r(5), weights=(1, 2), kernel_shape=[3, 3], pads=[1, 1, 1, 1], activation="Relu", **own)
op("lrn", "LRN", r(2, 6, 4, 4), size=3, alpha=0.3, beta=0.7, bias=1.5)


# --- resampling ------------------------------------------------------------------------------------

COORDINATES = "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"
ROUNDINGS = "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
for coordinate in COORDINATES + ("tf_half_pixel_for_nn",):
    for mode in "linear_onnx", "cubic", "linear":
        ir(f"interpolate_{mode}_{coordinate}", In(1, 2, 5, 4), lambda x, m=mode, o=coordinate: ops.interpolate(x, c([8, 6]), m, "sizes", coordinate_transformation_mode=o, axes=c([2, 3])),
           carried=coordinate == "tf_half_pixel_for_nn", tolerance=1e-5, copy_tolerance=1e-5 if mode == "linear" else 0)
    for rounding in ROUNDINGS:
        ir(f"interpolate_nearest_{coordinate}_{rounding}", In(1, 2, 5, 4), lambda x, n=rounding, o=coordinate: ops.interpolate(x, c([8, 6]), "nearest", "sizes", coordinate_transformation_mode=o, nearest_mode=n, axes=c([2, 3])),
           carried=coordinate == "tf_half_pixel_for_nn")
ir("interpolate_scales", In(1, 2, 5, 4), lambda x: ops.interpolate(x, c([2, 1.5], F), "linear_onnx", "scales", axes=c([2, 3])))
ir("interpolate_down", In(1, 2, 6, 8), lambda x: ops.interpolate(x, c([3, 5]), "linear_onnx", "sizes", axes=c([2, 3])))
ir("interpolate_4", In(1, 2, 5, 4), lambda x: opset10.interpolate(x, c([10, 8]), c([2, 2], F), "nearest", "sizes", coordinate_transformation_mode="asymmetric", nearest_mode="floor", axes=c([2, 3])))
ir("interpolate_4_scales", In(1, 2, 5, 4), lambda x: opset10.interpolate(x, c([9, 9]), c([2, 3], F), "linear_onnx", "scales", axes=c([2, 3])), tolerance=1e-5)
ir("interpolate_open", In(1, 2, 5, 4, open=(0, 2, 3)), lambda x: ops.interpolate(x, c([2, 2], F), "nearest", "scales", coordinate_transformation_mode="asymmetric", nearest_mode="floor", axes=c([2, 3])))
ir("interpolate_computed", [In(1, 2, 5, 4), In(values=[7, 9], dtype=L)], lambda x, n: ops.interpolate(x, n, "linear_onnx", "sizes", axes=c([2, 3])), tolerance=1e-5)
ir("interpolate_simple", In(1, 2, 5, 4), lambda x: ops.interpolate(x, c([8, 6]), "nearest", "sizes", nearest_mode="simple", axes=c([2, 3])), carried=True)
ir("interpolate_antialias", In(1, 2, 6, 8), lambda x: ops.interpolate(x, c([3, 4]), "linear", "sizes", antialias=True, axes=c([2, 3])), carried=True)
ir("interpolate_pads", In(1, 2, 6, 8), lambda x: ops.interpolate(x, c([3, 4]), "nearest", "sizes", [0, 0, 1, 1], [0, 0, 0, 0], axes=c([2, 3])), carried=True)
for mode in "bilinear", "nearest", "bicubic":
    for padding in "zeros", "border", "reflection":
        for aligns in False, True:
            ir(f"grid_sample_{mode}_{padding}_{aligns}", [In(1, 2, 5, 4), In(1, 3, 4, 2)], lambda x, g, m=mode, p=padding, a=aligns: ops.grid_sample(x, g, {"mode": m, "padding_mode": p, "align_corners": a}),
               tolerance=1e-5)

for coordinate in COORDINATES:
    for mode in "linear", "cubic":
        op(f"resize_{mode}_{coordinate}", "Resize", r(1, 2, 5, 4), None, None, a([1, 2, 8, 6]), weights=(3,), mode=mode, coordinate_transformation_mode=coordinate, tolerance=1e-5)
    for rounding in ROUNDINGS:
        op(f"resize_nearest_{coordinate}_{rounding}", "Resize", r(1, 2, 5, 4), None, a([1, 1, 1.6, 2], F), weights=(2,), nearest_mode=rounding, coordinate_transformation_mode=coordinate)
op("resize_down", "Resize", r(1, 2, 8, 6), None, a([1, 1, 0.5, 0.6], F), weights=(2,), mode="linear", tolerance=1e-5)
op("resize_10", "Resize", r(1, 2, 5, 4), a([1, 1, 2, 2], F), weights=(1,), opset=10)
op("resize_10_linear", "Resize", r(1, 2, 5, 4), a([1, 1, 2, 2], F), weights=(1,), opset=10, mode="linear")
op("resize_11", "Resize", r(1, 2, 5, 4), a([], F), a([1, 1, 2, 3], F), weights=(1, 2), opset=11)
op("resize_11_sizes", "Resize", r(1, 2, 5, 4), a([], F), a([], F), a([1, 2, 10, 8]), weights=(1, 2, 3), opset=11, mode="linear")
op("resize_axes", "Resize", r(1, 2, 5, 4), None, a([2, 3], F), weights=(2,), axes=[3, 2])
op("resize_computed", "Resize", r(1, 2, 5, 4), None, None, a([1, 2, 10, 7]), mode="linear", tolerance=1e-5)
op("resize_nothing", "Resize", r(1, 2, 5, 4), None, a([1, 1, 1, 1], F), weights=(2,))
op("resize_3d", "Resize", r(2, 3, 6), None, a([1, 1, 2], F), weights=(2,), mode="linear", tolerance=1e-5)
op("resize_5d", "Resize", r(1, 2, 3, 4, 3), None, a([1, 1, 2, 2, 2], F), weights=(2,), mode="linear", tolerance=1e-5)
op("resize_antialias", "Resize", r(1, 2, 5, 4), None, a([1, 1, 0.5, 0.5], F), weights=(2,), mode="linear", antialias=1, impossible=True)
op("upsample_7", "Upsample", r(1, 2, 5, 4), opset=7, scales=[1.0, 1.0, 2.0, 2.0])
op("upsample_9", "Upsample", r(1, 2, 5, 4), a([1, 1, 2, 2], F), weights=(1,), opset=9, mode="linear")
for opset, modes in (16, ("bilinear", "nearest", "bicubic")), (20, ("linear", "nearest", "cubic")):
    for mode in modes:
        op(f"grid_sample_{opset}_{mode}", "GridSample", r(1, 2, 5, 4), r(1, 3, 4, 2, seed=5), opset=opset, mode=mode, align_corners=1, padding_mode="border", tolerance=1e-5)


# --- recurrent layers ------------------------------------------------------------------------------

BATCH, STEPS, INPUTS, HIDDEN = 2, 4, 3, 5


def sequence(kind, gates, direction, lengths=None, bias_gates=None, initial=True, open=(), tolerance=1e-5, **settings):
    directions = 2 if direction == "bidirectional" else 1

    def build(x):
        def state(seed):
            shape = BATCH, directions, HIDDEN
            return rnd(*shape, seed=seed) if initial else ops.constant(np.zeros(shape, F))

        states = [state(20), state(21)][:2 if kind == "lstm" else 1]
        weights = [rnd(directions, gates * HIDDEN, INPUTS, seed=22), rnd(directions, gates * HIDDEN, HIDDEN, seed=23),
                   rnd(directions, (bias_gates or gates) * HIDDEN, seed=24)]
        make = getattr(ops, f"{kind}_sequence")
        whole = c(lengths or [STEPS] * BATCH, I)
        if open:
            steps, batch = (ops.gather(ops.shape_of(x), c([axis]), c(0)) for axis in (1, 0))
            whole = ops.broadcast(steps, batch)
        return make(x, *states, whole, *weights, HIDDEN, direction, **settings)

    ending = "_".join(map(str, [direction, *settings, *(["lengths"] if lengths else []), *(["open"] if open else [])]))
    ir(f"{kind}_{ending}", In(BATCH, STEPS, INPUTS, open=open), build, tolerance=tolerance)


for kind, gates in ("lstm", 4), ("gru", 3), ("rnn", 1):
    for direction in "forward", "reverse", "bidirectional":
        sequence(kind, gates, direction)
    sequence(kind, gates, "forward", lengths=[3, 1])
    sequence(kind, gates, "forward", clip=0.5)
    sequence(kind, gates, "bidirectional", initial=False, open=(1,))
sequence("gru", 3, "bidirectional", bias_gates=4, linear_before_reset=True)
sequence("rnn", 1, "forward", activations=["relu"])
sequence("lstm", 4, "forward", activations=["sigmoid", "tanh", "relu"])
ir("lstm_cell", In(2, 3), lambda x: ops.lstm_cell(x, rnd(2, 5), rnd(2, 5, seed=8), rnd(20, 3), rnd(20, 5), rnd(20), 5), carried=True)


def recurrence(name, kind, gates, directions=1, bias=True, lengths=None, initial=False, outputs=None, peephole=False, **settings):
    layout = settings.get("layout", 0)
    inputs = [r(STEPS, BATCH, INPUTS), r(directions, gates * HIDDEN, INPUTS, seed=4), r(directions, gates * HIDDEN, HIDDEN, seed=5),
              r(directions, 2 * gates * HIDDEN, seed=6) if bias else None, None if lengths is None else a(lengths, I)]
    if initial:
        inputs += [r(directions, BATCH, HIDDEN, seed=7 + i) for i in range(2 if kind == "LSTM" else 1)]
    if peephole:
        inputs += [None] * (7 - len(inputs)) + [r(directions, 3 * HIDDEN)]
    direction = settings.pop("direction", "bidirectional" if directions == 2 else "forward")
    op(f"{kind}_{name}", kind, *inputs, weights=(1, 2, 3, 4), outputs=outputs or (3 if kind == "LSTM" else 2), hidden_size=HIDDEN, direction=direction, tolerance=1e-5, **settings)


for kind, gates in ("LSTM", 4), ("GRU", 3), ("RNN", 1):
    recurrence("forward", kind, gates)
    recurrence("reverse", kind, gates, direction="reverse")
    recurrence("both", kind, gates, 2, initial=True)
    recurrence("no_bias", kind, gates, bias=False, outputs=1)
    recurrence("lengths", kind, gates, lengths=[4, 2])
    recurrence("open", kind, gates, 2, open=True)
    recurrence("lengths_open", kind, gates, lengths=[4, 2], open=True, impossible=True)
    recurrence("clip", kind, gates, clip=0.4)
recurrence("linear", "GRU", 3, 2, linear_before_reset=1)
recurrence("relu", "RNN", 1, activations=["Relu"])
recurrence("peephole", "LSTM", 4, peephole=True, impossible=True)

# --- formulas --------------------------------------------------------------------------------------

ir("is_finite", In(values=[1, np.inf, -np.inf, np.nan]), lambda x: ops.is_finite(x))
ir("is_inf", In(values=[1, np.inf, -np.inf, np.nan]), lambda x: ops.is_inf(x))
ir("is_inf_positive", In(values=[1, np.inf, -np.inf, np.nan]), lambda x: ops.is_inf(x, {"detect_negative": False}))
ir("not_equal", [In(3, 4, dtype=I), In(4, dtype=I)], lambda x, y: ops.not_equal(x, y))
for name in "and", "or", "xor":
    ir(f"bitwise_{name}", [In(3, 4, dtype=I), In(4, dtype=I)], lambda x, y, f=getattr(ops, f"bitwise_{name}"): f(x, y))
ir("bitwise_not", In(3, 4, dtype=I), lambda x: ops.bitwise_not(x))
for name in "left", "right":
    ir(f"bitwise_{name}_shift", [In(3, 4, dtype=np.uint8), In(4, dtype=np.uint8)], lambda x, y, f=getattr(ops, f"bitwise_{name}_shift"): f(x, y))
ir("bitwise_signed_shift", [In(3, 4, dtype=I), In(4, dtype=I)], lambda x, y: ops.bitwise_right_shift(x, y), carried=True)

op("reciprocal", "Reciprocal", r(3, 4) + F(3))
for name in "Sum", "Mean":
    for count in 1, 2, 3:
        op(f"{name}_{count}", name, r(3, 4), *[r(1, 4, seed=5), r(3, 1, seed=6)][:count - 1])
op("thresholded_relu", "ThresholdedRelu", r(3, 4), alpha=0.3)
op("celu", "Celu", r(3, 4), alpha=0.7)
op("shrink", "Shrink", r(3, 4), lambd=0.4, bias=0.1)
INFINITIES = a([1, np.inf, -np.inf, np.nan], F)
op("is_inf", "IsInf", INFINITIES)
op("is_inf_negative", "IsInf", INFINITIES, detect_positive=0)
for direction in "LEFT", "RIGHT":
    op(f"shift_{direction}", "BitShift", r(3, 4, dtype=np.uint8), r(4, dtype=np.uint8), direction=direction)
for name in "And", "Or", "Xor":
    op(f"bitwise_{name}", f"Bitwise{name}", r(3, 4, dtype=I), r(4, dtype=I, seed=5))
op("bitwise_not", "BitwiseNot", r(3, 4, dtype=I))
op("cast_like", "CastLike", r(3, 4), r(1, dtype=I))


# --- poolings --------------------------------------------------------------------------------------

ir("max_pool_first_output", In(1, 2, 6, 8), lambda x: ops.relu(ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)))
ir("max_pool_ceil", In(1, 2, 30, 29), lambda x: opset8.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3], rounding_type="ceil").output(0))
ir("max_pool_ceil_open", In(1, 2, 30, 29, open=(2, 3)), lambda x: opset8.max_pool(x, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3], rounding_type="ceil").output(0))
ir("max_pool_ceil_behind", In(1, 2, 5, 5), lambda x: opset8.max_pool(x, [3, 3], [1, 1], [0, 0], [1, 1], [2, 2], rounding_type="ceil").output(0), carried=True)
for excludes in False, True:
    ir(f"avg_pool_ceil_{excludes}", In(1, 2, 8, 7), lambda x, e=excludes: opset1.avg_pool(x, [2, 2], [1, 1], [1, 1], [3, 3], e, "ceil"), carried=not excludes)
ir("max_pool_indices_axis", In(1, 2, 6, 8), lambda x: ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], axis=2), carried=True)
ir("adaptive_avg_pool", In(1, 2, 6, 8), lambda x: ops.adaptive_avg_pool(x, c([2, 4])))
ir("adaptive_avg_pool_one", In(1, 2, 6, 8), lambda x: ops.adaptive_avg_pool(x, c([1, 1])), copy_tolerance=1e-6)
ir("adaptive_avg_pool_uneven", In(1, 2, 6, 8), lambda x: ops.adaptive_avg_pool(x, c([4, 3])), carried=True)
ir("adaptive_max_pool", In(1, 2, 6, 8), lambda x: ops.relu(ops.adaptive_max_pool(x, c([3, 2]), "i32").output(0)))

# --- transposed convolutions -----------------------------------------------------------------------

for auto_pad in "same_upper", "same_lower":
    ir(f"conv_transpose_{auto_pad}", In(1, 2, 5, 4), lambda x, p=auto_pad: ops.convolution_backprop_data(x, rnd(2, 3, 3, 4), [2, 2], c([10, 9]), auto_pad=p), tolerance=1e-5)
ir("conv_transpose_explicit", In(1, 2, 5, 4), lambda x: ops.convolution_backprop_data(x, rnd(2, 3, 3, 4), [2, 2], c([10, 9]), [1, 0], [0, 1]), tolerance=1e-5)
ir("conv_transpose_groups", In(1, 4, 5, 4), lambda x: ops.group_convolution_backprop_data(x, rnd(2, 2, 3, 3, 3), [2, 2], pads_begin=[1, 1], pads_end=[0, 1]), tolerance=1e-5)
for auto_pad in "NOTSET", "SAME_UPPER", "SAME_LOWER":
    op(f"conv_transpose_{auto_pad}", "ConvTranspose", r(1, 2, 5, 4), r(2, 3, 3, 4), weights=(1,), strides=[2, 2], output_shape=[10, 9], auto_pad=auto_pad, tolerance=1e-5)
for auto_pad in "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID":
    for label, settings in {
            "plain": {}, "strided": {"strides": [2, 3]}, "dilated": {"strides": [2, 1], "dilations": [1, 2]},
            "added": {"strides": [3, 2], "output_padding": [1, 1]},
            "smaller": {"strides": [2, 2], "output_shape": [9, 8]},
            "larger": {"strides": [3, 3], "output_shape": [16, 15]}}.items():
        op(f"conv_transpose_{auto_pad}_{label}", "ConvTranspose", r(1, 4, 5, 4), r(4, 3, 3, 4), weights=(1,), group=2,
           auto_pad=auto_pad, tolerance=1e-5, **settings)
    op(f"conv_transpose_1d_{auto_pad}", "ConvTranspose", r(2, 2, 5), r(2, 3, 4), weights=(1,), strides=[3], auto_pad=auto_pad, tolerance=1e-5)
    op(f"conv_transpose_3d_{auto_pad}", "ConvTranspose", r(1, 2, 3, 4, 3), r(2, 2, 3, 2, 4), weights=(1,), strides=[2, 2, 1], auto_pad=auto_pad, tolerance=1e-5)
    if auto_pad == "NOTSET":
        continue
    for label, shape, kernel in ("1d", (1, 2, 9), (4,)), ("2d", (1, 2, 9, 8), (3, 4)), ("3d", (1, 2, 5, 6, 7), (2, 3, 4)):
        strides = [2] * len(kernel)
        op(f"conv_{label}_{auto_pad}", "Conv", r(*shape), r(3, 2, *kernel), weights=(1,), strides=strides, auto_pad=auto_pad, tolerance=1e-5)
        for ceil in 0, 1:
            op(f"max_pool_{label}_{auto_pad}_{ceil}", "MaxPool", r(*shape), kernel_shape=kernel, strides=strides, auto_pad=auto_pad, ceil_mode=ceil)
            for counts in 0, 1:  # from 19 on, ONNX Runtime counts asymmetric pads wrong
                op(f"average_pool_{label}_{auto_pad}_{ceil}_{counts}", "AveragePool", r(*shape), kernel_shape=kernel, strides=strides,
                   auto_pad=auto_pad, ceil_mode=ceil, count_include_pad=counts, opset=17)
        for p in 1, 2, 3:
            op(f"lp_pool_{label}_{auto_pad}_{p}", "LpPool", r(*shape), kernel_shape=kernel, strides=strides, auto_pad=auto_pad, p=p)
for is_open in False, True:
    for ceil in 0, 1:
        for p in 1, 2, 3:
            op(f"lp_pool_{ceil}_{p}_{is_open}", "LpPool", r(2, 3, 9, 8), kernel_shape=[3, 4], strides=[2, 3], pads=[1, 0, 0, 1], ceil_mode=ceil, p=p, open=is_open)
    op(f"lp_pool_dilated_{is_open}", "LpPool", r(2, 3, 9, 8), kernel_shape=[3, 2], strides=[2, 3], dilations=[2, 3], ceil_mode=1, open=is_open)
    op(f"lp_pool_same_{is_open}", "LpPool", r(2, 3, 9), kernel_shape=[4], strides=[3], auto_pad="SAME_LOWER", open=is_open)
    op(f"lp_pool_behind_{is_open}", "LpPool", r(2, 3, 8), kernel_shape=[3], strides=[2], pads=[0, 2], ceil_mode=1, open=is_open, impossible=is_open)
op("lp_pool_dilated_same", "LpPool", r(1, 2, 9), kernel_shape=[3], dilations=[2], auto_pad="SAME_UPPER", impossible=True)
op("conv_transpose_too_large", "ConvTranspose", r(1, 2, 5), r(2, 2, 3), weights=(1,), strides=[2], output_shape=[20], impossible=True)
op("max_pool_dilated_same", "MaxPool", r(1, 2, 9), kernel_shape=[3], dilations=[2], auto_pad="SAME_UPPER", impossible=True)
op("conv_transpose_bias", "ConvTranspose", r(1, 4, 5, 4), r(4, 3, 3, 3), r(6), weights=(1, 2), strides=[2, 2], pads=[1, 0, 0, 1], output_padding=[1, 0], group=2, tolerance=1e-5)

# --- codes -----------------------------------------------------------------------------------------

U8, I8 = np.uint8, np.int8


def codes(*shape, dtype=U8, seed=3):
    low = np.iinfo(dtype).min
    return (np.random.default_rng(seed).integers(0, 256, shape) + low).astype(dtype)


for dtype in U8, I8:
    name = dtype.__name__
    op(f"quantize_linear_{name}", "QuantizeLinear", r(3, 4), a(0.02, F), a(3, dtype))
    op(f"quantize_linear_axis_{name}", "QuantizeLinear", r(3, 4, 2), np.abs(r(4)) + F(0.01), codes(4, dtype=dtype), axis=1)
    op(f"dequantize_linear_{name}", "DequantizeLinear", codes(3, 4, dtype=dtype), a(0.02, F), a(3, dtype))
op("dequantize_linear_axis", "DequantizeLinear", codes(3, 4, 2), np.abs(r(3)), axis=0)
op("dequantize_linear_i32", "DequantizeLinear", r(3, 4, dtype=I), a(0.02, F))
op("dynamic_quantize", "DynamicQuantizeLinear", r(3, 4), outputs=3)
op("matmul_integer", "MatMulInteger", codes(3, 40), codes(40, 5, dtype=I8), a(7, U8), codes(5, dtype=I8), weights=(1, 3))
op("matmul_integer_no_zero", "MatMulInteger", codes(2, 3, 40), codes(40, 5))
op("conv_integer", "ConvInteger", codes(1, 4, 6, 6), codes(6, 2, 3, 3), a(7, U8), a(9, U8), weights=(1,), group=2, pads=[1, 1, 1, 1])
op("qlinear_matmul", "QLinearMatMul", codes(3, 40), a(0.01, F), a(120, U8), codes(40, 5), a(0.02, F), a(130, U8), a(0.05, F), a(100, U8), weights=(1, 2, 3, 4, 5, 6, 7))
op("qlinear_conv", "QLinearConv", codes(1, 2, 6, 6), a(0.01, F), a(120, U8), codes(4, 2, 3, 3, dtype=I8), np.abs(r(4)) * F(0.02), np.zeros(4, I8), a(0.05, F), a(100, U8), r(4, dtype=I) * I(500),
   weights=(1, 2, 3, 4, 5, 6, 7, 8))
