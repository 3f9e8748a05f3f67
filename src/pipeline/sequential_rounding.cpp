#include "pipeline/sequential_rounding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "calibration/low_rank_correction.hpp"
#include "ir/regions.hpp"
#include "numerics/cholesky.hpp"
#include "numerics/reals.hpp"
#include "pipeline/optimizations.hpp"
#include "pipeline/weights_of_codes.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

/// Weights that are rounded at the same time, with the layers that read them.
using Group = std::map<std::string, std::vector<LayerWeight>, std::less<>>;

// By how many layers are in front of them, at most `most_groups`.
Expected<std::vector<Group>> groups_of(const Graph& graph, const SecondMomentsTable& moments) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  std::vector<LeftAlone> left;
  std::map<NodeId, std::vector<LayerWeight>> by_layer;
  for (LayerWeight& weight : layer_weights(graph, left)) {
    by_layer[weight.layer].push_back(std::move(weight));
  }
  std::map<NodeId, std::size_t> depths;  // layers on the longest way to the node, itself included
  std::map<std::string, std::pair<std::size_t, std::vector<LayerWeight>>, std::less<>> weights;
  for (const NodeId node : order) {
    std::size_t depth = 0;
    for (const Value operand : graph.operands(node)) {
      if (!operand.is_absent()) depth = std::max(depth, depths[operand.node]);
    }
    const auto layer = by_layer.find(node);
    if (layer != by_layer.end()) {
      for (LayerWeight& weight : layer->second) {
        const std::string name(graph.value_name({weight.constant}));
        if (moments.find(name) == nullptr) continue;
        auto& [deepest, readers] = weights[name];
        deepest = std::max(deepest, depth);
        readers.push_back(std::move(weight));
      }
      ++depth;
    }
    depths[node] = depth;
  }
  std::set<std::size_t> levels;
  for (const auto& [name, each] : weights) levels.insert(each.first);
  const std::size_t count = std::min(levels.size(), most_groups);
  std::vector<Group> groups(count);
  for (auto& [name, each] : weights) {
    const auto level =
        static_cast<std::size_t>(std::distance(levels.begin(), levels.find(each.first)));
    groups[level * count / levels.size()].emplace(name, std::move(each.second));
  }
  return groups;
}

bool is_opaque_graph(const Attributes::Entry& attribute) {
  const auto* const opaque = std::get_if<Opaque>(&attribute.second);
  return opaque != nullptr && opaque->format.find("graph") != std::string::npos;
}

// Which a copy of the node would have to have, too.
bool has_bodies(const Graph& graph, NodeId node) {
  return graph.attribute(node, regions::yields) != nullptr ||
         std::ranges::any_of(graph.attributes(node), is_opaque_graph);
}

/// The float model, and behind it what differs from it where some weights are others.
struct SideBySide {
  Graph graph;
  std::map<Value, Value> others;  ///< of values of the float model
};

// A copy of the node, where it reads something else than in the float model.
void copy_if_other(const Graph& graph, NodeId node, SideBySide& made) {
  std::vector<Value> operands(graph.operands(node).begin(), graph.operands(node).end());
  bool differs = false;
  for (Value& operand : operands) {
    const auto found = made.others.find(operand);
    if (found == made.others.end()) continue;
    operand = found->second;
    differs = true;
  }
  if (!differs) return;
  NodeSpec spec{.kind = std::string(graph.kind(node)),
                .operands = std::move(operands),
                .attributes = graph.attributes(node)};
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    spec.results.push_back({{}, graph.type({node, i})});
  }
  const NodeId copy = made.graph.add(std::move(spec));
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    made.others[{node, i}] = {copy, i};
  }
}

// Nothing where operations have bodies: those would be there twice.
Expected<std::optional<SideBySide>> side_by_side(const Graph& graph, const WeightsOfCodes& changed,
                                                 const Group& watched) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  SideBySide made{graph, {}};
  for (const NodeId node : order) {
    if (has_bodies(graph, node)) return std::optional<SideBySide>();
    if (graph.kind(node) == ops::Output::kind) continue;
    const std::string name(graph.result_count(node) == 0 ? "" : graph.value_name({node}));
    if (graph.constant(node) != nullptr) {
      const auto found = changed.find(name);
      const bool is_own = found != changed.end() || watched.contains(name);
      if (!is_own) continue;
      made.others[{node}] = made.graph.add_constant(
          name, found != changed.end() ? found->second : *graph.constant(node));
      continue;
    }
    copy_if_other(graph, node, made);
  }
  return made;
}

/// A layer that sees what another one does in both models, side by side.
struct Double {
  std::string weight;  ///< of the layer
  std::string name;    ///< of its own, of twice the columns
};

