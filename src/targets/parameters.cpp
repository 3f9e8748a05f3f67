#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "ir/packed_codes.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/targets/runtime_profile.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

// More elements than this, and bits do not fit into 64 bits of a number any more.
constexpr std::uint64_t countable_elements = std::uint64_t{1} << 56U;

Role role_of(const GraphView& graph, const Use& use) {
  return role_of(NodeRef{&graph, use.user}, use.operand);
}

// One reader that computes with it makes it a parameter.
bool is_setting(const GraphView& graph, NodeId node) {
  const auto uses = graph.uses(node);
  return !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
    return role_of(graph, use) == Role::setting;
  });
}

const Use* codes_use(const GraphView& graph, NodeId node) {
  const auto uses = graph.uses(node);
  const auto found = std::ranges::find_if(
      uses, [&](const Use& use) { return role_of(graph, use) == Role::codes; });
  return found == uses.end() ? nullptr : &*found;
}

bool is_small(const Constant& constant) {
  return constant.element_count() == 0 ||
         (constant.element_count() == 1 && constant.shape().rank() <= 1);
}

std::uint64_t plain_bytes(std::uint64_t elements, ElementType type) {
  if (elements > countable_elements) return saturated<std::uint64_t>;
  return (elements * static_cast<std::uint64_t>(bit_width(type)) + 7) / 8;
}

Expected<void> check_granularity(const GraphView& graph, const Parameter& parameter) {
  const Granularity& granularity = parameter.granularity;
  const bool has_axis = granularity.kind != Granularity::Kind::tensor;
  const bool is_blocked = granularity.kind == Granularity::Kind::block;
  if ((has_axis && (granularity.axis < 0 || granularity.axis >= parameter.shape.rank())) ||
      (is_blocked && granularity.block_size <= 0)) {
    return fail(ErrorCode::invalid_model,
                "the axis or block size of the quantized type does not fit the constant",
                {.file = {},
                 .node = std::string(graph.name(parameter.node)),
                 .tensor = parameter.name,
                 .offset = {}});
  }
  return {};
}

std::uint64_t coded_bytes(const Parameter& parameter, const Granularity& granularity,
                          ElementType storage, ElementType scale, bool has_zero_points) {
  if (parameter.elements > countable_elements) return saturated<std::uint64_t>;
  return stored_bytes(parameter.shape, granularity, storage, scale, has_zero_points);
}

// Codes whose scales the operation reads as operands.
Parameter untyped_codes(const GraphView& graph, const Use& use, Parameter parameter) {
  parameter.form = ParameterForm::quantized;
  parameter.bytes = plain_bytes(parameter.elements, parameter.storage);
  const std::string_view kind = graph.kind(use.user);
  if (kind != matmul_nbits_kind && kind != matmul_bnb4_kind) return parameter;
  const NodeRef product{&graph, use.user};  // without the attribute: 4
  const auto bits = product.attribute_or<std::int64_t>("bits", 4);
  if (bits <= 0 || bits >= 8) return parameter;
  const std::uint64_t all_bits = saturating_multiply(parameter.bytes, 8);
  parameter.elements = all_bits / static_cast<std::uint64_t>(bits);
  // A range of 2 bits, say, has no type of its own.
  if (bits == 4) parameter.storage = ElementType::uint4;
  parameter.shape = Shape{static_cast<std::int64_t>(parameter.elements)};
  return parameter;
}

// Sorts the constants of one graph.
class Finder {
 public:
  explicit Finder(const GraphView& graph) : graph_(graph) {}

  Expected<void> add(NodeId node, const Constant& constant) {
    const Value value{node, 0};
    const TensorType& type = graph_.type(value);
    Parameter parameter;
    parameter.node = node;
    parameter.name = graph_.value_name(value);
    parameter.storage = constant.element();
    parameter.shape = constant.shape();
    parameter.elements = static_cast<std::uint64_t>(constant.element_count());
    parameter.bytes = plain_bytes(parameter.elements, parameter.storage);
    const ScaledFormat* const other = type.quantization.other().get();
    if (is_carried(constant.element()) ||
        (other != nullptr && std::holds_alternative<FloatCode>(other->format.code))) {
      ++list_.unread;
      return {};
    }
    const bool is_real = type.is_quantized() || is_float(constant.element());
    const Use* as_codes = is_real ? nullptr : codes_use(graph_, node);
    if (!is_real && as_codes == nullptr) {
      list_.integers.add(parameter);
      return {};
    }
    if (is_small(constant) || is_setting(graph_, node)) {
      list_.settings.add(parameter);
      return {};
    }
    if (other != nullptr) {
      parameter.form = ParameterForm::quantized;
      parameter.granularity = innermost_groups(other->format);
      parameter.bytes = stored_bytes(other->format, parameter.shape);
    } else if (type.is_quantized()) {
      const UniformType& quantized = *type.uniform();
      parameter.form = ParameterForm::quantized;
      parameter.granularity = quantized.granularity;
      parameter.scale = quantized.scales ? quantized.scales.element() : ElementType::float32;
      QUADRANT_CHECK(check_granularity(graph_, parameter));
      parameter.bytes = coded_bytes(parameter, parameter.granularity, parameter.storage,
                                    parameter.scale, static_cast<bool>(quantized.zero_points));
    } else if (as_codes != nullptr) {
      parameter = untyped_codes(graph_, *as_codes, std::move(parameter));
    }
    list_.all.add(parameter);
    by_storage_[{parameter.form, parameter.storage}].add(parameter);
    list_.parameters.push_back(std::move(parameter));
    return {};
  }

  void add_unread() { ++list_.unread; }

  ParameterList finish() {
    for (const auto& [stored, totals] : by_storage_) {
      list_.storage.push_back({stored.first, stored.second, totals});
    }
    return std::move(list_);
  }

 private:
  const GraphView& graph_;
  ParameterList list_;
  std::map<std::pair<ParameterForm, ElementType>, ParameterTotals> by_storage_;
};

}  // namespace

void ParameterTotals::add(std::uint64_t more_elements, std::uint64_t more_bytes) noexcept {
  count = saturating_add(count, 1);
  elements = saturating_add(elements, more_elements);
  bytes = saturating_add(bytes, more_bytes);
}

void ParameterTotals::add(const ParameterTotals& more) noexcept {
  count = saturating_add(count, more.count);
  elements = saturating_add(elements, more.elements);
  bytes = saturating_add(bytes, more.bytes);
}

Expected<ParameterList> find_parameters(const GraphView& graph) {
  constexpr std::array unread_kinds{"onnx.initializer", "onnx.sparse_initializer"};
  Finder finder(graph);
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    const Constant* constant = graph.constant(node);
    if (constant != nullptr && *constant) {
      QUADRANT_CHECK(finder.add(node, *constant));
    } else if (std::ranges::find(unread_kinds, graph.kind(node)) != unread_kinds.end()) {
      finder.add_unread();
    }
  }
  return finder.finish();
}

std::uint64_t bytes_as(const Parameter& parameter, ElementType type) {
  if (is_float(type)) return plain_bytes(parameter.elements, type);
  if (parameter.form == ParameterForm::floating) {
    return coded_bytes(parameter, Granularity::per_tensor(), type, ElementType::float32, true);
  }
  if (parameter.scale == ElementType::undefined) return plain_bytes(parameter.elements, type);
  return coded_bytes(parameter, parameter.granularity, type, parameter.scale, true);
}

}  // namespace quadrant::inline v0
