// What mlir-opt calls when it loads the plug-in.
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Tools/Plugins/PassPlugin.h>

#include "mlir_plugin/passes.hpp"
#include "quadrant/version.hpp"

extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Quadrant", QUADRANT_VERSION_STRING, [] {
            mlir::registerPass(quadrant::mlir_plugin::make_quantize_pass);
            mlir::registerPass(quadrant::mlir_plugin::make_export_pass);
            mlir::registerPass(quadrant::mlir_plugin::make_lower_quant_ops_pass);
            mlir::registerPass(quadrant::mlir_plugin::make_report_pass);
          }};
}
