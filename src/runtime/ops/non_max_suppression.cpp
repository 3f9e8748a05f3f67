#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/ops/places.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

struct Corners {
  float y1 = 0, x1 = 0, y2 = 0, x2 = 0;  // of either corner, the smaller ones first

  [[nodiscard]] float area() const { return (y2 - y1) * (x2 - x1); }
};

Corners box_at(const float* numbers, bool centered) {
  if (centered) {  // x, y, width, height
    const float width = numbers[2] / 2;
    const float height = numbers[3] / 2;
    return {numbers[1] - height, numbers[0] - width, numbers[1] + height, numbers[0] + width};
  }
  const auto [y1, y2] = std::minmax(numbers[0], numbers[2]);
  const auto [x1, x2] = std::minmax(numbers[1], numbers[3]);
  return {y1, x1, y2, x2};
}

// What both cover, as a part of what either covers.
bool overlap(const Corners& a, const Corners& b, float threshold) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0)) return false;
  const float both = height * width;
  const float either = a.area() + b.area() - both;
  return a.area() > 0 && b.area() > 0 && either > 0 && both / either > threshold;
}

// The only element of an operand, or `fallback` where it is absent.
Expected<float> number(const KernelCall& call, std::size_t operand, float fallback) {
  if (!call.has(operand)) return fallback;
  QUADRANT_TRY(const auto reals, reals_of(call.operand(operand)));
  if (reals.size() == 1) return static_cast<float>(reals[0]);
  return KernelCall::refuse(fmt::format("a threshold of {} numbers", reals.size()));
}

struct Rules {
  std::int64_t most = 0;  // boxes of a class
  float overlap = 0;
  float score = -std::numeric_limits<float>::infinity();
};

Expected<Rules> rules_of(const KernelCall& call) {
  QUADRANT_TRY(const auto most, integer_parameter(call, 2, {}));
  Rules rules{.most = std::max<std::int64_t>(most.value_or(0), 0)};
  QUADRANT_TRY(rules.overlap, number(call, 3, rules.overlap));
  QUADRANT_TRY(rules.score, number(call, 4, rules.score));
  if (rules.overlap >= 0 && rules.overlap <= 1) return rules;
  return KernelCall::refuse(fmt::format("an overlap of {}", rules.overlap));
}

// Indices of the boxes to keep, the best first: none overlaps a better one.
std::vector<std::int64_t> kept_boxes(const std::vector<Corners>& boxes, const float* scores,
                                     const Rules& rules) {
  std::vector<std::int64_t> candidates;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (scores[i] > rules.score) candidates.push_back(static_cast<std::int64_t>(i));
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{},
                           [&](std::int64_t i) { return scores[i]; });
  std::vector<std::int64_t> kept;
  for (const std::int64_t candidate : candidates) {
    if (static_cast<std::int64_t>(kept.size()) >= rules.most) break;
    const bool stands_back = std::ranges::any_of(kept, [&](std::int64_t better) {
      return overlap(boxes[static_cast<std::size_t>(candidate)],
                     boxes[static_cast<std::size_t>(better)], rules.overlap);
    });
    if (!stands_back) kept.push_back(candidate);
  }
  return kept;
}

Expected<Tensors> non_max_suppression(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& boxes = call.operand(0);   // [batch, boxes, 4]
  const Tensor& scores = call.operand(1);  // [batch, classes, boxes]
  if (boxes.element() != ElementType::float32 || scores.element() != ElementType::float32 ||
      boxes.rank() != 3 || scores.rank() != 3 || boxes.extent(2) != 4 ||
      boxes.extent(0) != scores.extent(0) || boxes.extent(1) != scores.extent(2)) {
    return KernelCall::refuse(fmt::format("boxes {} [{}] with scores {} [{}]",
                                          to_string(boxes.element()), to_string(boxes.shape()),
                                          to_string(scores.element()), to_string(scores.shape())));
  }
  QUADRANT_TRY(const Rules rules, rules_of(call));
  const bool centered = call.attribute_or<std::int64_t>("center_point_box", 0) != 0;
  const std::int64_t count = boxes.extent(1);
  std::vector<std::int64_t> selected;
  const float* score = scores.as<float>().data();
  for (std::int64_t batch = 0; batch < boxes.extent(0) && count > 0; ++batch) {
    std::vector<Corners> of_batch;
    of_batch.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      of_batch.push_back(box_at(boxes.as<float>().data() + (batch * count + i) * 4, centered));
    }
    for (std::int64_t of_class = 0; of_class < scores.extent(1); ++of_class, score += count) {
      for (const std::int64_t box : kept_boxes(of_batch, score, rules)) {
        selected.insert(selected.end(), {batch, of_class, box});
      }
    }
  }
  const Shape shape{static_cast<std::int64_t>(selected.size()) / 3, 3};
  return Tensors{Tensor::from_values<std::int64_t>(ElementType::int64, shape, selected)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_non_max_suppression() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::NonMaxSuppression::kind, non_max_suppression, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
