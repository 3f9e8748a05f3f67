#include "cli/shape_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

/// `2x3x4`, or nothing for a scalar.
Expected<Shape> parse_shape(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> extents;
  while (!text.empty()) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const auto size = static_cast<std::size_t>(end - text.data());
    const bool goes_on = size + 1 < text.size() && text[size] == 'x';
    if (error != std::errc{} || extent < 0 || (size != text.size() && !goes_on)) {
      return fail(ErrorCode::usage,
                  fmt::format("--shape {}: extents are written like 1x3x224x224", option));
    }
    extents.push_back(extent);
    text.remove_prefix(size + (goes_on ? 1 : 0));
  }
  return Shape(extents);
}

}  // namespace

Expected<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& options,
                                                    const Graph& graph) {
  std::vector<std::string_view> inputs;
  for (const NodeId input : graph.inputs()) inputs.push_back(graph.value_name({input, 0}));
  std::map<std::string, Shape> shapes;
  for (const std::string& option : options) {
    // The last one: names may have others.
    const std::size_t equals = option.rfind('=');
    if (equals == std::string::npos) {
      return fail(ErrorCode::usage, fmt::format("--shape {}: it is written INPUT=1x3", option));
    }
    std::string name = option.substr(0, equals);
    if (std::ranges::find(inputs, name) == inputs.end()) {
      return fail(ErrorCode::usage, fmt::format("--shape {}: the model has no input '{}'{}", option,
                                                name, did_you_mean(name, inputs)));
    }
    QUADRANT_TRY(Shape shape, parse_shape(option, std::string_view(option).substr(equals + 1)));
    shapes.insert_or_assign(std::move(name), std::move(shape));
  }
  return shapes;
}

}  // namespace quadrant::cli