bool can_have_aim(const Graph& graph, const LayerWeight& weight) {
  const bool is_plain_convolution =
      weight.is_convolution && graph.kind(weight.layer) == ops::Conv::kind;
  const bool is_plain_product =
      !weight.is_convolution && weight.data_axis == 1 && weight.batch.empty();
  return weight.layout.matrices.size() == 1 && (is_plain_convolution || is_plain_product) &&
         is_wide_float(graph.constant(weight.constant)->element()) &&
         graph.type(weight.data).element == ElementType::float32;
}

// Nothing where what comes in does not differ.
std::optional<Double> add_double(SideBySide& both, const std::string& name,
                                 const LayerWeight& weight) {
  const auto other = both.others.find(weight.data);
  if (other == both.others.end()) return std::nullopt;
  Graph& graph = both.graph;
  const TensorType real{.element = ElementType::float32};
  const std::int64_t axis = weight.is_convolution ? 1 : -1;
  const Value inputs{graph.add({.kind = std::string(ops::Concat::kind),
                                .operands = {weight.data, other->second},
                                .results = {{{}, real}},
                                .attributes = {{"axis", axis}}})};
  std::vector<std::int64_t> extents{2 * std::ssize(weight.layout.columns), 1};
  if (weight.is_convolution) {
    const auto shape = graph.constant(weight.constant)->shape().known_extents();
    extents.assign(shape.begin(), shape.end());
    extents[0] = 1;
    extents[1] *= 2;
  }
  const Shape shape(extents);
  const std::vector<float> zeros(static_cast<std::size_t>(shape.element_count().value_or(0)));
  const Value weights = graph.add_constant(
      name + "_double", Constant::from_values<float>(ElementType::float32, shape, zeros));
  graph.add({.kind = std::string(weight.is_convolution ? ops::Conv::kind : ops::MatMul::kind),
             .operands = {inputs, weights},
             .results = {{{}, real}},
             .attributes = weight.is_convolution ? graph.attributes(weight.layer) : Attributes()});
  return Double{name, std::string(graph.value_name(weights))};
}

// x of L L^T x = b, in the place of b.
void solve(std::span<const double> factor, std::span<double> x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) x[i] -= factor[i * n + j] * x[j];
    x[i] /= factor[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    x[i] /= factor[i * n + i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= factor[i * n + j] * x[i];
  }
}

// W' of the header. `both`: moments of x and z, side by side.
Expected<Constant> aim_of(const Constant& weight, const WeightMatrices& layout,
                          const SecondMoments& both, Executor& executor) {
  const std::size_t n = layout.columns.size();
  const std::vector<double> moments = both.mean(0);
  const auto at = [&](std::size_t i, std::size_t j) { return moments[i * 2 * n + j]; };
  double trace = 0;
  for (std::size_t i = n; i < 2 * n; ++i) trace += at(i, i);
  if (!(trace > 0)) return weight;
  const double unit = trace / static_cast<double>(n);
  const auto count = static_cast<double>(both.count(0));
  const double trust = count / (count + static_cast<double>(n));
  const double ridge = 0.01 * unit;
  std::vector<double> factor(n * n);
  std::vector<double> changes(n * n);  // E[(x - z) z^T]
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      changes[i * n + j] = at(i, n + j) - at(n + i, n + j);
      if (j < i) factor[i * n + j] = at(n + i, n + j);
    }
    factor[i * n + i] = at(n + i, n + i) + ridge;
  }
  factorize(factor, n, 1e-8 * ridge, executor);
  QUADRANT_TRY(std::vector<double> values, read_reals(weight));
  executor.parallel_for(layout.rows.size(), [&](std::size_t row) {
    std::vector<double> sums(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double w = values[layout.element(0, row, i)];
      for (std::size_t j = 0; j < n; ++j) sums[j] += w * changes[i * n + j];
    }
    solve(factor, sums);
    for (std::size_t i = 0; i < n; ++i) values[layout.element(0, row, i)] += trust * sums[i];
  });
  if (!are_finite(weight.element(), values)) return weight;
  return rounded_constant(weight.element(), weight.shape(), values);
}

class Sequence {
 public:
  Sequence(const SchemeSubject& subject, const DataSet& samples,
           std::span<const SchemeChoice> choices, SecondMomentsTable& moments)
      : subject_(subject), samples_(samples), choices_(choices), moments_(moments) {}

