// How fast quadrant-quantize is on a module with one weight of 4096x4096 floats, against copying
// them.
//
// Wall clock, since the pass lends the threads of MLIR's context; each iteration has a context of
// its own, whose threads it starts, and before it the 64 MiB are copied by this thread.
// `of_memcpy` is the pass's rate of float bytes over memcpy's, into memory that was written before;
// `of_fresh_memcpy` is that against memcpy into new memory, which the pass's codes are, too. Each
// rate is that of the best iteration.
//
// Codes of 4 bits with `clip=absmax`, scaled by the largest magnitude as those of 8 bits are, are
// what is compared with memcpy; with `clip=mse`, the default of 4 bits, the scale of least squared
// error is searched for each channel, which computes much more than it reads.
#include <benchmark/benchmark.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/passes.hpp"

namespace {

constexpr std::size_t edge = 4096;
constexpr std::size_t weight_bytes = edge * edge * sizeof(float);

// The weight is put where the resource is elided.
constexpr const char* by_columns = R"(
func.func @product(%x: tensor<16x4096xf32>, %sum: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
  %weight = arith.constant dense_resource<weight> : tensor<4096x4096xf32>
  %y = linalg.matmul ins(%x, %weight : tensor<16x4096xf32>, tensor<4096x4096xf32>)
                     outs(%sum : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  return %y : tensor<16x4096xf32>
})";
constexpr const char* by_rows = R"(
func.func @product(%x: tensor<16x4096xf32>, %sum: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
  %weight = arith.constant dense_resource<weight> : tensor<4096x4096xf32>
  %y = linalg.matmul_transpose_b ins(%x, %weight : tensor<16x4096xf32>, tensor<4096x4096xf32>)
                                 outs(%sum : tensor<16x4096xf32>) -> tensor<16x4096xf32>
  return %y : tensor<16x4096xf32>
})";

const std::vector<float>& weights() {
  static const std::vector<float> values = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> distribution;
    std::vector<float> made(edge * edge);
    for (float& value : made) value = distribution(random);
    return made;
  }();
  return values;
}

/// Seconds that `body` takes.
template <class Body>
double seconds(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void copy_to(std::byte* to) {
  std::memcpy(to, weights().data(), weight_bytes);
  benchmark::DoNotOptimize(to);
  benchmark::ClobberMemory();
}

// The weight stays the caller's.
mlir::OwningOpRef<mlir::ModuleOp> make_module(mlir::MLIRContext& context, const char* text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  const auto blob = [] {
    return mlir::UnmanagedAsmResourceBlob::allocateInferAlign(llvm::ArrayRef<float>(weights()));
  };
  if (module) {
    module->walk([&](mlir::arith::ConstantOp constant) {
      constant.setValueAttr(mlir::DenseResourceElementsAttr::get(
          llvm::cast<mlir::ShapedType>(constant.getType()), "contents", blob()));
    });
  }
  return module;
}

// What is measured: codes, and how their scales are chosen.
struct Codes {
  unsigned bits;
  const char* clip;

  [[nodiscard]] std::string name() const { return "int" + std::to_string(bits) + "-" + clip; }
};

bool has_codes(mlir::ModuleOp module, unsigned bits) {
  bool found = false;
  module.walk([&](mlir::arith::ConstantOp constant) {
    found = llvm::cast<mlir::ShapedType>(constant.getType()).getElementType().isInteger(bits);
  });
  return found;
}

void quantize(benchmark::State& state, const char* text, Codes codes, bool threads) {
  std::vector<std::byte> copy(weight_bytes);
  double copying = std::numeric_limits<double>::infinity();
  double copying_fresh = copying;
  double running = copying;
  for (auto _ : state) {
    copying = std::min(copying, seconds([&] { copy_to(copy.data()); }));
    const double into_fresh = seconds([&] {
      llvm::SmallVector<std::byte, 0> fresh;
      fresh.resize_for_overwrite(weight_bytes);
      copy_to(fresh.data());
    });
    copying_fresh = std::min(copying_fresh, into_fresh);
    mlir::MLIRContext context(threads ? mlir::MLIRContext::Threading::ENABLED
                                      : mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect,
                        quadrant::mlir_plugin::QuantDialect>();
    const auto module = make_module(context, text);
    mlir::PassManager passes(&context);
    passes.addPass(quadrant::mlir_plugin::make_quantize_pass());
    const std::string options =
        "bits=" + std::to_string(codes.bits) + " granularity=channel clip=" + codes.clip;
    const auto refuse = [](const llvm::Twine&) { return mlir::failure(); };
    bool done = module && mlir::succeeded(passes.begin()->initializeOptions(options, refuse));
    const double once = seconds([&] { done = done && mlir::succeeded(passes.run(module.get())); });
    if (!done || !has_codes(module.get(), codes.bits)) {
      state.SkipWithError("not quantized");
      return;
    }
    running = std::min(running, once);
    state.SetIterationTime(once);
  }
  state.counters["of_memcpy"] = copying / running;
  state.counters["of_fresh_memcpy"] = copying_fresh / running;
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(weight_bytes));
}

}  // namespace

int main(int argc, char** argv) {
  for (const bool threads : {false, true}) {
    for (const Codes codes : {Codes{8, "absmax"}, Codes{4, "absmax"}, Codes{4, "mse"}}) {
      for (const bool rows : {false, true}) {
        const std::string name = std::string("quantize/") + (rows ? "rows/" : "columns/") +
                                 codes.name() + (threads ? "/threads" : "/one_thread");
        benchmark::RegisterBenchmark(name.c_str(), quantize, rows ? by_rows : by_columns, codes,
                                     threads)
            ->UseManualTime()
            ->Iterations(20)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
