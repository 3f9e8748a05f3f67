// What FlatBuffers' compiler makes of schema.fbs, under a short name. The types that end with T are
// plain structs: a model in memory is a `schema::ModelT`.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <schema_generated.h>

namespace quadrant::inline v0::tflite {

namespace schema = ::quadrant_tflite_schema;
using schema::BuiltinOperator;

}  // namespace quadrant::inline v0::tflite
