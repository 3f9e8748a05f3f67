// Convolutions and matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "io/openvino/chain.hpp"
#include "io/openvino/compressed.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "io/openvino/windows.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

std::vector<std::int64_t> extents_of(const Shape& shape) {
  return {shape.known_extents().begin(), shape.known_extents().end()};
}

// --- convolutions --------------------------------------------------------------------------------

constexpr std::int64_t most_pixels = std::int64_t{1} << 40U;  // along an axis

struct TransposedAxis {
  std::int64_t extent = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t added = 0;  // output_padding
};

/// Of the result of a transposed convolution, before its borders are taken off. Empty for what is
/// none.
std::optional<std::int64_t> extent_without_pads(const TransposedAxis& axis) {
  const bool is_one = axis.extent >= 1 && axis.kernel >= 1 && axis.stride >= 1 &&
                      axis.dilation >= 1 && axis.added >= 0;
  if (!is_one) return std::nullopt;
  const std::int64_t reach = saturating_add(saturating_multiply(axis.stride, axis.extent - 1),
                                            saturating_multiply(axis.dilation, axis.kernel - 1));
  const std::int64_t whole = saturating_add(saturating_add(reach, axis.added), 1);
  return whole <= most_pixels ? std::optional(whole) : std::nullopt;
}

/// Where the result's extents are an operand, what is taken off at the borders follows from them:
/// sets `pads`. False where it does not, or is less than nothing.
bool set_pads_from_result(RaisedLayer& layer, std::span<const std::int64_t> kernel,
                          Attributes& attributes) {
  const auto wanted = layer.constant_integers(2);
  const Shape& shape = layer.shape_of(layer.input(0));
  const std::size_t axes = kernel.size() + 2;
  if (!wanted || wanted->size() != kernel.size() || !shape.is_static()) return false;
  if (shape.extents().size() != axes) invalid("an image of other axes than its weights");
  using List = std::vector<std::int64_t>;
  const List strides = attributes.get_or<List>("strides", {});
  const List dilations = attributes.get_or<List>("dilations", {});
  const List added = attributes.get_or<List>("output_padding", {});
  const auto auto_pad = attributes.get_or<std::string>("auto_pad", "NOTSET");
  const List given = attributes.get_or<List>("pads", {});
  const std::size_t rank = kernel.size();
  List pads(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto whole = extent_without_pads({.extent = shape.known_extents()[i + 2],
                                            .kernel = kernel[i],
                                            .stride = strides[i],
                                            .dilation = dilations[i],
                                            .added = added[i]});
    const std::int64_t result = (*wanted)[i];
    if (!whole || result < 0 || result > *whole) return false;
    const std::int64_t total = *whole - result;
    pads[i] = auto_pad == "SAME_UPPER" ? total - total / 2 : total / 2;
    pads[rank + i] = total - pads[i];
    if (auto_pad != "NOTSET") continue;
    if (given[rank + i] < -most_pixels || given[i] != total - given[rank + i]) return false;
  }
  if (auto_pad == "NOTSET") return true;
  if (auto_pad == "VALID") return false;
  attributes.erase("auto_pad");
  attributes.set("pads", std::move(pads));
  return true;
}

/// ONNX Runtime knows no `auto_pad` beside dilations: what it means for an image of known extents,
/// and for any along axes whose stride is 1.
void set_pads_of_dilated(const Shape& image, std::span<const std::int64_t> kernel,
                         Attributes& attributes) {
  using List = std::vector<std::int64_t>;
  const auto auto_pad = attributes.get_or<std::string>("auto_pad", "NOTSET");
  const List dilations = attributes.get_or<List>("dilations", {});
  const List strides = attributes.get_or<List>("strides", {});
  const std::size_t rank = kernel.size();
  const bool is_dilated = std::ranges::any_of(dilations, [](auto each) { return each != 1; });
  if (!auto_pad.starts_with("SAME") || !is_dilated || image.extents().size() != rank + 2) return;
  List pads(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Extent stated = image.extents()[i + 2];
    if (strides[i] != 1 && !stated.is_known()) return;
    const std::int64_t extent = stated.value_or(1);
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1 || extent < 1 || extent > most_pixels) {
      return;
    }
    const std::int64_t steps = (extent - 1) / strides[i] * strides[i];
    const std::int64_t reach = saturating_multiply(dilations[i], kernel[i] - 1);
    if (reach > most_pixels) return;
    const std::int64_t total = std::max<std::int64_t>(steps + reach + 1 - extent, 0);
    pads[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[rank + i] = total - pads[i];
  }
  attributes.erase("auto_pad");
  attributes.set("pads", std::move(pads));
}

