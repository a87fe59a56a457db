"""The three recordings of an H200: figures known beforehand, or asked of the file with SQL."""

import sqlite3
from contextlib import closing

import pytest
from tests.support.timelines import ROOT, recorded, unpacked

from mla_var3.analyse.timeline import analyse_timeline
from mla_var3.core.timeline import load_timeline

EXAMPLES = ROOT / "examples" / "h200"
KERNEL = "select start, end, streamId from CUPTI_ACTIVITY_KIND_KERNEL"
COPY = "select start, end, streamId from CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "select start, end, streamId from CUPTI_ACTIVITY_KIND_MEMSET"


@pytest.fixture(scope="module", params=["concurrent", "copies", "launchbound"])
def name(request):
    return request.param


def by_sql(name: str, *tables: str) -> int:
    """Overlap of operations of different streams, pair by pair, in ns."""
    rows = " union all ".join(tables)
    query = (
        f"with o as ({rows}) select coalesce(sum(min(a.end, b.end) - max(a.start, b.start)), 0) "
        "from o a join o b on a.streamId < b.streamId "
        "where min(a.end, b.end) > max(a.start, b.start)"
    )
    with closing(sqlite3.connect(f"file:{unpacked(name)}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchone()[0]


def test_the_whole_capture_of_concurrent_overlaps_exactly_as_known():
    pairs = analyse_timeline(recorded("concurrent")).capture.pairs
    assert sum(pair.overlap_ns for pair in pairs) == 512_610
    assert sum(pair.without_memsets_ns for pair in pairs) == 507_970
    assert sum(pair.kernels_ns for pair in pairs) == 0


def test_overlap_is_that_of_a_join_in_sql(name):
    pairs = analyse_timeline(recorded(name)).capture.pairs
    assert sum(pair.overlap_ns for pair in pairs) == by_sql(name, KERNEL, COPY, MEMSET)
    assert sum(pair.without_memsets_ns for pair in pairs) == by_sql(name, KERNEL, COPY)
    assert sum(pair.kernels_ns for pair in pairs) == by_sql(name, KERNEL)


def test_the_sum_of_all_operations_is_that_of_the_tables(name):
    capture = analyse_timeline(recorded(name)).capture
    rows = " union all ".join((KERNEL, COPY, MEMSET))
    query = f"select count(*), sum(end - start), min(start), max(end) from ({rows})"
    with closing(sqlite3.connect(f"file:{unpacked(name)}?mode=ro", uri=True)) as database:
        count, total, first, last = database.execute(query).fetchone()
    (device,) = capture.devices
    assert (device.operations, device.sum_ns) == (count, total)
    assert capture.length_ns == last - first
    assert sum(kernel.total_ns for kernel in capture.kernels) == total
    assert device.busy_ns + device.idle_ns == capture.length_ns


def test_concurrent_overlapped_in_each_of_its_three_ranges():
    findings = analyse_timeline(recorded("concurrent"))
    (device,) = findings.capture.devices
    assert device.by_count == {1: 2_087_716, 2: 512_610}
    assert device.concurrency == pytest.approx(3_112_936 / 2_600_326)
    best = findings.verdicts[0]
    assert best.members == ("stream 13", "stream 17")
    assert (best.word, best.overlapped_iterations, best.iterations) == ("overlapped", 3, 3)
    assert best.pairs[0].percent == pytest.approx(48.6, abs=0.05)
    assert {verdict.word for verdict in findings.verdicts[1:]} == {"serialised"}
    assert (findings.iteration_name, len(findings.iterations)) == ("pipeline", 3)
    assert not findings.launch_bound[0].yes


def test_the_window_of_concurrent_leaves_out_start_up_and_the_loading_of_a_kernel():
    findings = analyse_timeline(recorded("concurrent"))
    assert findings.window.operations == 18
    cut = [item for item in findings.left_out if item.left_out_ns]
    assert [(item.kind, item.what) for item in cut] == [
        ("start-up", "before the window"),
        ("loading", "cuLibraryLoadData"),
        ("first launch", "vectorized_elementwise_kernel (cudaLaunchKernel)"),
    ]
    # cuLibraryLoadData begins inside the last kernel before it, and ends 35,038 µs later.
    assert cut[1].left_out_ns == pytest.approx(34_850_600, abs=100)
    assert cut[2].left_out_ns == pytest.approx(17_333_800, abs=100)
    window, capture = findings.window, findings.capture
    left = sum(item.left_out_ns for item in cut)
    assert window.length_ns == capture.length_ns - left
    assert window.pairs[0].overlap_ns == 512_610


def test_launchbound_is_launch_bound():
    findings = analyse_timeline(recorded("launchbound"))
    (bound,) = findings.launch_bound
    assert bound.yes
    assert bound.idle_pct == pytest.approx(91.0, abs=0.1)
    assert bound.gap_median_ns / bound.call_distance_ns == pytest.approx(0.9, abs=0.05)
    assert findings.window.operations == 300
    assert findings.window.launch_latency_ns == pytest.approx(7264, abs=5)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("concurrent", 1),
        ("copies", 0),
        ("launchbound", 0),
        ("nsys_demo2", 4),
        ("nsys_kineto_demo2", 10),
    ],
)
def test_launches_that_waited_are_those_of_the_rule_pair_by_pair(name, count):
    """Into an idle stream, and another stream's last end at most 10 µs before: by every pair."""
    spans = EXAMPLES / name / "spans.json"
    timeline = load_timeline(spans) if spans.is_file() else recorded(name)
    found = []
    for operation in timeline.operations:
        called = timeline.calls[operation.call].start
        others = [one for one in timeline.operations if one is not operation]
        own = [one.end for one in others if one.stream == operation.stream]
        ends = [one.end for one in others if one.end <= operation.start]
        busy = any(end > called for end in own if end <= operation.start)
        last = max(ends, default=0)
        if not busy and last > called and operation.start - last <= 10_000:
            found.append(operation)
    launches = analyse_timeline(timeline).launches
    rows = list(zip(timeline.operations, launches, strict=True))
    assert [one for one, launch in rows if launch.state == "waited"] == found
    assert len(found) == count


