#!/usr/bin/env bash
# Runs fuzz targets, each for some time, on its corpus; the exit code is 0 only if none found anything.
#
#   tests/fuzz/run.sh                 all targets
#   tests/fuzz/run.sh chunked         only these
#
# Environment: SMG_FUZZ_SECONDS, the time of each target (default 30); SMG_JOBS, targets that run at once;
# SMG_FUZZ_SEED, where the random inputs begin (default 1, so that a run can be repeated; 0: somewhere new).
# Build them before: cmake --preset fuzz && cmake --build --preset fuzz. What is found is in build/fuzz/findings
# and repeated by `build/fuzz/tests/fuzz/TARGET_fuzz FILE`; inputs with new coverage stay in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly seconds=${SMG_FUZZ_SECONDS:-30} seed=${SMG_FUZZ_SEED:-1} jobs=${SMG_JOBS:-$(nproc)}
mkdir -p build/fuzz/findings

run_target() {  # NAME
  local name=$1 corpus=build/fuzz/corpus/$1 log=build/fuzz/findings/$1.log options=()
  mkdir -p "$corpus"
  if [[ -f tests/fuzz/dictionaries/$name.dict ]]; then options+=("-dict=tests/fuzz/dictionaries/$name.dict"); fi
  if "build/fuzz/tests/fuzz/${name}_fuzz" -seed="$seed" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
    -artifact_prefix="build/fuzz/findings/$name-" -print_final_stats=1 "${options[@]}" \
    "$corpus" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    echo "passed  $name: $(grep -o 'number_of_executed_units: .*' "$log" | grep -o '[0-9]*$') runs"
  else
    tail -n 60 "$log"
    echo "FAILED  $name"
    return 1
  fi
}
export -f run_target
export seconds seed

if (($#)); then targets=("$@"); else
  targets=(tests/fuzz/*_fuzz.cpp)
  targets=("${targets[@]##*/}")
  targets=("${targets[@]%_fuzz.cpp}")
fi
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$jobs" bash -euo pipefail -c 'run_target "$1"' _
