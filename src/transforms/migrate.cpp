#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "transforms/channel_axes.hpp"
#include "transforms/edits.hpp"
#include "transforms/linear_layer.hpp"
#include "transforms/migration_path.hpp"

namespace quadrant::inline v0 {

namespace {

/// A site, with what is edited there.
struct Site {
  MigrationSite shown;
  std::vector<LinearLayer> readers;
  std::vector<MigrationFold> folds;
};

NodeId weight_node(const Graph& graph, const LinearLayer& layer) {
  return graph.operands(layer.node)[layer.weight_operand].node;
}

ChannelAxes inputs_of(const LinearLayer& layer) {
  return {{layer.data_axis}, {layer.layout.inputs()}};
}

class SiteFinder {
 public:
  explicit SiteFinder(const Graph& graph) : graph_(&graph) {}

  void run() {
    for (std::uint32_t index = 0; index < graph_->index_bound(); ++index) {
      const NodeId node = graph_->node_at(index);
      if (!node.is_valid() || !is_linear(graph_->kind(node))) continue;
      const Value value = graph_->operands(node)[0];
      if (value.is_absent() || graph_->constant(value.node) != nullptr) continue;
      if (!find_layer(*graph_, node)) continue;  // of two computed factors: no weight to speak of
      if (seen_.insert(value).second) add(value);
    }
  }

  std::vector<Site> sites;
  std::vector<LeftAlone> left;

 private:
  void add(Value value) {
    Site site;
    site.shown.value = graph_->value_name(value);
    OrReason<void> found = read(value, site);
    if (found) {
      sites.push_back(std::move(site));
    } else {
      left.push_back({std::move(site.shown.value), std::move(found).error()});
    }
  }

  OrReason<void> read(Value value, Site& site) const {
    for (const Use& use : graph_->uses(value.node)) {
      if (use.result != value.result) continue;
      OrReason<LinearLayer> layer = reader_of(use);
      if (!layer) {
        return because(fmt::format("'{}' reads it, too: {}", label(*graph_, use.user),
                                   std::move(layer).error()));
      }
      if (!site.readers.empty() && inputs_of(*layer) != inputs_of(site.readers.front())) {
        return because("its readers sum over different axes");
      }
      site.shown.weights.emplace_back(graph_->value_name({weight_node(*graph_, *layer)}));
      site.readers.push_back(*std::move(layer));
    }
    OrReason<std::vector<MigrationFold>> folds =
        find_folds(*graph_, value, inputs_of(site.readers.front()));
    if (!folds) return because(std::move(folds).error());
    site.folds = *std::move(folds);
    site.shown.channels = site.readers.front().layout.inputs();
    site.shown.folded_into = graph_->value_name({site.folds.back().node});
    return {};
  }

  [[nodiscard]] OrReason<LinearLayer> reader_of(const Use& use) const {
    if (!is_linear(graph_->kind(use.user)) || use.operand != 0) {
      return because("it is no product with weights");
    }
    OrReason<LinearLayer> layer = find_layer(*graph_, use.user);
    if (layer && graph_->uses(weight_node(*graph_, *layer)).size() != 1) {
      return because("others read its weights");
    }
    return layer;
  }

