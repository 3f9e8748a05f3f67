#!/bin/sh
# Runs one peer test with the virtual environment's Python; `run.sh --oldest TEST` with the oldest ONNX Runtime. A peer that is missing (no environment, or
# the test says so with status 77) skips the test; in CI it fails the test.
environment=$(dirname "$0")/../../.venv
python=$environment/bin/python
if [ "$1" = --oldest ]; then
  shift
  export PYTHONPATH="$environment/oldest" QUADRANT_OLDEST="$(sed -n 's/^onnxruntime==//p' "$(dirname "$0")/../requirements-oldest.txt")"
fi
if [ -x "$python" ]; then
  "$python" "$@"
  status=$?
else
  echo "no virtual environment: run scripts/setup"
  status=77
fi
if [ "$status" = 77 ] && [ -n "${CI:-}" ]; then
  echo "a peer is missing, which CI does not accept"
  status=1
fi
exit "$status"