def test_the_join_of_two_streams_is_no_latency():
    """First memset and first copy: 6,538 and 7,671 ns; with the two joins it was 60.6 µs."""
    findings = analyse_timeline(load_timeline(EXAMPLES / "nsys_demo2" / "spans.json"))
    joins = [
        (one.state, one.latency_ns)
        for one in findings.launches
        if one.in_window and findings.stages[one.stage] == "join"
    ]
    assert joins == [("waited", None)] * 2 + [("queued", None)] * 3
    assert (findings.window.idle_launches, findings.window.waited_launches) == (2, 2)
    assert findings.window.launch_latency_ns == (6_538 + 7_671) / 2


def test_copies_overlap_with_matmuls_and_the_host_made_the_gap():
    findings = analyse_timeline(recorded("copies"))
    timeline = recorded("copies")
    best = findings.verdicts[0]
    assert (best.members, best.word) == (("stream 13", "stream 17"), "overlapped")
    assert best.pairs[0].percent == pytest.approx(99.9, abs=0.05)

    def name(call: int) -> str:
        return timeline.names[timeline.calls[call].name].partition("_")[0]

    gap = next(
        gap
        for gap in findings.gaps
        if gap.stream is None
        and timeline.shape_of(timeline.operations[gap.before]).name == "memcpy DtoH"
    )
    assert gap.length_ns == pytest.approx(1_044_354, abs=1)
    assert gap.cause == "synchronise"
    assert name(gap.waited) == "cudaDeviceSynchronize"
    assert (name(gap.call), gap.call_ns) == ("cudaHostAlloc", pytest.approx(845_654, abs=2))
    assert not findings.launch_bound[0].yes


def test_operations_of_a_range_that_ran_at_once_are_busy_once():
    """The first `pipeline`: its six operations take 765,922 ns, of which some ran at once."""
    findings = analyse_timeline(recorded("concurrent"))
    one = findings.ranges[0]
    inside = sorted(
        (operation.start, operation.end)
        for operation, launch in zip(
            recorded("concurrent").operations, findings.launches, strict=True
        )
        if launch.ranges >= 0 and 0 in findings.range_stacks[launch.ranges]
    )
    covered = {at for begin, end in inside for at in range(begin, end)}
    assert (one.operations, one.sum_ns) == (6, sum(end - begin for begin, end in inside))
    assert (one.sum_ns, one.busy_ns) == (765_922, len(covered))
    assert one.busy_ns < one.sum_ns


def test_ranges_are_projected_to_what_they_launched():
    """The third `latent` closes after 61 µs of CPU time; all it launched, 593 µs, runs later."""
    findings, timeline = analyse_timeline(recorded("concurrent")), recorded("concurrent")
    third = [
        one
        for one in findings.ranges
        if timeline.names[timeline.ranges[one.range].name] == "latent"
    ][2]
    assert third.cpu_ns == pytest.approx(61_080, abs=10)
    assert third.end - third.begin == pytest.approx(592_673, abs=1)
    assert (third.operations, third.after_close) == (4, 4)
