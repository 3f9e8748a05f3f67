#include "transforms/rotation_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/hadamard.hpp"
#include "transforms/norms.hpp"

namespace quadrant::inline v0 {
namespace {

// What they make of squares, or of all, along the last axis stays the same.
constexpr std::array unchanged_sums{ops::ReduceMean::kind, ops::ReduceSumSquare::kind,
                                    ops::ReduceL2::kind};
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

// One of these, along the last axis alone.
template <class Kinds>
bool is_row_sum(NodeRef node, const Kinds& kinds) {
  const TensorType* const type = node.operand_type(0);
  if (!is_of(kinds, node.kind()) || type == nullptr || !type->shape.is_ranked()) return false;
  auto axes = node.attribute_or("axes", std::vector<std::int64_t>());
  if (const Constant* const given = node.operand_constant(1)) {
    const auto read = read_integers(*given, given->element_count());
    if (!read) return false;
    axes = *read;
  }
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == type->shape.rank() - 1);
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

class StreamSearch {
 public:
  StreamSearch(const Graph& graph, std::int64_t width) : graph_(graph) { found_.width = width; }

  OrReason<Stream> run(Value start) {
    found_.value = graph_.value_name(start);
    if (auto added = add(start); !added) return because(std::move(added).error());
    while (!open_.empty()) {
      const Value value = open_.back();
      open_.pop_back();
      if (auto looked = look(value); !looked) return because(std::move(looked).error());
    }
    if (found_.readers.empty()) return because("no product with constant weights reads it");
    return std::move(found_);
  }

 private:
  OrReason<void> look(Value value) {
    const NodeRef maker = graph_.ref(value.node);
    const std::optional<std::size_t> scale = scale_of(value);
    if (!scale) {
      if (auto made = look_at_maker(maker, value); !made) return made;
    }
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      const NodeRef user = graph_.ref(use.user);
      auto read = scale ? look_at_scaled(user, use.operand, value, *scale)
                        : look_at_user(user, use.operand, value);
      if (!read) return read;
    }
    return {};
  }

  // --- rotated values
  // -------------------------------------------------------------------------------

  OrReason<void> look_at_maker(NodeRef node, Value value) {
    const std::string_view kind = node.kind();
    if (value.result != 0) return because(fmt::format("{} has several results", named(node)));
    if (kind == ops::Add::kind || kind == ops::Sub::kind) return both_terms(node);
    if (kind == ops::Multiply::kind || kind == ops::Div::kind) return factor_of_rows(node);
    if (find_product(node) != nullptr) return made_by(node);
    if (is_move(node)) return term(node, 0);
    return because(
        fmt::format("{} makes it, which is no product with constant weights", named(node)));
  }

  OrReason<void> look_at_user(NodeRef user, std::uint32_t operand, Value value) {
    const std::string_view kind = user.kind();
    if (kind == ops::ShapeOf::kind || is_row_sum(user, unchanged_sums)) return {};
    if (kind == ops::Add::kind || kind == ops::Sub::kind || (is_move(user) && operand == 0)) {
      return add(user.result());
    }
    if (is_square(user)) return only_summed(user);
    if (kind == ops::Multiply::kind || kind == ops::Div::kind) return factor(user, operand);
    if (is_of(last_axis_norms, kind) && operand == 0) return norm(user);
    return read_by(user, operand, value, std::nullopt);
  }

  OrReason<void> both_terms(NodeRef node) {
    if (auto first = term(node, 0); !first) return first;
    return term(node, 1);
  }

  // What is added has to be rotated, too, unless it is the same for all channels.
  OrReason<void> term(NodeRef node, std::uint32_t operand) {
    const Value value = node.operand(operand);
    if (value.is_absent()) return {};
    const Extent last = last_extent(graph_.type(value));
    if (surely_equal(last, 1)) return {};
    if (graph_.constant(value.node) == nullptr) return add(value);
    if (!surely_equal(last, found_.width)) return not_of_width(value);
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
    const bool is_scale = user.kind() == ops::Multiply::kind &&
                          user.operand_constant(other) != nullptr &&
                          user.operand_constant(other)->element_count() == found_.width;
    if (!is_scale) {
      return because(fmt::format("{} multiplies channels by what is computed", named(user)));
    }
    found_.scales.push_back({.factor = {user.id, other}, .is_node = true, .shift = std::nullopt});
    return add_scaled(user.result(), found_.scales.size() - 1);
  }

  OrReason<void> norm(NodeRef user) {
    const auto rank = user.type().shape.rank();
    const auto axis = user.attribute_or<std::int64_t>("axis", -1);
    if (axis != -1 && (rank == 0 || axis != rank - 1)) {
      return because(fmt::format("{} normalizes several axes", named(user)));
    }
    StreamScale scale{.factor = {user.id, 1}, .shift = std::nullopt};
    if (user.operand_constant(1) == nullptr) {
      return because(fmt::format("{} has a scale that is computed", named(user)));
    }
    if (user.operands().size() > 2 && !user.operand(2).is_absent()) {
      if (user.operand_constant(2) == nullptr) {
        return because(fmt::format("{} has a shift that is computed", named(user)));
      }
      scale.shift = OperandPlace{user.id, 2};
    }
    found_.scales.push_back(scale);
    return add_scaled(user.result(), found_.scales.size() - 1);
  }

  OrReason<void> only_summed(NodeRef square) const {
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
    if (!is_float(from->element) || !is_float(node.type().element)) return false;
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
    return keeps_last && (kind == ops::Cast::kind || has_trait(node, Trait::keeps_order));
  }

  OrReason<void> not_of_width(Value value) const {
    return because(fmt::format("'{}' is not known to have {} channels", graph_.value_name(value),
                               found_.width));
  }

  OrReason<void> add(Value value) {
    if (scale_of(value)) {
      return because(
          fmt::format("'{}' has a scale and is added to what has none", graph_.value_name(value)));
    }
    if (!rotated_.insert(value).second) return {};
    const TensorType& type = graph_.type(value);
    if (type.is_quantized() || !surely_equal(last_extent(type), found_.width)) {
      return not_of_width(value);
    }
    found_.values.push_back(value);
    open_.push_back(value);
    return {};
  }

  OrReason<void> add_scaled(Value value, std::size_t scale) {
    if (rotated_.contains(value)) {
      return because(
          fmt::format("'{}' has a scale and is added to what has none", graph_.value_name(value)));
    }
    if (!scaled_.emplace(value, scale).second) return {};
    found_.values.push_back(value);
    open_.push_back(value);
    return {};
  }

  [[nodiscard]] std::optional<std::size_t> scale_of(Value value) const {
    const auto found = scaled_.find(value);
    return found == scaled_.end() ? std::nullopt : std::optional(found->second);
  }

  const Graph& graph_;
  Stream found_;
  std::set<Value> rotated_;
  std::map<Value, std::size_t> scaled_;
  std::vector<Value> open_;
};

}  // namespace

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

OrReason<Stream> find_stream(const Graph& graph, Value value) {
  const Extent width = last_extent(graph.type(value));
  if (!width.is_known()) return because("how many channels it has is not known");
  constexpr std::int64_t least_block = 16;  // of less, an outlier is hardly spread
  if (width.value() == 0 || rotation_block(width.value()) < least_block) {
    return because(
        fmt::format("its {} channels are no multiple of 16, for which there is a Hadamard matrix",
                    width.value()));
  }
  return StreamSearch(graph, width.value()).run(value);
}

}  // namespace quadrant::inline v0
