// What FlatBuffers' compiler makes of schema.fbs, under a short name. The types that end with T are
// plain structs: a model in memory is a `schema::ModelT`.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <schema_generated.h>

#include "targets/kernels/litert.hpp"

namespace quadrant::inline v0::tflite {

namespace schema = ::quadrant_tflite_schema;
using schema::BuiltinOperator;

/// The kernel of an operator.
[[nodiscard]] inline const target_kernels::LitertKernel& litert_kernel(
    BuiltinOperator code) noexcept {
  return target_kernels::litert_kernel(schema::EnumNameBuiltinOperator(code));
}

}  // namespace quadrant::inline v0::tflite
