#!/usr/bin/env bash
# Take the lock of lock-gpu-clock.sh away, and put persistence mode back as it was.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/gpu-clock.sh
. "$here/gpu-clock.sh"

usage() {
  cat <<END
usage: bash scripts/reset-gpu-clock.sh [--device=INDEX|UUID]

Resets the GPU's clocks to the driver's own control. Persistence mode is turned off again only where
lock-gpu-clock.sh turned it on.

  --device   index as nvidia-smi lists it, or UUID
             (default: the only GPU, or the only one that is locked)

Needs root. Exit: 0 reset, 2 bad arguments, 3 not possible here.
END
}

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) usage; exit 0 ;;
      --device=*) device=${1#*=} ;;
      --device | -i) device=${2-}; shift ;;
      -*) die 2 "unknown option $1 (--help)" ;;
      *) die 2 "cannot use '$1': --device=INDEX|UUID" ;;
    esac
    [ -n "$device" ] || die 2 "--device needs a value"
    shift
  done
}

# Of several GPUs, none typed: the only one that was locked here.
prefer_locked() {
  local file locked=()
  [ -z "$device" ] && [[ $devices == *$'\n'* ]] || return 0
  for file in "$(state_folder)"/GPU-*; do
    [ -e "$file" ] && grep -qF ", $(basename "$file")," <<<"$devices" && locked+=("$file")
  done
  [ "${#locked[@]}" -eq 1 ] && device=$(basename "${locked[0]}")
  return 0
}

parse "$@"
# Ctrl-C must not leave half of it: each call ends in seconds.
trap '' INT TERM HUP
list_devices
prefer_locked
choose_device
refuse_mig
if ! restore; then
  refused && die 3 "$(no_permission)"
  die 3 "the clocks of GPU $index cannot be reset: $(why)"
fi
echo "GPU $index, $name: clocks reset; $persistence_note"
