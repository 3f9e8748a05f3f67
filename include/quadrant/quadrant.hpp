// The library in one header: models, recipes, runs, and what there is to say of them. Two things
// are apart: the macros that declare methods (engine/macros.hpp), and adapters of other libraries
// (adapters/).
//
//   QUADRANT_TRY(auto model, quadrant::read_model("model.onnx"));
//   QUADRANT_TRY(const auto recipe, quadrant::recipe_of_preset("int8"));
//   QUADRANT_TRY(const auto done, quadrant::run({.recipe = recipe}, std::move(model)));
//   QUADRANT_TRY(const auto written, quadrant::write_model(done.quantized.graph, "small.onnx"));
#pragma once

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/engine/check_rewriter.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/mirror.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "quadrant/version.hpp"
