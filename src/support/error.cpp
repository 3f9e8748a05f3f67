#include "quadrant/support/error.hpp"

#include <fmt/core.h>

namespace quadrant::inline v0 {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::invalid_model:
      return "invalid model";
    case ErrorCode::impossible:
      return "impossible";
    case ErrorCode::io:
      return "input/output";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string to_string(const Place& place) {
  std::string text = place.file;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ": ";
    text += part;
  };
  if (!place.node.empty()) add(fmt::format("node '{}'", place.node));
  if (!place.tensor.empty()) add(fmt::format("tensor '{}'", place.tensor));
  if (place.offset) add(fmt::format("byte {}", *place.offset));
  return text;
}

std::string to_string(const Error& error) {
  const std::string place = to_string(error.place);
  return place.empty() ? error.message : fmt::format("{}: {}", place, error.message);
}

}  // namespace quadrant::inline v0
