#!/usr/bin/env bash
# Quantizes mlp.mlir in four ways, lowers each to LLVM, runs it, and prints what it computes.
# usage: run.sh [QuadrantPlugin.so]      MLIR_BIN: where mlir-opt and mlir-cpu-runner, or mlir-runner, of its version are
set -euo pipefail
here=$(dirname "$0")
plugin=${1:-$here/../../build/release/lib/QuadrantPlugin.so}
bin=${MLIR_BIN:-/usr/lib/llvm-19/bin}
libraries=$bin/../lib
[ -f "$plugin" ] || { echo "error: $plugin is not there: it is built where MLIR 19 is found"; exit 1; }

to_llvm=$(tr -d '\n' <"$here/to_llvm.txt")
runner=$bin/mlir-runner # until version 20: mlir-cpu-runner
[ -x "$runner" ] || runner=$bin/mlir-cpu-runner

# `run NAME PASSES`: the passes end with a comma, or are none.
run() {
  echo "$1"
  # One that does not load is a line on stderr, and mlir-opt goes on without it.
  "$bin/mlir-opt" --load-pass-plugin="$plugin" --pass-pipeline="builtin.module($2$to_llvm)" \
    "$here/mlp.mlir" |
    "$runner" -e main -entry-point-result=void \
      -shared-libs="$libraries/libmlir_runner_utils.so,$libraries/libmlir_c_runner_utils.so" |
    sed -n '2,$p'
}

run "float" ""
run "weights of 8 bits" "quadrant-quantize{bits=8},quadrant-lower-quant-ops,"
run "weights of 4 bits" "quadrant-quantize{bits=4},quadrant-lower-quant-ops,"
run "all in 8 bits" "quadrant-quantize{scheme=static gains=unit},quadrant-lower-quant-ops,"
