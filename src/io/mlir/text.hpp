// Types, numbers, strings and maps as MLIR's text has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::mlir_ir {

/// Signless: `i8` for int8 and uint8. `impossible` for a type that MLIR has no number of.
[[nodiscard]] std::string_view name_of(ElementType element);
/// `tensor<4x8xf32>`, `tensor<4x8x!quant.uniform<i8:f32, 0.1:3>>`. Reads the scales.
[[nodiscard]] std::string text_of(const TensorType& type);
[[nodiscard]] std::string text_of(const UniformType& type);
/// With a point, and all digits that make it the same number again; bits where it has no digits.
[[nodiscard]] std::string number_text(ElementType element, double value);
/// In quotes.
[[nodiscard]] std::string quoted(std::string_view text);
/// `array<i64: 1, 2>`
[[nodiscard]] std::string array_text(std::span<const std::int64_t> values);
[[nodiscard]] std::string joined(std::span<const std::string> parts);

// --- maps of loops to indices --------------------------------------------------------------------

/// `affine_map<(d0, d1) -> (d0, d0 + d1)>`, of so many loops.
[[nodiscard]] std::string map_text(std::size_t loops, std::span<const std::string> indices);
/// Index i is that of loop loops_of[i]; 0 for -1.
[[nodiscard]] std::string map_of_loops(std::size_t loops, std::span<const std::int64_t> loops_of);
[[nodiscard]] std::string identity_map(std::size_t loops);

}  // namespace quadrant::inline v0::mlir_ir
