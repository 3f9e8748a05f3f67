// Which integers LiteRT's kernels take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/tflite/schema.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// Whether the kernel of `code` computes on plain integers, or booleans, of that type.
[[nodiscard]] bool takes_plain(schema::BuiltinOperator code, ElementType element) noexcept;

/// Whether it computes on codes of that type.
[[nodiscard]] bool takes_codes(schema::BuiltinOperator code, const UniformType& type);

/// The same of codes of type `data` with constant weights: those of convolutions and of
/// FULLY_CONNECTED have types of their own.
[[nodiscard]] bool takes_weights(schema::BuiltinOperator code, ElementType data,
                                 const UniformType& weights);

/// The parameters that the results of a kernel have, whatever they are for.
struct ResultCodes {
  float scale = 1.0F;
  std::int64_t zero = 0;
  bool has_any_zero = false;  ///< the zero point may be another, of that scale
};
/// Empty for a kernel whose results have parameters of their own.
[[nodiscard]] std::optional<ResultCodes> result_codes(schema::BuiltinOperator code,
                                                      ElementType element) noexcept;

/// Whether a tensor that is data of an operator `code` is none that its kernel refuses, or stops
/// the process at. Real numbers are taken by all.
[[nodiscard]] bool takes_data(schema::BuiltinOperator code, const schema::TensorT& tensor);

/// The operands of an operator of that kind that are data, rather than shapes, axes or indices.
struct DataOperands {
  std::size_t first = 0;
  std::size_t count = 1;
};
[[nodiscard]] DataOperands data_operands(schema::BuiltinOperator code) noexcept;

}  // namespace quadrant::inline v0::tflite
