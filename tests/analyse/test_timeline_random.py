"""Timelines of chance against the plainest arithmetic: every operation with every other."""

import time
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.timelines import Made

from mla_var3.analyse.timeline import analyse_timeline

KINDS = st.sampled_from(["kernel", "memcpy", "memset"])
OPERATION = st.tuples(KINDS, st.integers(0, 3), st.integers(0, 15), st.integers(0, 20))


@st.composite
def timelines(draw):
    """Operations that follow each other in each of four streams."""
    made, free = Made(), [0, 0, 0, 0]
    for kind, stream, wait, length in draw(st.lists(OPERATION, min_size=1, max_size=25)):
        begin = free[stream] + wait
        made.launch(f"{kind} {stream}", stream, max(0, begin - 3), begin, begin + length, kind)
        free[stream] = begin + length
    return made.timeline()


def shared(a, b) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def moments(operations) -> set[int]:
    """The whole microseconds that operations cover."""
    return {at for one in operations for at in range(one.start // 1000, one.end // 1000)}


@given(timelines())
@settings(deadline=None)
def test_overlap_is_the_sum_over_all_pairs_of_operations(timeline):
    for name, kinds in (
        ("overlap_ns", ("kernel", "memcpy", "memset")),
        ("without_memsets_ns", ("kernel", "memcpy")),
        ("kernels_ns", ("kernel",)),
    ):
        kept = [one for one in timeline.operations if timeline.shape_of(one).kind in kinds]
        brute = sum(shared(a, b) for a, b in combinations(kept, 2) if a.stream != b.stream)
        pairs = analyse_timeline(timeline).capture.pairs
        assert sum(getattr(pair, name) for pair in pairs) == brute


@given(timelines())
@settings(deadline=None)
def test_busy_idle_and_gaps_are_those_of_the_covered_time(timeline):
    findings = analyse_timeline(timeline)
    (device,) = findings.capture.devices
    covered = moments(timeline.operations)
    begin = min(one.start for one in timeline.operations) // 1000
    end = max(one.end for one in timeline.operations) // 1000
    assert device.busy_ns == 1000 * len(covered)
    assert device.idle_ns == 1000 * (end - begin - len(covered))
    gaps = [gap for gap in findings.gaps if gap.stream is None]
    assert sum(gap.length_ns for gap in gaps) == device.idle_ns
    assert not any(at // 1000 in covered for gap in gaps for at in range(gap.begin, gap.end, 1000))
    assert sum(device.by_count.values()) == device.busy_ns
    assert sum(n * time for n, time in device.by_count.items()) == device.sum_ns


@given(timelines())
@settings(deadline=None)
def test_the_critical_path_is_no_longer_than_the_busy_time_nor_shorter_than_a_stream(timeline):
    findings = analyse_timeline(timeline)
    path = findings.capture.path
    assert path.total_ns == sum(part.total_ns for part in path.parts)
    assert max(one.busy_ns for one in findings.capture.streams) <= path.total_ns
    assert path.total_ns <= findings.capture.devices[0].busy_ns


def long_timeline(operations: int):
    made = Made()
    for number in range(operations):
        at = number * 5
        kind = "memcpy" if number % 3 else "kernel"
        made.launch(f"k{number % 7}", number % 4, at, at + 3, at + 12, kind)
    return made.timeline()


def cpu_seconds(operations: int) -> float:
    timeline = long_timeline(operations)
    begin = time.process_time()
    analyse_timeline(timeline)
    return time.process_time() - begin


@pytest.mark.slow
def test_time_grows_with_the_operations_and_not_with_their_square(request):
    """Four times the operations: a square would take sixteen times as long."""
    size = 50_000 if request.config.getoption("--full") else 4_000
    small = min(cpu_seconds(size) for _ in range(3))
    assert cpu_seconds(4 * size) < 9 * small