/// Weights of groups have an axis more there: `[G, O / G, I / G, kernel]`, where ONNX has
/// `[O, I / G, kernel]`; of transposed convolutions `[G, I / G, O / G, kernel]` and
/// `[I, O / G, kernel]`. Either way, the first two are one.
bool raise_convolution(RaisedLayer& layer) {
  const bool has_groups = layer.type().starts_with("Group");
  const bool is_transposed = layer.type().ends_with("BackpropData");
  const Shape weights = layer.shape_of(layer.input(1));
  const std::int64_t axes = has_groups ? 3 : 2;
  if (!weights.is_static() || weights.rank() <= axes) return false;
  const auto rank = static_cast<std::size_t>(weights.rank() - axes);
  Attributes attributes = raised_windows(layer, rank, true);
  if (is_transposed) {
    auto added = layer.integers("output_padding");
    if (added.empty()) added.assign(rank, 0);
    if (added.size() != rank) invalid("output_padding of other axes");
    attributes.set("output_padding", std::move(added));
    const auto kernel = weights.known_extents().last(rank);
    if (layer.input_count() > 2 && !set_pads_from_result(layer, kernel, attributes)) return false;
  }
  if (!is_transposed) {
    const auto kernel = weights.known_extents().last(rank);
    set_pads_of_dilated(layer.shape_of(layer.input(0)), kernel, attributes);
  }
  Value filter = layer.input(1);
  if (has_groups) {
    std::vector<std::int64_t> extents = extents_of(weights);
    attributes.set("group", extents[0]);
    extents[1] = saturating_multiply(extents[1], extents[0]);
    extents.erase(extents.begin());
    filter = layer.reshaped(filter, Shape(extents), "weights");
  }
  layer.make(is_transposed ? ops::ConvTranspose::kind : ops::Conv::kind, {layer.input(0), filter},
             std::move(attributes));
  return true;
}

/// The node's result is `sum`, or what is left once operand `index` is added to it along axis 1.
void finish_with_bias(LoweredNode& node, std::size_t index, std::int64_t rank, const OpName& op,
                      std::span<const Output> inputs, const Data& data) {
  if (!node.has(index)) {
    node.make(op, inputs, data);
    return;
  }
  TensorType type = node.result_type();
  const Output product = node.step(op, inputs, data, type, "without_bias");
  const Shape& list = node.ranked(index);
  std::vector<Extent> extents(static_cast<std::size_t>(rank), 1);
  extents[1] = list.rank() == 1 ? list[0] : Extent::open();
  const Shape wanted(std::move(extents));
  const Constant* known = node.constant(index);
  const Output bias = known && wanted.is_static()
                          ? node.constant("bias", known->reshaped(wanted))
                          : node.reshaped(node.operand(index), wanted, "bias");
  node.make({"Add"}, std::array{product, bias}, {{"auto_broadcast", "numpy"}});
}

/// Whether pixels of the result come from none of the image.
bool leaves_pixels_out(const LoweredNode& node, std::span<const Extent> kernel) {
  const auto strides = list_of(node, "strides", kernel.size(), 1);
  return !std::ranges::equal(
      strides, kernel, [](std::int64_t stride, Extent extent) { return stride <= extent.value(); });
}

/// The image, and the weights in groups.
std::vector<Output> convolution_inputs(LoweredNode& node, const Shape& weights, std::int64_t group,
                                       bool is_transposed) {
  const auto kernel = weights.extents().last(static_cast<std::size_t>(weights.rank() - 2));
  const bool is_real = is_transposed
                           ? leaves_pixels_out(node, kernel)
                           : group > 1 && weights[1].value() == 1 && weights[0].value() != group;
  std::vector<Output> inputs{is_real ? real_operand(node, 0) : node.operand(0), node.operand(1)};
  if (group == 1) return inputs;
  std::vector<std::int64_t> extents = extents_of(weights);
  extents[0] /= group;
  extents.insert(extents.begin(), group);
  const Constant* known = node.constant(1);
  const Shape grouped(extents);
  inputs[1] = known ? node.constant("weights", known->reshaped(grouped))
                    : node.reshaped(inputs[1], grouped, "weights");
  return inputs;
}

