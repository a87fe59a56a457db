"""Report, screen and contract of a timeline: what they say, and that a screen can show it."""

import pytest
from tests.support.timeline_views import view_of
from tests.support.timelines import Made, concurrent_plan, recorded

from mla_var3.core.errors import NoUsableData
from mla_var3.core.timeline import PlanTimeline, TimelineDevice
from mla_var3.render.contract_sheet import to_markdown
from mla_var3.render.event_contract import build_event_contract
from mla_var3.render.timeline_report import render_timeline_report
from mla_var3.render.timeline_screen import TimelineRequest, render_timeline

FOLDER = "out/profiles/nsys/demo/n4096/20261201-101502"
REQUEST = TimelineRequest(FOLDER, "", (("mla list", "all"),))


def screen(view) -> str:
    return render_timeline(view, REQUEST)


def line(text: str, start: str) -> str:
    """The paragraph that begins so, on one line."""
    lines = text.splitlines()
    at = next(number for number, one in enumerate(lines) if one.startswith(start))
    found = [lines[at]]
    for one in lines[at + 1 :]:
        if not one.startswith(" " * 10) or not one.strip():
            break
        found.append(one.strip())
    return " ".join(found)


@pytest.mark.parametrize("name", ["concurrent", "copies", "launchbound"])
def test_a_screen_fits_and_tells_first_what_ran_and_last_where_it_is(name):
    text = screen(view_of(recorded(name), name))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == f"{name} · NVIDIA H200 · nsys 2025.3.2 · clocks not locked"
    assert f"report    {FOLDER}/report.md" in lines[-3:]
    assert lines[-1] == "next      mla list   all"
    assert "\x1b" not in text


def test_names_of_any_length_and_many_streams_fit():
    made = Made()
    for number in range(40):
        made.launch("x" * 300 + str(number), 1000 + number, number, number + 2, number + 90)
    assert max(map(len, screen(view_of(made.timeline(), "t" * 200)).splitlines())) <= 100


def test_the_verdicts_of_a_plan_stand_with_their_evidence():
    text = screen(view_of(concurrent_plan()))
    assert line(text, "verdict   matmul + copy: overlapped") == (
        "verdict   matmul + copy: overlapped: 200.0 µs at once = 100.0 % of the shorter, in 5 of 5 "
        "iterations; no two kernels at once: a copy or memset is part of all of it; "
        "on stream 13, stream 17, 2 streams planned"
    )
    assert line(text, "verdict   matmul + copy: time saved") == (
        "verdict   matmul + copy: time saved: 20.0 µs a call (16.7 %): 90.0 µs + 30.0 µs alone, "
        "100.0 µs at once"
    )
    assert "1380 µs" not in text
    row = next(one for one in text.splitlines() if one.startswith("matmul"))
    assert row.split() == "matmul 100.0 µs 100.0 µs 90.0 µs 5 1 13 Compute".split()


def test_serialised_says_why_and_what_to_try():
    text = screen(view_of(concurrent_plan(together=0, streams=(13, 13))))
    assert "both ran on one stream" in line(text, "verdict   matmul + copy: serialised")
    assert "time saved: not known, both ran on one stream" in text
    assert line(text, "try").startswith("try       more than one stream")
    partly = screen(view_of(concurrent_plan(iterations=5, together=3)))
    assert "in 3 of 5 iterations" in line(partly, "verdict   matmul + copy: partly")


def test_launch_bound_stands_with_its_figures_and_advice():
    text = screen(view_of(recorded("launchbound")))
    assert line(text, "verdict   launch-bound") == (
        "verdict   launch-bound: the GPU idles 91.0 % of the window, median gap 8.22 µs, launching "
        "calls 9.15 µs apart, median operation 0.90 µs"
    )
    assert "CUDA graph" in line(text, "try")
    assert "verdict   not launch-bound" in screen(view_of(recorded("concurrent")))


def test_the_gap_of_copies_names_the_synchronising_call():
    report = render_timeline_report(view_of(recorded("copies")))
    (row,) = [one for one in report.splitlines() if "1044.4 µs" in one]
    assert "the host had waited in cudaDeviceSynchronize; 845.7 µs in cudaHostAlloc" in row


def test_figures_stand_twice_for_the_capture_and_the_window():
    report = render_timeline_report(view_of(recorded("concurrent")))
    rows = {
        cells[1]: tuple(cells[2:4])
        for one in report.splitlines()
        if len(cells := [cell.strip() for cell in one.split("|")]) == 5
    }
    assert rows["operations"] == ("23", "18")
    assert rows["busy (union)"] == ("2600.3 µs", "1822.5 µs")
    assert rows["idle"] == ("192 ms (98.7 %)", "533.2 µs (22.6 %)")
    assert rows["sum over union"] == ("1.197 x", "1.281 x")
    left = [one for one in report.splitlines() if "cuLibraryLoadData | loading" in one]
    assert any("35.0 ms | 34.9 ms" in one for one in left)


def test_doubts_are_told_once_each_with_their_numbers():
    timeline = recorded("concurrent")
    from msgspec.structs import replace

    timeline = replace(
        timeline,
        impossible={"ends before it starts": 3},
        lost="12 records",
        diagnostics=("buffers were full",),
        missing={"ranges": "NVTX was not traced"},
    )
    warned = ("3 rows left out: a row that ends before it starts", "nsys lost records: 12 records")
    report = render_timeline_report(view_of(timeline, warnings=warned))
    notes = report.partition("## Notes")[2].partition("## Not told")[0]
    assert notes.count("ends before it starts") == 1
    assert notes.count("12 records") == 1
    assert "the collector says: buffers were full" in notes
    assert "clocks were not locked" in notes
    assert "- ranges: NVTX was not traced" in report
    assert "impossible rows: 3" in report


