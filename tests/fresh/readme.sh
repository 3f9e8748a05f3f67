#!/usr/bin/env bash
# Does what README says, its commands of set-up and building as they are printed there, on a machine that has
# nothing but git: scripts/fresh runs this in a bare root. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/../.."

passed=0 failed=0
mkdir -p build/times

check() {
  local started=$SECONDS
  echo "== README: $1"
  (set -e; "${@:2}") # where `if` asked for its status, bash would not stop at the first error
  if (($? == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "== FAILED: $1"; fi
  printf 'fresh\t%s\t%d\n' "$1" $((SECONDS - started)) | tee -a build/times/readme.tsv
}

# `block N HEADING`: the N-th block of code below a heading of README.
block() {
  awk -v wanted="$1" -v heading="## $2" '
    /^## / { inside = $0 == heading }
    inside && /^```/ { fences++; next }
    inside && fences == 2 * wanted - 1 { print }' README.md
}
# A block's commands, without what stands behind them.
commands() { block "$@" | sed 's/ *#.*//' | grep -v '^$'; }

absent() {
  local name
  for name in cmake g++ ninja python3 ccache clang-format-19; do
    ! command -v "$name" || { echo "$name is there already: this is no bare machine"; return 1; }
  done
}

build_line() {
  local line
  line=$(commands 1 'The command' | head -n 1)
  [[ $line == *cmake* ]]
  bash -euc "$line"
}

# The library, from a project that consists of what README shows.
library() {
  local app=../app
  rm -rf "$app" ../prefix
  mkdir -p "$app"
  cmake --install build/command --prefix "$PWD/../prefix" >/dev/null
  {
    block 1 'The library' | grep '^#include'
    echo '#include <cstdio>'
    echo 'static int fail_with(const std::string& why) { return std::puts(why.c_str()), 1; }'
    echo 'int main() {'
    block 1 'The library' | grep -v '^#include'
    echo 'return written ? 0 : fail_with(quadrant::to_string(written.error())); }'
  } >"$app/main.cpp"
  {
    echo 'cmake_minimum_required(VERSION 3.25)'
    echo 'project(app LANGUAGES CXX)'
    echo 'add_executable(app main.cpp)'
    block 2 'The library'
  } >"$app/CMakeLists.txt"
  cp examples/models/digits_cnn.onnx "$app/model.onnx"
  cmake -S "$app" -B "$app/build" -DCMAKE_PREFIX_PATH="$PWD/../prefix" >/dev/null
  cmake --build "$app/build"
  (cd "$app" && build/app)
  .venv/bin/python - "$app" <<'PYTHON'
import pathlib, sys
import onnxruntime
folder = pathlib.Path(sys.argv[1])
onnxruntime.InferenceSession(folder / "model.int8.onnx")
assert (folder / "model.int8.onnx").stat().st_size < 0.6 * (folder / "model.onnx").stat().st_size
PYTHON
}

my_scheme() {
  cmake -S examples/my_scheme -B ../my_scheme -DCMAKE_PREFIX_PATH="$PWD/../prefix" >/dev/null
  cmake --build ../my_scheme
  ctest --test-dir ../my_scheme --output-on-failure --no-tests=error
}

tests() { # README's second command, with the tier that makes no such root again
  local log=../tests.log
  bash -euc "$second $1" 2>&1 | tee "$log"
  tail -n 1 "$log" | grep -q ' 0 failed$'
  ! grep -E '^[0-9]+ skipped$' "$log"
}

mapfile -t lines < <(commands 1 'Two commands')
first=${lines[0]:-} second=${lines[1]:-}
check "two commands" test "${#lines[@]}" = 2
check "nothing is installed" absent
check "$first" bash -euc "$first"
check "the build line" build_line
check "the library" library
check "examples/my_scheme" my_scheme
check "$second fast" tests fast
check "$second smoke" tests smoke
echo "$passed passed, $failed failed"
((failed == 0))
