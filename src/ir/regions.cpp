#include "ir/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <utility>

#include "ir/ops/functions.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

std::span<const std::string_view> regions::bodies_of(std::string_view kind) noexcept {
  static constexpr std::array<std::string_view, 2> branches{"then_branch", "else_branch"};
  static constexpr std::array<std::string_view, 1> body{"body"};
  if (kind == ops::If::kind) return branches;
  if (kind == ops::Loop::kind || kind == ops::Scan::kind) return body;
  return {};
}

class Regions::Finder {
 public:
  Finder(const Graph& graph, Regions& found) : graph_(graph), found_(found) {}

  Expected<void> run() {
    found_.regions_.emplace_back();
    found_.of_.assign(graph_.index_bound(), model);
    if (!has_bodies()) return {};  // most graphs, which this must not slow down
    QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId node : order) QUADRANT_CHECK(add_bodies(node));
    QUADRANT_CHECK(nest());
    for (const NodeId node : order) put(node);
    for (const NodeId node : order | std::views::reverse) move_into_branches(node);
    for (const NodeId node : order) QUADRANT_CHECK(check(node));
    for (Region& region : found_.regions_) {
      std::ranges::sort(region.inputs, {}, [&](NodeId input) {
        return std::pair(graph_.ref(input).attribute_or<std::int64_t>(regions::position, 0), input);
      });
    }
    return {};
  }

 private:
  [[nodiscard]] bool has_bodies() const {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && (graph_.attribute(node, regions::yields) != nullptr ||
                              graph_.attribute(node, regions::place) != nullptr ||
                              graph_.kind(node) == regions::input_kind)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] tl::unexpected<Error> refuse(NodeId node, std::string message) const {
    return fail(ErrorCode::invalid_model, std::move(message),
                {.node = std::string(label(graph_, node))});
  }

  Expected<void> add_bodies(NodeId node) {
    const NodeRef owner = graph_.ref(node);
    const auto counts = owner.attribute_or(regions::yields, std::vector<std::int64_t>{});
    if (counts.empty()) return {};
    const auto bodies = regions::bodies_of(owner.kind());
    std::size_t yields = 0;
    const std::size_t operands = owner.operands().size();
    for (const std::int64_t count : counts) {
      if (count < 0 || static_cast<std::uint64_t>(count) > operands - yields) {
        return refuse(node, "it has not as many operands as its bodies yield values");
      }
      yields += static_cast<std::size_t>(count);
    }
    if (counts.size() != bodies.size()) return refuse(node, "its bodies are not those of its kind");
    std::size_t first = operands - yields;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const auto index = static_cast<std::uint32_t>(found_.regions_.size());
      const auto count = static_cast<std::size_t>(counts[i]);
      Region region{.path = owner.attribute_or<std::string>(bodies[i], {}),
                    .owner = node,
                    .body = bodies[i],
                    .first_yield = first,
                    .yields = count};
      if (region.path.empty() || !by_path_.emplace(region.path, index).second) {
        return refuse(node, fmt::format("its body '{}' has no name of its own", bodies[i]));
      }
      found_.regions_.push_back(std::move(region));
      found_.owned_[node].push_back(index);
      first += count;
    }
    return {};
  }

  [[nodiscard]] std::uint32_t stated(NodeId node) const {
    const auto path = graph_.ref(node).attribute_or<std::string>(regions::place, {});
    if (path.empty()) return model;
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? nowhere : found->second;
  }

  // Which body lies in which, from the places that their operations state.
  Expected<void> nest() {
    for (Region& region : std::span(found_.regions_).subspan(1)) {
      region.outer = stated(region.owner);
      if (region.outer == nowhere) return refuse(region.owner, "it is placed in no body");
    }
    for (Region& region : std::span(found_.regions_).subspan(1)) {
      for (std::uint32_t around = region.outer;; around = found_.regions_[around].outer) {
        if (++region.depth > regions::deepest) {
          return refuse(region.owner,
                        fmt::format("bodies are nested deeper than {}", regions::deepest));
        }
        if (around == model) break;
      }
    }
    return {};
  }

  [[nodiscard]] bool states_place(NodeId node) const {
    return graph_.attribute(node, regions::place) != nullptr ||
           graph_.kind(node) == ops::Input::kind || graph_.kind(node) == ops::Output::kind ||
           found_.owned_.contains(node);
  }

  // As far out as the operands allow.
  void put(NodeId node) {
    std::uint32_t& place = found_.of_[node.index];
    place = stated(node);
    if (states_place(node)) return;
    for (const Value operand : graph_.operands(node)) {
      if (operand.is_absent()) continue;
      const std::uint32_t made = found_.of_[operand.node.index];
      if (made == nowhere || depth(made) > depth(place)) place = made;
      if (place == nowhere) return;
    }
  }

  // Into the branch that all readers are in: it may not be taken. What reads a constant that stays
  // further out stays with it, since runtimes look for the two together.
  void move_into_branches(NodeId node) {
    std::uint32_t& place = found_.of_[node.index];
    if (states_place(node) || place == nowhere) return;
    const bool stays = std::ranges::any_of(graph_.operands(node), [&](Value operand) {
      return !operand.is_absent() && graph_.kind(operand.node) == ops::Constant::kind &&
             states_place(operand.node);
    });
    std::optional<std::uint32_t> readers;
    for (const Use& use : graph_.uses(node)) {
      const std::uint32_t reader = found_.of(graph_, use);
      if (reader != nowhere) readers = readers ? around_both(*readers, reader) : reader;
    }
    if (stays || !readers || !found_.sees(*readers, place)) return;
    // The innermost region on the way to them that no loop is in front of, which would compute it
    // in each trip.
    std::uint32_t target = *readers;
    for (std::uint32_t region = *readers; region != place; region = found_.regions_[region].outer) {
      const Region& passed = found_.regions_[region];
      if (graph_.kind(passed.owner) != ops::If::kind) target = passed.outer;
    }
    place = target;
  }

  Expected<void> check(NodeId node) {
    const std::uint32_t place = found_.of_[node.index];
    if (place == nowhere) return {};
    const auto operands = graph_.operands(node);
    const std::size_t own = found_.own_operands(graph_, node);
    for (std::size_t i = 0; i < own; ++i) QUADRANT_CHECK(check(node, place, operands[i]));
    for (const std::uint32_t body : found_.bodies(node)) {
      const Region& region = found_.regions_[body];
      for (const Value value : operands.subspan(region.first_yield, region.yields)) {
        if (value.is_absent()) return refuse(node, "a value that its body yields is missing");
        QUADRANT_CHECK(check(node, body, value));
      }
    }
    if (graph_.kind(node) != regions::input_kind) return {};
    Region& body = found_.regions_[place];
    if (place == model || graph_.kind(body.owner) == ops::If::kind) {
      return refuse(node, "it is what a body is given, and lies in none that is given anything");
    }
    body.inputs.push_back(node);
    return {};
  }

  [[nodiscard]] Expected<void> check(NodeId node, std::uint32_t place, Value operand) const {
    if (operand.is_absent()) return {};
    const std::uint32_t made = found_.of_[operand.node.index];
    if (made != nowhere && found_.sees(place, made)) return {};
    return refuse(node, fmt::format("it reads '{}' out of a body that it is not in",
                                    graph_.value_name(operand)));
  }

  [[nodiscard]] std::uint32_t around_both(std::uint32_t a, std::uint32_t b) const {
    while (!found_.sees(b, a)) a = found_.regions_[a].outer;
    return a;
  }

  [[nodiscard]] int depth(std::uint32_t region) const { return found_.regions_[region].depth; }

  const Graph& graph_;
  Regions& found_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
};

Expected<Regions> Regions::find(const Graph& graph) {
  Regions found;
  QUADRANT_CHECK(Finder(graph, found).run());
  return found;
}

bool Regions::sees(std::uint32_t inner, std::uint32_t outer) const {
  while (regions_[inner].depth > regions_[outer].depth) inner = regions_[inner].outer;
  return inner == outer;
}

std::span<const std::uint32_t> Regions::bodies(NodeId owner) const {
  const auto found = owned_.find(owner);
  return found == owned_.end() ? std::span<const std::uint32_t>() : found->second;
}

std::uint32_t Regions::of(const Graph& graph, const Use& use) const {
  if (use.operand < own_operands(graph, use.user)) return of(use.user);
  for (const std::uint32_t body : bodies(use.user)) {
    if (use.operand < regions_[body].first_yield + regions_[body].yields) return body;
  }
  return nowhere;
}

std::size_t Regions::own_operands(const Graph& graph, NodeId node) const {
  const auto bodies = this->bodies(node);
  return bodies.empty() ? graph.operands(node).size() : regions_[bodies.front()].first_yield;
}

}  // namespace quadrant::inline v0