def test_two_devices_are_told_apart():
    from msgspec.structs import replace

    made = Made()
    made.launch("a", 7, 0, 10, 20)
    made.launch("b", 7, 1, 30, 40)
    timeline = made.timeline()
    first, second = timeline.operations
    timeline = replace(
        timeline,
        operations=(first, replace(second, device=1)),
        devices=(*timeline.devices, TimelineDevice(name="NVIDIA B200", ordinal=1)),
    )
    text = render_timeline_report(view_of(timeline))
    assert "GPU 0 NVIDIA H200: busy (union)" in text
    assert "GPU 1 NVIDIA B200: busy (union)" in text
    assert "GPU 1 stream 7" in text


def test_the_contract_of_a_plan_has_the_model_class_and_no_counters():
    view = view_of(concurrent_plan())
    contract = build_event_contract(view.profile, view.diagnosis)
    assert [(stage.stage, stage.bottleneck) for stage in contract.stages] == [
        ("matmul", "Compute"),
        ("copy", "Memory"),
        ("join", "Memory"),
    ]
    assert (view.diagnosis.bound, view.diagnosis.confidence) == ("Compute", "low")
    text = to_markdown(contract)
    (row,) = [one for one in text.splitlines() if one.startswith("| matmul")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:6] == ["300.0", "n/a", "n/a", "n/a", "Compute"]
    assert cells[6] == "80 % of the roofline, as it ran beside others"
    assert "matmul needs 80.0 µs for its FLOPs at the peak" in contract.root_cause


def test_without_a_plan_there_is_no_contract_and_the_reason_says_so():
    view = view_of(recorded("concurrent"))
    with pytest.raises(NoUsableData, match="nsys reads no counters"):
        build_event_contract(view.profile, view.diagnosis)


def test_on_a_cpu_no_overlap_is_claimed_and_no_gpu_is_named():
    made = Made()
    made.inside("iteration", 0, 100)
    made.inside("matmul", 1, 50)
    made.ran("aten::mm", 5, 10, 40, kind="cpu")
    made.inside("copy", 51, 99)
    made.ran("aten::copy_", 5, 60, 70, kind="cpu")
    text = screen(view_of(made.timeline(PlanTimeline(stages=("matmul", "copy")))))
    assert "verdict   overlap: none, on a CPU the stages run one after the other" in text
    assert "launch-bound" not in text and "GPU 0" not in text


def test_on_a_cpu_no_column_is_called_a_span_of_the_gpu():
    made = Made()
    made.inside("iteration", 0, 100)
    made.inside("matmul", 1, 50)
    made.ran("aten::mm", 5, 10, 40, kind="cpu")
    plan = PlanTimeline(stages=("matmul",))
    text = render_timeline_report(view_of(made.timeline(plan)))
    assert "## Stages\n\n| Stage | Span | Busy |" in text
    assert "iterations. Span: from" in text and "GPU span" not in text
    assert "## Stages, projected to GPU time\n\n| Stage | GPU span | Busy |" in (
        render_timeline_report(view_of(concurrent_plan()))
    )


def test_launches_that_waited_stand_beside_the_latency():
    made = Made()
    made.launch("a", 7, 0, 10, 100)
    made.launch("join", 13, 5, 104, 110)
    text = render_timeline_report(view_of(made.timeline()))
    assert "| launch latency, idle stream | 10.0 µs (1 of 2 launches, 1 waited) |" in text
    made = Made()
    made.ran("a", 7, 10, 100)
    made.launch("join", 13, 5, 104, 110)
    text = render_timeline_report(view_of(made.timeline()))
    assert "| n/a: none into an idle stream without a wait (1 waited) |" in text


def test_an_iteration_is_told_without_what_the_window_leaves_out():
    made = Made()
    made.inside("iteration", 0, 500)
    made.inside("one", 1, 4)
    made.launch("a", 7, 2, 10, 20)
    made.inside("two", 5, 499)
    made.launch("b", 7, 6, 21, 30)
    made.call("cuLibraryLoadData", 40, 440)
    made.launch("c", 7, 441, 450, 470)
    made.inside("iteration", 500, 600)
    made.inside("one", 501, 504)
    made.launch("a", 7, 502, 510, 520)
    made.inside("two", 505, 508)
    made.launch("b", 7, 506, 521, 535)
    plan = PlanTimeline(stages=("one", "two"))
    view = view_of(made.timeline(plan))
    assert view.findings.cut == ((40_000, 440_000),)
    # 10 to 470 less 400; stage two: 21 to 470 less 400.
    text = render_timeline_report(view)
    assert "| 1 | 60.0 µs + 400.0 µs left out | +0.00, 10.0 µs | +11.0, 49.0 µs |" in text
    assert "| 2 | 25.0 µs | +0.00, 10.0 µs | +11.0, 14.0 µs |" in text
    assert "Left out: idle time of loading and first launches; no time here holds it." in text
    assert "Left out: idle" not in render_timeline_report(view_of(concurrent_plan()))
