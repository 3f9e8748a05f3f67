# Shared by the scripts of this folder, which source it. Leaves them in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
debian=$(. /etc/os-release && echo "${VERSION_ID:-}")

# Debian's Clang does not find its own symbolizer.
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-19/bin/llvm-symbolizer

# Of the script that was called first: those that it calls go on counting.
export QUADRANT_STARTED=${QUADRANT_STARTED:-$(date +%s)}

# A step, with the time since the start in minutes and seconds.
say() {
  local seconds=$(($(date +%s) - QUADRANT_STARTED))
  printf '== [%d:%02d] %s\n' $((seconds / 60)) $((seconds % 60)) "$*"
}
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The version of Quadrant, of the one place where it stands.
project_version() { sed -n 's/.*QUADRANT_VERSION_STRING "\([^"]*\)".*/\1/p' include/quadrant/version.hpp; }

# Containers often mount a checkout that belongs to another user, which git refuses by default.
git() { command git -c safe.directory="$PWD" "$@"; }

# C++ files of the repository, those not yet committed included.
cpp_files() {
  git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' | sort -u |
    while read -r file; do [[ ! -f $file ]] || echo "$file"; done
}

# Runs a command as root, through sudo where need be.
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    command -v sudo >/dev/null || die "not root, and no sudo, which this needs: $*"
    sudo "$@"
  fi
}

# `configure_and_build PRESET [option of cmake --build]...`
configure_and_build() {
  say "build $1"
  cmake --preset "$1" --log-level=WARNING >/dev/null &&
    cmake --build --preset "$1" --parallel "$jobs" "${@:2}" -- -k 0
}
