// The passes of the plug-in.
#pragma once

#include <mlir/Pass/Pass.h>

#include <memory>

namespace quadrant::inline v0::mlir_plugin {

[[nodiscard]] std::unique_ptr<mlir::Pass> make_quantize_pass();
[[nodiscard]] std::unique_ptr<mlir::Pass> make_export_pass();
[[nodiscard]] std::unique_ptr<mlir::Pass> make_instrument_pass();
[[nodiscard]] std::unique_ptr<mlir::Pass> make_lower_quant_ops_pass();
[[nodiscard]] std::unique_ptr<mlir::Pass> make_report_pass();

}  // namespace quadrant::inline v0::mlir_plugin
