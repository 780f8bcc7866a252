#!/usr/bin/env bash
# Format, clang-tidy and layers.
#
#   cmake/check.sh             the C++ files that differ from the main branch, or from HEAD on it
#   cmake/check.sh FILE...     these files
#   cmake/check.sh --all       every C++ file
#   cmake/check.sh --fix ...   formats them instead of complaining
#
# Environment: BUILD_DIR, a configured build directory (default: build/dev, configured when missing).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${BUILD_DIR:-build/dev}
fix=false
if [ "${1:-}" = --fix ]; then fix=true; shift; fi

changed() {
  local base=HEAD
  if [ "$(git rev-parse --abbrev-ref HEAD)" != main ]; then base=$(git merge-base main HEAD 2>/dev/null || echo HEAD); fi
  { git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | sort -u
}

case ${1:-} in
  --all) mapfile -t files < <(git ls-files --cached --others --exclude-standard) ;;
  "") mapfile -t files < <(changed) ;;
  *) files=("$@") ;;
esac
sources=() units=()
for file in "${files[@]}"; do
  case $file in
    *.cpp) sources+=("$file") units+=("$file") ;;
    *.hpp) sources+=("$file") ;;
  esac
done

status=0
if ((${#sources[@]})); then
  if $fix; then
    clang-format-19 -i "${sources[@]}"
  else
    clang-format-19 --dry-run --Werror "${sources[@]}" || status=1
  fi
fi

if ((${#units[@]})); then
  if [ ! -f "$build/compile_commands.json" ]; then cmake --preset dev -B "$build" >/dev/null; fi
  # clang-tidy reads the sources as the compiler does, and so needs the precompiled header.
  cmake --build "$build" --target smg_pch >/dev/null
  printf '%s\0' "${units[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy-19 -p "$build" --quiet || status=1
fi

python3 tests/check_layers.py . || status=1
exit "$status"
