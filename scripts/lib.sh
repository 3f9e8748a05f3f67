# Shared by the scripts of this folder, which source it. Leaves them in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Containers often mount a checkout that belongs to another user, which git refuses by default.
git() { command git -c safe.directory="$PWD" "$@"; }

# C++ files of the repository, those not yet committed included.
cpp_files() {
  git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' | sort -u |
    while read -r file; do [[ ! -f $file ]] || echo "$file"; done
}

# `configure_and_build PRESET [option of cmake --build]...`
configure_and_build() {
  say "build $1"
  cmake --preset "$1" --log-level=WARNING >/dev/null &&
    cmake --build --preset "$1" --parallel "$jobs" "${@:2}" -- -k 0
}
