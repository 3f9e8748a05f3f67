#include "mlir_plugin/lost_signs.hpp"

#include <fmt/format.h>
#include <mlir/IR/Diagnostics.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "quadrant/ir/number_format.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

constexpr std::uint64_t looked_at_bytes = std::uint64_t{64} << 10;

// A float whose sign is set, but for zero.
bool has_negative(std::span<const std::byte> floats, std::size_t width) {
  for (std::size_t at = 0; at < floats.size(); at += width) {
    const auto last = static_cast<unsigned>(floats[at + width - 1]);
    if (last < 0x80U) continue;
    const auto rest = floats.subspan(at, width - 1);
    if (last != 0x80U || std::ranges::any_of(rest, [](std::byte b) { return b != std::byte{0}; })) {
      return true;
    }
  }
  return false;
}

bool has_negative(const Constant& floats) {
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < floats.byte_size(); at += looked_at_bytes) {
    piece.resize(static_cast<std::size_t>(std::min(looked_at_bytes, floats.byte_size() - at)));
    if (!floats.read(at, piece)) return false;  // whoever quantizes it says why
    if (has_negative(piece, static_cast<std::size_t>(byte_width(floats.element())))) return true;
  }
  return false;
}

// The same with zero points, if there is such a type: of `u8 * ...` that is `(u8 - z) * ...`.
std::string with_zero_points(const std::string& type) {
  const std::size_t end = type.find(" *");
  if (end == std::string::npos) return {};
  std::string made = fmt::format("({} - z){}", type.substr(0, end), type.substr(end));
  return WeightOnly::make({.type = made}) ? made : std::string();
}

}  // namespace

bool lacks_negatives(const std::string& type) {
  if (type.empty()) return false;
  const auto format = parse_number_format(type);
  if (!format || format->offset != Offset::none) return false;
  if (std::ranges::any_of(format->scales,
                          [](const ScaleLevel& level) { return has_sign(level); })) {
    return false;
  }
  if (const auto* const integers = std::get_if<IntegerCode>(&format->code)) {
    return integers->min >= 0;
  }
  if (std::holds_alternative<StoredTable>(format->code)) return false;
  return std::ranges::none_of(code_values(format->code), [](float value) { return value < 0; });
}

std::vector<SignedWeight> weights_below_zero(const FunctionGraph& graph) {
  std::vector<SignedWeight> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const Constant* const held = graph.constant({index});
    if (held != nullptr && is_float(held->element()) && has_negative(*held)) {
      found.push_back({std::string(graph.value_name({{index}})), graph.location(NodeId{index})});
    }
  }
  return found;
}

void warn_of_clipping(const std::vector<SignedWeight>& weights, const Plan& plan,
                      const std::string& type) {
  std::set<std::string_view> quantized;
  for (const PlannedValue& entry : plan.values) quantized.insert(entry.value);
  const std::string better = with_zero_points(type);
  const std::string advice = better.empty() ? "int8" : fmt::format("'{}'", better);
  for (const SignedWeight& weight : weights) {
    if (!quantized.contains(weight.name)) continue;
    mlir::emitWarning(weight.location,
                      fmt::format("what is below zero in {} becomes zero, since type='{}' has no "
                                  "such values; type={} has",
                                  weight.name, type, advice));
  }
}

}  // namespace quadrant::inline v0::mlir_plugin
