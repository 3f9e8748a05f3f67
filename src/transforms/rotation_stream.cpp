#include "transforms/rotation_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/channels.hpp"
#include "transforms/hadamard.hpp"
#include "transforms/norms.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {
namespace {

// What they make of squares, or of all, along the last axis stays the same.
constexpr std::array unchanged_sums{ops::ReduceMean::kind, ops::ReduceSum::kind,
                                    ops::ReduceSumSquare::kind, ops::ReduceL2::kind};
constexpr std::array sums_of_squares{ops::ReduceMean::kind, ops::ReduceSum::kind};

template <class Kinds>
bool is_of(const Kinds& kinds, std::string_view kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

Extent last_extent(const TensorType& type) {
  const Shape& shape = type.shape;
  if (!shape.is_ranked()) return Extent::open();
  return shape.rank() == 0 ? Extent(1) : shape[shape.rank() - 1];
}

// Empty where they are computed.
std::optional<std::vector<std::int64_t>> known_axes(NodeRef node, std::size_t operand) {
  const Constant* const given = node.operand_constant(operand);
  if (given == nullptr) return std::nullopt;
  auto read = read_integers(*given, given->element_count());
  return read ? std::optional(*std::move(read)) : std::nullopt;
}

// One of these, along the last axis alone.
template <class Kinds>
bool is_row_sum(NodeRef node, const Kinds& kinds) {
  const TensorType* const type = node.operand_type(0);
  if (!is_of(kinds, node.kind()) || type == nullptr || !type->shape.is_ranked()) return false;
  const auto axes =
      known_axes(node, 1).value_or(node.attribute_or("axes", std::vector<std::int64_t>()));
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == type->shape.rank() - 1);
}

// Takes whole rows, wherever they are.
bool is_slice_of_rows(NodeRef node) {
  const std::int64_t rank = node.operand_type(0)->shape.rank();
  if (node.operand(3).is_absent()) {  // the first axes
    const TensorType* const starts = node.operand_type(1);
    return starts != nullptr && starts->shape.rank() == 1 && starts->shape[0].is_known() &&
           starts->shape[0].value() < rank;
  }
  const auto axes = known_axes(node, 3);
  return axes && std::ranges::none_of(
                     *axes, [&](std::int64_t axis) { return axis == -1 || axis == rank - 1; });
}

// Puts rows behind one another.
bool is_concat_of_rows(NodeRef node) {
  if (node.kind() != ops::Concat::kind) return false;
  const auto axis = ops::Concat{node}.axis();
  return axis && node.type().shape.is_ranked() && *axis != node.type().shape.rank() - 1;
}

// Of floats that can be rounded anew.
bool is_real(const TensorType& type) {
  return !type.is_quantized() &&
         (is_wide_float(type.element) || type.element == ElementType::float16 ||
          type.element == ElementType::bfloat16);
}

// The power of two, or the product with itself.
bool is_square(NodeRef node) {
  if (node.kind() == ops::Multiply::kind) return node.operand(0) == node.operand(1);
  const Constant* const power = node.operand_constant(1);
  if (node.kind() != ops::Pow::kind || power == nullptr || power->element_count() != 1) {
    return false;
  }
  if (is_integer(power->element())) {
    const auto read = read_integers(*power, 1);
    return read && read->front() == 2;
  }
  const auto read = read_reals(*power);
  return read && read->front() == 2;
}

std::string named(NodeRef node) {
  return fmt::format("'{}' ({})", label(*node.graph, node.id), node.kind());
}

// Values stay known from one search to the next, so that all together are linear.
class StreamSearch {
 public:
  explicit StreamSearch(const Graph& graph) : graph_(graph) {}

  [[nodiscard]] bool knows(Value value) const { return stream_of_.contains(value); }

  // Goes on where something hinders, for that to be said once for the whole stream.
  OrReason<Stream> run(Value start, std::int64_t width) {
    ++number_;
    found_ = Stream();
    found_.value = graph_.value_name(start);
    found_.width = width;
    scaled_.clear();
    reason_.clear();
    note(add(start));
    while (!open_.empty()) {
      const Value value = open_.back();
      open_.pop_back();
      look(value);
    }
    if (!reason_.empty()) return because(reason_);
    if (found_.readers.empty()) return because("no product with constant weights reads it");
    return std::move(found_);
  }

 private:
  void note(OrReason<void> looked) {
    if (!looked && reason_.empty()) reason_ = std::move(looked).error();
  }

