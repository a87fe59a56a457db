"""Order, latency and queueing of launches, and what the host did in gaps."""

import pytest
from msgspec.structs import replace
from tests.support.timelines import PROCESS, Made

from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.core.timeline import Call, Operation


def test_latency_counts_only_where_the_stream_was_idle():
    made = Made()
    made.launch("a", 7, 0, 20, 100)
    made.launch("b", 7, 10, 101, 120)
    made.launch("c", 13, 50, 49, 60)
    findings = analyse_timeline(made.timeline())
    a, c, b = findings.launches
    assert (a.order, a.state, a.latency_ns, a.queue_ns) == (1, "idle", 20_000, 19_000)
    assert (b.order, b.state, b.latency_ns, b.queue_ns) == (2, "queued", None, 90_000)
    # On another stream; it began before its call was back, even before the call's begin.
    assert (c.state, c.latency_ns, c.queue_ns) == ("idle", -1_000, -2_000)
    assert findings.capture.launch_latency_ns == (20_000 - 1_000) / 2
    assert (findings.capture.idle_launches, findings.capture.launches) == (2, 3)


def test_a_wait_for_another_stream_is_no_latency():
    made = Made()
    made.launch("a", 7, 0, 10, 100)
    # Launched on an idle stream while a ran, and began 4 µs after its end.
    made.launch("join", 13, 5, 104, 110)
    # 10 µs after the end of the join, and 11 µs: here is the limit.
    made.launch("at", 17, 6, 120, 125)
    made.launch("beyond", 19, 7, 136, 140)
    made.launch("alone", 7, 200, 208, 210)
    findings = analyse_timeline(made.timeline())
    assert [(one.state, one.latency_ns, one.queue_ns) for one in findings.launches] == [
        ("idle", 10_000, 9_000),
        ("waited", None, 98_000),
        ("waited", None, 113_000),
        ("idle", 129_000, 128_000),
        ("idle", 8_000, 7_000),
    ]
    capture = findings.capture
    assert capture.launch_latency_ns == 10_000
    assert (capture.idle_launches, capture.waited_launches, capture.launches) == (3, 2, 5)


def test_what_ended_before_the_call_or_is_the_operation_itself_was_not_waited_for():
    made = Made()
    made.launch("a", 7, 0, 10, 100)
    made.launch("b", 13, 100, 105, 110)
    made.launch("empty", 17, 200, 203, 203)
    rows = analyse_timeline(made.timeline()).launches
    assert [(one.state, one.latency_ns) for one in rows] == [
        ("idle", 10_000),
        ("idle", 5_000),
        ("idle", 3_000),
    ]


def test_a_slow_first_launch_that_may_have_waited_is_a_first_launch():
    made = Made()
    made.launch("a", 7, 0, 10, 400)
    made.ran("b", 13, 405, 410, made.call("cudaLaunchKernel_v7000", 100, 350))
    b = analyse_timeline(made.timeline()).launches[1]
    assert (b.state, b.latency_ns) == ("first launch", 305_000)


def test_nodes_of_a_graph_have_one_launch():
    made = Made()
    call = made.call("cudaGraphLaunch_v10000", 0, 5)
    made.ran("a", 7, 20, 30, call)
    made.ran("b", 13, 20, 30, call)
    made.ran("c", 7, 40, 50)
    states = [(one.state, one.latency_ns) for one in analyse_timeline(made.timeline()).launches]
    assert states == [("idle", 20_000), ("same call", None), ("no call", None)]


def test_calls_are_ordered_by_their_start_over_all_threads():
    made = Made()
    made.ran("late", 7, 30, 40, made.call("cudaLaunchKernel_v7000", 20, 21, thread=1))
    made.ran("early", 13, 50, 60, made.call("cudaLaunchKernel_v7000", 5, 6, thread=2))
    late, early = analyse_timeline(made.timeline()).launches
    assert (late.order, early.order) == (2, 1)


def gap_of(made: Made):
    (gap,) = analyse_timeline(made.timeline()).gaps
    return gap


def test_a_gap_after_a_synchronising_call_is_the_waiting():
    made = Made()
    made.launch("a", 7, 0, 10, 100)
    made.call("cudaDeviceSynchronize_v3020", 5, 103)
    made.call("cudaHostAlloc_v3020", 110, 180)
    made.launch("b", 7, 190, 200, 210)
    gap = gap_of(made)
    assert (gap.begin, gap.length_ns, gap.cause) == (100_000, 100_000, "synchronise")
    timeline = made.timeline()
    assert timeline.names[timeline.calls[gap.waited].name] == "cudaDeviceSynchronize_v3020"
    assert timeline.names[timeline.calls[gap.call].name] == "cudaHostAlloc_v3020"
    assert gap.call_ns == 70_000
    # 100 µs less 3 of waiting, 70 of allocation, 1 of the launch.
    assert gap.outside_ns == 26_000


