// Inside this room failures are thrown, since they come from any depth of a file; none leaves it:
// every public function and every ConstantSource goes through `at_border`.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <new>
#include <protozero/exception.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::onnx {

struct Failure {
  Error error;
};

[[noreturn]] inline void invalid(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::invalid_model, std::move(message), std::move(place)}};
}
[[noreturn]] inline void impossible(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::impossible, std::move(message), std::move(place)}};
}
[[noreturn]] inline void io_failure(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::io, std::move(message), std::move(place)}};
}

/// The value, or the error thrown on.
template <class T>
T value_of(Expected<T> result) {
  if (!result) throw Failure{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Text from a file as it may be shown: names in hostile files hold line breaks, terminal commands,
/// bytes that are no UTF-8, or megabytes.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for all parts of an error.
void make_printable(Error& error);

/// Runs `body`; what it throws comes back as an Error. `file` completes the place.
template <class Body>
auto at_border(const std::string& file, Body&& body) -> Expected<decltype(body())> {
  Error error;
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (Failure& failure) {
    error = std::move(failure.error);
  } catch (const protozero::exception& exception) {
    error = {ErrorCode::invalid_model, exception.what(), {}};
  } catch (const std::bad_alloc&) {
    error = {ErrorCode::io, "not enough memory", {}};
  } catch (const std::length_error&) {
    error = {ErrorCode::io, "not enough memory", {}};
  } catch (const std::exception& exception) {
    error = {ErrorCode::io, exception.what(), {}};
  }
  if (error.place.file.empty()) error.place.file = file;
  make_printable(error);
  return fail(std::move(error));
}

/// Runs `body`; a failure in it gets the name of the node, unless a tensor or node is named
/// already.
template <class Body>
auto in_node(std::string_view name, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Failure& failure) {
    Place& place = failure.error.place;
    if (place.node.empty()) place.node = name;
    throw;
  }
}

template <class Body>
auto in_tensor(std::string_view name, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Failure& failure) {
    Place& place = failure.error.place;
    if (place.tensor.empty()) place.tensor = name;
    throw;
  }
}

}  // namespace quadrant::inline v0::onnx
