// A scheme for the engine's tests, of the kind of static int8: activations are codes whose ranges
// somebody measured before. Written with the public macros, as a user would; only the contents of
// weights are of no interest here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/evaluator.hpp"
#include "ir/build.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"

namespace activations {

using namespace quadrant;

// --- the constraint ------------------------------------------------------------------------------

/// Codes of one type, with a scale for the tensor or one for each index along an axis.
struct Codes {
  static constexpr std::int64_t per_tensor = -1;
  ElementType storage = ElementType::uint8;
  std::int64_t axis = per_tensor;

  [[nodiscard]] std::size_t hash() const {
    return static_cast<std::size_t>(storage) * 31 + static_cast<std::size_t>(axis);
  }
  [[nodiscard]] std::string print() const;
  [[nodiscard]] static std::optional<Codes> parse(std::string_view text);
  [[nodiscard]] Granularity granularity() const {
    return axis == per_tensor ? Granularity::per_tensor() : Granularity::per_axis(axis);
  }
  friend auto operator<=>(const Codes&, const Codes&) = default;
};

inline constexpr Codes u8{ElementType::uint8, Codes::per_tensor};
inline constexpr Codes s8{ElementType::int8, Codes::per_tensor};
/// Weights: a scale for each channel.
inline constexpr Codes s8_channels{ElementType::int8, 0};
/// Sums of products, such as a bias is added to.
inline constexpr Codes s32_channels{ElementType::int32, 0};

inline constexpr std::array<std::pair<std::string_view, ElementType>, 3> storage_names{
    {{"u8", ElementType::uint8}, {"s8", ElementType::int8}, {"s32", ElementType::int32}}};

inline std::string Codes::print() const {
  const auto* const name =
      std::ranges::find(storage_names, storage, &decltype(storage_names)::value_type::second);
  return axis == per_tensor ? fmt::format("{} per tensor", name->first)
                            : fmt::format("{} axis {}", name->first, axis);
}

inline std::optional<Codes> Codes::parse(std::string_view text) {
  constexpr std::string_view of_axis = "axis ";
  const std::size_t space = std::min(text.find(' '), text.size());
  const auto* const name = std::ranges::find(storage_names, text.substr(0, space),
                                             &decltype(storage_names)::value_type::first);
  if (name == storage_names.end() || space == text.size()) return std::nullopt;
  text.remove_prefix(space + 1);
  Codes codes{name->second, per_tensor};
  if (text == "per tensor") return codes;
  if (!text.starts_with(of_axis)) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + of_axis.size(), end, codes.axis);
  if (error != std::errc{} || stop != end || codes.axis < 0) return std::nullopt;
  return codes;
}

// --- gains ---------------------------------------------------------------------------------------

/// Amounts that can be added up by hand. A node's attributes `enter`, `leave` and `convert` replace
/// the costs of converting its results.
struct ChosenWorth final : GainModel {
  struct Amounts {
    std::int64_t operand = 10;  ///< of computing on one operand's codes
    std::int64_t enter = 3;
    std::int64_t leave = 2;
    std::int64_t convert = 1;
  };
  ChosenWorth() = default;
  explicit ChosenWorth(const Amounts& chosen) : amounts(chosen) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "worth"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "points"; }
  [[nodiscard]] Gain of_operand(const OperandReading&) const override {
    return Gain{amounts.operand};
  }
  [[nodiscard]] Gain of_storage(const Storing& storing) const override {
    const auto& change = storing.change;
    return Gain{static_cast<std::int64_t>(change.before) - static_cast<std::int64_t>(change.after)};
  }
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override {
    const std::array costs{amounts.enter, amounts.leave, amounts.convert};
    const NodeRef producer{change.graph, change.value.node};
    return Gain{-producer.attribute_or(to_string(change.kind()),
                                       costs[static_cast<std::size_t>(change.kind())])};
  }

  Amounts amounts;
};

// --- the scheme ----------------------------------------------------------------------------------

struct Range {
  double low = -1;
  double high = 1;
};