  void look(Value value) {
    const std::optional<std::size_t> scale = scale_of(value);
    if (!scale) note(look_at_maker(graph_.ref(value.node), value));
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      const NodeRef user = graph_.ref(use.user);
      note(scale ? look_at_scaled(user, use.operand, value, *scale)
                 : look_at_user(user, use.operand, value));
    }
  }

  // --- rotated values
  // -------------------------------------------------------------------------------

  OrReason<void> look_at_maker(NodeRef node, Value value) {
    const std::string_view kind = node.kind();
    if (value.result != 0) return because(fmt::format("{} has several results", named(node)));
    if (kind == ops::Add::kind || kind == ops::Sub::kind) return all_terms(node);
    if (kind == ops::Multiply::kind || kind == ops::Div::kind) return factor_of_rows(node);
    if (find_product(node) != nullptr) return made_by(node);
    if (is_move(node)) return term(node, 0);
    if (is_concat_of_rows(node)) return all_terms(node);
    return because(
        fmt::format("{} makes it, which is no product with constant weights", named(node)));
  }

  OrReason<void> look_at_user(NodeRef user, std::uint32_t operand, Value value) {
    const std::string_view kind = user.kind();
    if (kind == ops::ShapeOf::kind || is_row_sum(user, unchanged_sums)) return {};
    if (kind == ops::Add::kind || kind == ops::Sub::kind || (is_move(user) && operand == 0) ||
        is_concat_of_rows(user)) {
      return add(user.result());
    }
    if (is_square(user)) return only_summed(user);
    if (kind == ops::Multiply::kind || kind == ops::Div::kind) return factor(user, operand);
    if (is_of(last_axis_norms, kind) && operand == 0) return norm(user);
    return read_by(user, operand, value, std::nullopt);
  }

