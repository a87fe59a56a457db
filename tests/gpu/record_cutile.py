"""Runs every cuTile kernel on a GPU: records small results, and prints errors and times.

    python tests/gpu/record_cutile.py [--out=FILE] [--candidates] [--fill-cache=sm_90]

Needs torch, cuda.tile and this project (PYTHONPATH=src:. is enough). `--fill-cache` compiles all
of it without a GPU into the compiler's cache (CUDA_TILE_CACHE_DIR); the same cache then serves a
GPU machine without a compiler, where the project lies under the same path.
"""

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from tests.kernel.cutile.kernels import PLANS
from tests.kernel.cutile.recorded import CASES, FILE, SEED, digest, fixed_inputs

from mla_var3.core.plan import KernelPlan, stages_of

SIZES = tuple({"b": 32, "s": s, "t": t} for t in (200, 4096) for s in (1, 3, 16))
SAMPLE = ((0, 0), (13, 77), (31, 127), (7, 5))
"""(b, h) that are compared at full size."""
BOUNDS = (5e-3, 2e-2)
WARM_UP, ROUNDS, LAUNCHES = 3, 9, 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--only_record", action="store_true", help="the small results only")
    parser.add_argument("--candidates", action="store_true", help="time every tiling as well")
    parser.add_argument("--fill-cache", metavar="ARCH", help="compile only, without a GPU")
    options = parser.parse_args()
    if options.fill_cache:
        return fill_cache(options.fill_cache, options.candidates)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuda.tile {_version()}")
    record(options.out)
    if options.only_record:
        return 0
    failed = 0
    for plan in problems(options.candidates):
        failed += not check(plan)
    print(f"{failed} failed" if failed else "all within the bounds")
    return int(bool(failed))


def problems(candidates: bool) -> Iterator[KernelPlan]:
    """Every version at every size, causal where there are several tokens; then the tilings."""
    for kind, size in itertools.product(PLANS.values(), SIZES):
        for causal in (False, True) if size["s"] > 1 else (False,):
            yield kind(**size, causal=causal)
    if candidates:
        for kind, s in itertools.product(PLANS.values(), (1, 3, 16, 128)):
            plan = kind(s=s, t=4096)
            used = {kernel.name for kernel in stages_of(plan.plan_empty())}
            for stage, tilings in plan._autotune_configs().items():
                yield from (plan.with_tilings({stage: t}) for t in tilings if stage in used)


def record(path: Path) -> None:
    """Results of the small odd cases, inputs made on the CPU."""
    kept: dict[str, dict[str, Any]] = {}
    for version, sizes in CASES.items():
        plan = PLANS[version](**sizes)
        inputs = fixed_inputs(plan)
        stages = stages_of(plan.plan(*(x.cuda() for x in inputs)))
        run(stages, poison=True)
        output = stages[-1].outputs[0].cpu()
        kept[version] = {"inputs": digest(inputs), "output": output}
        print(f"recorded {version} {sizes}: error {errors(output, plan.reference_fn(*inputs))}")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(kept, path)
    print(f"{path.name}: {path.stat().st_size} bytes")


def check(plan: KernelPlan) -> bool:
    """One line: errors on a sample of heads and the time of one launch of all stages."""
    inputs = plan.prepare_inputs("cuda", SEED)
    expected = plan.reference_sample(SAMPLE, *inputs)
    stages = stages_of(plan.plan(*inputs))
    run(stages, poison=True)
    result = stages[-1].outputs[0]
    taken = torch.stack([result[b, :, h] for b, h in SAMPLE])
    relative, worst = errors(taken, expected)
    finite = bool(result.isfinite().all())
    passed = finite and relative <= BOUNDS[0] and worst <= BOUNDS[1]
    chosen = " ".join(f"{stage}:{tiling.as_dict()}" for stage, tiling in plan.chosen)
    words = plan.params()
    print(
        f"{'ok  ' if passed else 'FAIL'} {type(plan).__name__:18} s={words['s']:<3} "
        f"t={words['t']:<5} causal={words['causal']!s:5} grid={stages[0].grid} "
        f"error {relative:.2e} worst row {worst:.2e} {microseconds(stages):9.1f} us {chosen}",
        flush=True,
    )
    del inputs, stages, result
    return passed


def run(stages: Any, poison: bool = False) -> None:
    for stage in stages if poison else ():
        for output in stage.outputs:
            output.fill_(float("nan"))
    for stage in stages:
        stage.launch()
    torch.cuda.synchronize()


def microseconds(stages: Any) -> float:
    """Median over rounds of back-to-back launches."""
    for _ in range(WARM_UP):
        run(stages)
    found = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(LAUNCHES):
            for stage in stages:
                stage.launch()
        end.record()
        end.synchronize()
        found.append(1e3 * start.elapsed_time(end) / LAUNCHES)
    return statistics.median(found)


def errors(result: Any, expected: Any) -> tuple[float, float]:
    """Relative Frobenius error and that of the worst row."""
    difference = (result.double() - expected.double()).flatten(0, -2)
    rows = expected.double().flatten(0, -2).norm(dim=-1)
    relative = difference.norm() / expected.double().norm()
    return float(relative), float((difference.norm(dim=-1) / rows).max())


def fill_cache(arch: str, candidates: bool) -> int:
    """Compile every stage that a run would launch; what a launch compiles is looked up there."""
    small = (PLANS[version](**sizes) for version, sizes in CASES.items())
    with tempfile.TemporaryDirectory() as folder:
        for plan in itertools.chain(small, problems(candidates)):
            for kernel in stages_of(plan.plan_empty()):
                made = kernel.compile_to_files(Path(folder) / "stage", arch)
                print(f"{type(plan).__name__} {kernel.name} {kernel.grid}: {made.registers} regs")
    return 0


def _version() -> str:
    import cuda.tile

    return str(cuda.tile.__version__)


if __name__ == "__main__":
    raise SystemExit(main())
