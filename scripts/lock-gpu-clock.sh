#!/usr/bin/env bash
# Lock the SM clock of one GPU, so that timings of separate runs can be compared.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/gpu-clock.sh
. "$here/gpu-clock.sh"
table=$here/../src/mla_var3/conf/devices.json

usage() {
  cat <<END
usage: bash scripts/lock-gpu-clock.sh [--device=INDEX|UUID] [--wait=SECONDS] [MHZ]

Locks the SM clock to MHZ, or to lock_clock_mhz of src/mla_var3/conf/devices.json: a clock that the
product holds under load, not its boost clock. The nearest supported step not above it is taken.
Persistence mode is turned on with it: without it the lock ends with the last program.

  --device   index as nvidia-smi lists it, or UUID (default: the only GPU)
  --wait     seconds until the clock is read and compared, +-50 MHz (default: 3)

Needs root. Undo it with: bash scripts/reset-gpu-clock.sh; a failure or Ctrl-C undoes it by itself.
Exit: 0 locked, 2 bad arguments, 3 not possible here, 6 the GPU does not hold the clock.
END
}

wanted="" wait_s=3 step="" reading=""
created="" locking="" persisting="" sleeper="" finished="" note=""

parse() {
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) usage; exit 0 ;;
      --device=* | --wait=* | --clock=*) set_option "${1%%=*}" "${1#*=}" ;;
      --device | -i | --wait | --clock) set_option "$1" "${2-}"; shift ;;
      -*) die 2 "unknown option $1 (--help)" ;;
      *) [ -z "$wanted" ] || die 2 "cannot use '$1': one clock in MHz"; set_option --clock "$1" ;;
    esac
    shift
  done
}

set_option() {
  [ -n "$2" ] || die 2 "$1 needs a value"
  case $1 in
    --device | -i) device=$2 ;;
    --wait) [[ $2 =~ ^[0-9]+$ ]] || die 2 "--wait needs whole seconds, not '$2'"; wait_s=$2 ;;
    --clock) [[ $2 =~ ^[1-9][0-9]*$ ]] || die 2 "the clock is whole MHz, not '$2'"; wanted=$2 ;;
  esac
}

# The clock of the table, by the exact product name.
from_table() {
  command -v python3 >/dev/null || die 3 "no python3 to read devices.json: give the clock in MHz"
  wanted=$(python3 -IS -c '
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    devices = json.load(file)["devices"]
for name, device in devices.items():
    if sys.argv[2] in (name, *device.get("aliases", ())) and device.get("lock_clock_mhz"):
        print(int(device["lock_clock_mhz"]))
' "$table" "$name") || die 3 "devices.json cannot be read: give the clock in MHz"
  [ -n "$wanted" ] || die 2 "devices.json has no lock clock for $name: give one that it holds" \
    "under load: lock-gpu-clock.sh --device=$index MHZ"
}

# The nearest supported step not above the wanted clock.
choose_step() {
  local steps
  smi -i "$uuid" --query-supported-clocks=gr --format=csv,noheader,nounits ||
    die 3 "nvidia-smi does not list the clocks of GPU $index: $(why)"
  steps=$(grep -E '^ *[0-9]+ *$' <<<"$answer" | sort -n -u)
  [ -n "$steps" ] || die 3 "the driver lists no clocks for GPU $index ($(why)): it cannot be locked"
  step=$(awk -v most="$wanted" '$1 <= most { best = $1 } END { print best }' <<<"$steps")
  [ -n "$step" ] ||
    die 2 "$wanted MHz is below the lowest step of GPU $index, $((${steps%%$'\n'*})) MHz"
  [ "$step" = "$wanted" ] ||
    say "$wanted MHz is no supported step: $step MHz is the nearest one not above it"
}

# What was before is remembered first; of a GPU that we locked already, what was before that.
remember() {
  ask persistence_mode
  [ ! -e "$(state_file)" ] || return 0
  created=yes
  mkdir -p "$(state_folder)" 2>/dev/null
  if ! printf 'persistence=%s\n' "${value:-unknown}" 2>/dev/null >"$(state_file)"; then
    die 3 "cannot remember how the GPU was before: set XDG_STATE_HOME to a folder of yours"
  fi
}

persist() {
  case $value in
    Enabled) note="persistence mode was on" ;;
    Disabled)
      persisting=yes
      if change -pm 1; then
        note="persistence mode turned on with it"
      else
        persisting=""
        refused && die 3 "$(no_permission)"
        note="persistence mode cannot be turned on: the lock ends with the last program on the GPU"
      fi ;;
    *) note="persistence mode not told by the driver: the lock may end with the last program" ;;
  esac
}

