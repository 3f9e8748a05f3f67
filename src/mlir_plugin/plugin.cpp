// What mlir-opt calls when it loads the plug-in.
#include <mlir/Tools/Plugins/PassPlugin.h>

#include "quadrant/mlir_passes.hpp"
#include "quadrant/version.hpp"

extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Quadrant", QUADRANT_VERSION_STRING,
          quadrant::register_mlir_passes};
}
