#include <algorithm>
#include <utility>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

// Why the weight is not to be counted as in the other grid; null: it is.
const char* difference(const MomentsGrid::Weight& a, const MomentsGrid::Weight& b) {
  if (a.layout != b.layout) return read_in_another_way;
  return a.block != b.block ? "its moments are counted in other blocks in the grid" : nullptr;
}

}  // namespace

MomentsGrid grid_of(const SecondMomentsTable& moments) {
  MomentsGrid grid{.left = moments.left, .model_hash = moments.model_hash};
  for (const auto& [name, weight] : moments.weights) {
    MomentsGrid::Weight& made = grid.weights[name];
    made.layout = weight.layout();
    made.block = weight.block();
    for (std::size_t matrix = 0; matrix < made.layout.matrices.size(); ++matrix) {
      const auto steps = weight.steps(matrix);
      made.steps.insert(made.steps.end(), steps.begin(), steps.end());
    }
  }
  return grid;
}

Expected<void> MomentsGrid::merge(const MomentsGrid& other) {
  for (const auto& [name, weight] : other.weights) {
    const auto own = weights.find(name);
    if (own == weights.end()) continue;
    const char* const why_not = difference(own->second, weight);
    if (why_not != nullptr) return fail(ErrorCode::usage, why_not, {.tensor = name});
  }
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples = saturating_add(samples, other.samples);
  merge_left(left, other.left);
  for (const auto& [name, weight] : other.weights) {
    const auto [place, is_new] = weights.try_emplace(name, weight);
    if (is_new) continue;
    std::vector<double>& steps = place->second.steps;
    std::ranges::transform(steps, weight.steps, steps.begin(),
                           [](double a, double b) { return std::max(a, b); });
  }
  for (const LeftAlone& each : left) weights.erase(each.name);
  return {};
}

}  // namespace quadrant::inline v0
