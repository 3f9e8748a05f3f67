#include "fake_quantize/align.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fake_quantize/meetings.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

struct Branch {
  NodeId dequantize;
  GivenForm form;

  [[nodiscard]] double low() const {
    return static_cast<double>(form.scale) *
           static_cast<double>(form.type->storage_min - form.zero_point);
  }
  [[nodiscard]] double high() const {
    return static_cast<double>(form.scale) *
           static_cast<double>(form.type->storage_max - form.zero_point);
  }
};

std::shared_ptr<const UniformType> limited(const GivenForm& grid, std::int64_t min,
                                           std::int64_t max) {
  auto type = std::make_shared<UniformType>(*grid.type);
  type->storage_min = min;
  type->storage_max = max;
  return type;
}

class Aligning {
 public:
  explicit Aligning(SplitGraph& split) : split_(split) {
    for (SplitNode& node : split.splits) nodes_.emplace(node.value, &node);
  }

  void align(const Meeting& meeting) {
    std::vector<Branch> branches;
    for (const NodeId node : meeting.branches) {
      auto form = GivenForm::of(split_.graph.type(split_.graph.operands(node).front()).uniform());
      if (!form) {
        leave(meeting, "the codes of a branch are of no known form");
        return;
      }
      branches.push_back({node, *std::move(form)});
    }
    const bool is_one = std::ranges::all_of(
        branches, [&](const Branch& branch) { return branch.form == branches.front().form; });
    if (is_one) return;
    if (const char* const why = refuse_branches(branches)) {
      leave(meeting, why);
      return;
    }
    const GivenForm grid = common_grid(branches);
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    for (const Branch& branch : branches) {
      parts.emplace_back(code(branch.low(), grid), code(branch.high(), grid));
      if (parts.back().second - parts.back().first < 2) {
        leave(meeting, "a branch would keep two levels or fewer on a grid for all of them");
        return;
      }
    }
    for (std::size_t i = 0; i < branches.size(); ++i) {
      retype(branches[i], grid, parts[i].first, parts[i].second);
    }
  }

 private:
  [[nodiscard]] const char* refuse_branches(const std::vector<Branch>& branches) const {
    for (const Branch& branch : branches) {
      const Value codes = split_.graph.operands(branch.dequantize).front();
      if (split_.graph.kind(codes.node) != ops::Quantize::kind ||
          !nodes_.contains(std::string(split_.graph.value_name({branch.dequantize})))) {
        return "a branch is no fake_quantize whose codes could be others";
      }
      if (!branch.form.is_per_tensor() || branch.form.scale < 0) {
        return "a branch has scales for each channel, or a negative one";
      }
      if (branch.form.storage() != branches.front().form.storage()) {
        return "branches have codes of different types";
      }
    }
    return nullptr;
  }

  void leave(const Meeting& meeting, std::string_view why) {
    for (const NodeId concat : meeting.concats) {
      split_.notes.push_back(
          {std::string(split_.graph.value_name({concat})),
           fmt::format("its reader takes one scale, and its operands have several: {}", why)});
    }
  }

  static GivenForm common_grid(const std::vector<Branch>& branches) {
    double low = 0;
    double high = 0;
    for (const Branch& branch : branches) {
      low = std::min(low, branch.low());
      high = std::max(high, branch.high());
    }
    const ElementType storage = branches.front().form.storage();
    const IntegerRange range = integer_range(storage).value_or(IntegerRange{});
    const double scale = (high - low) / static_cast<double>(range.max - range.min);
    const auto zero_point = range.min - static_cast<std::int64_t>(std::nearbyint(low / scale));
    GivenForm grid = GivenForm::per_tensor(storage, static_cast<float>(scale), zero_point);
    if (branches.front().form.type->expressed == ElementType::float32) return grid;
    auto type = std::make_shared<UniformType>(*grid.type);
    type->expressed = branches.front().form.type->expressed;
    return GivenForm::of(std::move(type)).value_or(grid);
  }

  static std::int64_t code(double real, const GivenForm& grid) {
    const auto steps =
        static_cast<std::int64_t>(std::nearbyint(real / static_cast<double>(grid.scale)));
    return std::clamp(steps + grid.zero_point, grid.type->storage_min, grid.type->storage_max);
  }

  // Codes from `min` to `max` of the grid; who reads them sees all of it.
  void retype(const Branch& branch, const GivenForm& grid, std::int64_t min, std::int64_t max) {
    if (branch.form == grid) return;
    Graph& graph = split_.graph;
    const Value codes = graph.operands(branch.dequantize).front();
    const std::string name(graph.value_name({branch.dequantize}));
    TensorType type = graph.type(codes);
    type.quantization = limited(grid, min, max);
    graph.set_type(codes, type);
    const bool is_whole = min == grid.type->storage_min && max == grid.type->storage_max;
    if (!is_whole) {
      type.quantization = nullptr;
      const Value bits = cast(codes, name + "_codes", type);
      type.quantization = grid.type;
      const Value meant = cast(bits, name + "_recast", type);
      graph.set_operand(branch.dequantize, 0, meant);
      nodes_.at(name)->meant = graph.value_name(meant);
    }
    split_.notes.push_back(
        {name, fmt::format("its {} levels became {}, on one grid with the branches that it meets",
                           branch.form.type->storage_max - branch.form.type->storage_min + 1,
                           max - min + 1)});
  }

  Value cast(Value operand, std::string name, TensorType type) {
    return {split_.graph.add({.kind = std::string(ops::StorageCast::kind),
                              .name = name + "_storage_cast",
                              .operands = {operand},
                              .results = {{std::move(name), std::move(type)}}})};
  }

  SplitGraph& split_;
  std::unordered_map<std::string, SplitNode*> nodes_;  // by the name of the real numbers
};

}  // namespace

Expected<void> align_branches(SplitGraph& split, KernelsTarget target) {
  QUADRANT_TRY(const std::vector<Meeting> meetings, find_meetings(split.graph, target));
  Aligning aligning(split);
  for (const Meeting& meeting : meetings) aligning.align(meeting);
  return {};
}

}  // namespace quadrant::inline v0::low_precision
