# shellcheck shell=bash disable=SC2034 # variables are read by the scripts that source this
# What lock-gpu-clock.sh and reset-gpu-clock.sh share: the device, nvidia-smi, what to put back.
# Sourced, never run. Exit codes as of mla: 2 bad arguments, 3 not possible here, 6 lock not held.

program=$(basename "$0")
device=""      # as typed
index="" uuid="" name=""
devices=""     # "index, uuid, name" a line
answer=""      # what nvidia-smi printed last
value=""       # of the field asked for last; empty: the driver does not tell

say() { printf '%s: %s\n' "$program" "$*" >&2; }

die() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# Run nvidia-smi, at most 30 s. Its output is in $answer.
smi() { answer=$(timeout --foreground 30 nvidia-smi "$@" 2>&1); }

# Why nvidia-smi failed, on one line.
why() {
  local line=${answer%%$'\n'*}
  printf '%s' "${line:-no answer in 30 s}"
}

# nvidia-smi refuses some changes with exit code 0 and a text.
refused() { [[ $answer == *"ermission"* ]]; }
unsupported() { [[ $answer == *"ot supported"* || $answer == *"has been deprecated"* ]]; }
change() { smi -i "$uuid" "$@" && ! refused && ! unsupported; }

no_permission() {
  printf '%s' "no permission to change the clocks of GPU $index: run as root (sudo), in a " \
    "container with --cap-add=SYS_ADMIN; without it, compare versions interleaved, in one run"
}

# The value of a field, in $value; empty where it is unknown to the driver or says nothing.
ask() {
  value=""
  smi -i "$uuid" "--query-gpu=$1" --format=csv,noheader,nounits || return 0
  value=${answer##*$'\n'}
  case $value in
    "[N/A]" | N/A | "[Not Supported]" | *"Unknown Error"* | *eprecated* | *"not a valid field"*)
      value="" ;;
  esac
}

list_devices() {
  command -v nvidia-smi >/dev/null || die 3 "no nvidia-smi here: install the NVIDIA driver"
  smi --query-gpu=index,uuid,name --format=csv,noheader || die 3 "nvidia-smi: $(why)"
  devices=$(grep -E '^[0-9]+, GPU-' <<<"$answer")
  [ -n "$devices" ] || die 3 "nvidia-smi lists no GPU: $(why)"
}

# `0 (NVIDIA H200, GPU-1c0f…), 1 (…)`
listed() {
  sed -E 's/^([0-9]+), ([^,]+), (.*)$/\1 (\3, \2)/' <<<"$devices" | paste -sd ';' | sed 's/;/, /g'
}

# Find the device: an index, a UUID or its beginning; nothing typed: the only one.
choose_device() {
  local found
  case $device in
    "") found=$devices ;;
    MIG-*) die 3 "$device is a part of a GPU (MIG): clocks are those of the whole and cannot be set" ;;
    GPU-*) found=$(grep -F ", $device" <<<"$devices") ;;
    *[!0-9]*) found="" ;;
    *) found=$(grep "^$device, " <<<"$devices") ;;
  esac
  [ -n "$found" ] || die 2 "no GPU $device here; there are: $(listed)"
  if [[ $found == *$'\n'* ]]; then
    die 2 "several GPUs fit: choose one with --device; there are: $(listed)"
  fi
  index=${found%%, *}
  uuid=${found#*, }
  name=${uuid#*, }
  uuid=${uuid%%, *}
}

refuse_mig() {
  ask mig.mode.current
  [ "$value" != Enabled ] || die 3 "GPU $index is in MIG mode: its clocks cannot be set"
}

# Where it is remembered how a GPU was before the lock.
state_folder() { printf '%s' "${XDG_STATE_HOME:-${HOME:?}/.local/state}/mla_var3/gpu-clock"; }
state_file() { printf '%s/%s' "$(state_folder)" "$uuid"; }
remembered() { sed -n "s/^$1=//p" "$(state_file)" 2>/dev/null; }

# Take the lock away and put persistence mode back; 1 where nvidia-smi refuses.
restore() {
  change -rgc || return 1
  persistence_note="persistence mode left as it is"
  if [ "$(remembered persistence)" = Disabled ]; then
    change -pm 0 || return 1
    persistence_note="persistence mode off again"
  fi
  rm -f "$(state_file)"
}
