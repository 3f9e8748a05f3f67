#!/usr/bin/env bash
# Cross-compiles the library and its unit tests for arm64, and runs them under qemu: scripts/fresh --run
# tests/fresh/arm64.sh does this in a bare root, since arm64's packages would stand beside others of this machine.
# The last line is `N passed, N failed`.
source "$(dirname "$0")/../../scripts/lib.sh"

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@" </dev/null >/dev/null; }

say "install"
as_root dpkg --add-architecture arm64
as_root apt-get -qq update
apt ccache cmake flatbuffers-compiler g++-aarch64-linux-gnu ninja-build pkg-config python3 qemu-user
# Libraries, of arm64 but those that are headers alone, which Debian has for all.
mapfile -t libraries < <(awk '$1 == "build" && $2 ~ /^lib.*-dev$/ { print $2 }' scripts/packages.txt |
  xargs apt-cache show --no-all-versions |
  awk '$1 == "Package:" { name = $2 } $1 == "Architecture:" { print name ($2 == "all" ? "" : ":arm64") }')
apt "${libraries[@]}" doctest-dev nlohmann-json3-dev

say "build"
export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig
cmake --preset arm64 >/dev/null
cmake --build --preset arm64 --parallel "$jobs" -- -k 0

say "test"
export QUADRANT_SHORT=1 # emulated, they take thirty times as long
# Tests in Python start the command themselves, without qemu; those of what must not compile start the compiler.
# OpenVINO is not there.
ctest --preset arm64 -L fast -E 'test$|^misuse|^docs$|^openvino$|^webnn.cases$' --parallel "$jobs" --output-junit "$PWD/build/arm64/junit.xml" \
  --test-output-size-passed 1000000 --test-output-size-failed 1000000 && status=0 || status=$?
read -r good bad _ < <(python3 scripts/tally.py build/arm64/junit.xml)
((bad > 0 || status == 0)) || bad=1
echo "$good passed, $bad failed"
((bad == 0))
