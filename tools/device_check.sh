#!/usr/bin/env bash
# Checks the CUDA backend on a machine that has a device, and measures it.
#
#   tools/device_check.sh prepare [DIR]   here, with Rust: builds what is needed into DIR (target/device-check)
#   tools/device_check.sh run [DIR]       there, with a driver for CUDA 13 and nothing else: all checks, within minutes
#
# Copy DIR there and run the script that lies in it. In order, all within six minutes:
#   1. what the driver and the device are;
#   2. every kernel's bits against the processor's, then decoding, scoring, training, errors and checkpoints;
#   3. a whole run of `smoke` on the device: its last chain hash must be the one that the processor gave here;
#   4. compute-sanitizer over the kernels' tests, where it is installed and supports the machine;
#   5. timings by the device's clock against the roofline; torch's at the same sizes, where it is installed.
# A check that fails ends the script with 1. What a machine cannot do is named as not done.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mode="${1:-run}"
LARGEST_KIB=$((64 * 1024))
LONGEST_S=360

say() { printf '\n== %s\n' "$*"; }

fail() { echo "failed: $*" >&2; exit 1; }

# The chain hash of a run's last step.
last_chain() { "$1" show "$2" --json | sed -n 's/.*"chain": *"\([0-9a-f]\{64\}\)".*/\1/p' | tail -1; }

# A directory to fill: new, empty, or one that an earlier call has marked as its own.
emptied() {
  [ -z "$(ls -A "$1" 2>/dev/null)" ] || [ -e "$1/.prepared" ] || fail "$1 holds something else"
  rm -rf "$1"
  mkdir -p "$1"
  touch "$1/.prepared"
}

prepare() {
  local directory target kib
  directory="$(realpath -m "${1:-$here/../target/device-check}")"
  cd "$here/.."
  [ -e gpu/kernels ] || fail "$PWD is not the repository"
  target="${CARGO_TARGET_DIR:-target}/release"
  emptied "$directory"
  cargo build --release -p tadpole
  cargo build --release -p tadpole-gpu --example device_check
  # Tests of the crate itself hold every kernel against its reference; `device` those of the whole backend.
  cargo test --release -p tadpole-gpu --lib --test device --no-run --message-format=json |
    sed -n 's/.*"name":"\(tadpole_gpu\|device\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
    while read -r name path; do install -s "$path" "$directory/tests_$name"; done
  install -s "$target/tadpole" "$target/examples/device_check" "$directory/"
  cp -r gpu/kernels "$directory/kernels"
  cp tools/device_check.sh tools/device_check_torch.py "$directory/"
  for file in tests_tadpole_gpu tests_device tadpole device_check; do
    [ -x "$directory/$file" ] || fail "$file was not built"
  done
  # With the binary that is carried, so that the hash is that of the run that the device repeats.
  "$directory/tadpole" run smoke --device cpu --out "$directory/smoke-cpu" --set exec.progress=none
  last_chain "$directory/tadpole" "$directory/smoke-cpu" > "$directory/smoke.chain"
  rm -r "$directory/smoke-cpu"
  [ -s "$directory/smoke.chain" ] || fail "the run on the processor has no chain hash"
  kib="$(du -sk "$directory" | cut -f1)"
  [ "$kib" -le "$LARGEST_KIB" ] || fail "$directory has $kib KiB, more than can be carried"
  say "prepared $directory, $kib KiB"
}

# Runs a command for so many seconds at most, and no longer than all checks together may take.
within() {
  local most="$1" left=$((LONGEST_S - SECONDS))
  shift
  [ "$left" -gt 0 ] || return 124
  timeout "$((left < most ? left : most))" "$@"
}

# A check: it must succeed in time.
must() {
  local what="$1" verdict=0
  shift
  within "$@" || verdict=$?
  case "$verdict" in
    0) ;;
    124) fail "$what: no end after $1 s, or after $LONGEST_S s of all checks" ;;
    *) fail "$what: ended with $verdict" ;;
  esac
}

# A measurement: where it does not succeed, that is said.
may() {
  local what="$1" verdict=0
  shift
  within "$@" || verdict=$?
  [ "$verdict" = 0 ] || echo "not done: $what ended with $verdict"
}

sanitize() {
  command -v compute-sanitizer >/dev/null || { echo "not done: it is not installed"; return; }
  local verdict=0
  within 45 compute-sanitizer --error-exitcode 9 ./tests_device checkpoints --test-threads 1 || verdict=$?
  [ "$verdict" != 9 ] || fail "compute-sanitizer found faults"
  [ "$verdict" = 0 ] || echo "not done: compute-sanitizer ended with $verdict"
}

run() {
  local scratch doctor chain
  cd "${1:-$here}"
  for file in tadpole device_check tests_tadpole_gpu tests_device smoke.chain; do
    [ -e "$file" ] || fail "there is no $file in $PWD: \`device_check.sh prepare\` makes the directory to run in"
  done
  ./tadpole --version || fail "the binaries do not start here: prepare them on a system that is no newer"
  scratch="$(mktemp -d)"
  trap 'rm -rf "$scratch"' EXIT
  export TADPOLE_REAL_DEVICE=1

  say "device"
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
  else
    echo "not done: no nvidia-smi"
  fi
  doctor="$(./tadpole doctor --out "$scratch" | grep -A1 ' CUDA ' || true)"
  echo "$doctor"
  case "$doctor" in
    ok*) ;;
    *) fail "there is no device here that Tadpole can use" ;;
  esac

  say "bits of every kernel, and of the backend"
  must "the kernels' tests" 90 ./tests_tadpole_gpu kernels::tests --skip plants --skip contract --test-threads 1
  must "the backend's tests" 60 ./tests_device --test-threads 1

  say "a whole run of smoke"
  must "the run" 150 ./tadpole run smoke --device cuda --out "$scratch/smoke" --set exec.progress=none
  chain="$(last_chain ./tadpole "$scratch/smoke")"
  [ "$chain" = "$(cat smoke.chain)" ] || fail "chain $chain, on the processor $(cat smoke.chain)"
  echo "chain $chain, as on the processor"

  say "compute-sanitizer"
  sanitize

  say "timings"
  may "device_check" 60 ./device_check
  if python3 -c 'import torch' 2>/dev/null; then
    may "torch" 45 python3 device_check_torch.py
  else
    echo "not done: torch is not installed"
  fi
  say "all checks passed, in $SECONDS s"
}

case "$mode" in
  prepare | run) "$mode" "${@:2}" ;;
  *) sed -n '2,7p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
