#include "judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "browser.hpp"
#include "difference.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "real_operations.hpp"

namespace quadrant::webnn {
namespace {

Fusion fusion_of(std::size_t fused, std::size_t all) {
  if (all == 0) return Fusion::nothing_to_fuse;
  if (fused == all) return Fusion::fused;
  return fused == 0 ? Fusion::not_fused : Fusion::partly;
}

std::string in_steps(const std::optional<double>& difference) {
  return difference ? fmt::format("{:.3g}", *difference) : "unknown";
}

std::string browser_text(const Judgement& judgement) {
  if (judgement.browser_failed) return "build error";
  if (!judgement.browser_known) return "unknown";
  std::string text(to_string(judgement.browser));
  const auto& difference = judgement.browser_difference;
  if (difference && *difference > most_steps) text += fmt::format(", wrong by {:.3g}", *difference);
  return text;
}

}  // namespace

std::string_view to_string(Fusion fusion) noexcept {
  constexpr std::array<std::string_view, 4> names{"nothing to fuse", "fused", "partly fused",
                                                  "not fused"};
  return names[static_cast<std::size_t>(fusion)];
}

std::vector<std::string> Judgement::missed() const {
  std::vector<std::string> kinds;
  const bool sound = browser_difference && *browser_difference <= most_steps;
  if (!sound || browser_failed) return kinds;
  for (const auto& [op, count] : counts) {
    if (count.browser > count.ours) kinds.push_back(op);
  }
  return kinds;
}

bool Judgement::is_explained() const {
  return std::ranges::none_of(left, [](const LeftReal& one) { return one.reason.empty(); });
}

bool Judgement::differs() const {
  return std::max(built.value_or(0), converted.value_or(0)) > most_steps;
}

Judgement judge_fusion(const Case& from, const CaseGraph& built, const Converted& converted) {
  Judgement result;
  const std::set<std::string> before = real_operations(built.graph);
  std::set<std::string> after = real_operations(converted.graph);
  std::map<std::string, std::string> reasons;
  for (const LeftReal& one : converted.left) reasons.emplace(one.operation, one.reason);
  for (const CaseOperation& operation : built.operations) {
    const bool is_left = after.erase(operation.label) != 0;
    if (operation.converts || !before.contains(operation.label)) continue;
    FusionCount& count = result.counts[operation.op];
    ++count.all;
    if (is_left) {
      result.left.push_back({operation.label, reasons[operation.label]});
    } else {
      ++count.ours;
    }
  }
  result.added.assign(after.begin(), after.end());
  result.browser_failed = !from.build_error.empty();
  result.browser_known = from.with_fusion.has_value() || result.browser_failed;
  std::size_t all = 0;
  std::size_t ours = 0;
  std::size_t browser = 0;
  for (auto& [op, count] : result.counts) {
    count.browser = std::min(count.all, count_fused(from.emitted, op));
    all += count.all;
    ours += count.ours;
    browser += count.browser;
  }
  result.ours = fusion_of(ours, all);
  if (result.ours == Fusion::fused && !result.added.empty()) result.ours = Fusion::partly;
  result.browser = fusion_of(browser, all);
  return result;
}

Expected<Judgement> judge(const Case& from, const CaseGraph& built, const Converted& converted) {
  QUADRANT_CHECK(verify(converted.graph));
  Judgement result = judge_fusion(from, built, converted);
  QUADRANT_TRY(const NamedTensors as_built, run_graph(built.graph, built));
  Graph explicit_graph = converted.graph;
  make_quantization_explicit(explicit_graph);
  QUADRANT_TRY(const NamedTensors as_converted, run_graph(explicit_graph, built));
  const NamedTensors* truth = from.truth();
  if (truth == nullptr) return result;
  result.built = steps_between(as_built, *truth, built.outputs);
  result.converted = steps_between(as_converted, *truth, built.outputs);
  if (from.with_fusion) {
    result.browser_difference = steps_between(*from.with_fusion, *truth, built.outputs);
  }
  return result;
}

std::string describe(const Case& from, const Judgement& judgement) {
  std::string text = fmt::format("{}: {}; browser: {}; difference: {} converted, {} as built",
                                 from.name, to_string(judgement.ours), browser_text(judgement),
                                 in_steps(judgement.converted), in_steps(judgement.built));
  if (judgement.differs()) text += "; DIFFERS";
  for (const std::string& op : judgement.missed()) text += fmt::format("; MISSED {}", op);
  for (const LeftReal& one : judgement.left) {
    text += fmt::format("\n    {}: {}", one.operation,
                        one.reason.empty() ? "not fused, without a reason" : one.reason);
  }
  for (const std::string& name : judgement.added) text += fmt::format("\n    {}: added", name);
  return text;
}

}  // namespace quadrant::webnn
