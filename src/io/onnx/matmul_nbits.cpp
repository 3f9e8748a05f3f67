#include "io/onnx/matmul_nbits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/nbits_codes.hpp"
#include "io/onnx/transposed.hpp"
#include "io/onnx/unused.hpp"
#include "ir/float16.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::int64_t smallest_block = 16;
/// ONNX Runtime (1.23, CPU) accepts larger blocks and computes garbage with them.
constexpr std::int64_t largest_block = 256;

/// Why a weight cannot go this way: the end of a sentence that begins with its name.
struct Obstacle {
  std::string reason;
};

[[noreturn]] void stay(std::string reason) { throw Obstacle{std::move(reason)}; }

/// A dequantized matrix behind transposes, on either side of the `dequantize`.
struct Weight {
  NodeId dequantize;
  NodeId constant;
  bool codes_transposed = false;   ///< between the constant and the `dequantize`
  bool floats_transposed = false;  ///< between the `dequantize` and the product's `[K, N]`
};

/// The operands of a MatMulNBits besides the activation and the bias, and its attributes.
struct Operands {
  Value codes;
  Value scales;
  Value zero_points;  ///< absent where all are the default, half the range
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t block_size = 0;
  int bits = 0;
};

/// Which parameter belongs to block `b` of row `n`: `n * row_step + b / repeat * block_step`.
struct ParameterIndex {
  std::int64_t row_step = 0;
  std::int64_t block_step = 0;
  std::int64_t repeat = 1;
};

struct Blocks {
  std::int64_t size = 0;
  ParameterIndex index;
};

/// A transpose of two axes; empty for every other operation.
std::optional<bool> swaps_axes(const NodeRef& node) {
  if (node.kind() == ops::Identity::kind) return false;
  if (node.kind() != ops::Transpose::kind) return std::nullopt;
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  if (perm.size() != 2) return std::nullopt;
  return perm[0] == 1;
}

class NBitsPass {
 public:
  NBitsPass(Graph& graph, Sink* sink) : graph_(graph), sink_(sink) {}

