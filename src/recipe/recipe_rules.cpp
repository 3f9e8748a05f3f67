#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <range/v3/view/reverse.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "recipe/name_pattern.hpp"
#include "recipe/node_names.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::uint32_t no_rule = std::numeric_limits<std::uint32_t>::max();

// A set of schemes: bit i is scheme i of all.
using SchemeSet = std::uint64_t;

std::optional<std::uint64_t> element_count(const GraphView& graph, NodeId node) {
  const auto count = graph.type({node, 0}).shape.element_count();
  if (!count || *count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*count);
}

// What rules ask about a graph, found once.
class RuleSubject {
 public:
  static Expected<RuleSubject> make(const GraphView& graph) {
    QUADRANT_TRY(std::vector<NodeId> order, topological_order(graph));
    return RuleSubject(graph, std::move(order));
  }

  [[nodiscard]] const GraphView& graph() const noexcept { return *graph_; }
  [[nodiscard]] const std::vector<NodeId>& order() const noexcept { return order_; }
  [[nodiscard]] const std::vector<NamedNode>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool is_weight(NodeId node) const { return is_weight_[node.index] != 0; }

 private:
  RuleSubject(const GraphView& graph, std::vector<NodeId> order)
      : graph_(&graph),
        order_(std::move(order)),
        nodes_(named_nodes(graph)),
        is_weight_(of_constants_alone(graph, order_)) {}

  const GraphView* graph_;
  std::vector<NodeId> order_;
  std::vector<NamedNode> nodes_;
  std::vector<std::uint8_t> is_weight_;  // by index
};

// One rule on a graph.
class RuleMatcher {
 public:
  RuleMatcher(const RuleSubject& subject, const RuleMatch& match)
      : subject_(subject), match_(match), graph_(subject.graph()) {}

  /// Whether it matches, by index of the node.
  [[nodiscard]] Expected<std::vector<std::uint8_t>> run() && {
    if (match_.name) {
      QUADRANT_TRY(pattern_, NamePattern::make(*match_.name));
    }
    QUADRANT_CHECK(find_subgraph());
    look_at_nodes();
    if (has_structure() || match_.name) look_at_readers();
    std::vector<std::uint8_t> matched(graph_.index_bound(), 0);
    for (const NamedNode& node : subject_.nodes()) {
      matched[node.id.index] = matches(node.id) ? 1 : 0;
    }
    return matched;
  }

 private:
  // Bits of a node.
  static constexpr std::uint8_t placed = 1;         // it has the kind and the place
  static constexpr std::uint8_t named = 2;          // it has the name
  static constexpr std::uint8_t read_in_place = 4;  // one that reads it, perhaps moved, is placed
  static constexpr std::uint8_t read_by_name = 8;   // and named

  [[nodiscard]] bool has_structure() const { return !match_.kinds.empty() || !inside_.empty(); }
  [[nodiscard]] bool has(NodeId node, std::uint8_t bits) const {
    return (bits_[node.index] & bits) == bits;
  }

  void look_at_nodes() {
    bits_.assign(graph_.index_bound(), 0);
    for (const NamedNode& node : subject_.nodes()) {
      std::uint8_t& bits = bits_[node.id.index];
      const bool is_kind =
          match_.kinds.empty() ||
          std::ranges::find(match_.kinds, graph_.kind(node.id)) != match_.kinds.end();
      const bool is_inside = inside_.empty() || inside_[node.id.index] != 0;
      if (is_kind && is_inside) bits |= placed;
      const bool has_name = !pattern_ || std::ranges::any_of(node.names, [&](auto name) {
        return pattern_->matches(name);
      });
      if (has_name) bits |= named;
    }
  }