/// What was measured, by the values' names.
using Ranges = std::map<std::string, Range, std::less<>>;

struct Scheme final : quadrant::Scheme {
  explicit Scheme(Ranges measured = {}) : ranges(std::move(measured)) {}
  QUADRANT_SCHEME(Scheme, Codes, "activations")
  [[nodiscard]] std::string describe() const override {
    return fmt::format("ranges={}", ranges.size());
  }

  // Hooks, whether or not they look at the options.
  // NOLINTBEGIN(readability-convert-member-functions-to-static)
  [[nodiscard]] std::optional<Gain> price(const ConversionOf<Codes>& conversion,
                                          const GainModel& gains) const;
  [[nodiscard]] Expected<Value> enter(Value real, const Codes& to, RewriteContext& context) const {
    return emit_codes(ops::Quantize::kind, real, to, context);
  }
  [[nodiscard]] Expected<Value> convert(Value codes, const Codes& to,
                                        RewriteContext& context) const {
    return emit_codes(evaluator::requantize_kind, codes, to, context);
  }
  [[nodiscard]] std::optional<Codes> recognize(const TensorType& type) const;
  [[nodiscard]] Expected<std::shared_ptr<const UniformType>> resolve(
      const ParameterQuery<Codes>& query) const;
  // NOLINTEND(readability-convert-member-functions-to-static)

  Ranges ranges;

 private:
  static Expected<Value> emit_codes(std::string_view kind, Value value, const Codes& to,
                                    RewriteContext& context);
  [[nodiscard]] Range range(std::string_view value) const {
    const auto found = ranges.find(value);
    return found == ranges.end() ? Range{} : found->second;
  }
};

/// Nothing but a convolution makes sums, and requantizing channels one by one is not worth the
/// code.
// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
inline std::optional<Gain> Scheme::price(const ConversionOf<Codes>& conversion,
                                         const GainModel& gains) const {
  const auto is_whole = [](const Codes& codes) { return codes == u8 || codes == s8; };
  const ConversionKind kind = conversion.kind();
  if (kind == ConversionKind::enter && conversion.to()->storage == ElementType::int32) {
    return std::nullopt;
  }
  if (kind == ConversionKind::convert &&
      !(is_whole(*conversion.from()) && is_whole(*conversion.to()))) {
    return std::nullopt;
  }
  return gains.of_conversion(conversion);
}

inline Expected<Value> Scheme::emit_codes(std::string_view kind, Value value, const Codes& to,
                                          RewriteContext& context) {
  TensorType type = context.view().type(value);
  type.quantization = context.parameters(value, to);
  type.element = type.uniform()->storage;
  return context.emit(kind, {value}, std::string(context.view().value_name(value)),
                      std::move(type));
}

inline QUADRANT_DEQUANTIZER(Scheme)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
inline std::optional<Codes> Scheme::recognize(const TensorType& type) const {
  const UniformType& found = *type.uniform();
  if (found.granularity.kind == Granularity::Kind::block) return std::nullopt;
  const bool is_whole = found.granularity.kind == Granularity::Kind::tensor;
  return Codes{found.storage, is_whole ? Codes::per_tensor : found.granularity.axis};
}

// --- parameters ----------------------------------------------------------------------------------

inline std::vector<float> read_scales(const UniformType& type) {
  const auto bytes = type.scales.read();
  const auto scales = bytes->as<float>();
  return {scales.begin(), scales.end()};
}

inline std::shared_ptr<UniformType> with_scales(const Codes& codes,
                                                const std::vector<float>& scales) {
  std::shared_ptr<UniformType> type = build::uniform(scales, codes.granularity());
  type->storage = codes.storage;
  type->storage_min = -127;
  type->storage_max = 127;
  if (codes.storage == ElementType::uint8) {
    type->storage_min = 0;
    type->storage_max = 255;
  } else if (codes.storage == ElementType::int32) {
    type->storage_min = -(1LL << 31);
    type->storage_max = (1LL << 31) - 1;
  }
  return type;
}

