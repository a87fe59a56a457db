"""Verdicts on groups, time saved, launch-bound, graphs and the critical path."""

import pytest
from msgspec.structs import replace
from tests.support.timelines import Made, concurrent_plan

from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.core.timeline import PlanTimeline


def verdict_of(timeline):
    (verdict,) = analyse_timeline(timeline).verdicts
    return verdict


def test_a_planned_group_that_overlaps_in_every_iteration():
    verdict = verdict_of(concurrent_plan())
    assert (verdict.members, verdict.planned, verdict.word) == (
        ("matmul", "copy"),
        True,
        "overlapped",
    )
    assert (verdict.overlapped_iterations, verdict.iterations) == (5, 5)
    (pair,) = verdict.pairs
    # The copy of 40 µs runs inside the matmul, five times.
    assert (pair.overlap_ns, pair.shorter_ns, pair.kernels_ns) == (200_000, 200_000, 0)
    assert [key.stream for key in verdict.streams] == [13, 17]


@pytest.mark.parametrize(
    ("iterations", "together", "word"),
    [
        (100, 100, "overlapped"),
        (100, 95, "overlapped"),
        (100, 94, "partly"),
        (100, 1, "serialised"),
    ],
)
def test_ninety_five_of_a_hundred_iterations_must_overlap(iterations, together, word):
    verdict = verdict_of(concurrent_plan(iterations, together))
    assert verdict.overlapped_iterations == together
    assert verdict.word == word


@pytest.mark.parametrize(
    ("shared", "word"),
    [(0, "serialised"), (1.9, "serialised"), (2.0, "partly"), (9.9, "partly"), (10, "overlapped")],
)
def test_the_words_follow_the_share_of_the_shorter(shared, word):
    made = Made()
    made.launch("long", 7, 0, 10, 1010)
    made.launch("short", 13, 1, 1010 - shared, 1110 - shared)
    assert verdict_of(made.timeline()).word == word


def test_on_one_stream_a_group_is_serialised_and_nothing_is_saved():
    findings = analyse_timeline(concurrent_plan(streams=(13, 13), together=0))
    (verdict,), (saved,) = findings.verdicts, findings.saved
    assert (verdict.word, verdict.reason) == ("serialised", "both ran on one stream")
    assert (verdict.planned_streams, verdict.overlapped_iterations) == (1, 0)
    assert saved.saved_ns is None
    assert "one stream" in saved.reason


def test_time_saved_is_told_only_with_solo_times():
    (saved,) = analyse_timeline(concurrent_plan()).saved
    # Alone 90 and 30 µs, at once from 10 to 110: overlap of 100 % saves 20 µs, not 40.
    assert saved.solo_ns == {"matmul": 90_000, "copy": 30_000}
    assert (saved.span_ns, saved.saved_ns) == (100_000, 20_000)
    (unknown,) = analyse_timeline(concurrent_plan(solo=False)).saved
    assert unknown.saved_ns is None
    assert "no time of matmul, copy alone" in unknown.reason


def test_a_stage_that_was_not_traced_is_not_decidable():
    timeline = concurrent_plan()
    kept = tuple(one for one in timeline.operations if timeline.shape_of(one).name != "memcpy HtoD")
    verdict = verdict_of(replace(timeline, operations=kept))
    assert verdict.word == "not decidable"
    assert "copy" in verdict.reason


def test_three_stages_two_of_which_share_a_stream():
    made = Made()
    made.inside("iteration", 0, 400)
    for name, stream, begin, end in (("a", 7, 10, 210), ("b", 13, 20, 60), ("c", 13, 70, 110)):
        made.inside(name, begin - 8, begin - 5)
        made.launch(name, stream, begin - 7, begin, end)
    plan = PlanTimeline(stages=("a", "b", "c"), groups=(("a", "b", "c"),), streams=2)
    verdict = verdict_of(made.timeline(plan))
    words = {(pair.a, pair.b): (pair.word, pair.reason) for pair in verdict.pairs}
    assert words["b", "c"] == ("serialised", "both ran on one stream")
    assert verdict.word == "overlapped"


def test_a_graph_as_a_whole_gives_no_overlap():
    made = Made()
    made.launch("graph 1", 7, 0, 10, 500, kind="graph")
    made.launch("kernel", 13, 1, 20, 100)
    findings = analyse_timeline(made.timeline(graphs_as_whole=True))
    assert sum(pair.overlap_ns for pair in findings.capture.pairs) == 0
    (verdict,) = findings.verdicts
    assert verdict.word == "not decidable"
    assert "traced as a whole" in verdict.reason
    assert any("traced as a whole" in note for note in findings.notes)


