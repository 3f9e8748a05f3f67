// Where OpenVINO was not found when the library was built.
#include "quadrant/adapters/openvino.hpp"

namespace quadrant::inline v0 {

struct OpenVinoRuntime::Engine {};

Expected<std::unique_ptr<OpenVinoRuntime>> OpenVinoRuntime::make() {
  return fail(ErrorCode::impossible,
              "this quadrant was built without OpenVINO: install it ('pip install openvino'), and "
              "build quadrant with -DQUADRANT_OPENVINO=ON and -DOpenVINO_DIR=<the folder of "
              "OpenVINOConfig.cmake>");
}

Expected<std::unique_ptr<ModelExecutor>> OpenVinoRuntime::load(
    const Graph& /*graph*/, std::span<const Value> /*watched*/) const {
  return fail(make().error());  // there is none to call this
}

}  // namespace quadrant::inline v0
