#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "ir/work.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// Far above any time, and a sum of 2^11 of them fits.
constexpr double most_nanoseconds = 0x1p52;

std::int64_t whole_nanoseconds(double time) noexcept {
  return std::llround(std::clamp(time, -most_nanoseconds, most_nanoseconds));
}

ElementType codes_of(const ValueForm& form) noexcept {
  return form.storage.value_or(ElementType::int8);
}

double bits_of(ElementType type) noexcept {
  const int bits = bit_width(type);
  return bits == 0 ? 32 : bits;
}

// Of the codes that kernels for integers take.
bool is_narrow(ElementType codes) noexcept { return bits_of(codes) <= 8; }

bool is_unsigned(ElementType codes) noexcept {
  return codes == ElementType::uint8 || codes == ElementType::uint4;
}

bool moves_nothing(NodeRef node) noexcept { return has_trait(node, Trait::keeps_order); }

double elements_of(const TensorType& type) noexcept {
  return static_cast<double>(counted_elements(type.shape));
}

// What is read of an operand, which is there.
double elements_read(NodeRef node, std::uint32_t operand, const TensorType& type) noexcept {
  const double all = elements_of(type);
  const bool picks = node.kind() == ops::Gather::kind || node.kind() == ops::Slice::kind;
  return picks && operand == 0 ? std::min(all, elements_of(node.type())) : all;
}

// Of `elements`, as codes where they may be: indices and masks stay what they are, as everything
// does where there are no codes. Types that are not known count as 32 bits.
using Codes = std::optional<ElementType>;
double bytes_of(double elements, ElementType type, Codes codes) noexcept {
  return elements * bits_of(codes && may_be_real(type) ? *codes : type) / 8;
}

struct CodesOf {
  Codes operands;
  Codes results;
};

double bytes_moved(NodeRef node, CodesOf codes) {
  if (moves_nothing(node)) return 0;
  double bytes = 0;
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type == nullptr) continue;
    bytes += bytes_of(elements_read(node, i, *type), type->element, codes.operands);
  }
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    const TensorType& type = node.type(i);
    bytes += bytes_of(elements_of(type), type.element, codes.results);
  }
  return bytes;
}

// Of an operation that adds up no products: a reduction reads more than it makes, a broadcast makes
// more than it reads.
double largest_elements(NodeRef node) {
  if (moves_nothing(node)) return 0;
  double most = 0;
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type != nullptr) most = std::max(most, elements_read(node, i, *type));
  }
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
    most = std::max(most, elements_of(node.type(i)));
  }
  return most;
}

// The products that have kernels for weights in codes beside floats.
bool may_read_weights(NodeRef node, std::uint32_t operand) noexcept {
  const std::string_view kind = node.kind();
  return operand == 1 &&
         (kind == ops::MatMul::kind || kind == ops::Gemm::kind || kind == ops::Linear::kind);
}

bool is_constant(const GraphView& graph, Value value) noexcept {
  return !value.is_absent() && graph.constant(value.node) != nullptr;
}

double conversion_rate(const HardwareProfile& profile, ConversionKind kind) noexcept {
  switch (kind) {
    case ConversionKind::enter:
      return profile.quantize;
    case ConversionKind::leave:
      return profile.dequantize;
    case ConversionKind::convert:
      break;
  }
  return profile.requantize;
}

}  // namespace

LatencyGain::LatencyGain(HardwareProfile profile) : profile_(std::move(profile)) {}

double LatencyGain::weights_rate(ElementType codes) const noexcept {
  const int bits = bit_width(codes);
  if (bits == 8) return profile_.weights8_products;
  return bits == 4 ? profile_.weights4_products : 0;
}

double LatencyGain::roofline(double bytes, double work, double rate) const noexcept {
  const double near = std::min(bytes, profile_.cache_bytes);
  const double moving =
      (near > 0 ? near / profile_.cache_bandwidth : 0) + (bytes - near) / profile_.bandwidth;
  return std::max(moving, work / rate);
}

double LatencyGain::float_time(NodeRef node) const {
  const double bytes = bytes_moved(node, {});
  const auto products = static_cast<double>(multiply_accumulates(node));
  return products > 0 ? roofline(bytes, products, profile_.float_products)
                      : roofline(bytes, largest_elements(node), profile_.float_elements);
}

double LatencyGain::code_time(NodeRef node, ElementType codes, bool makes_codes) const {
  const double bytes = bytes_moved(node, {codes, makes_codes ? Codes(codes) : Codes()});
  const auto products = static_cast<double>(multiply_accumulates(node));
  if (products > 0) {
    const double rate = is_unsigned(codes) ? profile_.uint8_products : profile_.int8_products;
    return roofline(bytes, products, is_narrow(codes) ? rate : profile_.float_products);
  }
  return roofline(bytes, largest_elements(node),
                  is_narrow(codes) ? profile_.int8_elements : profile_.float_elements);
}