  std::int64_t run() {
    std::vector<NodeId> products;
    std::vector<NodeId> weights;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid()) continue;
      const std::string_view kind = graph_.kind(node);
      if (kind == ops::MatMul::kind || kind == ops::Gemm::kind) products.push_back(node);
      if (kind == ops::Dequantize::kind && is_weight(node)) weights.push_back(node);
    }
    for (const NodeId product : products) {
      in_node(label(graph_, product), [&] { convert(product); });
    }
    for (const NodeId weight : weights) tell_what_stayed(weight);
    return converted_;
  }

 private:
  // --- weights ---

  /// Moves are looked through this far: long chains of them are no model that anybody has.
  static constexpr int longest_chain = 16;

  [[nodiscard]] bool is_weight(NodeId dequantize) const {
    const TensorType* type = graph_.ref(dequantize).operand_type(0);
    if (!type || !type->is_quantized() || type->shape.rank() < 2) return false;
    NodeId node = graph_.ref(dequantize).operand(0).node;
    for (int i = 0; i < longest_chain && swaps_axes(graph_.ref(node)); ++i) {
      const Value operand = graph_.ref(node).operand(0);
      if (operand.is_absent()) return false;
      node = operand.node;
    }
    return graph_.kind(node) == ops::Constant::kind;
  }

  /// The weight that `value` is; empty where it is none. Throws an Obstacle where it is one of
  /// which the codes cannot be found.
  [[nodiscard]] std::optional<Weight> find_weight(Value value, bool transposed) const {
    Weight weight;
    weight.floats_transposed = transposed;
    bool dequantized = false;
    for (int i = 0; i < longest_chain && !value.is_absent(); ++i) {
      const NodeRef node = graph_.ref(value.node);
      if (dequantized && node.kind() == ops::Constant::kind) {
        weight.constant = node.id;
        return weight;
      }
      if (!dequantized && node.kind() == ops::Dequantize::kind) {
        weight.dequantize = node.id;
        dequantized = true;
      } else if (const auto swaps = swaps_axes(node)) {
        bool& side = dequantized ? weight.codes_transposed : weight.floats_transposed;
        side = side != *swaps;
      } else {
        break;
      }
      value = node.operand(0);
    }
    return std::nullopt;
  }

  // --- products ---

  void convert(NodeId product) {
    const NodeRef node = graph_.ref(product);
    const bool is_gemm = node.kind() == ops::Gemm::kind;
    if (const auto left = find_weight(node.operand(0), false)) {
      reasons_.try_emplace(left->dequantize,
                           fmt::format("it is the left operand of '{}'", label(graph_, product)));
    }
    const auto weight =
        find_weight(node.operand(1), is_gemm && node.attribute_or<std::int64_t>("transB", 0) != 0);
    if (!weight) return;
    try {
      check_product(node);
      const Operands& operands = operands_of(*weight);
      const NodeId last = node.operand(1).node;  // of the weight's: a transpose, perhaps
      replace(product, operands);
      ++converted_;
      used_.insert(weight->dequantize);
      erase_unused(graph_, last);
    } catch (Obstacle& obstacle) {
      reasons_.try_emplace(weight->dequantize, std::move(obstacle.reason));
    }
  }

  static void check_product(const NodeRef& node) {
    if (node.operand(0).is_absent()) stay("its product has one operand");
    if (node.kind() != ops::Gemm::kind) return;
    const std::string_view name = label(*node.graph, node.id);
    const bool has_bias = !node.operand(2).is_absent();
    if (ops::Gemm{node}.trans_a()) stay(fmt::format("the Gemm '{}' transposes its input", name));
    if (node.attribute_or("alpha", 1.0) != 1.0 ||
        (has_bias && node.attribute_or("beta", 1.0) != 1.0)) {
      stay(fmt::format("the Gemm '{}' scales with alpha or beta", name));
    }
  }

  void replace(NodeId product, const Operands& weight) {
    const NodeRef node = graph_.ref(product);
    std::vector<Value> operands{node.operand(0), weight.codes, weight.scales, weight.zero_points};
    const Value bias = node.kind() == ops::Gemm::kind ? node.operand(2) : Value{};
    const bool is_row = !bias.is_absent() && graph_.type(bias).shape == Shape{weight.rows};
    if (is_row) {
      operands.resize(5);  // 4 is an index of groups, which this weight has not
      operands.push_back(bias);
    } else if (weight.zero_points.is_absent()) {
      operands.pop_back();
    }
    const TensorType type = graph_.type({product});
    const std::string name(graph_.value_name({product}));
    const std::string node_name(graph_.name(product));
    const Attributes kept = graph_.attributes(product);
    Value result = add_op(graph_, "onnx.com.microsoft::MatMulNBits", node_name, std::move(operands),
                          {name, type},
                          {{"K", weight.columns},
                           {"N", weight.rows},
                           {"bits", std::int64_t{weight.bits}},
                           {"block_size", weight.block_size}});
    if (!bias.is_absent() && !is_row) {
      result = add_op(graph_, kind_of({{}, "Add"}), {}, {result, bias}, {name, type});
    }
    take_over(graph_, {product}, result);
    if (const Attribute* info = kept.find(key::value_info)) {
      graph_.set_attribute(result.node, std::string(key::value_info), *info);
    }
  }

  // --- operands ---

  /// Made once for all products that read the weight the same way, or refused once.
  const Operands& operands_of(const Weight& weight) {
    const auto key = std::pair(weight.dequantize, weight.floats_transposed);
    auto known = operands_.find(key);
    if (known == operands_.end()) {
      try {
        known = operands_.emplace(key, make_operands(weight)).first;
      } catch (Obstacle& obstacle) {
        known = operands_.emplace(key, std::move(obstacle)).first;
      }
    }
    if (const auto* obstacle = std::get_if<Obstacle>(&known->second)) stay(obstacle->reason);
    return std::get<Operands>(known->second);
  }

  [[nodiscard]] Operands make_operands(const Weight& weight) {
    const Value codes_value = graph_.ref(weight.dequantize).operand(0);
    const TensorType& codes = graph_.type(codes_value);
    if (!codes.is_quantized()) stay("its codes have no quantized type");
    const UniformType& type = *codes.uniform();
    const ElementType expressed = type.expressed;
    if (bit_width(type.storage) != 4 && bit_width(type.storage) != 8) {
      stay(fmt::format("MatMulNBits has no codes of {}", to_string(type.storage)));
    }
    if (expressed != ElementType::float32 && expressed != ElementType::float16) {
      stay(fmt::format("MatMulNBits does not compute in {}", to_string(expressed)));
    }
    if (codes.shape.rank() != 2 || !codes.shape.is_static()) {
      stay(fmt::format("it has {} dimensions, not 2", codes.shape.rank()));
    }
    const Constant& constant = *graph_.constant(weight.constant);
    if (constant.element() != type.storage) stay("its codes are not of its storage type");

    const std::int64_t summed = weight.floats_transposed ? 1 : 0;  // axis of the codes
    NBitsLayout layout{.rows = codes.shape[1 - summed].value(),
                       .columns = codes.shape[summed].value(),
                       .bits = bit_width(type.storage),
                       .rows_first = weight.floats_transposed != weight.codes_transposed};
    if (layout.rows == 0 || layout.columns == 0) stay("it is empty");
    if (type.scales.shape() != parameter_shape(codes.shape, type.granularity) ||
        !is_scale_type(type.scales.element())) {
      stay("its scales do not fit its shape");
    }
    const Blocks blocks = blocks_of(type, summed, layout);
    layout.block_size = blocks.size;
    // The last block is filled up, so there may be sixteen times as many.
    if (!Shape{layout.rows, layout.blocks(), layout.block_size}.element_count()) {
      stay("it has too many elements");
    }

    const Constant scales = scales_of(type, blocks.index, layout, expressed);
    const Constant zero_points = zero_points_of(type, blocks.index, layout);
    const std::string name(graph_.value_name({weight.dequantize}));
    Operands operands;
    operands.rows = layout.rows;
    operands.columns = layout.columns;
    operands.block_size = layout.block_size;
    operands.bits = layout.bits;
    operands.codes = graph_.add_constant(name + "_packed", nbits_codes(constant, layout));
    operands.scales = expressed == ElementType::float16
                          ? graph_.add_constant(name + "_scale", scales)
                          : add_scales(graph_, name + "_scale", scales);
    if (zero_points) {
      operands.zero_points = graph_.add_constant(name + "_zero_point", zero_points);
    }
    return operands;
  }

  /// The blocks to write: those of the type, cut where they are too large for MatMulNBits; where a
  /// row has one scale, whatever takes the fewest bytes.
  static Blocks blocks_of(const UniformType& type, std::int64_t summed, const NBitsLayout& layout) {
    const Granularity& granularity = type.granularity;
    if (granularity.kind == Granularity::Kind::tensor) return {cheapest_block(type, layout), {}};
    const auto axis = normalize_axis(granularity.axis, 2);
    if (!axis) stay("its axis is outside its dimensions");
    if (granularity.kind == Granularity::Kind::axis) {
      if (*axis == summed) stay("it has a scale for each index that products sum over");
      return {cheapest_block(type, layout), {.row_step = 1}};
    }
    const std::int64_t size = granularity.block_size;
    if (*axis != summed) stay("its blocks lie along the axis that products keep");
    if (size >= layout.columns) return {cheapest_block(type, layout), {.row_step = 1}};
    if (size < smallest_block || !std::has_single_bit(static_cast<std::uint64_t>(size))) {
      stay(
          fmt::format("its blocks have {} elements, which is not a power of two from 16 on", size));
    }
    const std::int64_t written = std::min(size, largest_block);
    const std::int64_t count = (layout.columns - 1) / size + 1;
    ParameterIndex index{.row_step = summed == 0 ? 1 : count,
                         .block_step = summed == 0 ? layout.rows : 1,
                         .repeat = size / written};
    return {written, index};
  }

  /// Large blocks have fewer scales, small ones fewer codes that only fill up the last.
  static std::int64_t cheapest_block(const UniformType& type, NBitsLayout layout) {
    std::int64_t best = 0;
    double least = 0;
    for (std::int64_t size = largest_block; size >= smallest_block; size /= 2) {
      layout.block_size = size;
      const double scale_bits = bit_width(type.expressed) + (type.zero_points ? layout.bits : 0);
      const double bits = static_cast<double>(layout.blocks()) *
                          (static_cast<double>(size) * layout.bits + scale_bits);
      if (best != 0 && bits >= least) continue;
      best = size;
      least = bits;
    }
    return best;
  }

  /// Calls `body(parameter)` for each block of each row.
  template <class Body>
  static void for_each_block(const ParameterIndex& index, const NBitsLayout& layout, Body body) {
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      for (std::int64_t block = 0; block < layout.blocks(); ++block) {
        body(static_cast<std::size_t>(row * index.row_step +
                                      block / index.repeat * index.block_step));
      }
    }
  }

  static Constant scales_of(const UniformType& type, const ParameterIndex& index,
                            const NBitsLayout& layout, ElementType expressed) {
    const Shape shape{layout.rows * layout.blocks()};
    const bool in_order = layout.blocks() == 1
                              ? index.row_step == 1
                              : index.row_step == layout.blocks() && index.repeat == 1;
    if (expressed == ElementType::float32 && in_order) return type.scales.reshaped(shape);
    const bool in_order_of_transpose =
        index.row_step == 1 && index.block_step == layout.rows && index.repeat == 1;
    if (expressed == ElementType::float32 && in_order_of_transpose) {
      return transposed(type.scales, layout.blocks(), layout.rows, shape);
    }
    const std::vector<float> scales = value_of(read_scales(type.scales));
    if (expressed == ElementType::float32) {
      std::vector<float> written;
      for_each_block(index, layout, [&](std::size_t i) { written.push_back(scales[i]); });
      return make_scales(type.scales.element(), shape, written);
    }
    // Scales of a product of float16 are float16: rounding one is fine, losing its digits is not.
    constexpr float smallest_normal = 0x1p-14F;
    std::vector<std::uint16_t> written;
    for_each_block(index, layout, [&](std::size_t i) {
      const std::uint16_t rounded = round_to_float16(scales[i]);
      const float back = std::fabs(widen_float16(rounded));
      if (!std::isfinite(back) || back < smallest_normal) {
        stay(fmt::format("its scale {} is outside the normal numbers of float16", scales[i]));
      }
      written.push_back(rounded);
    });
    return Constant::from_values(expressed, shape, std::span<const std::uint16_t>(written));
  }

  /// Unsigned like the codes; those of a row packed like them, each row from a byte of its own.
  static Constant zero_points_of(const UniformType& type, const ParameterIndex& index,
                                 const NBitsLayout& layout) {
    const int offset = nbits_offset(type.storage);
    if (!type.zero_points && offset != 0) return {};
    if (type.zero_points && (type.zero_points.shape() != type.scales.shape() ||
                             type.zero_points.element() != type.storage)) {
      stay("its zero points do not fit its scales");
    }
    const auto count = static_cast<std::size_t>(type.scales.element_count());
    std::vector<std::byte> zeros(count);
    if (type.zero_points) value_of(type.zero_points.read(0, zeros));
    const auto blocks = static_cast<std::size_t>(layout.blocks());
    const std::size_t per_byte = layout.bits == 4 ? 2 : 1;
    const std::size_t row_bytes = (blocks - 1) / per_byte + 1;
    std::vector<std::byte> written(static_cast<std::size_t>(layout.rows) * row_bytes);
    bool all_default = true;
    std::size_t at = 0;  // block, counted over all rows
    for_each_block(index, layout, [&](std::size_t i) {
      const unsigned mask = layout.bits == 4 ? 15 : 255;
      const unsigned zero =
          (std::to_integer<unsigned>(zeros[i]) + static_cast<unsigned>(offset)) & mask;
      all_default = all_default && zero == (mask + 1) / 2;
      const std::size_t place = at % blocks;
      const bool high = per_byte == 2 && place % 2 == 1;
      written[at / blocks * row_bytes + place / per_byte] |= std::byte(zero) << (high ? 4 : 0);
      ++at;
    });
    if (all_default) return {};
    const Shape shape{static_cast<std::int64_t>(written.size())};
    return Constant::from_bytes(ElementType::uint8, shape, std::move(written));
  }

  // --- what is said ---

  void tell_what_stayed(NodeId dequantize) const {
    if (!sink_ || !graph_.contains(dequantize)) return;
    const std::string name(graph_.value_name({dequantize}));
    const auto reason = reasons_.find(dequantize);
    std::string why = reason != reasons_.end() ? reason->second : reader_of(dequantize);
    sink_->report({Severity::note,
                   used_.contains(dequantize)
                       ? fmt::format("the weight '{}' is stored twice, packed for MatMulNBits and "
                                     "once more: {}",
                                     printable(name), why)
                       : fmt::format("the weight '{}' is not written for MatMulNBits: {}",
                                     printable(name), why),
                   {.tensor = printable(name)}});
  }

  [[nodiscard]] std::string reader_of(NodeId dequantize) const {
    const auto uses = graph_.uses(dequantize);
    if (uses.empty()) return "nobody reads it";
    const NodeId user = uses.front().user;
    if (graph_.kind(user) == ops::Output::kind) return "it is an output of the graph";
    return printable(fmt::format("'{}' reads it, which is no product of a matrix: {}",
                                 label(graph_, user), graph_.kind(user)));
  }

  Graph& graph_;
  Sink* sink_;
  std::map<std::pair<NodeId, bool>, std::variant<Operands, Obstacle>> operands_;
  std::unordered_map<NodeId, std::string> reasons_;  ///< the first one of each
  std::unordered_set<NodeId> used_;                  ///< weights that a MatMulNBits reads
  std::int64_t converted_ = 0;
};

}  // namespace

std::int64_t use_matmul_nbits(Graph& graph, Sink* sink) { return NBitsPass(graph, sink).run(); }

}  // namespace quadrant::inline v0::onnx
