#!/usr/bin/env bash
# Checks the CUDA backend on a machine that has a device, and measures it.
#
#   tools/device_check.sh prepare [DIR]   here, with Rust: builds what is needed into DIR (target/device-check)
#   tools/device_check.sh run [DIR]       there, with a driver for CUDA 13 and nothing else: all checks, within minutes
#
# Copy DIR there and run the script that lies in it. In order, each as far as time and machine allow:
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

say() { printf '\n== %s\n' "$*"; }

# The chain hash of a run's last step.
last_chain() { "$1" show "$2" --json | sed -n 's/.*"chain": *"\([0-9a-f]\{64\}\)".*/\1/p' | tail -1; }

prepare() {
  local root="$here/.." directory="${1:-$here/../target/device-check}" target
  cd "$root"
  target="${CARGO_TARGET_DIR:-target}/release"
  rm -rf "$directory" && mkdir -p "$directory"
  cargo build --release -p tadpole
  cargo build --release -p tadpole-gpu --example device_check
  # Tests of the crate itself hold every kernel against its reference; `device` those of the whole backend.
  cargo test --release -p tadpole-gpu --lib --test device --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"name":"\(tadpole_gpu\|device\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
    while read -r name path; do install -s "$path" "$directory/tests_$name"; done
  install -s "$target/tadpole" "$target/examples/device_check" "$directory/"
  cp -r gpu/kernels "$directory/kernels"
  cp tools/device_check.sh tools/device_check_torch.py "$directory/"
  "$target/tadpole" run smoke --device cpu --out "$directory/smoke-cpu" --set exec.progress=none
  last_chain "$target/tadpole" "$directory/smoke-cpu" > "$directory/smoke.chain"
  rm -r "$directory/smoke-cpu"
  test -s "$directory/smoke.chain" -a -x "$directory/tests_tadpole_gpu" -a -x "$directory/tests_device"
  local kib
  kib="$(du -sk "$directory" | cut -f1)"
  [ "$kib" -le "$LARGEST_KIB" ] || { echo "$directory has $kib KiB, more than can be carried" >&2; exit 1; }
  say "prepared $directory, $kib KiB"
}

run() {
  cd "${1:-$here}"
  local scratch
  scratch="$(mktemp -d)"
  trap 'rm -rf "$scratch"' EXIT
  export TADPOLE_REAL_DEVICE=1

  say "device"
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || echo "not done: no nvidia-smi"
  ./tadpole doctor --out "$scratch" | grep -A1 ' CUDA '

  say "bits of every kernel, and of the backend"
  timeout 90 ./tests_tadpole_gpu kernels::tests --skip plants --skip contract --test-threads 1
  timeout 60 ./tests_device --test-threads 1

  say "a whole run of smoke"
  timeout 150 ./tadpole run smoke --device cuda --out "$scratch/smoke" --set exec.progress=none
  local chain
  chain="$(last_chain ./tadpole "$scratch/smoke")"
  [ "$chain" = "$(cat smoke.chain)" ] || { echo "chain $chain, on the processor $(cat smoke.chain)" >&2; exit 1; }
  echo "chain $chain, as on the processor"

  say "compute-sanitizer"
  if command -v compute-sanitizer >/dev/null; then
    local verdict=0
    timeout 45 compute-sanitizer --error-exitcode 9 ./tests_device checkpoints --test-threads 1 || verdict=$?
    case "$verdict" in
      0) ;;
      9) echo "compute-sanitizer found faults" >&2; exit 1 ;;
      *) echo "not done: compute-sanitizer ended with $verdict" ;;
    esac
  else
    echo "not done: it is not installed"
  fi

  say "timings"
  timeout 60 ./device_check
  if python3 -c 'import torch' 2>/dev/null; then
    timeout 45 python3 device_check_torch.py || echo "not done: torch ended with $?"
  else
    echo "not done: torch is not installed"
  fi
  say "all checks passed"
}

case "$mode" in
  prepare | run) "$mode" "${@:2}" ;;
  *) sed -n '2,7p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
