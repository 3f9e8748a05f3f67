#!/bin/sh
# Runs one peer test with the virtual environment's Python. A peer that is missing (no environment, or
# the test says so with status 77) skips the test; in CI it fails the test.
python=$(dirname "$0")/../../.venv/bin/python
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
