// What went wrong, where, and what to do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0