void lower_convolution(LoweredNode& node) {
  const bool is_transposed = node.node().kind() == ops::ConvTranspose::kind;
  const Shape weights = node.ranked(1);
  if (weights.rank() < 3 || !weights.is_static()) impossible("weights of unknown extents");
  const auto rank = static_cast<std::size_t>(weights.rank() - 2);
  const auto group = node.attribute_or<std::int64_t>("group", 1);
  if (group < 1 || weights[0].value() % group != 0) {
    invalid(fmt::format("{} groups of {} filters", group, to_string(weights[0])));
  }
  Data data = lowered_windows(node, rank, true);
  std::vector<Output> inputs = convolution_inputs(node, weights, group, is_transposed);
  if (is_transposed) {
    data.emplace_back("output_padding", text_of(list_of(node, "output_padding", rank, 0)));
    const auto shape = node.attribute_or<std::vector<std::int64_t>>("output_shape", {});
    if (!shape.empty()) {
      const auto image = node.ranked(0).extents().last(rank);
      if (std::ranges::all_of(image, &Extent::is_known)) {
        impossible("an output_shape that the kernel does not reach");
      }
      // The last `rank` extents; OpenVINO then finds the padding by auto_pad.
      const auto spatial = std::span(shape).last(std::min(rank, shape.size()));
      inputs.push_back(node.integers("output_shape", spatial));
      // Of an odd number of pixels, it takes one more off in front where ONNX does so behind.
      const bool is_upper = node.attribute_or<std::string>("auto_pad", "NOTSET") == "SAME_UPPER";
      for (auto& [name, value] : data) {
        if (name == "auto_pad") value = is_upper ? "same_lower" : "same_upper";
      }
    }
  }
  const std::string_view plain = is_transposed ? "ConvolutionBackpropData" : "Convolution";
  const std::string_view grouped =
      is_transposed ? "GroupConvolutionBackpropData" : "GroupConvolution";
  finish_with_bias(node, 2, weights.rank(), {group > 1 ? grouped : plain}, inputs, data);
}

// --- matrix products -----------------------------------------------------------------------------

/// With the last two axes exchanged.
std::vector<std::int64_t> exchanged(std::int64_t rank) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

Value transposed_input(RaisedLayer& layer, std::size_t index) {
  const Value value = layer.input(index);
  const TensorType& type = layer.type_of(value);
  if (type.shape.rank() == 1) return value;
  std::vector<Extent> extents(type.shape.extents().begin(), type.shape.extents().end());
  std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
  return layer.step(ops::Transpose::kind, {value},
                    {type.element, Shape(std::move(extents)), nullptr},
                    fmt::format("operand_{}", index), {{"perm", exchanged(type.shape.rank())}});
}

bool raise_matmul(RaisedLayer& layer) {
  const std::array flags{layer.flag("transpose_a", false), layer.flag("transpose_b", false)};
  std::vector<Value> operands;
  operands.reserve(flags.size());
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const Shape& shape = layer.shape_of(layer.input(i));
    if (flags.at(i) && (!shape.is_ranked() || shape.rank() < 1)) return false;
  }
  for (std::size_t i = 0; i < flags.size(); ++i) {
    operands.push_back(flags.at(i) ? transposed_input(layer, i) : layer.input(i));
  }
  layer.make(ops::MatMul::kind, std::move(operands));
  return true;
}

/// A factor, and whether the product is to exchange its last two axes.
struct Factor {
  Output output;
  bool is_transposed = false;
};

/// Looks through a transpose that exchanges the last two axes.
Factor factor_of(LoweredNode& node, std::size_t index) {
  const Output output = node.operand(index);
  const NodeRef producer{node.node().graph, node.node().operand(index).node};
  if (producer.kind() != ops::Transpose::kind || node.type(index).shape.rank() < 2) {
    return {output, false};
  }
  if (ops::Transpose{producer}.perm() != exchanged(node.type(index).shape.rank())) {
    return {output, false};
  }
  return {node.before_transpose(output), true};
}

bool is_vector(const LoweredNode& node, std::size_t index) {
  const Shape& shape = node.type(index).shape;
  return shape.is_ranked() && shape.rank() == 1;
}

/// A product with a vector as one with a matrix: OpenVINO's low-precision passes (in release
/// 2026.4) give the result an axis more.
void lower_vector_product(LoweredNode& node) {
  LayerChain chain(node);
  const auto matrix = [&](std::size_t index, std::int64_t axis) {
    const Output output =
        index == 0 ? node.operand(0) : multiplied_weight(node, node.operand(1), false);
    return is_vector(node, index) ? chain.apply({"Unsqueeze"}, {output, chain.integers({axis})})
                                  : output;
  };
  const Output product = chain.apply({"MatMul"}, {matrix(0, 0), matrix(1, 1)},
                                     {{"transpose_a", "false"}, {"transpose_b", "false"}});
  std::vector<std::int64_t> axes;
  if (is_vector(node, 0)) axes.push_back(-2);
  if (is_vector(node, 1)) axes.push_back(-1);
  node.make({"Squeeze"}, std::array{kept_apart(node, product), chain.integers(axes)});
}

