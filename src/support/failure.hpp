// How rooms fail that read and write files of models: inside, failures are thrown, since they come
// from any depth of a file; none leaves such a room: every public function and every ConstantSource
// of it goes through `at_border`.
//
// A header alone, since this room is compiled without exceptions.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "quadrant/support/error.hpp"
#include "support/printable.hpp"

namespace quadrant::inline v0::failures {

struct Failure {
  Error error;
};

[[noreturn]] inline void invalid(std::string message, Place place = {}) {
  throw Failure{{ErrorCode::invalid_model, std::move(message), std::move(place)}};
}
[[noreturn]] inline void impossible(std::string message, Place place = {},
                                    Remedy remedy = Remedy::none) {
  throw Failure{{ErrorCode::impossible, std::move(message), std::move(place), remedy}};
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

/// No exception is one.
struct Nothing {
  [[nodiscard]] static const char* what() noexcept { return ""; }
};

/// Runs `body`; what it throws comes back as an Error, `Malformed` as one of the file's contents.
/// `file` completes the place.
template <class Malformed = Nothing, class Body>
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
  } catch (const Malformed& malformed) {
    error = {ErrorCode::invalid_model, malformed.what(), {}};
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

/// Runs `body`; a failure in it gets `name` as that part of its place, unless one is named already.
template <class Body>
auto in_place(std::string Place::* part, std::string_view name, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (Failure& failure) {
    std::string& known = failure.error.place.*part;
    if (known.empty()) known = name;
    throw;
  }
}

template <class Body>
auto in_node(std::string_view name, Body&& body) -> decltype(body()) {
  return in_place(&Place::node, name, std::forward<Body>(body));
}

template <class Body>
auto in_tensor(std::string_view name, Body&& body) -> decltype(body()) {
  return in_place(&Place::tensor, name, std::forward<Body>(body));
}

}  // namespace quadrant::inline v0::failures