def busy_loop(gap: float, kernels: int = 40):
    """Kernels of 1 µs that end `gap` µs before the next, each launched just before it runs."""
    made = Made()
    for number in range(kernels):
        begin = 100 + number * (1 + gap)
        made.launch("tiny", 7, begin - 1, begin, begin + 1)
    return made.timeline()


def test_launch_bound_needs_idle_time_and_gaps_of_the_calls_distance():
    (bound,) = analyse_timeline(busy_loop(9)).launch_bound
    # 39 gaps of 9 µs beside 40 µs of work.
    assert bound.yes
    assert bound.idle_pct == pytest.approx(100 * 351 / 391)
    assert (bound.gap_median_ns, bound.call_distance_ns) == (9_000, 10_000)
    (busy,) = analyse_timeline(busy_loop(0.5)).launch_bound
    assert not busy.yes
    assert "50 %" in busy.reason


def test_idle_between_bursts_is_not_launch_bound():
    made = Made()
    for burst in range(15):
        for number in range(3):
            at = burst * 1000 + number * 5
            made.launch(
                "work", 7, at, burst * 1000 + 20 + number * 10, burst * 1000 + 30 + number * 10
            )
    (bound,) = analyse_timeline(made.timeline()).launch_bound
    assert bound.idle_pct > 90
    assert not bound.yes
    assert "times the distance" in bound.reason


def test_the_critical_path_takes_the_longer_branch_of_a_join():
    """a (100) and b (30) at once; c waits for both on an idle stream, begins 3 µs after a's end."""
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.launch("b", 13, 1, 20, 50)
    made.launch("c", 17, 2, 113, 133)
    path = analyse_timeline(made.timeline()).capture.path
    assert [(part.name, part.total_ns) for part in path.parts] == [("a", 100_000), ("c", 20_000)]
    assert (path.total_ns, path.operations, path.joins) == (120_000, 2, 1)


def test_a_join_may_wait_for_the_longer_one_although_another_ended_last():
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.launch("b", 13, 1, 85, 112)
    made.launch("c", 17, 2, 114, 134)
    path = analyse_timeline(made.timeline()).capture.path
    assert [(part.name, part.total_ns) for part in path.parts] == [("a", 100_000), ("c", 20_000)]


def test_a_join_must_begin_soon_and_be_launched_before():
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.launch("c", 17, 2, 125, 145)
    assert analyse_timeline(made.timeline()).capture.path.total_ns == 100_000
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.launch("c", 17, 111, 113, 133)
    assert analyse_timeline(made.timeline()).capture.path.total_ns == 100_000


def test_what_the_host_waited_for_is_on_the_path():
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.call("cudaStreamSynchronize_v3020", 5, 112)
    made.launch("c", 17, 150, 160, 180)
    path = analyse_timeline(made.timeline()).capture.path
    assert (path.total_ns, path.joins) == (120_000, 1)


def test_start_end_ranges_need_not_nest_and_open_ones_hold_what_follows():
    made = Made()
    made.inside("one", 0, 50, nested=False)
    made.inside("two", 20, 90, nested=False)
    made.inside("open", 60, None)
    for at in (10, 30, 70, 95):
        made.launch("k", 7, at, at + 2, at + 3)
    timeline = made.timeline()
    findings = analyse_timeline(timeline)
    names = [timeline.names[timeline.ranges[one.range].name] for one in findings.ranges]
    counts = dict(zip(names, (one.operations for one in findings.ranges), strict=True))
    assert counts == {"one": 2, "two": 2, "open": 2}
    assert findings.ranges[names.index("open")].cpu_ns is None
    assert any("never closed" in note for note in findings.notes)


def test_operators_of_a_cpu_are_placed_by_their_own_time():
    made = Made()
    made.inside("stage", 0, 100)
    made.ran("aten::mm", 5, 10, 60, kind="cpu")
    made.ran("aten::mul", 5, 20, 30, kind="cpu")
    made.ran("aten::add", 5, 150, 160, kind="cpu")
    findings = analyse_timeline(made.timeline())
    assert [one.ranges for one in findings.launches] == [0, 0, -1]
    (device,) = findings.capture.devices
    # The inner operator is part of the outer one's time.
    assert (device.device, device.sum_ns, device.busy_ns) == (-1, 60_000, 60_000)
    assert findings.launch_bound == ()


