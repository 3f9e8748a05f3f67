#include "mlir_plugin/passes.hpp"

#include <mlir/Pass/PassRegistry.h>

#include "quadrant/mlir_passes.hpp"

namespace quadrant::inline v0 {

void register_mlir_passes() {
  mlir::registerPass(mlir_plugin::make_quantize_pass);
  mlir::registerPass(mlir_plugin::make_export_pass);
  mlir::registerPass(mlir_plugin::make_instrument_pass);
  mlir::registerPass(mlir_plugin::make_lower_quant_ops_pass);
  mlir::registerPass(mlir_plugin::make_report_pass);
}

}  // namespace quadrant::inline v0
