#include "quadrant/targets/runtime_profile.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace quadrant;

TEST_CASE("targets by name") {
  using enum KernelsTarget;
  for (const KernelsTarget target :
       std::array{any, onnxruntime, tflite, openvino, webnn, onnx_qoperator, openvino_cpu,
                  openvino_gpu, openvino_generic}) {
    CHECK(parse_kernels_target(to_string(target)) == target);
  }
  CHECK(to_string(onnx_qoperator) == "onnx-qoperator");
  CHECK(to_string(openvino_cpu) == "openvino-cpu");
  CHECK(!parse_kernels_target("tpu"));
  CHECK(!parse_kernels_target(""));
}