  OrReason<void> all_terms(NodeRef node) {
    OrReason<void> all;
    for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
      auto one = term(node, i);
      if (all) all = std::move(one);
    }
    return all;
  }

  // What is added has to be rotated, too, unless it is the same for all channels.
  OrReason<void> term(NodeRef node, std::uint32_t operand) {
    const Value value = node.operand(operand);
    if (value.is_absent()) return {};
    const Extent last = last_extent(graph_.type(value));
    if (surely_equal(last, 1)) return {};
    if (graph_.constant(value.node) == nullptr) return add(value);
    if (!surely_equal(last, found_.width)) return not_of_width(value);
    if (!is_real(graph_.type(value))) return not_real(value);
    found_.makers.push_back({.place = {node.id, operand}, .scale = std::nullopt});
    return {};
  }

  // A factor for each row: the rest is rotated.
  OrReason<void> factor_of_rows(NodeRef node) {
    const bool is_first = surely_equal(last_extent(*node.operand_type(1)), 1);
    const bool is_second =
        node.kind() == ops::Multiply::kind && surely_equal(last_extent(*node.operand_type(0)), 1);
    if (is_first || is_second) return term(node, is_first ? 0 : 1);
    return because(fmt::format("{} makes it, which has a factor for each channel", named(node)));
  }

  OrReason<void> factor(NodeRef user, std::uint32_t operand) {
    const std::uint32_t other = 1 - operand;
    if (user.kind() == ops::Div::kind && operand == 1) {
      return because(fmt::format("{} divides by it", named(user)));
    }
    if (surely_equal(last_extent(*user.operand_type(other)), 1)) return add(user.result());
    if (user.kind() != ops::Multiply::kind || user.operand_constant(other) == nullptr) {
      return because(fmt::format("{} multiplies channels by what is computed", named(user)));
    }
    if (!has_channels(user, other, operand)) return not_channels(user, other);
    found_.scales.push_back({.factor = {user.id, other}, .is_node = true, .shift = std::nullopt});
    return add_scaled(user.result(), found_.scales.size() - 1);
  }

  OrReason<void> norm(NodeRef user) {
    const auto rank = user.operand_type(0)->shape.rank();
    const auto axis = user.attribute_or<std::int64_t>("axis", -1);
    if (axis != -1 && axis != rank - 1) {
      return because(fmt::format("{} normalizes several axes", named(user)));
    }
    StreamScale scale{.factor = {user.id, 1}, .shift = std::nullopt};
    if (user.operand_constant(1) == nullptr) {
      return because(fmt::format("{} has a scale that is computed", named(user)));
    }
    if (!has_channels(user, 1, 0)) return not_channels(user, 1);
    if (user.operands().size() > 2 && !user.operand(2).is_absent()) {
      if (user.operand_constant(2) == nullptr) {
        return because(fmt::format("{} has a shift that is computed", named(user)));
      }
      if (!has_channels(user, 2, 0)) return not_channels(user, 2);
      scale.shift = OperandPlace{user.id, 2};
    }
    found_.scales.push_back(scale);
    return add_scaled(user.result(), found_.scales.size() - 1);
  }

  // Whether a constant is one number, or one for each channel, and leaves the data their shape.
  [[nodiscard]] bool has_channels(NodeRef node, std::uint32_t constant, std::uint32_t data) const {
    return is_real(*node.operand_type(constant)) &&
           is_channelwise(*node.operand_constant(constant), found_.width, -1,
                          node.operand_type(data)->shape.rank());
  }

  [[nodiscard]] static OrReason<void> not_channels(NodeRef node, std::uint32_t operand) {
    return because(fmt::format("{} reads a constant of type {}, which is not one number a channel",
                               named(node), to_string(*node.operand_type(operand))));
  }

  [[nodiscard]] OrReason<void> only_summed(NodeRef square) const {
    for (const Use& use : graph_.uses(square.id)) {
      if (is_row_sum(graph_.ref(use.user), sums_of_squares)) continue;
      return because(fmt::format("{} is read by channels", named(square)));
    }
    return {};
  }

  // --- scaled values
  // --------------------------------------------------------------------------------

  OrReason<void> look_at_scaled(NodeRef user, std::uint32_t operand, Value value,
                                std::size_t scale) {
    if (is_move(user) && operand == 0) return add_scaled(user.result(), scale);
    if (user.kind() == ops::Add::kind && user.operand_constant(1 - operand) != nullptr) {
      StreamScale& of = found_.scales[scale];
      const bool is_next = of.is_node && !of.shift && value.node == of.factor.node &&
                           graph_.uses(value.node).size() == 1;
      if (!is_next) return because(fmt::format("{} shifts it once more", named(user)));
      if (!has_channels(user, 1 - operand, operand)) return not_channels(user, 1 - operand);
      of.shift = OperandPlace{user.id, 1 - operand};
      return add_scaled(user.result(), scale);
    }
    if (user.kind() == ops::ShapeOf::kind) return {};
    return read_by(user, operand, value, scale);
  }

  // --- products
  // -------------------------------------------------------------------------------------

  // The axis of its weight, counted from the end, along which it sums, or which the result keeps.
  [[nodiscard]] std::optional<std::int64_t> weight_axis(NodeRef node, bool is_summed) const {
    const Product* const product = find_product(node);
    if (product == nullptr || is_convolution(*product)) return std::nullopt;
    const Value weight = node.operand(product->weight);
    if (weight.is_absent() || !is_weight(weight)) return std::nullopt;
    if (!is_real(graph_.type(weight))) return std::nullopt;
    const Shape& shape = graph_.type(weight).shape;
    const auto channel = product->channel(node, shape);
    if (shape.rank() != 2 || !channel) return std::nullopt;
    return (is_summed ? 1 - *channel : *channel) - 2;
  }

  // A constant, perhaps transposed.
  [[nodiscard]] bool is_weight(Value value) const {
    if (graph_.constant(value.node) != nullptr) return true;
    const NodeRef node = graph_.ref(value.node);
    return node.kind() == ops::Transpose::kind && node.operand_constant(0) != nullptr &&
           graph_.type(value).shape.rank() == 2;
  }

  OrReason<void> made_by(NodeRef node) {
    const Product& product = *find_product(node);
    const auto axis = weight_axis(node, false);
    if (!axis) {
      return because(
          fmt::format("{} makes it, which is no product with constant weights", named(node)));
    }
    found_.makers.push_back(
        {.place = {node.id, product.weight}, .axis = *axis, .scale = std::nullopt});
    const bool has_bias = product.bias < node.operands().size();
    return has_bias ? term(node, product.bias) : OrReason<void>();
  }

  OrReason<void> read_by(NodeRef user, std::uint32_t operand, Value value,
                         std::optional<std::size_t> scale) {
    const Product* const product = find_product(user);
    const auto axis = weight_axis(user, true);
    const bool is_transposed = user.attribute_or<std::int64_t>("transA", 0) != 0;
    if (!axis || operand != product->data || is_transposed) {
      return because(fmt::format("{} reads '{}', and is no product with constant weights",
                                 named(user), graph_.value_name(value)));
    }
    found_.readers.push_back({.place = {user.id, product->weight}, .axis = *axis, .scale = scale});
    return {};
  }

  // --- bookkeeping
  // ----------------------------------------------------------------------------------

  // Whether rows come out as they are, somewhere else.
  [[nodiscard]] bool is_move(NodeRef node) const {
    const std::string_view kind = node.kind();
    const TensorType* const from = node.operand_type(0);
    if (from == nullptr || graph_.result_count(node.id) != 1) return false;
    if (!is_real(*from) || !is_real(node.type())) return false;
    const bool keeps_last = surely_equal(last_extent(*from), found_.width) &&
                            surely_equal(last_extent(node.type()), found_.width);
    if (kind == ops::Gather::kind) {
      const auto axis = ops::Gather{node}.axis();
      return axis && *axis != from->shape.rank() - 1 && keeps_last;
    }
    if (kind == ops::Transpose::kind) {
      const auto perm = ops::Transpose{node}.perm();
      return !perm.empty() && perm.back() == std::ssize(perm) - 1;
    }
    if (kind == ops::Slice::kind) return keeps_last && is_slice_of_rows(node);
    return keeps_last && (kind == ops::Cast::kind || kind == ops::Expand::kind ||
                          has_trait(node, Trait::keeps_order));
  }

  [[nodiscard]] OrReason<void> not_of_width(Value value) const {
    return because(fmt::format("'{}' is not known to have {} channels", graph_.value_name(value),
                               found_.width));
  }

  [[nodiscard]] OrReason<void> not_real(Value value) const {
    return because(fmt::format("'{}' is of type {}, which cannot be rounded anew",
                               graph_.value_name(value), to_string(graph_.type(value))));
  }

  [[nodiscard]] OrReason<void> scaled_and_not(Value value) const {
    return because(
        fmt::format("'{}' has a scale and is added to what has none", graph_.value_name(value)));
  }

  OrReason<void> add(Value value) {
    if (scale_of(value)) return scaled_and_not(value);
    const auto [at, is_new] = stream_of_.emplace(value, number_);
    if (!is_new) return of_this_stream(value, at->second);
    const TensorType& type = graph_.type(value);
    if (!surely_equal(last_extent(type), found_.width)) return not_of_width(value);
    if (!is_real(type)) return not_real(value);
    open_.push_back(value);
    return {};
  }

  OrReason<void> add_scaled(Value value, std::size_t scale) {
    const auto at = stream_of_.find(value);
    if (at != stream_of_.end() && at->second == number_) return scaled_and_not(value);
    if (scaled_.emplace(value, scale).second) open_.push_back(value);
    return {};
  }

  [[nodiscard]] OrReason<void> of_this_stream(Value value, std::size_t number) const {
    if (number == number_) return {};
    return because(fmt::format("'{}' is of another stream", graph_.value_name(value)));
  }

  [[nodiscard]] std::optional<std::size_t> scale_of(Value value) const {
    const auto found = scaled_.find(value);
    return found == scaled_.end() ? std::nullopt : std::optional(found->second);
  }

  const Graph& graph_;
  std::map<Value, std::size_t> stream_of_;  // numbers of all that are, or would be, rotated
  // Of the stream that is looked at:
  std::size_t number_ = 0;
  Stream found_;
  std::map<Value, std::size_t> scaled_;
  std::vector<Value> open_;
  std::string reason_;  // the first that hinders
};

