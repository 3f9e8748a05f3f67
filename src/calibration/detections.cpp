#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "quadrant/calibration/compare.hpp"

namespace quadrant::inline v0 {

namespace {

using Key = std::pair<std::size_t, std::int64_t>;  // sample and label

double area(const Box& box) noexcept {
  return std::max(0.0, box.x2 - box.x1) * std::max(0.0, box.y2 - box.y1);
}

// Positions of detections, the highest score first; of equal ones, the first.
std::vector<std::size_t> by_score(std::span<const Detection> detections) {
  std::vector<std::size_t> order(detections.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return detections[a].score > detections[b].score;
  });
  return order;
}

struct Object {
  Box box;
  bool taken = false;
};

// Whether a detection finds an object that no better one has found.
bool take_object(std::vector<Object>& objects, const Box& box, double overlap) {
  Object* best = nullptr;
  double best_overlap = overlap;
  for (Object& object : objects) {
    const double own = intersection_over_union(object.box, box);
    if (object.taken || own < best_overlap || (best != nullptr && own == best_overlap)) continue;
    best = &object;
    best_overlap = own;
  }
  if (best == nullptr) return false;
  best->taken = true;
  return true;
}

// The mean of the precisions at 101 recalls. `found`: of each detection, best first.
double average_precision(const std::vector<bool>& found, std::size_t objects) {
  std::vector<double> precision;
  std::vector<double> recall;
  std::size_t right = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) ++right;
    precision.push_back(static_cast<double>(right) / static_cast<double>(i + 1));
    recall.push_back(static_cast<double>(right) / static_cast<double>(objects));
  }
  for (std::size_t i = precision.size(); i > 1; --i) {
    precision[i - 2] = std::max(precision[i - 2], precision[i - 1]);
  }
  double sum = 0;
  for (int percent = 0; percent <= 100; ++percent) {
    const auto reached = std::ranges::lower_bound(recall, percent / 100.0);
    if (reached != recall.end())
      sum += precision[static_cast<std::size_t>(reached - recall.begin())];
  }
  return sum / 101;
}

// What there is of one label: objects by sample, and detections, best first.
struct Label {
  std::map<std::size_t, std::vector<Object>> objects;
  std::size_t object_count = 0;
  std::vector<const Detection*> detections;
};

double average_precision(Label& label, double overlap) {
  std::vector<bool> found;
  for (const Detection* detection : label.detections) {
    const auto there = label.objects.find(detection->sample);
    found.push_back(there != label.objects.end() &&
                    take_object(there->second, detection->box, overlap));
  }
  return average_precision(found, label.object_count);
}

}  // namespace

double intersection_over_union(const Box& a, const Box& b) noexcept {
  const Box both{.x1 = std::max(a.x1, b.x1),
                 .y1 = std::max(a.y1, b.y1),
                 .x2 = std::min(a.x2, b.x2),
                 .y2 = std::min(a.y2, b.y2)};
  const double together = area(both);
  const double all = area(a) + area(b) - together;
  return all > 0 ? together / all : 0;
}

std::vector<Detection> suppress_overlaps(std::span<const Detection> detections, double overlap) {
  std::map<Key, std::vector<std::size_t>> kept;
  std::vector<bool> keeps(detections.size(), false);
  for (const std::size_t i : by_score(detections)) {
    auto& rivals = kept[{detections[i].sample, detections[i].label}];
    const bool hidden = std::ranges::any_of(rivals, [&](std::size_t rival) {
      return intersection_over_union(detections[rival].box, detections[i].box) > overlap;
    });
    if (hidden) continue;
    rivals.push_back(i);
    keeps[i] = true;
  }
  std::vector<Detection> result;
  for (std::size_t i = 0; i < detections.size(); ++i) {
    if (keeps[i]) result.push_back(detections[i]);
  }
  return result;
}

double mean_average_precision(std::span<const Detection> objects,
                              std::span<const Detection> detections, double overlap) {
  std::map<std::int64_t, Label> labels;
  for (const Detection& object : objects) {
    Label& label = labels[object.label];
    label.objects[object.sample].push_back({object.box});
    ++label.object_count;
  }
  if (labels.empty()) return 0;
  for (const std::size_t i : by_score(detections)) {
    const auto label = labels.find(detections[i].label);
    if (label != labels.end()) label->second.detections.push_back(&detections[i]);
  }
  double sum = 0;
  for (auto& [name, label] : labels) sum += average_precision(label, overlap);
  return sum / static_cast<double>(labels.size());
}

double mean_average_precision(std::span<const Detection> objects,
                              std::span<const Detection> detections) {
  double sum = 0;
  for (int percent = 50; percent <= 95; percent += 5) {
    sum += mean_average_precision(objects, detections, percent / 100.0);
  }
  return sum / 10;
}

}  // namespace quadrant::inline v0