lock() {
  locking=yes
  if change -lgc "$step,$step"; then note_clock; return; fi
  # A refusal changed nothing. Anything else may have.
  if refused; then locking=""; die 3 "$(no_permission)"; fi
  if unsupported; then locking=""; fi
  die 3 "the clock of GPU $index cannot be locked: $(why)"
}

# What it is locked to, for the reports: no driver tells it.
note_clock() {
  local kept
  kept=$(grep -v '^clock=' "$(state_file)")
  printf '%s\nclock=%s\n' "$kept" "$step" >"$(state_file)"
}

settle() {
  [ "$wait_s" -gt 0 ] || return 0
  sleep "$wait_s" &
  sleeper=$!
  wait "$sleeper"
  sleeper=""
}

read_clock() {
  local field
  for field in clocks.sm clocks.current.sm; do
    ask "$field"
    [[ $value =~ ^[0-9]+$ ]] && break
    value=""
  done
  reading=$value
}

near() { [ $((reading - step)) -le 50 ] && [ $((step - reading)) -le 50 ]; }

# Why the clock is elsewhere, in words; the fields were renamed in driver 535.
reasons() {
  local names=(gpu_idle sw_power_cap hw_slowdown hw_thermal_slowdown sw_thermal_slowdown)
  local family fields at states words=""
  for family in clocks_event_reasons clocks_throttle_reasons; do
    fields=$(printf ",$family.%s" "${names[@]}")
    ask "${fields#,}"
    [[ $value != *Active* ]] || break
  done
  IFS=, read -r -a states <<<"${value// /}"
  for at in "${!states[@]}"; do
    [ "${states[$at]}" = Active ] && words+="${words:+, }${names[$at]//_/ }"
  done
  printf '%s' "${words:-the driver does not say why}"
}

verify() {
  local because
  settle
  read_clock
  [ -n "$reading" ] || die 3 "the SM clock of GPU $index cannot be read, so the lock is undone"
  near && return
  settle # some GPUs take a second time
  read_clock
  [ -n "$reading" ] && near && return
  because=$(reasons)
  if [[ $because == *"gpu idle"* && ${reading:-0} -lt $step ]]; then
    say "idle: the SM clock reads $reading MHz and rises to the lock under load; each report" \
      "says whether it was held"
    return
  fi
  die 6 "the SM clock reads ${reading:-n/a} MHz, not $step +-50 ($because): the lock is undone;" \
    "choose a lower clock"
}

# Put back what was changed, also after Ctrl-C; a second Ctrl-C does not stop it.
on_exit() {
  local code=$?
  trap '' INT TERM HUP
  [ -z "$sleeper" ] || kill "$sleeper" 2>/dev/null
  if [ -z "$finished" ] && [ -n "$uuid" ]; then undo; fi
  exit "$code"
}

undo() {
  if [ -n "$locking" ]; then
    restore || say "not undone: run bash scripts/reset-gpu-clock.sh --device=$index"
    return
  fi
  if [ -n "$persisting" ] && ! change -pm 0; then
    say "persistence mode of GPU $index is still on: nvidia-smi -i $index -pm 0"
  fi
  if [ -n "$created" ]; then rm -f "$(state_file)"; fi
}

parse "$@"
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
list_devices
choose_device
refuse_mig
[ -n "$wanted" ] || from_table
choose_step
remember
persist
lock
verify
finished=yes
echo "GPU $index, $name: SM clock locked at $step MHz (reads $reading MHz); $note"
echo "undo it with: bash scripts/reset-gpu-clock.sh --device=$index"