  const Graph* graph_;
  std::set<Value> seen_;
};

Expected<void> check_finite(const Graph& graph, NodeId node, ElementType element,
                            std::span<const double> values) {
  if (are_finite(element, values)) return {};
  return fail(ErrorCode::impossible, "with these factors a constant would not be finite",
              {.node = std::string(label(graph, node))});
}

// Multiplies those of an input channel, or divides those of an output channel.
Expected<void> scale_weight(Graph& graph, const LinearLayer& layer, bool divides_outputs,
                            std::span<const double> factors) {
  const Constant before = weight_of(graph, layer);
  QUADRANT_TRY(std::vector<double> weight, read_reals(before));
  const auto run = static_cast<std::size_t>(layer.layout.run);
  layer.layout.for_each_row([&](std::size_t output, std::size_t input, std::size_t row) {
    for (double& value : std::span(weight).subspan(row * run, run)) {
      value = divides_outputs ? value / factors[output] : value * factors[input];
    }
  });
  QUADRANT_CHECK(check_finite(graph, layer.node, before.element(), weight));
  set_own_constant(graph, layer.node, layer.weight_operand,
                   rounded_constant(before.element(), before.shape(), weight));
  return {};
}

Expected<void> divide_layer(Graph& graph, NodeId node, std::span<const double> factors) {
  const OrReason<LinearLayer> layer = find_layer(graph, node);
  if (!layer) return fail(ErrorCode::impossible, layer.error());
  QUADRANT_CHECK(scale_weight(graph, *layer, true, factors));
  // An addition behind it is a fold of its own.
  if (!layer->has_bias || layer->bias_node != node) return {};
  QUADRANT_TRY(std::vector<double> bias, read_bias(graph, *layer));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] /= factors[i];
  LinearLayer written = *layer;
  write_bias(graph, written, bias);
  return {};
}

Expected<void> fold(Graph& graph, const MigrationFold& fold, std::span<const double> factors) {
  if (fold.kind == MigrationFold::Kind::layer) return divide_layer(graph, fold.node, factors);
  const bool divides = fold.kind == MigrationFold::Kind::divide;
  const Constant before = *graph.ref(fold.node).operand_constant(fold.operand);
  auto values = read_along(before, fold.channels);
  if (!values) return fail(ErrorCode::impossible, std::move(values).error());
  for (std::size_t i = 0; i < values->size(); ++i) {
    divides ? (*values)[i] /= factors[i] : (*values)[i] *= factors[i];
  }
  QUADRANT_CHECK(check_finite(graph, fold.node, before.element(), *values));
  set_own_constant(graph, fold.node, fold.operand,
                   constant_along(fold.channels, *values, before.element(), before.shape().rank()));
  return {};
}

Expected<void> check_factors(const Migration& migration, const Site& site) {
  constexpr double largest = 0x1p40;
  const auto is_good = [](double s) { return s >= 1 / largest && s <= largest; };
  if (std::ssize(migration.factors) == site.shown.channels &&
      std::ranges::all_of(migration.factors, is_good)) {
    return {};
  }
  return fail(ErrorCode::usage,
              fmt::format("{} factors: one from 2^-40 to 2^40 is wanted for each of {} channels",
                          migration.factors.size(), site.shown.channels),
              {.tensor = migration.value});
}

Expected<void> edit(Graph& graph, std::span<const Migration> migrations, bool divides) {
  SiteFinder finder(graph);
  finder.run();
  std::map<std::string_view, const Site*> sites;
  for (const Site& site : finder.sites) sites.emplace(site.shown.value, &site);
  Graph made = graph;
  for (const Migration& migration : migrations) {
    const auto found = sites.find(migration.value);
    if (found == sites.end()) {
      return fail(ErrorCode::usage, "no factors can be taken off it, or that was done",
                  {.tensor = migration.value});
    }
    const Site& site = *found->second;
    sites.erase(found);
    QUADRANT_CHECK(check_factors(migration, site));
    for (const LinearLayer& layer : site.readers) {
      QUADRANT_CHECK(scale_weight(made, layer, false, migration.factors));
    }
    for (const MigrationFold& each : site.folds) {
      if (divides) QUADRANT_CHECK(fold(made, each, migration.factors));
    }
  }
  graph = std::move(made);
  return {};
}

}  // namespace

MigrationSites find_migrations(const Graph& graph) {
  SiteFinder finder(graph);
  finder.run();
  MigrationSites found;
  for (Site& site : finder.sites) found.sites.push_back(std::move(site.shown));
  found.left = std::move(finder.left);
  return found;
}

Expected<void> migrate(Graph& graph, std::span<const Migration> migrations) {
  return edit(graph, migrations, true);
}

Expected<void> multiply_weights(Graph& graph, std::span<const Migration> migrations) {
  return edit(graph, migrations, false);
}

}  // namespace quadrant::inline v0
