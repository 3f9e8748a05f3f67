// A result or an Error. The library reports every user's mistake this way and never throws.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

template <class T>
using Expected = tl::expected<T, Error>;

/// Makes the failing side of an `Expected`: `return fail(ErrorCode::io, "...", {.file = path});`
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                                Place place = {}, Remedy remedy = Remedy::none) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(place), remedy});
}

/// An error that names no file gets this one: runtimes know nodes and tensors, but no files.
template <class T>
[[nodiscard]] Expected<T> in_file(Expected<T> result, const std::string& file) {
  if (!result && result.error().place.file.empty()) result.error().place.file = file;
  return result;
}

/// Passes an Error on to a caller whose value type is another.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace quadrant::inline v0

#define QUADRANT_DETAIL_CONCAT_(a, b) a##b
#define QUADRANT_DETAIL_CONCAT(a, b) QUADRANT_DETAIL_CONCAT_(a, b)

/// `QUADRANT_TRY(auto graph, read(path));` binds the value, or returns the error from this
/// function. Several may stand on one line, as in another macro.
#define QUADRANT_TRY(declaration, ...)                                                    \
  QUADRANT_DETAIL_TRY(QUADRANT_DETAIL_CONCAT(quadrant_result_, __COUNTER__), declaration, \
                      __VA_ARGS__)
#define QUADRANT_DETAIL_TRY(result, declaration, ...)              \
  auto result = (__VA_ARGS__);                                     \
  if (!result) return ::quadrant::fail(std::move(result).error()); \
  declaration = *std::move(result)

/// The same for `Expected<void>`.
#define QUADRANT_CHECK(...)                                                            \
  do {                                                                                 \
    auto quadrant_status = (__VA_ARGS__);                                              \
    if (!quadrant_status) return ::quadrant::fail(std::move(quadrant_status).error()); \
  } while (false)
