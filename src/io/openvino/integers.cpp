// ONNX's operators on codes and integers, where they are not quantized types: arithmetic on real
// numbers, which OpenVINO's own transformations know how to fuse.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/openvino/chain.hpp"
#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "io/openvino/windows.hpp"
#include "ir/ops/codes.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// The least and the largest code.
struct CodeRange {
  ElementType element;
  double low;
  double high;
};
constexpr std::array code_ranges{
    CodeRange{ElementType::uint8, 0, 255}, CodeRange{ElementType::int8, -128, 127},
    CodeRange{ElementType::uint16, 0, 65535}, CodeRange{ElementType::int16, -32768, 32767}};

/// Which operands of a node say what codes stand for.
struct CodeOperands {
  std::size_t codes = 0;
  std::size_t scale = 1;
  std::size_t zero_point = 2;
};

class CodeChain {
 public:
  CodeChain(LoweredNode& node, ElementType real) : node_(node), chain_(node), real_(real) {}

  /// Operand `index` as real numbers, to broadcast along `axis` of `rank` where it is a list.
  Output real(std::size_t index, std::int64_t axis, std::int64_t rank) {
    const Output value = node_.converted(node_.operand(index), real_, "real");
    const Shape& shape = node_.ranked(index);
    if (shape.rank() != 1 || surely_equal(shape[0], 1) || axis == rank - 1) return value;
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
    extents[static_cast<std::size_t>(axis)] = -1;
    return chain_.apply({"Reshape"}, {value, chain_.integers(extents)},
                        {{"special_zero", "false"}});
  }

  /// Operand `index` less operand `zero_point`, if that is there.
  Output centred(std::size_t index, std::size_t zero_point, std::int64_t axis) {
    const std::int64_t rank = node_.ranked(index).rank();
    const Output codes = node_.converted(node_.operand(index), real_, "codes");
    if (!node_.has(zero_point)) return codes;
    return chain_.pair({"Subtract"}, codes, real(zero_point, axis, rank));
  }

  /// (codes - zero point) * scale
  Output real_values(const CodeOperands& from, std::int64_t axis) {
    const Output codes = centred(from.codes, from.zero_point, axis);
    return chain_.pair({"Multiply"}, codes,
                       real(from.scale, axis, node_.ranked(from.codes).rank()));
  }

  /// round(values / scale) + zero point, within the codes there are; the node's result.
  void finish_codes(Output values, const CodeOperands& to, std::int64_t axis, std::int64_t rank) {
    const ElementType element =
        node_.has(to.zero_point) ? node_.type(to.zero_point).element : node_.result_type().element;
    const auto* const range = std::ranges::find(code_ranges, element, &CodeRange::element);
    if (range == code_ranges.end()) impossible(fmt::format("codes of {}", to_string(element)));
    Output codes = rounded(chain_.pair({"Divide"}, values, real(to.scale, axis, rank)));
    if (node_.has(to.zero_point)) {
      codes = chain_.pair({"Add"}, codes, real(to.zero_point, axis, rank));
    }
    node_.make({"Convert"}, std::array{clamped(codes, range->low, range->high)},
               {{"destination_type", std::string(name_of(element))}});
  }

  Output rounded(Output value) {
    return chain_.apply({"Round", "opset5"}, {value}, {{"mode", "half_to_even"}});
  }
  Output clamped(Output value, double low, double high) {
    return chain_.apply({"Clamp"}, {value}, {{"min", text_of(low)}, {"max", text_of(high)}});
  }
  LayerChain& plain() { return chain_; }

 private:
  LoweredNode& node_;
  LayerChain chain_;
  ElementType real_;
};

std::int64_t quantized_axis(const LoweredNode& node) {
  if (node.attribute_or<std::int64_t>("block_size", 0) != 0) impossible("blocks of codes");
  if (node.ranked(1).rank() > 1) impossible("scales of more than one dimension");
  return node.ranked(1).element_count() == 1 ? 0 : axis_of(node, 1);
}

void lower_quantize_linear(LoweredNode& node) {
  // Of int32 data, the real numbers are the scale's.
  const ElementType real = node.type(1).element;
  CodeChain chain(node, real);
  chain.finish_codes(node.converted(node.operand(0), real, "data"), {}, quantized_axis(node),
                     node.ranked(0).rank());
}

void lower_dequantize_linear(LoweredNode& node) {
  CodeChain chain(node, node.type(1).element);
  node.finish(chain.real_values({}, quantized_axis(node)));
}

/// uint8 codes, and a scale and a zero point that the data themselves give.
void lower_dynamic_quantize(LoweredNode& node) {
  CodeChain chain(node, ElementType::float32);
  LayerChain& plain = chain.plain();
  const Output x = node.operand(0);
  const std::vector<std::int64_t> axes = axes_from(0, node.ranked(0).rank());
  const Output zero = plain.number(0);
  const Output low = plain.pair({"Minimum"}, plain.reduced("ReduceMin", x, axes, false), zero);
  const Output high = plain.pair({"Maximum"}, plain.reduced("ReduceMax", x, axes, false), zero);
  const Output range = plain.pair({"Subtract"}, high, low);
  const Output step = plain.pair({"Divide"}, range, plain.number(255));
  const Output scale =
      plain.apply({"Select"}, {plain.test({"Equal"}, step, zero), plain.number(1), step},
                  {{"auto_broadcast", "numpy"}}, ElementType::float32);
  const Output place = plain.apply({"Negative"}, {plain.pair({"Divide"}, low, scale)});
  const Output zero_point = chain.rounded(chain.clamped(place, 0, 255));
  const Output codes =
      plain.pair({"Add"}, chain.rounded(plain.pair({"Divide"}, x, scale)), zero_point);
  const std::array results{chain.clamped(codes, 0, 255), scale, zero_point};
  const auto count = node.node().graph->result_count(node.node().id);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Output result = results.at(i);
    node.finish(i == 1 ? result : node.converted(result, ElementType::uint8, "codes"), i);
  }
}