bool LatencyGain::is_fused(NodeRef consumer, std::uint32_t operand, ElementType codes) const {
  return weights_rate(codes) > 0 && may_read_weights(consumer, operand) &&
         is_constant(*consumer.graph, consumer.operand(operand));
}

bool LatencyGain::is_free(const FormChange& change, ElementType codes) const {
  const GraphView& graph = *change.graph;
  if (!is_constant(graph, change.value) || change.kind() != ConversionKind::leave) return false;
  return profile_.folds_constants ||
         std::ranges::all_of(graph.uses(change.value.node), [&](const Use& use) {
           return is_fused({&graph, use.user}, use.operand, codes);
         });
}

Gain LatencyGain::of_weights(const OperandReading& reading, ElementType codes) const {
  const NodeRef node = reading.consumer;
  const double rate = weights_rate(codes);
  const TensorType* weight = node.operand_type(reading.operand);
  if (!is_fused(node, reading.operand, codes) || weight == nullptr) return {};
  const double elements = elements_of(*weight);
  const double bytes = bytes_moved(node, {}) - bytes_of(elements, weight->element, {}) +
                       bytes_of(elements, weight->element, codes);
  const auto products = static_cast<double>(multiply_accumulates(node));
  return Gain{whole_nanoseconds(float_time(node) - roofline(bytes, products, rate))};
}

Gain LatencyGain::of_factor(const OperandReading& reading, ElementType codes) const {
  const NodeRef node = reading.consumer;
  const std::uint32_t first = first_factor(node);
  const std::uint32_t second = first + 1;
  if (reading.operand != first && reading.operand != second) return {};
  // The kernel goes by the type of the activations, which a weight does not know.
  const std::int64_t saved = whole_nanoseconds(float_time(node) - code_time(node, codes, true));
  const std::int64_t of_first = is_constant(*node.graph, node.operand(second)) ? saved : saved / 2;
  return Gain{reading.operand == first ? of_first : saved - of_first};
}

Gain LatencyGain::of_share(const OperandReading& reading, ElementType codes) const {
  const NodeRef node = reading.consumer;
  // Shares of running sums, so that they add up whatever is rounded.
  double all = 0;
  double before = 0;
  double own = 0;
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    if (type == nullptr || !may_be_real(type->element)) continue;
    if (i == reading.operand) {
      before = all;
      own = elements_read(node, i, *type);
    }
    all += elements_read(node, i, *type);
  }
  if (own == 0) return {};
  const auto saved = static_cast<double>(
      whole_nanoseconds(float_time(node) - code_time(node, codes, reading.makes_codes)));
  return Gain{whole_nanoseconds(saved * (before + own) / all) -
              whole_nanoseconds(saved * before / all)};
}

Gain LatencyGain::of_operand(const OperandReading& reading) const {
  const ElementType codes = codes_of(reading.form);
  if (multiply_accumulates(reading.consumer) == 0) {
    return reading.takes_codes ? of_share(reading, codes) : Gain{};
  }
  return reading.takes_codes && reading.makes_codes ? of_factor(reading, codes)
                                                    : of_weights(reading, codes);
}

Gain LatencyGain::of_conversion(const FormChange& change) const {
  if (is_free(change, codes_of(change.before))) return {};
  const TensorType& type = change.graph->type(change.value);
  const double elements = elements_of(type);
  const auto bytes_in = [&](const ValueForm& form) {
    return bytes_of(elements, type.element, form.is_float() ? Codes() : Codes(codes_of(form)));
  };
  const double rate = conversion_rate(profile_, change.kind());
  const double time = roofline(bytes_in(change.before) + bytes_in(change.after), elements, rate);
  return Gain{-whole_nanoseconds(profile_.overhead + time)};
}

Gain LatencyGain::of_node(NodeRef node) const {
  const auto operands = node.operands();
  const bool is_run =
      node.kind() != ops::Output::kind && std::ranges::any_of(operands, [&](Value operand) {
        return !operand.is_absent() && !is_constant(*node.graph, operand);
      });
  return is_run ? Gain{whole_nanoseconds(profile_.overhead + float_time(node))} : Gain{};
}

std::optional<Gain> LatencyGain::in_float(const GraphView& graph) const {
  Gain sum;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid()) sum += of_node({&graph, node});
  }
  return sum;
}

}  // namespace quadrant::inline v0