  // From users to what they read: a weight that is moved is read by those that read the result.
  void look_at_readers() {
    for (const NodeId node : subject_.order() | ranges::views::reverse) {
      if (!subject_.is_weight(node)) continue;
      std::uint8_t& bits = bits_[node.index];
      for (const Use& use : graph_.uses(node)) {
        if (has(use.user, placed)) bits |= read_in_place;
        if (has(use.user, placed | named)) bits |= read_by_name;
        if (subject_.is_weight(use.user)) {
          constexpr std::uint8_t read = read_in_place | read_by_name;
          bits |= static_cast<std::uint8_t>(bits_[use.user.index] & read);
        }
      }
    }
  }

  [[nodiscard]] bool matches(NodeId node) const {
    const bool is_itself = has(node, placed | named);
    if (!subject_.is_weight(node)) return is_itself && !match_.has_size() && has_type(node);
    if (!has_type(node) || !has_size(node)) return false;
    return is_itself || has(node, named | read_in_place) || has(node, read_by_name);
  }

  [[nodiscard]] bool has_type(NodeId node) const {
    if (match_.types.empty()) return true;
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      const ElementType type = graph_.type({node, i}).element;
      if (std::ranges::find(match_.types, type) != match_.types.end()) return true;
    }
    return false;
  }

  [[nodiscard]] bool has_size(NodeId node) const {
    if (!match_.has_size()) return true;
    const auto count = graph_.result_count(node) == 0 ? std::nullopt : element_count(graph_, node);
    if (!count) return false;
    const auto width = static_cast<std::uint64_t>(byte_width(graph_.type({node, 0}).element));
    const auto is_within = [](std::uint64_t size, const auto& least, const auto& most) {
      return (!least || size >= *least) && (!most || size <= *most);
    };
    return is_within(*count, match_.min_elements, match_.max_elements) &&
           is_within(*count * width, match_.min_bytes, match_.max_bytes);
  }

  // --- The subgraph ---

  [[nodiscard]] Expected<std::vector<NodeId>> makers(const std::vector<std::string>& names,
                                                     const char* key) const {
    std::unordered_map<std::string_view, NodeId> by_name;
    std::vector<std::string_view> all;
    for (const NodeId node : subject_.order()) {
      for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
        by_name.emplace(graph_.value_name({node, i}), node);
        all.push_back(graph_.value_name({node, i}));
      }
    }
    std::vector<NodeId> found;
    for (const std::string& name : names) {
      const auto maker = by_name.find(name);
      if (maker == by_name.end()) {
        return fail(ErrorCode::usage,
                    fmt::format("match.subgraph.{}: the model has no value '{}'{}", key, name,
                                did_you_mean(name, all)));
      }
      found.push_back(maker->second);
    }
    return found;
  }

  [[nodiscard]] Expected<void> find_subgraph() {
    if (match_.from.empty() && match_.to.empty()) return {};
    QUADRANT_TRY(const std::vector<NodeId> from, makers(match_.from, "from"));
    QUADRANT_TRY(const std::vector<NodeId> to, makers(match_.to, "to"));
    constexpr std::uint8_t behind = 1;
    constexpr std::uint8_t before = 2;
    std::vector<std::uint8_t> marks(graph_.index_bound(), 0);
    if (from.empty()) std::ranges::fill(marks, behind);
    for (const NodeId maker : from) spread(maker, behind, marks);
    for (const NodeId node : subject_.order()) {
      if (!from.empty() && (marks[node.index] & behind) != 0) spread(node, behind, marks);
    }
    for (const NodeId maker : to) marks[maker.index] |= before;
    for (const NodeId node : subject_.order() | ranges::views::reverse) {
      if (to.empty()) marks[node.index] |= before;
      if ((marks[node.index] & before) == 0) continue;
      for (const Value operand : graph_.operands(node)) {
        if (!operand.is_absent()) marks[operand.node.index] |= before;
      }
    }
    inside_.assign(graph_.index_bound(), 0);
    for (const NodeId node : subject_.order()) {
      inside_[node.index] = (marks[node.index] & (behind | before)) == (behind | before) ? 1 : 0;
    }
    return {};
  }

  void spread(NodeId node, std::uint8_t mark, std::vector<std::uint8_t>& marks) const {
    for (const Use& use : graph_.uses(node)) marks[use.user.index] |= mark;
  }

  const RuleSubject& subject_;
  const RuleMatch& match_;
  const GraphView& graph_;
  std::optional<NamePattern> pattern_;
  std::vector<std::uint8_t> inside_;  // by index; empty: everywhere
  std::vector<std::uint8_t> bits_;
};

