#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/ir/constant.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> refuse(const std::string& path, std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message), {.file = path});
}

// `what` they are, for the error.
Expected<std::vector<std::int64_t>> integers(const std::string& path, std::string_view what,
                                             const Tensor& tensor) {
  if (!is_integer(tensor.element())) {
    return refuse(path,
                  fmt::format("{} must be integers, not {}", what, to_string(tensor.element())));
  }
  return read_integers(tensor.to_constant(), INT64_MAX);
}

Expected<std::vector<std::int64_t>> read_lines(const std::string& path) {
  QUADRANT_TRY(const std::string text, read_text(path));
  std::vector<std::int64_t> labels;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    ++number;
    const std::size_t last = line.find_last_not_of(" \t\r");
    line = line.substr(0, last == std::string_view::npos ? 0 : last + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.starts_with('#')) continue;
    std::int64_t label = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), label);
    if (error != std::errc() || stop != line.data() + line.size()) {
      return refuse(path, fmt::format("line {} is no integer: labels are one a line", number));
    }
    labels.push_back(label);
  }
  return labels;
}

Expected<std::vector<std::int64_t>> read_archive(const std::string& path) {
  QUADRANT_TRY(NpzReader archive, NpzReader::open(path));
  for (const std::string_view name : {"labels", "y"}) {
    if (!archive.contains(name)) continue;
    QUADRANT_TRY(const Tensor tensor, archive.read(name));
    return integers(path, "labels", tensor);
  }
  if (archive.names().size() != 1) {
    return refuse(path, fmt::format("which of {} arrays are the labels? Name it 'labels'",
                                    archive.names().size()));
  }
  QUADRANT_TRY(const Tensor tensor, archive.read(archive.names()[0]));
  return integers(path, "labels", tensor);
}

Expected<Tensor> read_member(NpzReader& archive, const std::string& path, std::string_view name) {
  if (!archive.contains(name)) {
    return refuse(path, fmt::format("there is no array '{}': objects are 'boxes' [n, 4], 'classes' "
                                    "[n] and 'samples' [n]",
                                    name));
  }
  return archive.read(name);
}

// One number for each object.
Expected<std::vector<std::int64_t>> read_numbers(NpzReader& archive, const std::string& path,
                                                 std::string_view name, std::int64_t count) {
  QUADRANT_TRY(const Tensor tensor, read_member(archive, path, name));
  if (!(tensor.shape() == Shape{count})) {
    return refuse(path, fmt::format("'{}' has shape [{}], but there are {} boxes: it must be [{}]",
                                    name, to_string(tensor.shape()), count, count));
  }
  return integers(path, fmt::format("'{}'", name), tensor);
}

// Corners as doubles, from float32 or float64.
Expected<std::vector<double>> corners(const std::string& path, const Tensor& boxes) {
  if (boxes.rank() != 2 || boxes.extent(1) != 4) {
    return refuse(
        path, fmt::format("'boxes' has shape [{}]: it must be [n, 4]", to_string(boxes.shape())));
  }
  std::vector<double> values;
  if (boxes.element() == ElementType::float32) {
    const auto floats = boxes.as<float>();
    values.assign(floats.begin(), floats.end());
  } else if (boxes.element() == ElementType::float64) {
    const auto doubles = boxes.as<double>();
    values.assign(doubles.begin(), doubles.end());
  } else {
    return refuse(path,
                  fmt::format("'boxes' is {}: it must be f32 or f64", to_string(boxes.element())));
  }
  return values;
}

}  // namespace

Expected<std::vector<std::int64_t>> read_labels(const std::string& path) {
  if (path.ends_with(".npz")) return read_archive(path);
  if (!path.ends_with(".npy")) return read_lines(path);
  QUADRANT_TRY(const Tensor tensor, read_npy(path));
  return integers(path, "labels", tensor);
}

Expected<std::vector<Detection>> read_objects(const std::string& path) {
  QUADRANT_TRY(NpzReader archive, NpzReader::open(path));
  QUADRANT_TRY(const Tensor boxes, read_member(archive, path, "boxes"));
  QUADRANT_TRY(const std::vector<double> values, corners(path, boxes));
  const std::int64_t count = boxes.extent(0);
  QUADRANT_TRY(const auto classes, read_numbers(archive, path, "classes", count));
  QUADRANT_TRY(const auto samples, read_numbers(archive, path, "samples", count));
  std::vector<Detection> objects;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] < 0) {
      return refuse(path, fmt::format("object {} is in sample {}", i, samples[i]));
    }
    const Box box{values[i * 4], values[i * 4 + 1], values[i * 4 + 2], values[i * 4 + 3]};
    const bool is_box = box.x1 <= box.x2 && box.y1 <= box.y2;  // NaN is none
    if (!is_box) {
      return refuse(
          path,
          fmt::format(
              "the box of object {} is {} {} {} {}: it must be x1 y1 x2 y2, x1 <= x2 and y1 <= y2",
              i, box.x1, box.y1, box.x2, box.y2));
    }
    objects.push_back({static_cast<std::size_t>(samples[i]), classes[i], 1, box});
  }
  return objects;
}

}  // namespace quadrant::inline v0
