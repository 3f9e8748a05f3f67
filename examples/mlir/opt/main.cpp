// A compiler with Quadrant's passes between its own.
//
//     quadrant_opt IN.mlir PIPELINE        a text such as
//     'canonicalize,quadrant-quantize{scheme=weight-only}'
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

#include "quadrant/mlir_passes.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    llvm::errs() << "usage: quadrant_opt IN.mlir PIPELINE\n";
    return 2;
  }
  mlir::registerTransformsPasses();
  quadrant::register_mlir_passes();

  // The dialects of the modules that come in; the passes load those that they write.
  mlir::DialectRegistry dialects;
  dialects.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                  mlir::tensor::TensorDialect>();
  mlir::MLIRContext context(dialects);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module) return 1;  // what is wrong has been said, with its place

  mlir::PassManager passes(&context);
  if (mlir::failed(mlir::parsePassPipeline(argv[2], passes))) return 2;
  if (mlir::failed(passes.run(*module))) return 1;
  module->print(llvm::outs());
  return 0;
}