class RuleApplication {
 public:
  RuleApplication(const RuleSubject& subject, const Recipe& recipe, std::string_view file,
                  const SchemeTable& known)
      : subject_(subject), graph_(subject.graph()), recipe_(recipe), file_(file), known_(known) {}

  [[nodiscard]] Expected<RuleDecisions> run() && {
    QUADRANT_TRY(RuleSchemes schemes, schemes_of(recipe_, known_));
    everywhere_ = first(recipe_.schemes.size());
    for (std::vector<std::string>& names : schemes.rules) {
      allowed_.push_back(set_of(schemes.all, names));
      made_.effects.push_back({std::move(names), 0, 0, {}});
    }
    made_.schemes = std::move(schemes.all);
    last_.assign(graph_.index_bound(), no_rule);
    for (std::size_t i = 0; i < recipe_.rules.size(); ++i) QUADRANT_CHECK(match(i));
    count();
    veto();
    QUADRANT_CHECK(veto_values());
    return std::move(made_);
  }

 private:
  static SchemeSet first(std::size_t count) {
    return count >= most_choices ? ~SchemeSet{0} : (SchemeSet{1} << count) - 1;
  }

  static SchemeSet set_of(const std::vector<SchemeChoice>& all,
                          const std::vector<std::string>& names) {
    SchemeSet set = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::ranges::find(names, all[i].name) != names.end()) set |= SchemeSet{1} << i;
    }
    return set;
  }

  [[nodiscard]] Expected<void> match(std::size_t index) {
    const RecipeRule& rule = recipe_.rules[index];
    auto matched = RuleMatcher(subject_, rule.match).run();
    if (!matched) return fail(located(matched.error().message, index));
    QUADRANT_CHECK(check_kinds(rule.match, index));
    RuleEffect& effect = made_.effects[index];
    for (const NamedNode& node : subject_.nodes()) {
      if ((*matched)[node.id.index] == 0) continue;
      ++effect.matched;
      last_[node.id.index] = static_cast<std::uint32_t>(index);
    }
    if (effect.matched != 0 || rule.may_match_nothing) return {};
    return fail(located(
        fmt::format("{} matches nothing{}", print_match(rule.match), near(rule.match)), index));
  }

  [[nodiscard]] Error located(const std::string& message, std::size_t rule) const {
    return {ErrorCode::usage,
            fmt::format("rule {}: {}", rule + 1, message),
            {.file = std::string(file_)}};
  }

  [[nodiscard]] std::string near(const RuleMatch& match) const {
    return match.name ? did_you_mean(literal(*match.name), names(), Match::part) : std::string();
  }

  [[nodiscard]] std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const NamedNode& node : subject_.nodes()) {
      all.insert(all.end(), node.names.begin(), node.names.end());
    }
    return all;
  }

  // A kind that this graph does not have may be one of another that the recipe is for, too.
  [[nodiscard]] Expected<void> check_kinds(const RuleMatch& match, std::size_t rule) {
    if (match.kinds.empty()) return {};
    if (kinds_.empty()) {
      QUADRANT_TRY(kinds_, find_kinds());
    }
    for (const std::string& kind : match.kinds) {
      if (kinds_.contains(kind)) continue;
      const std::vector<std::string_view> known(kinds_.begin(), kinds_.end());
      return fail(located(fmt::format("match.kind: neither the model nor a scheme has operations "
                                      "of kind '{}'{}",
                                      kind, did_you_mean(kind, known)),
                          rule));
    }
    return {};
  }

  [[nodiscard]] Expected<std::set<std::string, std::less<>>> find_kinds() const {
    std::set<std::string, std::less<>> kinds;
    for (const NodeId node : subject_.order()) kinds.emplace(graph_.kind(node));
    for (const SchemeEntry& scheme : known_) {
      QUADRANT_TRY(const Registry registry, scheme.make({}, {}));
      for (const QuantizationMethod* const method : registry.methods()) kinds.emplace(method->op());
    }
    return kinds;
  }

  void count() {
    for (const NamedNode& node : subject_.nodes()) {
      const std::uint32_t rule = last_[node.id.index];
      if (rule == no_rule) continue;
      RuleEffect& effect = made_.effects[rule];
      ++effect.decided;
      if (graph_.constant(node.id) != nullptr && is_float(graph_.type({node.id, 0}).element)) {
        effect.weights.push_back({node.id, 0});
      }
    }
  }

  // What a node's own rule allows it.
  [[nodiscard]] SchemeSet own(NodeId node) const {
    const std::uint32_t rule = last_[node.index];
    return rule == no_rule ? everywhere_ : allowed_[rule];
  }

  void veto() {
    // What a weight may have must get to those that compute with it.
    std::vector<SchemeSet> sets(graph_.index_bound(), 0);
    for (const NodeId node : subject_.order()) {
      SchemeSet& set = sets[node.index] = own(node);
      for (const Value operand : graph_.operands(node)) {
        if (!operand.is_absent() && subject_.is_weight(operand.node)) {
          set |= sets[operand.node.index];
        }
      }
      const SchemeSet vetoed = first(made_.schemes.size()) & ~set;
      if (vetoed == 0 || graph_.kind(node) == ops::Output::kind) continue;
      const std::string reason = reason_for(last_[node.index]);
      for (std::size_t i = 0; i < made_.schemes.size(); ++i) {
        if ((vetoed >> i & 1U) == 0) continue;
        made_.vetoes[made_.schemes[i].name].emplace(node, reason);
      }
    }
  }

  // What stays float by its own name.
  [[nodiscard]] Expected<void> veto_values() {
    for (std::size_t i = 0; i < recipe_.rules.size(); ++i) {
      const auto& name = recipe_.rules[i].match.name;
      if (!name || !made_.effects[i].schemes.empty()) continue;
      QUADRANT_TRY(const NamePattern pattern, NamePattern::make(*name));
      for (const NamedNode& node : subject_.nodes()) {
        if (last_[node.id.index] != i || subject_.is_weight(node.id)) continue;
        for (const Value value : values_named(graph_, node, pattern)) {
          made_.value_vetoes.emplace(value, reason_for(last_[node.id.index]));
        }
      }
    }
    return {};
  }

  [[nodiscard]] std::string reason_for(std::uint32_t rule) const {
    if (rule == no_rule) return fmt::format("no rule of {} gives it to that", file_);
    const std::vector<std::string>& schemes = made_.effects[rule].schemes;
    if (schemes.empty()) return fmt::format("rule {} of {} leaves it in float", rule + 1, file_);
    return fmt::format("rule {} of {} gives it to {}", rule + 1, file_, fmt::join(schemes, " or "));
  }

  const RuleSubject& subject_;
  const GraphView& graph_;
  const Recipe& recipe_;
  std::string_view file_;
  const SchemeTable& known_;
  SchemeSet everywhere_ = 0;
  std::vector<SchemeSet> allowed_;   // by rule
  std::vector<std::uint32_t> last_;  // rule, by index of the node
  std::set<std::string, std::less<>> kinds_;
  RuleDecisions made_;
};

}  // namespace

Expected<RuleDecisions> apply_rules(const GraphView& graph, const Recipe& recipe,
                                    std::string_view file, const SchemeTable& schemes) {
  QUADRANT_TRY(const RuleSubject subject, RuleSubject::make(graph));
  return RuleApplication(subject, recipe, file, schemes).run();
}

}  // namespace quadrant::inline v0