def test_a_gap_in_a_call_outside_calls_and_on_the_device():
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    made.call("cudaMalloc_v3020", 30, 90)
    made.launch("b", 7, 95, 100, 110)
    assert gap_of(made).cause == "call"
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    made.launch("b", 7, 95, 100, 110)
    assert (gap_of(made).cause, gap_of(made).outside_ns) == ("host", 79_000)
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    made.launch("b", 7, 5, 100, 110)
    assert gap_of(made).cause == "on the device"


def test_a_gap_counts_no_other_thread_and_no_call_inside_a_call():
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    made.call("cudaMalloc_v3020", 20, 100, thread=77)
    made.call("cudaMalloc_v3020", 30, 60)
    made.call("cuMemAlloc_v2", 35, 55)
    made.launch("b", 7, 95, 100, 110)
    gap = gap_of(made)
    assert (gap.call_ns, gap.outside_ns) == (30_000, 80_000 - 30_000 - 1_000)


def test_gaps_with_many_calls_find_the_longest_and_the_sum():
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    for number in range(300):
        made.call("cuEventQuery", 25 + number, 25.25 + number)
    made.call("cudaMalloc_v3020", 330.5, 340.5)
    for number in range(300):
        made.call("cuEventQuery", 345 + number, 345.25 + number)
    made.launch("b", 7, 700, 710, 720)
    gap = gap_of(made)
    timeline = made.timeline()
    assert timeline.names[timeline.calls[gap.call].name] == "cudaMalloc_v3020"
    assert gap.call_ns == 10_000
    assert gap.outside_ns == 690_000 - 10_000 - 600 * 250 - 1_000


def test_streams_have_gaps_of_their_own_where_the_device_has_none():
    made = Made()
    made.launch("long", 7, 0, 10, 200)
    made.launch("a", 13, 1, 20, 30)
    made.launch("b", 13, 2, 90, 100)
    gaps = analyse_timeline(made.timeline()).gaps
    assert [(gap.stream.stream, gap.length_ns) for gap in gaps] == [(13, 60_000)]
    streams = analyse_timeline(made.timeline()).capture.streams
    assert [(one.busy_ns, one.idle_ns) for one in streams] == [(190_000, 0), (20_000, 60_000)]


def test_no_operation_is_refused_and_one_that_ends_before_it_starts_is_counted():
    made = Made()
    made.launch("a", 7, 0, 10, 20)
    timeline = made.timeline()
    wrong = replace(timeline.operations[0], start=9_000, end=8_000)
    findings = analyse_timeline(replace(timeline, operations=(wrong, *timeline.operations)))
    assert findings.capture.operations == 1
    assert any("1 (end before they start)" in note for note in findings.notes)
    with pytest.raises(Exception, match="NO_KERNELS"):
        analyse_timeline(replace(timeline, operations=()))


def test_processes_share_call_numbers_but_not_ranges():
    """A range belongs to the calls of its own process, whatever the thread is called."""
    made = Made()
    made.inside("mine", 0, 100)
    made.launch("a", 7, 10, 20, 30)
    timeline = made.timeline()
    other = Call(timeline.calls[0].name, 10_000, 11_000, timeline.calls[0].thread, PROCESS + 1)
    stranger = Operation(0, 20_000, 30_000, 0, 1, 7, PROCESS + 1, 1)
    both = replace(
        timeline, calls=(*timeline.calls, other), operations=(*timeline.operations, stranger)
    )
    findings = analyse_timeline(both)
    assert [one.ranges >= 0 for one in findings.launches] == [True, False]
    assert findings.ranges[0].operations == 1
    assert any("2 processes" in note for note in findings.notes)


def test_a_stream_that_runs_dry_during_the_call_was_not_idle_at_it():
    made = Made()
    made.launch("a", 7, 0, 10, 50)
    made.ran("b", 7, 52, 60, made.call("cudaLaunchKernel_v7000", 49, 51))
    b = analyse_timeline(made.timeline()).launches[1]
    assert (b.state, b.latency_ns, b.queue_ns) == ("queued", None, 1_000)


def test_a_launch_that_had_begun_leaves_the_rest_to_the_device():
    made = Made()
    made.launch("a", 7, 0, 10, 50)
    made.ran("b", 7, 60, 70, made.call("cudaLaunchKernel_v7000", 49, 70))
    gap = gap_of(made)
    assert (gap.begin, gap.length_ns, gap.cause, gap.call_ns) == (
        50_000,
        10_000,
        "on the device",
        10_000,
    )
