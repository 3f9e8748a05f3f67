#!/usr/bin/env bash
# Quantizes mlp.mlir in four ways, lowers each to LLVM, runs it, and prints what it computes.
# usage: run.sh [QuadrantPlugin.so]      MLIR_BIN: where mlir-opt and mlir-cpu-runner are
set -euo pipefail
here=$(dirname "$0")
plugin=${1:-$here/../../build/release/lib/QuadrantPlugin.so}
bin=${MLIR_BIN:-/usr/lib/llvm-19/bin}
libraries=$bin/../lib
[ -f "$plugin" ] || { echo "error: $plugin is not there: it is built where MLIR 19 is found"; exit 1; }

to_llvm="func.func(canonicalize,cse,convert-elementwise-to-linalg),\
one-shot-bufferize{bufferize-function-boundaries=1 \
function-boundary-type-conversion=identity-layout-map},\
func.func(buffer-deallocation-simplification,convert-linalg-to-loops),convert-scf-to-cf,\
expand-strided-metadata,lower-affine,convert-arith-to-llvm,convert-math-to-llvm,\
finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts"

# `run NAME PASSES`: the passes end with a comma, or are none.
run() {
  echo "$1"
  # One that does not load is a line on stderr, and mlir-opt goes on without it.
  "$bin/mlir-opt" --load-pass-plugin="$plugin" --pass-pipeline="builtin.module($2$to_llvm)" \
    "$here/mlp.mlir" |
    "$bin/mlir-cpu-runner" -e main -entry-point-result=void \
      -shared-libs="$libraries/libmlir_runner_utils.so,$libraries/libmlir_c_runner_utils.so" |
    sed -n '2,$p'
}

run "float" ""
run "weights of 8 bits" "quadrant-quantize{bits=8},quadrant-lower-quant-ops,"
run "weights of 4 bits" "quadrant-quantize{bits=4},quadrant-lower-quant-ops,"
run "all in 8 bits" "quadrant-quantize{scheme=static gains=unit},quadrant-lower-quant-ops,"
