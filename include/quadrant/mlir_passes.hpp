// The passes of docs/mlir.md in a compiler of one's own, linked: target quadrant::mlir_passes.
#pragma once

namespace quadrant::inline v0 {

/// Makes `quadrant-quantize`, `quadrant-report`, `quadrant-instrument`, `quadrant-lower-quant-ops`
/// and `quadrant-export` known to MLIR's registry of this process: `mlir::parsePassPipeline` then
/// takes them, with their options, between a compiler's own passes. The version of MLIR is the one
/// that this target was built for. Called once, before pipelines are parsed: the registry takes no
/// two threads at once.
void register_mlir_passes();

}  // namespace quadrant::inline v0
