// Errors as values: what went wrong, where, and what to do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace quadrant::inline v0 {

// What went wrong, where, and what to do about it.

/// The kind of failure. The command maps each to one exit code.
enum class ErrorCode : std::uint8_t {
  usage,          ///< the call itself is wrong: an option, a name that matches nothing
  invalid_model,  ///< the input is damaged, hostile or contradicts its format
  impossible,     ///< the input is fine, what is asked of it cannot be done
  io,             ///< the operating system refused to read or write
  cancelled,      ///< the caller asked to stop
};

[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// Where it went wrong; empty parts are unknown.
struct Place {
  std::string file;
  std::string node;
  std::string tensor;
  std::optional<std::uint64_t> offset;  ///< byte offset in `file`

  friend bool operator==(const Place&, const Place&) = default;
};

/// What would mend it, where callers have options for that, under names of their own.
enum class Remedy : std::uint8_t {
  none,
  another_runtime,     ///< that knows the operations
  convert_elements,    ///< of samples, to the type that the model takes
  allow_non_finite,    ///< samples with NaN or infinity
  leave_non_finite,    ///< weights with NaN or infinity stay float
  scales_of_channels,  ///< instead of blocks
  more_memory,         ///< for what is computed
  follow_links,        ///< of models' data, to anywhere
  give_samples,        ///< to calibrate on
  fix_shapes,          ///< of inputs of open extents
};

/// One failure. `message` says what is wrong and, where there is one, what to do, in words that do
/// not depend on who calls.
struct Error {
  ErrorCode code = ErrorCode::invalid_model;
  std::string message;
  Place place;
  Remedy remedy = Remedy::none;

  friend bool operator==(const Error&, const Error&) = default;
};

/// One line: `file: tensor 'w' (byte 120): message`.
[[nodiscard]] std::string to_string(const Error& error);
[[nodiscard]] std::string to_string(const Place& place);

// A result or an Error. The library reports every user's mistake this way and never throws.

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

// Programming mistakes (not users' mistakes) end here. Define QUADRANT_ASSERT before including to
// replace it.

#ifndef QUADRANT_ASSERT
#include <cassert>
#define QUADRANT_ASSERT(condition) assert(condition)
#endif
