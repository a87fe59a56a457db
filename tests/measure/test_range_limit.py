"""What lies inside the range of a stage that launches too much, counted in operators of torch."""

import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest

from mla_var3.core.errors import NoUsableData
from mla_var3.measure.range_limit import (
    SEEN,
    Counter,
    RangeLimit,
    RangeSeen,
    launches,
    limit_of,
    operators_counted,
    save_seen,
    take_seen,
)

HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.mark.parametrize(
    ("ran", "seen", "closed"),
    [
        (2, RangeSeen(2, 2, ""), 0),
        (3, RangeSeen(3, 3, ""), 0),
        (4, RangeSeen(3, 4, "operators"), 1),
        (100, RangeSeen(3, 100, "operators"), 1),
    ],
)
def test_a_range_is_closed_once_after_its_operators(ran: int, seen: RangeSeen, closed: int) -> None:
    calls: list[int] = []
    counter = Counter(RangeLimit(3), lambda: calls.append(1))
    for _ in range(ran):
        counter.count()
    assert (counter.seen, len(calls)) == (seen, closed)


def test_a_range_is_closed_when_the_time_is_over() -> None:
    calls: list[int] = []
    counter = Counter(RangeLimit(None, time.monotonic() + 0.05), lambda: calls.append(1))
    counter.count()
    time.sleep(0.06)
    counter.count()
    counter.count()
    assert (counter.seen, len(calls)) == (RangeSeen(1, 3, "seconds"), 1)


def test_the_limit_of_a_job() -> None:
    assert limit_of({}) == RangeLimit()
    assert not RangeLimit().is_over
    limit = limit_of({"operators": 48.0, "seconds": 60.0})
    assert limit.operators == 48 and limit.deadline is not None
    assert limit.deadline - time.monotonic() == pytest.approx(60.0, abs=1.0)
    assert limit_of({"seconds": 0.0}).is_over


def test_what_was_seen_is_handed_over_once(tmp_path: Path) -> None:
    seen = {"fa": RangeSeen(48, 3104, "operators"), "join": RangeSeen(cut="seconds")}
    save_seen(seen, tmp_path)
    assert take_seen(tmp_path) == seen
    assert take_seen(tmp_path) == {}
    (tmp_path / SEEN).write_text('{"fa": [1]}')
    with pytest.raises(NoUsableData, match="is damaged"):
        take_seen(tmp_path)
    assert not (tmp_path / SEEN).exists()


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_operators_that_launch_are_counted_and_views_are_not() -> None:
    import torch

    assert [launches(op) for op in (torch.ops.aten.mm.default, torch.ops.aten.transpose.int)] == [
        True,
        False,
    ]
    a, out = torch.ones(4, 4), torch.empty(4, 4)
    inside: list[int] = []
    counter = Counter(RangeLimit(3), lambda: inside.append(counter.seen.inside))
    with operators_counted(counter):
        for _ in range(5):
            torch.mm(a.mT, a, out=out)  # 1: a transpose is a view
            out.add_(1.0)  # 2
    assert counter.seen == RangeSeen(3, 10, "operators")
    assert inside == [3]
    assert float(out[0, 0]) == 5.0  # what lies outside ran as well


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_the_stage_of_a_torch_plan_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """flash_attention goes by sequence: the operators of 8 of them are 8 times those of one."""
    import torch

    from mla_var3.core.locate import find
    from mla_var3.core.plan import stages_of
    from mla_var3.measure import worker_ranges

    log: list[str] = []
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda name: log.append(f"push {name}"))
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: log.append("pop"))

    def seen(b: int, limit: RangeLimit) -> RangeSeen:
        plan: Any = find("flash_attention", None, "torch")(b=b, h=2, s=1, t=32)
        (kernel,) = stages_of(plan.plan(*plan.prepare_inputs("cpu")))
        return worker_ranges._range(kernel, 1, limit)

    one = seen(1, RangeLimit(1000))
    assert one.cut == "" and one.inside == one.operators > 4
    assert seen(8, RangeLimit(1000)).operators == 8 * one.operators
    assert seen(8, RangeLimit(12)) == RangeSeen(12, 8 * one.operators, "operators")
    assert log == ["push flash_attention", "pop"] * 3
