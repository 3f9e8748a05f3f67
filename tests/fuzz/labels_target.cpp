// Labels and objects: what is read of a text is one integer a line, and reads back the same;
// objects are boxes with a sample and a class; what is scored by them is a share.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/io/npy.hpp"
#include "require.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quadrant;

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder folder;
  return folder;
}

void check_text(std::string_view text) {
  const auto labels = read_labels(folder().write("labels.txt", text));
  if (!labels) return;
  const auto text_of_it = [&] { return std::string(text); };
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  fuzz::require(labels->size() <= lines, "more labels than lines", text_of_it);
  std::string printed;
  for (const std::int64_t label : *labels) printed += std::to_string(label) + '\n';
  const auto again = read_labels(folder().write("again.txt", printed));
  fuzz::require_value(again, "labels cannot be read again", text_of_it);
  fuzz::require(*again == *labels, "labels read back as others", text_of_it);
}

// Of arrays, too, the labels are scored: an error, or shares.
void check_array(const std::string& path) {
  const auto labels = read_labels(path);
  if (!labels || labels->empty() || labels->size() > 64) return;
  const std::vector<float> values(labels->size() * 4, 0.5F);
  const auto scores = Tensor::from_values<float>(
      ElementType::float32, {static_cast<std::int64_t>(labels->size()), 4}, values);
  ClassificationScore score;
  if (!add_scores(score, scores, *labels)) return;
  fuzz::require(
      score.top1 <= score.top5 && score.top5 <= score.rows && score.rows <= labels->size(),
      "more rows are right than there are", [&] { return path; });
}

void check_objects(const std::string& path) {
  const auto objects = read_objects(path);
  if (!objects) return;
  const auto show = [&] { return path; };
  for (const Detection& object : *objects) {
    fuzz::require(object.box.x1 <= object.box.x2 && object.box.y1 <= object.box.y2,
                  "an object without a box", show);
  }
  if (objects->size() > 64) return;
  for (const double share :
       {mean_average_precision(*objects, *objects), mean_average_precision(*objects, {})}) {
    fuzz::require(share >= 0 && share <= 1, "a precision that is no share", show);
  }
  const auto kept = suppress_overlaps(*objects, 0.5);
  fuzz::require(kept.size() <= objects->size() && kept.empty() == objects->empty(),
                "other objects stay", show);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_text(bytes);
  check_array(folder().write("labels.npy", bytes));
  const std::string archive = folder().write("labels.npz", bytes);
  check_array(archive);
  check_objects(archive);
  return 0;
}