/// Unsigned codes reach from one end of the range to the other, signed ones as far on both sides.
/// Later channels are taken to be smaller, so that no two scales of a weight are equal.
inline std::shared_ptr<const UniformType> fit(const Codes& codes, const Range& range,
                                              const Shape& shape) {
  const bool is_unsigned = codes.storage == ElementType::uint8;
  const double scale = is_unsigned ? (range.high - range.low) / 255
                                   : std::max(std::abs(range.low), std::abs(range.high)) / 127;
  const std::int64_t channels = codes.axis == Codes::per_tensor ? 1 : shape[codes.axis].value();
  std::vector<float> scales;
  for (std::int64_t i = 0; i < channels; ++i) {
    scales.push_back(static_cast<float>(scale / static_cast<double>(i + 1)));
  }
  std::shared_ptr<UniformType> type = with_scales(codes, scales);
  if (is_unsigned) {
    const auto zero = static_cast<std::uint8_t>(std::lround(-range.low / scale));
    type->zero_points = Constant::from_values<std::uint8_t>(
        ElementType::uint8, type->scales.shape(), std::span(&zero, 1));
  }
  return type;
}

/// A sum of products: its scale for each channel is the product of its factors'.
inline std::shared_ptr<const UniformType> product(const Codes& codes, const UniformType& input,
                                                  const UniformType& weight) {
  std::vector<float> scales = read_scales(weight);
  for (float& scale : scales) scale *= read_scales(input)[0];
  return with_scales(codes, scales);
}

inline Expected<std::shared_ptr<const UniformType>> Scheme::resolve(
    const ParameterQuery<Codes>& query) const {
  if (!query.sources.empty()) {
    return product(*query.constraint, *query.sources[0], *query.sources[1]);
  }
  std::shared_ptr<const UniformType> given;
  Range merged = range(query.graph->value_name(query.members[0]));
  for (const Value member : query.members) {
    const Range measured = range(query.graph->value_name(member));
    merged = {std::min(merged.low, measured.low), std::max(merged.high, measured.high)};
    const auto known = query.graph->type(member).uniform();
    if (known == nullptr) continue;
    if (given != nullptr && given != known) {
      return fail(ErrorCode::impossible, "came with other parameters than a value it is joined to",
                  {.tensor = std::string(query.graph->value_name(member))});
    }
    given = known;
  }
  if (given != nullptr) return given;
  return fit(*query.constraint, merged, query.graph->type(query.members[0]).shape);
}

// --- the operations ------------------------------------------------------------------------------

struct Ops {
  struct Relu {
    static constexpr std::string_view kind = "relu";
  };
  struct Add {
    static constexpr std::string_view kind = "add";
  };
  struct Score {
    static constexpr std::string_view kind = "score";
  };
};

/// Whatever makes codes computes on codes, so its type is all that changes.
inline Expected<void> set_selected_type(NodeRef node, RewriteContext& context) {
  return context.set_quantized(node.result(), context.parameters(node.result()));
}

/// A node with an attribute `bad` has contents that cannot be quantized.
QUADRANT_QUANTIZER(WeightMethod, Scheme, ops::Constant) {
  void callback(const Codes& wanted, NodeRef node, Asks& asks) const override {
    if (wanted.storage != ElementType::uint8 && wanted.axis < node.type().shape.rank()) {
      asks.accept();
    } else {
      asks.refuse("weights have signed codes");
    }
  }
  [[nodiscard]] Expected<void> examine(const Codes& selected, NodeRef node,
                                       DataContext& context) const override {
    if (node.attribute_or<std::int64_t>("bad", 0) != 0) {
      context.refuse("bad contents");
    } else {
      context.keep(build::zeros(selected.storage, node.type().shape));
    }
    return {};
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return context.graph().set_constant(node.id, context.prepared(node.id),
                                        context.parameters(node.result()));
  }
};