  Expected<void> run() {
    const Graph& graph = subject_.graph;
    QUADRANT_TRY(const std::vector<Group> groups, groups_of(graph, moments_));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      QUADRANT_CHECK(subject_.context.check_stop());
      if (i > 0) QUADRANT_CHECK(look(groups[i]));
      if (i + 1 < groups.size()) QUADRANT_CHECK(round(groups[i]));
    }
    subject_.context.note(fmt::format("sequential: layers in {}, {} with aims",
                                      counted(groups.size(), "group"), moments_.aims.size()),
                          {.file = subject_.request.model});
    return {};
  }

 private:
  // What comes into the layers of a group, with those before rounded.
  Expected<void> look(const Group& group) {
    const Graph& graph = subject_.graph;
    QUADRANT_TRY(std::optional<SideBySide> both, side_by_side(graph, rounded_, group));
    if (!both) return {};
    std::set<std::string, std::less<>> only;
    std::map<std::string, std::string, std::less<>> names;
    std::vector<Double> doubles;
    for (const auto& [name, readers] : group) {
      const Value own = both->others.at({readers.front().constant});
      names[name] = both->graph.value_name(own);
      only.insert(names[name]);
      if (readers.size() != 1 || !can_have_aim(graph, readers.front())) continue;
      auto made = add_double(*both, name, readers.front());
      if (!made) continue;
      only.insert(made->name);
      doubles.push_back(*std::move(made));
    }
    const RunContext& context = subject_.context;
    const Interpreter interpreter({}, context.run_memory);
    QUADRANT_TRY(SecondMomentsTable found,
                 collect_second_moments(
                     both->graph, interpreter, samples_,
                     {.only = &only, .executor = context.executor, .sink = context.sink}));
    SerialExecutor serial;
    Executor& executor = context.executor != nullptr ? *context.executor : serial;
    for (const Double& each : doubles) {
      QUADRANT_TRY(const auto of_both, found.load(each.name));
      if (of_both == nullptr || found.find(names[each.weight]) == nullptr) continue;
      // Of blocks there are no moments of x with z.
      if (of_both->block() < of_both->layout().columns.size()) continue;
      const LayerWeight& layer = group.find(each.weight)->second.front();
      QUADRANT_TRY(Constant aim,
                   aim_of(*graph.constant(layer.constant), layer.layout, *of_both, executor));
      moments_.aims.insert_or_assign(each.weight, std::move(aim));
    }
    for (const auto& [name, own] : names) {
      const auto taken = found.weights.find(own);
      if (taken != found.weights.end()) {
        moments_.weights.insert_or_assign(name, std::move(taken->second));
      }
    }
    return {};
  }

  // A group, by its moments alone: the others are not of interest.
  Expected<void> round(const Group& group) {
    auto part = std::make_shared<SecondMomentsTable>();
    part->room = moments_.room;
    for (const auto& [name, readers] : group) {
      part->weights.insert(moments_.weights.extract(name));
      const auto aim = moments_.aims.find(name);
      if (aim != moments_.aims.end()) part->aims.insert(*aim);
    }
    auto made = weights_of_codes(subject_, choices_, subject_.graph, part);
    moments_.weights.merge(part->weights);
    QUADRANT_CHECK(made);
    const std::size_t rank = optimizations_of(subject_.request.recipe.recipe.model).low_rank;
    for (const auto& [name, readers] : group) {
      const auto found = made->find(name);
      const ElementType element = subject_.graph.constant(readers.front().constant)->element();
      if (found == made->end() || element != ElementType::float32) continue;
      if (rank > 0) QUADRANT_CHECK(correct(readers.front(), rank, found->second));
      rounded_.insert_or_assign(name, std::move(found->second));
    }
    return {};
  }

  // As `correct_low_rank` will.
  Expected<void> correct(const LayerWeight& layer, std::size_t rank, Constant& coded) const {
    const WantedFactors wanted{
        .real = subject_.graph, .layer = layer, .rank = rank, .moments = &moments_};
    if (!why_no_factors(wanted.real, layer).empty() || !pays(wanted)) return {};
    QUADRANT_TRY(const auto found,
                 low_rank_correction(wanted, [&]() -> Expected<Constant> { return coded; }));
    if (found) {
      QUADRANT_TRY(coded, with_correction(coded, layer.layout, *found));
    }
    return {};
  }

  const SchemeSubject& subject_;
  const DataSet& samples_;
  std::span<const SchemeChoice> choices_;
  SecondMomentsTable& moments_;
  WeightsOfCodes rounded_;
};

}  // namespace

Expected<void> round_in_sequence(const SchemeSubject& subject, const DataSet& samples,
                                 std::span<const SchemeChoice> choices,
                                 SecondMomentsTable& moments) {
  return Sequence(subject, samples, choices, moments).run();
}

}  // namespace quadrant::inline v0