void lower_matmul(LoweredNode& node) {
  if (node.is_among_codes() && (is_vector(node, 0) || is_vector(node, 1))) {
    lower_vector_product(node);
    return;
  }
  const Factor a = factor_of(node, 0);
  const Factor b = factor_of(node, 1);
  const Output weight = multiplied_weight(node, b.output, b.is_transposed);
  node.make({"MatMul"}, std::array{a.output, weight},
            {{"transpose_a", text_of(a.is_transposed)}, {"transpose_b", text_of(b.is_transposed)}});
}

/// `output` times a number, if that is not 1.
Output scaled(LoweredNode& node, Output output, double factor, std::string_view ending) {
  if (factor == 1.0) return output;
  const TensorType type = node.type(output);
  const Output number = node.number(fmt::format("{}_factor", ending), type.element, factor);
  return node.step({"Multiply"}, std::array{output, number}, {{"auto_broadcast", "numpy"}}, type,
                   ending);
}

void lower_gemm(LoweredNode& node) {
  const ops::Gemm gemm{node.node()};
  const auto alpha = node.attribute_or<double>("alpha", 1);
  const auto beta = node.attribute_or<double>("beta", 1);
  const Factor a = factor_of(node, 0);
  const Factor b = factor_of(node, 1);
  const bool is_transposed = gemm.trans_b() != b.is_transposed;
  const Data data{{"transpose_a", text_of(gemm.trans_a() != a.is_transposed)},
                  {"transpose_b", text_of(is_transposed)}};
  const std::array factors{a.output, multiplied_weight(node, b.output, is_transposed)};
  const bool has_summand = node.has(2) && beta != 0;
  if (!has_summand && alpha == 1) {
    node.make({"MatMul"}, factors, data);
    return;
  }
  const Output product =
      scaled(node, node.step({"MatMul"}, factors, data, node.result_type(), "product"), alpha,
             "scaled_product");
  if (!has_summand) {
    node.finish(product);
    return;
  }
  const Output summand = scaled(node, node.operand(2), beta, "scaled_summand");
  node.make({"Add"}, std::array{product, summand}, {{"auto_broadcast", "numpy"}});
}

/// X W' + B.
void lower_linear(LoweredNode& node) {
  const std::array factors{node.operand(0), multiplied_weight(node, node.operand(1), true)};
  const Data data{{"transpose_a", "false"}, {"transpose_b", "true"}};
  if (!node.has(2)) {
    node.make({"MatMul"}, factors, data);
    return;
  }
  const Output product = node.step({"MatMul"}, factors, data, node.result_type(), "product");
  node.make({"Add"}, std::array{product, node.operand(2)}, {{"auto_broadcast", "numpy"}});
}

bool raise_einsum(RaisedLayer& layer) {
  const auto equation = layer.text("equation");
  if (!equation) invalid("an Einsum without an equation");
  layer.make(ops::Einsum::kind, all_inputs(layer), {{"equation", *equation}});
  return true;
}

void lower_einsum(LoweredNode& node) {
  node.make({"Einsum", "opset7"}, all_operands(node),
            {{"equation", node.attribute_or<std::string>("equation", "")}});
}

constexpr std::array raised_products{
    RaiseRule{"Convolution", raise_convolution},
    RaiseRule{"ConvolutionBackpropData", raise_convolution},
    RaiseRule{"Einsum", raise_einsum},
    RaiseRule{"GroupConvolution", raise_convolution},
    RaiseRule{"GroupConvolutionBackpropData", raise_convolution},
    RaiseRule{"MatMul", raise_matmul},
};

constexpr std::array lowered_products{
    LowerRule{ops::Conv::kind, lower_convolution},
    LowerRule{ops::ConvTranspose::kind, lower_convolution},
    LowerRule{ops::Einsum::kind, lower_einsum},
    LowerRule{ops::Gemm::kind, lower_gemm},
    LowerRule{ops::Linear::kind, lower_linear},
    LowerRule{ops::MatMul::kind, lower_matmul},
};

}  // namespace

Rules products_rules() noexcept { return {raised_products, lowered_products}; }

}  // namespace quadrant::inline v0::openvino_ir
