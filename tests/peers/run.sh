#!/bin/sh
# run.sh [--oldest] TEST: runs one peer test with the virtual environment's Python, and with the oldest ONNX
# Runtime if so said. A peer that is missing (no environment, or the test says so with status 77) skips
# the test; in CI it fails the test.
folder=$(dirname "$0")
environment=$folder/../../.venv
if [ "$1" = --oldest ]; then
  shift
  QUADRANT_OLDEST=$(sed -n 's/^onnxruntime==//p' "$folder/../requirements-oldest.txt")
  export QUADRANT_OLDEST="${QUADRANT_OLDEST:?requirements-oldest.txt pins no onnxruntime}"
  export PYTHONPATH="$environment/oldest"
  needed=$environment/oldest/onnxruntime
else
  needed=$environment
fi
if [ -x "$environment/bin/python" ] && [ -d "$needed" ]; then
  "$environment/bin/python" "$@"
  status=$?
else
  echo "$needed is missing: run scripts/setup"
  status=77
fi
if [ "$status" = 77 ] && [ -n "${CI:-}" ]; then
  echo "a peer is missing, which CI does not accept"
  status=1
fi
exit "$status"
