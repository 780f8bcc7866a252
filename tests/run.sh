#!/usr/bin/env bash
# Installs, builds and tests everything; the exit code is 0 only if all of it passed.
#
#   tests/run.sh                       all stages
#   tests/run.sh build unit            only these
#   tests/run.sh --skip install        all but this one (may be repeated)
#   tests/run.sh --cases DIR           conformance cases from DIR instead of tests/conformance
#   tests/run.sh --tsan-e2e            besides, tests/e2e with a ThreadSanitizer build
#   tests/run.sh --clean-root          besides, the package in a new Debian and under its systemd, as root
#   tests/run.sh -- -k resend          what follows `--` goes to pytest
#
# Environment: SMG_JOBS, parallel compilations (default: one a processor);
# SMG_TEST_JOBS, cases that run at once (default 4: they wait more than they compute);
# SMG_FUZZ_SECONDS, how long each fuzz target runs (default 30);
# SMG_SOAK_SECONDS, how long the soak's traffic lasts (default 60).
set -uo pipefail
cd "$(dirname "$0")/.."

readonly project=$PWD
readonly all_stages=(install build unit bench conformance e2e packaging asan soak fuzz)
readonly jobs=${SMG_JOBS:-$(nproc)}
readonly test_jobs=${SMG_TEST_JOBS:-4}
# What only the tests around the binary use.
readonly tools=(prometheus systemd lintian groff-base fish zsh curl nghttp2-client nghttp2-server nginx nodejs)
# The case files of what is built so far; deselected.txt names single cases in them that have to wait.
readonly case_files=(test_body_path test_streamed_request test_memory_bounds test_forwarding
  test_resend test_upstream_pools test_retries test_shutdown test_response_streaming test_minimax
  test_upstream_http2 test_upstream_http2_slow test_circuit_breaker test_health test_http_server
  test_workers_api test_policies test_access_control test_overload test_cli test_metrics)

cases=$project/tests/conformance
stages=() skipped=() pytest_arguments=()

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }

parse_arguments() {
  local tsan=false clean_root=false
  while (($#)); do
    case $1 in
      --skip) skipped+=("${2:?--skip needs a stage}"); shift ;;
      --cases) cases=$(realpath "${2:?--cases needs a directory}") || exit 2; shift ;;
      --tsan-e2e) tsan=true ;;
      --clean-root) clean_root=true ;;
      --) shift; pytest_arguments=("$@"); break ;;
      -h | --help) usage; exit 0 ;;
      install | build | unit | bench | conformance | e2e | packaging | asan | soak | fuzz | tsan_e2e | clean_root) stages+=("$1") ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  ((${#stages[@]})) || stages=("${all_stages[@]}")
  if $tsan; then stages+=(tsan_e2e); fi
  if $clean_root; then stages+=(clean_root); fi
}

build_preset() {  # PRESET TARGET...
  local preset=$1
  shift
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}

prepare_python() {
  local stamp=.venv/requirements.txt
  cmp -s tests/requirements.txt "$stamp" && return
  python3 -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt "$stamp"
}

# Runs the tests of the current directory, several at once. What fails is run once more, alone: a case
# that fails for want of a processor passes then, one that fails for want of correctness does not.
run_pytest() {  # ARGUMENT...
  local python=$project/.venv/bin/python cache=$project/build/pytest-cache/$1
  shift
  local common=(-m pytest -q -ra --rootdir . -o "cache_dir=$cache" "$@" "${pytest_arguments[@]}")
  export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$project/tests
  (cd "$project" && prepare_python)
  rm -rf "$cache"
  "$python" "${common[@]}" -n "$test_jobs" && return
  local code=$?
  # 1: tests failed. Anything else, such as no tests at all, is not helped by another run.
  ((code == 1)) || return "$code"
  echo "== Once more, one at a time: the cases that failed"
  "$python" "${common[@]}" --last-failed --last-failed-no-failures none --maxfail 20
}

stage_install() {
  cmake/install_dependencies.sh
  # Debian's packages would start servers; only their programs are wanted.
  local server
  for server in prometheus nginx; do
    if [[ -d /run/systemd/system ]] && ! command -v "$server" >/dev/null; then systemctl mask "$server" || true; fi
  done
  cmake/install_dependencies.sh "${tools[@]}" ||
    echo "Without these tools, the tests that need them are skipped."
}

# Warnings are errors in every build (cmake/options.cmake).
stage_build() { build_preset release; }

# Like run_pytest, for programs of unit tests; but what a sanitizer reports is a finding, however rare.
run_ctest() {  # PRESET
  local log=build/$1/ctest.log
  ctest --preset "$1" --parallel "$jobs" 2>&1 | tee "$log" && return
  grep -qE "Sanitizer|runtime error:" "$log" && return 1
  echo "== Once more, one at a time: the programs that failed"
  ctest --preset "$1" --rerun-failed
}

stage_unit() { run_ctest release; }

# That they can be built and run; a moment of each measures nothing.
stage_bench() {
  build_preset release bench/all
  build/release/bench/micro_benchmarks --benchmark_min_time=0.001
}

stage_conformance() {
  GATEWAY="$(printf %q "$project/build/release/smg") launch"
  export GATEWAY
  cd "$cases"
  run_pytest conformance -p quiet_ports -p deselection --deselection "$project/tests/conformance/deselected.txt" \
    "${case_files[@]/%/.py}"
}

stage_e2e() {
  export SMG_BINARY=$project/build/release/smg
  cd tests/e2e
  run_pytest e2e .
}

stage_packaging() {
  build_preset release deb
  export SMG_BINARY=$project/build/release/smg
  cd tests/packaging
  run_pytest packaging .
}

stage_asan() {
  build_preset asan
  run_ctest asan
}

stage_soak() {
  build_preset asan smg
  prepare_python
  # A sanitizer has memory of its own: the bound on resident memory is for other builds.
  .venv/bin/python bench/soak --binary build/asan/smg --report build/soak.json \
    --minutes "$(awk "BEGIN { print ${SMG_SOAK_SECONDS:-60} / 60 }")"
}

stage_fuzz() {
  build_preset fuzz fuzzers
  SMG_JOBS=$jobs tests/fuzz/run.sh
}

stage_tsan_e2e() {
  build_preset tsan smg
  export SMG_BINARY=$project/build/tsan/smg SMG_SANITIZED=1
  cd tests/e2e
  run_pytest tsan_e2e .
}

stage_clean_root() {
  cmake/install_dependencies.sh debootstrap systemd-container
  build_preset release deb
  local folder
  folder=$(mktemp -d)
  tests/packaging/clean_root.sh build/release/smg_*.deb "$folder/root"
  tests/packaging/booted_root.sh build/release/smg_*.deb "$folder/booted"
  rm -rf "$folder"
}

main() {
  parse_arguments "$@"
  local stage code started failed=0 report=()
  for stage in "${stages[@]}"; do
    if [[ " ${skipped[*]} " == *" $stage "* ]]; then
      report+=("skipped  $stage")
      continue
    fi
    echo "==== $stage"
    started=$SECONDS
    # Not in a condition: that would switch `set -e` off inside.
    (set -e; "stage_$stage")
    code=$?
    if ((code == 0)); then
      report+=("passed   $stage ($((SECONDS - started)) s)")
      continue
    fi
    failed=1
    report+=("FAILED   $stage ($((SECONDS - started)) s)")
    # Nothing can be tested without these.
    if [[ $stage =~ ^(install|build)$ ]]; then break; fi
  done
  printf '\n==== Summary\n'
  printf '%s\n' "${report[@]}"
  return "$failed"
}

main "$@"
