"""Measuring children of a comparison that did not run: they hand back invented times.

`Children` stands in for `run_worker`. Each child's times come from a noisy device that both sides
share, as `tests.support.noise` invents it; what is planted is known.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from tests.support.noise import BASE_NS, NoisyDevice, NoisyTimer
from tests.support.timings import CPU

from mla_var3.core.timing import WarmUp
from mla_var3.measure import quads, race
from mla_var3.measure.worker import ERROR
from mla_var3.measure.worker_compare import RESULT, Compared
from mla_var3.measure.worker_race import RESULT as RACED
from mla_var3.measure.worker_race import Raced
from mla_var3.measure.worker_spec import WorkerSpec

Progress = Callable[[int, int], None] | None


class Children:
    """One entry of `factors` a child, the last one for all that follow: B over A.

    An error instead of a number is raised in its place.
    """

    def __init__(
        self,
        factors: Sequence[float | Exception],
        again: float = 1.0,
        settled: bool = True,
        model: str = "all",
        launches: dict[str, int] | None = None,
    ) -> None:
        self._factors = list(factors)
        self._again = again
        self._settled = settled
        self._model = model
        self._launches = launches or {}
        self.specs: list[WorkerSpec] = []

    def __call__(self, spec: WorkerSpec, limit_s: float, on_progress: Progress = None) -> None:
        self.specs.append(spec)
        factor = self._factors[min(len(self.specs), len(self._factors)) - 1]
        if isinstance(factor, Exception):
            (Path(spec.out_dir) / "worker.log").write_text("it said why\n")
            (Path(spec.out_dir) / ERROR).write_text("{}")
            raise factor
        device = NoisyDevice(self._model, len(self.specs))
        warm = WarmUp(calls=100, busy_ns=1e9, settled=self._settled, window_ns=(1e6,))
        if on_progress:
            on_progress(36, 72)
        if spec.task == "race":
            self._race(spec, device, warm)
            return
        sides = (NoisyTimer(device, by) for by in (1.0, factor, self._again))
        task = quads.Task(
            quads.settings(spec.protocol), spec.floor_pct, BASE_NS, spec.cache, spec.shapes
        )
        run = quads.take(quads.Pair(*sides), task)
        found = Compared(
            run=msgspec.structs.replace(
                run, warm_up=warm, no_clock="the clock of a CPU is not read"
            ),
            machine=CPU,
            outputs={"A": 1e-3, "B": 2e-3},
            timer="perf_counter_ns",
            queueing="one call after the other on this thread",
            flush="64 MB written",
            launches=self._launches,
        )
        (Path(spec.out_dir) / RESULT).write_bytes(msgspec.json.encode(found))

    def _race(self, spec: WorkerSpec, device: NoisyDevice, warm: WarmUp) -> None:
        factors = [1.0, *(by for by in self._factors if not isinstance(by, Exception))]
        timers = [NoisyTimer(device, by) for by in factors[: 1 + len(spec.rivals)]]
        found = Raced(
            rounds=race.run(timers, race.settings({"leg_ns": 2e7, "drop_ns": 5e6})),
            warm_up=warm,
            machine=CPU,
            no_clock="the clock of a CPU is not read",
            errors=(1e-3,) * len(timers),
            timer="perf_counter_ns",
            queueing="one call after the other on this thread",
            flush="64 MB written",
        )
        (Path(spec.out_dir) / RACED).write_bytes(msgspec.json.encode(found))
