// LiteRT's kernels have the names of the schema.
#include "io/tflite/schema.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace quadrant;

TEST_CASE("each kernel is of an operator") {
  for (const target_kernels::LitertKernel& kernel : target_kernels::litert::kernels) {
    CAPTURE(kernel.name);
    const auto& codes = tflite::schema::EnumValuesBuiltinOperator();
    CHECK(std::ranges::any_of(codes, [&](tflite::BuiltinOperator code) {
      return &tflite::litert_kernel(code) == &kernel;
    }));
  }
}