/// Sums of products of integers, as float32: exact up to 2^24.
void finish_integers(LoweredNode& node, const OpName& op, const Output& a, const Output& b,
                     const Data& data) {
  LayerChain chain(node);
  node.decomposed("products of integers are summed up as float32");
  const Output sum = chain.apply(op, {a, b}, data);
  node.make({"Convert"}, std::array{sum}, {{"destination_type", "i32"}});
}

Data plain_product() { return {{"transpose_a", "false"}, {"transpose_b", "false"}}; }

/// The axis of a factor that scales and zero points go along: rows of A, columns of B.
std::int64_t axis_of_factor(const LoweredNode& node, std::size_t index, bool is_first) {
  const std::int64_t rank = node.ranked(index).rank();
  return std::max<std::int64_t>(rank - (is_first ? 2 : 1), 0);
}

void lower_matmul_integer(LoweredNode& node) {
  CodeChain chain(node, ElementType::float32);
  const Output a = chain.centred(0, 2, axis_of_factor(node, 0, true));
  const Output b = chain.centred(1, 3, axis_of_factor(node, 1, false));
  finish_integers(node, {"MatMul"}, a, b, plain_product());
}

void lower_qlinear_matmul(LoweredNode& node) {
  constexpr CodeOperands a{0, 1, 2};
  constexpr CodeOperands b{3, 4, 5};
  constexpr CodeOperands y{3, 6, 7};
  CodeChain chain(node, ElementType::float32);
  const Output product = chain.plain().apply({"MatMul"},
                                             {chain.real_values(a, axis_of_factor(node, 0, true)),
                                              chain.real_values(b, axis_of_factor(node, 3, false))},
                                             plain_product());
  const std::int64_t rank = std::max(node.ranked(0).rank(), node.ranked(3).rank());
  chain.finish_codes(product, y, 0, rank);
}

/// A convolution of real numbers; the filters in groups as OpenVINO has them.
struct RealConvolution {
  OpName op;
  Output filters;
  Data data;
};

RealConvolution real_convolution(LoweredNode& node, std::size_t weights, Output filters) {
  const Shape shape = node.ranked(weights);
  if (shape.rank() < 3 || !shape.is_static()) impossible("weights of unknown extents");
  const auto rank = static_cast<std::size_t>(shape.rank() - 2);
  const auto group = node.attribute_or<std::int64_t>("group", 1);
  Data data = lowered_windows(node, rank, true);
  if (group == 1) return {{"Convolution"}, filters, std::move(data)};
  if (group < 1 || shape[0].value() % group != 0) invalid("groups of filters");
  std::vector<std::int64_t> extents(shape.known_extents().begin(), shape.known_extents().end());
  extents[0] /= group;
  extents.insert(extents.begin(), group);
  LayerChain chain(node);
  const Output grouped =
      chain.apply({"Reshape"}, {filters, chain.integers(extents)}, {{"special_zero", "false"}});
  return {{"GroupConvolution"}, grouped, std::move(data)};
}

void lower_conv_integer(LoweredNode& node) {
  CodeChain chain(node, ElementType::float32);
  const Output x = chain.centred(0, 2, 1);
  RealConvolution product = real_convolution(node, 1, chain.centred(1, 3, 0));
  finish_integers(node, product.op, x, product.filters, product.data);
}

void lower_qlinear_conv(LoweredNode& node) {
  constexpr CodeOperands x{0, 1, 2};
  constexpr CodeOperands w{3, 4, 5};
  constexpr CodeOperands y{3, 6, 7};
  constexpr std::size_t bias = 8;
  CodeChain chain(node, ElementType::float32);
  LayerChain& plain = chain.plain();
  const Output image = chain.real_values(x, 1);
  RealConvolution product = real_convolution(node, 3, chain.real_values(w, 0));
  Output sum = plain.apply(product.op, {image, product.filters}, product.data);
  const std::int64_t rank = node.ranked(3).rank();
  if (node.has(bias)) {  // its scale is that of the products
    const Output step = chain.real(1, 1, rank);
    const Output scale = plain.pair({"Multiply"}, step, chain.real(4, 1, rank));
    const Output codes = chain.real(bias, 1, rank);
    sum = plain.pair({"Add"}, sum, plain.pair({"Multiply"}, codes, scale));
  }
  chain.finish_codes(sum, y, 1, rank);
}

constexpr std::array lowered_integers{
    LowerRule{ops::ConvInteger::kind, lower_conv_integer},
    LowerRule{ops::DequantizeLinear::kind, lower_dequantize_linear},
    LowerRule{ops::DynamicQuantizeLinear::kind, lower_dynamic_quantize},
    LowerRule{ops::MatMulInteger::kind, lower_matmul_integer},
    LowerRule{ops::QLinearConv::kind, lower_qlinear_conv},
    LowerRule{ops::QLinearMatMul::kind, lower_qlinear_matmul},
    LowerRule{ops::QuantizeLinear::kind, lower_quantize_linear},
};

}  // namespace

Rules integers_rules() noexcept { return {{}, lowered_integers}; }

}  // namespace quadrant::inline v0::openvino_ir
