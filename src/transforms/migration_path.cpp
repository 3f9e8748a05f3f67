#include "transforms/migration_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/windows.hpp"
#include "numerics/clamp_bounds.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "transforms/edits.hpp"
#include "transforms/linear_layer.hpp"
#include "transforms/norms.hpp"

namespace quadrant::inline v0 {

namespace {

// f(x / s) = f(x) / s for s > 0.
constexpr std::array homogeneous_kinds{ops::Relu::kind, ops::LeakyRelu::kind, ops::PRelu::kind,
                                       ops::Identity::kind};
// The same where the channels are axis 1.
constexpr std::array pooled_kinds{ops::MaxPool::kind, ops::AveragePool::kind,
                                  ops::GlobalMaxPool::kind, ops::GlobalAveragePool::kind};
// Behind which there are a factor and a summand for each channel, along axis 1.
constexpr std::array first_axis_norms{ops::BatchNormalization::kind,
                                      ops::InstanceNormalization::kind};

template <class Kinds>
bool is_among(const Kinds& kinds, std::string_view kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// Somewhere on the way.
struct Place {
  Value value;
  ChannelAxes channels;
  std::vector<MigrationFold> folds;
};

class PathSearch {
 public:
  explicit PathSearch(const Graph& graph) : graph_(&graph) {}

  OrReason<std::vector<MigrationFold>> run(Place place) {
    constexpr int most_steps = 64;  // over all ways together
    open_.push_back(std::move(place));
    std::string reason;
    for (int step = 0; !open_.empty(); ++step) {
      Place now = std::move(open_.back());
      open_.pop_back();
      if (step == most_steps) return because("what lies in front of it is too much to look at");
      const NodeRef node = graph_->ref(now.value.node);
      const OrReason<bool> ended = go(node, now);
      if (ended && *ended) return std::move(now.folds);
      if (!ended && reason.empty()) {
        reason = fmt::format("it ends at '{}' ({}): {}", label(*graph_, node.id), node.kind(),
                             ended.error());
      }
    }
    return because(std::move(reason));
  }

 private:
  // Whether the way ends here; if it does not, what is in front of it is open.
  OrReason<bool> go(const NodeRef& node, Place& now) {
    const std::string_view kind = node.kind();
    if (graph_->type(now.value).is_quantized()) return because("it is quantized");
    if (now.value.result != 0) return because("it has several results");
    if (kind == ops::Input::kind) return because("it is an input of the model");
    if (is_linear(kind)) return go_product(node, now);
    if (kind == ops::Add::kind || kind == ops::Sub::kind) return go_sum(node, now);
    if (kind == ops::Multiply::kind) return go_factors(node, now, MigrationFold::Kind::divide);
    if (kind == ops::Div::kind) return go_factors(node, now, MigrationFold::Kind::multiply);
    if (is_among(last_axis_norms, kind) || is_among(first_axis_norms, kind)) {
      return end_at_norm(node, now);
    }
    if (kind == ops::Transpose::kind || has_trait(node, Trait::keeps_order)) {
      return go_move(node, now);
    }
    const auto bounds = kind == ops::Clip::kind ? clamp_bounds(node) : std::nullopt;
    const bool is_open_clip = bounds && bounds->low == 0 && std::isinf(bounds->high);
    if (is_among(pooled_kinds, kind)) {
      if (!are_axis_1(now)) return because("it mixes the channels");
    } else if (!is_among(homogeneous_kinds, kind) && !is_open_clip) {
      return because("it does not scale with what it computes on");
    }
    return open(node, 0, now);
  }

  // On with operand `operand`, in which the channels lie as `now` says.
  OrReason<bool> open(const NodeRef& node, std::uint32_t operand, Place now) {
    const Value before = node.operand(operand);
    if (before.is_absent() || node.operand_constant(operand) != nullptr) {
      return because("nothing in front of it is computed");
    }
    const OrReason<Use> use = only_use(*graph_, before);
    if (!use) return because(use.error());
    now.value = before;
    open_.push_back(std::move(now));
    return false;
  }

  [[nodiscard]] bool are_axis_1(const Place& now) const {
    const Shape& shape = graph_->type(now.value).shape;
    return shape.is_ranked() && now.channels.axes == std::vector{1 - shape.rank()};
  }

  [[nodiscard]] static OrReason<MigrationFold> fold_of(const NodeRef& node, std::uint32_t operand,
                                                       ChannelAxes channels,
                                                       MigrationFold::Kind kind) {
    const Constant* const constant = node.operand_constant(operand);
    if (constant == nullptr || !is_wide_float(constant->element()) ||
        node.operand_type(operand)->is_quantized()) {
      return because("an operand is no constant of f32 or f64");
    }
    const OrReason<std::vector<double>> values = read_along(*constant, channels);
    if (!values) return because(values.error());
    if (!are_finite(ElementType::float64, *values)) return because("a constant is not finite");
    return MigrationFold{kind, node.id, operand, std::move(channels)};
  }

  // A constant summand is divided, and so is what it is added to.
  OrReason<bool> go_sum(const NodeRef& node, Place& now) {
    if (node.operands().size() != 2) return because("it has not two operands");
    const std::uint32_t constant = node.operand_constant(0) != nullptr ? 0 : 1;
    OrReason<MigrationFold> fold =
        fold_of(node, constant, now.channels, MigrationFold::Kind::divide);
    if (!fold) return because(fold.error());
    if (!now.channels.are_in(node.operand_type(1 - constant)->shape)) {
      return because("what it adds to is not known to have all channels");
    }
    now.folds.push_back(*std::move(fold));
    return open(node, 1 - constant, now);
  }

  // One factor is divided, or the divisor multiplied.
  OrReason<bool> go_factors(const NodeRef& node, Place& now, MigrationFold::Kind kind) {
    if (node.operands().size() != 2) return because("it has not two operands");
    const bool is_quotient = kind == MigrationFold::Kind::multiply;
    if (is_quotient && node.operand_constant(0) != nullptr) {
      return because("it divides by what is computed");
    }
    for (const std::uint32_t operand : {1U, 0U}) {
      const Constant* const constant = node.operand_constant(operand);
      if (constant == nullptr) continue;
      // A number for all stays: runtimes know operations by it.
      if (constant->element_count() == 1) return go_operand(node, 1 - operand, now);
      OrReason<MigrationFold> fold = fold_of(node, operand, now.channels, kind);
      if (!fold) return because(fold.error());
      now.folds.push_back(*std::move(fold));
      return true;
    }
    const OrReason<bool> other = is_quotient ? OrReason<bool>(false) : go_operand(node, 1, now);
    const OrReason<bool> first = go_operand(node, 0, now);
    return first || is_quotient ? first : other;
  }

  OrReason<bool> go_operand(const NodeRef& node, std::uint32_t operand, const Place& now) {
    const TensorType* const type = node.operand_type(operand);
    if (type == nullptr || !now.channels.are_in(type->shape)) {
      return because("a factor is not known to have all channels");
    }
    return open(node, operand, now);
  }

  OrReason<bool> end_at_norm(const NodeRef& node, Place& now) {
    const bool is_last = is_among(last_axis_norms, node.kind());
    const std::vector<std::int64_t> last{-1};
    if (is_last && now.channels.axes != last) return because("the channels are not the last axis");
    if (!is_last && !are_axis_1(now)) return because("the channels are not axis 1");
    const auto axis = node.attribute_or<std::int64_t>("axis", -1);
    if (is_last && axis != -1 && axis + 1 != graph_->type(now.value).shape.rank()) {
      return because("it normalizes several axes");
    }
    if (node.attribute_or<std::int64_t>("training_mode", 0) != 0) return because("it is training");
    const ChannelAxes own{last, {now.channels.count()}};
    for (const std::uint32_t operand : {1U, 2U}) {
      if (operand == 2 && (node.operands().size() < 3 || node.operand(2).is_absent())) continue;
      OrReason<MigrationFold> fold = fold_of(node, operand, own, MigrationFold::Kind::divide);
      if (!fold) return because(fold.error());
      now.folds.push_back(*std::move(fold));
    }
    return true;
  }

  OrReason<bool> go_move(const NodeRef& node, Place& now) {
    const TensorType* const from = node.operand_type(0);
    if (from == nullptr) return because("its extents are not known");
    OrReason<ChannelAxes> before =
        node.kind() == ops::Transpose::kind
            ? before_transpose(now.channels, ops::Transpose{node}.perm())
            : before_reshape(now.channels, from->shape, graph_->type(now.value).shape);
    if (!before) return because(before.error());
    now.channels = *std::move(before);
    return open(node, 0, now);
  }

  OrReason<bool> go_product(const NodeRef& node, Place& now) {
    const OrReason<LinearLayer> layer = find_layer(*graph_, node.id);
    if (!layer && node.kind() == ops::MatMul::kind) return go_computed_product(node, now);
    if (!layer) return because(layer.error());
    if (now.channels.axes != std::vector{layer->result_axis} ||
        now.channels.count() != layer->layout.outputs()) {
      return because("its channels lie along another axis");
    }
    if (graph_->uses(node.operand(layer->weight_operand).node).size() != 1) {
      return because("others read its weights, too");
    }
    now.folds.push_back({MigrationFold::Kind::layer, node.id, layer->weight_operand, now.channels});
    return true;
  }

  // Of two computed matrices, columns come from the second, and rows from the first.
  OrReason<bool> go_computed_product(const NodeRef& node, Place& now) {
    const auto has_axis = [&](std::int64_t axis) {
      return std::ranges::find(now.channels.axes, axis) != now.channels.axes.end();
    };
    const std::uint32_t operand = has_axis(-2) ? 0 : 1;
    const bool is_mixed = has_axis(-1) && has_axis(-2);
    const TensorType* const type = node.operand_type(operand);
    if (is_mixed || type == nullptr || type->shape.rank() < 2 ||
        !now.channels.are_in(type->shape)) {
      return because("its channels are not those of one operand");
    }
    return open(node, operand, now);
  }

  const Graph* graph_;
  std::vector<Place> open_;
};

}  // namespace

OrReason<std::vector<MigrationFold>> find_folds(const Graph& graph, Value value,
                                                ChannelAxes channels) {
  return PathSearch(graph).run({value, std::move(channels), {}});
}

}  // namespace quadrant::inline v0