def test_what_ended_while_its_own_stream_was_busy_is_no_join():
    """x (80) holds the stream of c; a (85) had ended before x, so c cannot have waited for it."""
    made = Made()
    made.launch("x", 17, 0, 20, 100)
    made.launch("a", 7, 1, 10, 95)
    made.launch("c", 17, 3, 105, 125)
    path = analyse_timeline(made.timeline()).capture.path
    assert (path.total_ns, path.joins) == (100_000, 0)


def test_a_synchronising_call_on_a_dry_device_waits_for_nothing():
    made = Made()
    made.launch("a", 7, 0, 10, 110)
    made.call("cudaDeviceSynchronize_v3020", 300, 301)
    made.launch("c", 17, 350, 360, 380)
    assert analyse_timeline(made.timeline()).capture.path.total_ns == 100_000


def test_time_saved_takes_only_iterations_with_all_stages():
    """In three of five no matmul was traced: their 40 µs are no span of the group."""
    timeline = concurrent_plan()
    untraced = {2_610_000, 2_910_000, 3_210_000}
    kept = tuple(one for one in timeline.operations if one.start not in untraced)
    assert len(timeline.operations) - len(kept) == 3
    (saved,) = analyse_timeline(replace(timeline, operations=kept)).saved
    assert (saved.span_ns, saved.saved_ns) == (100_000, 20_000)


def test_a_group_of_three_overlaps_where_all_its_pairs_do():
    """c runs beside the others in the first of two iterations alone."""
    made = Made()
    for number, begins in enumerate([(10, 20, 30), (10, 20, 120)]):
        at = 300 * number
        made.inside("iteration", at, at + 200)
        for stage, stream, begin, length in zip(
            "abc", (7, 13, 17), begins, (100, 40, 40), strict=True
        ):
            made.inside(stage, at + stream / 10, at + stream / 10 + 0.3)
            made.launch(stage, stream, at + stream / 10 + 0.1, at + begin, at + begin + length)
    plan = PlanTimeline(stages=("a", "b", "c"), groups=(("a", "b", "c"),), streams=3)
    verdict = verdict_of(made.timeline(plan))
    assert [pair.overlapped_iterations for pair in verdict.pairs] == [2, 1, 1]
    assert (verdict.word, verdict.overlapped_iterations, verdict.iterations) == ("partly", 1, 2)


def test_a_stage_alone_takes_the_median_of_its_runs():
    made = Made()
    made.inside("solo", 0, 3000)
    for number, lengths in enumerate([(90, 30), (140, 50), (100, 20)]):
        for stage, length, shift in zip(("a", "b"), lengths, (0, 400), strict=True):
            at = 900 * number + shift
            made.inside(stage, at + 1, at + 300)
            made.launch(stage, 7, at + 2, at + 10, at + 10 + length)
    made.inside("iteration", 4000, 4200)
    for stage, stream, at in (("a", 7, 4001), ("b", 13, 4011)):
        made.inside(stage, at, at + 5)
        made.launch(stage, stream, at + 1, at + 10, at + 60)
    plan = PlanTimeline(stages=("a", "b"), groups=(("a", "b"),), streams=2)
    (saved,) = analyse_timeline(made.timeline(plan)).saved
    assert saved.solo_ns == {"a": 100_000, "b": 30_000}
    assert (saved.span_ns, saved.saved_ns) == (60_000, 70_000)


def test_the_distance_of_launching_calls_is_that_of_one_thread():
    """Two threads, each launches every 20 µs, 10 µs apart from the other."""
    made = Made()
    for number in range(30):
        call = made.call("cudaLaunchKernel_v7000", 10 * number, 10 * number + 1, number % 2)
        made.ran("k", 7, 10 * number + 3, 10 * number + 4, call)
    (bound,) = analyse_timeline(made.timeline()).launch_bound
    assert (bound.gap_median_ns, bound.call_distance_ns) == (9_000, 20_000)


@pytest.mark.parametrize(("operations", "yes"), [(10, False), (11, True)])
def test_nine_gaps_tell_no_rate_of_launching_and_ten_do(operations: int, yes: bool):
    made = Made()
    for number in range(operations):
        made.launch("k", 7, 10 * number, 10 * number + 3, 10 * number + 4)
    (bound,) = analyse_timeline(made.timeline()).launch_bound
    assert bound.yes is yes
    assert ("fewer than 10 gaps" in bound.reason) is not yes
