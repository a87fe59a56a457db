#!/usr/bin/env bash
# Record the second set of example reports on a GPU. Needs nvcc, ncu and a CUDA build of torch with
# Triton. usage: record.sh [OUT_DIR]. Clocks are left as they are (--clock-control none).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
mkdir -p "$out"
cd "$here" || exit 1
full=(ncu --set full --import-source yes --clock-control none --nvtx -f)

nvcc -O3 -lineinfo -gencode=arch=compute_90a,code=sm_90a -o "$out/zoo_b" zoo_b.cu || exit 1
"${full[@]}" -o "$out/zoo_b" "$out/zoo_b"
"${full[@]}" -k 'regex:softmax_rows|matmul_pipelined|gather_rows|transpose_naive' \
  -o "$out/triton_ops" python3 triton_ops.py
"${full[@]}" --profile-from-start off -o "$out/torch_ops" python3 torch_ops.py
# few metrics: what a basic set, and a single metric, leave undecided
ncu --set basic --clock-control none -f -o "$out/zoo_b_basic" "$out/zoo_b"
ncu --metrics gpu__time_duration.sum --clock-control none -f -o "$out/zoo_b_time" "$out/zoo_b"
# the same report as text
for page in details raw; do
  ncu --import "$out/zoo_b.ncu-rep" --csv --page "$page" > "$out/zoo_b_$page.csv"
done
