// Operators of TFLite that the library does not know: carried through a graph as `tflite.<NAME>`,
// and written as they came.
#pragma once

#include <string>
#include <string_view>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

inline constexpr std::string_view raw_prefix = "tflite.";
/// A custom operator is called `tflite.CUSTOM.<name>`.
inline constexpr std::string_view custom_prefix = "tflite.CUSTOM.";

/// Attributes: an operator with options and no operands, as a FlatBuffer; its version.
inline constexpr std::string_view raw_options_key = "tflite.options";
inline constexpr std::string_view raw_version_key = "tflite.version";
inline constexpr std::string_view raw_format = "tflite.operator";

[[nodiscard]] inline bool is_raw_kind(std::string_view kind) noexcept {
  return kind.starts_with(raw_prefix);
}

/// The options of `op` as an attribute.
[[nodiscard]] Opaque raw_options(const schema::Operator& op);

void lower_raw(Lowering& lowering, const NodeRef& node);

}  // namespace quadrant::inline v0::tflite