// Of which a norm, or a mean of squares along the last axis, is computed.
std::vector<Value> normalized_values(const Graph& graph) {
  std::vector<Value> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid()) continue;
    const NodeRef node = graph.ref(id);
    if (is_of(last_axis_norms, node.kind()) && !node.operand(0).is_absent()) {
      found.push_back(node.operand(0));
    }
    if (!is_row_sum(node, sums_of_squares)) continue;
    const NodeRef square = graph.ref(node.operand(0).node);
    if (is_square(square)) found.push_back(square.operand(0));
  }
  return found;
}

OrReason<Stream> find_stream(StreamSearch& search, Value value, Extent width) {
  if (!width.is_known()) return because("how many channels it has is not known");
  OrReason<Stream> found = search.run(value, width.value());
  constexpr std::int64_t least_block = 16;  // of less, an outlier is hardly spread
  if (width.value() == 0 || rotation_block(width.value()) < least_block) {
    return because(
        fmt::format("its {} channels are no multiple of 16, for which there is a Hadamard matrix",
                    width.value()));
  }
  return found;
}

}  // namespace

FoundStreams find_streams(const Graph& graph) {
  FoundStreams found;
  StreamSearch search(graph);
  for (const Value value : normalized_values(graph)) {
    if (search.knows(value)) continue;
    OrReason<Stream> stream = find_stream(search, value, last_extent(graph.type(value)));
    if (stream) {
      found.streams.push_back(*std::move(stream));
    } else {
      found.left.push_back({std::string(graph.value_name(value)), std::move(stream).error()});
    }
  }
  return found;
}

}  // namespace quadrant::inline v0