/// The attributes `reads` and `makes` say which codes; the default is u8.
QUADRANT_QUANTIZER(ConvMethod, Scheme, ops::Conv,
                   requires_parents(AnyState, AnyState, or_absent(AnyState))) {
  void request(NodeRef node, Asks& asks) const override { asks.produce(codes(node, "makes")); }
  void callback(const Codes& wanted, NodeRef node, Asks& asks) const override {
    const Codes input = codes(node, "reads");
    if (wanted.axis != Codes::per_tensor || wanted.storage == ElementType::int32) {
      asks.refuse("the result is 8 bits wide, with one scale");
    } else if (node.operand(2).is_absent()) {
      asks.compute({{0, input}, {1, s8_channels}});
    } else {
      asks.compute({{0, input}, {1, s8_channels}, {2, s32_channels}});
    }
  }
  void tie(NodeRef /*node*/, ParameterRules& rules) const override {
    rules.derive(Slot::operand(2), {Slot::operand(0), Slot::operand(1)});
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_selected_type(node, context);
  }

 private:
  static Codes codes(NodeRef node, std::string_view attribute) {
    return *Codes::parse(node.attribute_or<std::string>(attribute, u8.print()));
  }
};

/// Compares codes with the zero point, and passes them on.
QUADRANT_QUANTIZER(ReluMethod, Scheme, Ops::Relu, requires_parents(AnyState)) {
  void callback(const Codes& wanted, NodeRef /*node*/, Asks& asks) const override {
    asks.compute({{0, wanted}});
  }
  void tie(NodeRef /*node*/, ParameterRules& rules) const override {
    rules.share(Slot::result(), Slot::operand(0));
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_selected_type(node, context);
  }
};

/// Adds codes as they are, which means something under equal parameters alone.
QUADRANT_QUANTIZER(AddMethod, Scheme, Ops::Add, requires_parents(AnyState, AnyState)) {
  void callback(const Codes& wanted, NodeRef /*node*/, Asks& asks) const override {
    asks.compute({{0, wanted}, {1, wanted}});
  }
  void tie(NodeRef /*node*/, ParameterRules& rules) const override {
    rules.share(Slot::operand(0), Slot::operand(1));
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return set_selected_type(node, context);
  }
};

/// Makes floats, of codes if it can.
QUADRANT_CONSUMER(ScoreMethod, Scheme, Ops::Score, requires_parents(AnyState, AnyState)) {
  void request(NodeRef /*node*/, Asks& asks) const override { asks.take(0, u8); }
};

inline QUADRANT_METHODS(Scheme) {
  add<WeightMethod>();
  add<ConvMethod>();
  add<ReluMethod>();
  add<AddMethod>();
  add<ScoreMethod>();
}

inline Registry registry(Ranges ranges = {}) {
  return *RegistryBuilder::of(Scheme(std::move(ranges))).freeze();
}

// --- graphs --------------------------------------------------------------------------------------

/// All activations have this shape, so that anything can be added to anything.
inline const Shape map_shape{1, 2, 4, 4};

inline Value input(Graph& graph, std::string name) {
  return graph.add_input(std::move(name), build::f32(map_shape));
}

/// Adds a node of one result; its name is also the result's.
inline Value add(Graph& graph, std::string_view kind, const std::string& name,
                 std::vector<Value> operands, Attributes attributes = {}) {
  return {graph.add({.kind = std::string(kind),
                     .name = name,
                     .operands = std::move(operands),
                     .results = {{name, build::f32(map_shape)}},
                     .attributes = std::move(attributes)})};
}

/// A convolution `name` with its weight `<name>.w` and its bias `<name>.b`.
inline Value conv(Graph& graph, const std::string& name, Value data, Attributes attributes = {}) {
  const Value weight =
      graph.add_constant(name + ".w", build::zeros(ElementType::float32, {2, 2, 1, 1}));
  const Value bias = graph.add_constant(name + ".b", build::zeros(ElementType::float32, {2}));
  return add(graph, ops::Conv::kind, name, {data, weight, bias}, std::move(attributes));
}

}  // namespace activations
