// Inside this room failures are thrown, since they come from any depth of a model; none leaves it:
// every public function and every ConstantSource goes through `at_border`.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::tflite {

struct Failure {
  Error error;
};

[[noreturn]] inline void invalid(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::invalid_model, std::move(message), std::move(place)}};
}
[[noreturn]] inline void impossible(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::impossible, std::move(message), std::move(place)}};
}

/// The value, or the error thrown on.
template <class T>
T value_of(Expected<T> result) {
  if (!result) throw Failure{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Text from a file as it may be shown: what is not printable ASCII is escaped, what is long is
/// cut off.
[[nodiscard]] std::string printable(std::string_view text);

/// The error that `failure` is, with `file` in its place and all its parts printable.
[[nodiscard]] Error error_of(std::exception_ptr failure, const std::string& file);

/// Runs `body`; what it throws comes back as an Error. `file` completes the place.
template <class Body>
auto at_border(const std::string& file, Body&& body) -> Expected<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (...) {
    return fail(error_of(std::current_exception(), file));
  }
}

}  // namespace quadrant::inline v0::tflite
