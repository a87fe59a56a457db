"""The tables, the picture and the trace: read back by other readers, compared with the spans."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from msgspec.structs import replace
from tests.support.timeline_views import view_of
from tests.support.timelines import Made, concurrent_plan, recorded

from mla_var3.core import artifacts
from mla_var3.render.timeline_bins import LEVELS, Mark, bins
from mla_var3.render.timeline_csv import csv_files
from mla_var3.render.timeline_svg import LEFT, RIGHT, WIDTH, timeline_svg
from mla_var3.render.timeline_trace import chrome_trace

SVG = "{http://www.w3.org/2000/svg}"
UNITS = ("_us", "_pct", "_byte", "_byte_per_thread")


def rows(view, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_files(view)[name].decode(), newline="")))


@pytest.fixture(scope="module")
def concurrent():
    return view_of(recorded("concurrent"), "concurrent")


@pytest.mark.parametrize("name", ["concurrent", "copies", "launchbound"])
def test_tables_hold_the_spans_in_microseconds(name):
    timeline = recorded(name)
    view = view_of(timeline)
    launches = rows(view, artifacts.LAUNCHES_CSV)
    assert len(launches) == len(timeline.operations)
    for row, operation in zip(launches, timeline.operations, strict=True):
        assert round(1000 * float(row["start_us"])) == operation.start
        assert round(1000 * float(row["duration_us"])) == operation.end - operation.start
        call = timeline.calls[operation.call]
        assert round(1000 * float(row["call_start_us"])) == call.start
        waited = operation.start - call.start
        assert row["latency_us"] in ("", str(waited / 1000))
        assert (row["latency_us"] == "") == (row["stream_state"] in ("queued", "waited"))
    kernels = [row for row in rows(view, artifacts.KERNELS_CSV) if row["scope"] == "capture"]
    assert sum(int(row["launches"]) for row in kernels) == len(timeline.operations)
    total = sum(one.end - one.start for one in timeline.operations)
    assert sum(float(row["total_us"]) for row in kernels) == pytest.approx(total / 1000)


def test_every_table_is_rfc_4180_with_a_row_of_names(concurrent):
    for name, content in csv_files(concurrent).items():
        text = content.decode()
        assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n"), name
        parsed = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert len({len(row) for row in parsed}) == 1, name
        numbers = [at for at, head in enumerate(parsed[0]) if head.endswith(UNITS)]
        assert numbers or name == "", name
        assert not any("nan" in cell.lower().split() for row in parsed for cell in row)


def test_overlap_and_gaps_stand_in_their_tables(concurrent):
    pairs = {
        (row["scope"], row["a"], row["b"]): row for row in rows(concurrent, artifacts.OVERLAP_CSV)
    }
    capture = pairs["capture", "stream 13", "stream 17"]
    assert (capture["overlap_us"], capture["without_memsets_us"]) == ("512.61", "507.97")
    assert (capture["kernels_us"], capture["verdict"]) == ("0.0", "")
    window = pairs["window", "stream 13", "stream 17"]
    assert (window["verdict"], window["overlapped_iterations"]) == ("overlapped", "3")
    gaps = rows(concurrent, artifacts.GAPS_CSV)
    longest = max(gaps, key=lambda row: (row["level"] == "device") * float(row["length_us"]))
    assert (longest["length_us"], longest["in_window"]) == ("134021.298", "0")
    loading = [row for row in gaps if row["host_call"] == "cuLibraryLoadData"]
    assert {row["cause"] for row in loading if row["level"] == "device"} == {"first launch"}


def test_streams_and_ranges_stand_in_their_tables(concurrent):
    streams = rows(concurrent, artifacts.STREAMS_CSV)
    device = next(row for row in streams if (row["scope"], row["level"]) == ("capture", "device"))
    assert device["sum_over_union"] == f"{3112936 / 2600326:.4f}"
    assert device["idle_pct"] == f"{100 * 192013355 / 194613681:.2f}"
    names = Counter(row["name"] for row in rows(concurrent, artifacts.RANGES_CSV))
    assert names == {"pipeline": 3, "latent": 3, "decompressed": 3, "combine": 3}
    combine = [row for row in rows(concurrent, artifacts.RANGES_CSV) if row["name"] == "combine"]
    assert [row["iteration"] for row in combine] == ["1", "2", "3"]
    assert combine[2]["gpu_span_us"] == "12.864"


def test_stages_of_a_plan_stand_beside_the_streams():
    judged = [
        row
        for row in rows(view_of(concurrent_plan()), artifacts.OVERLAP_CSV)
        if row["level"] == "stages"
    ]
    assert [(row["a"], row["b"], row["overlap_us"], row["verdict"]) for row in judged] == [
        ("matmul", "copy", "200.0", "overlapped")
    ]


def test_names_with_commas_quotes_and_ends_of_lines_come_back():
    made = Made()
    made.launch('f<int, "x">\n(y)', 7, 0, 10, 20)
    (row,) = rows(view_of(made.timeline()), artifacts.LAUNCHES_CSV)
    assert row["name"] == 'f<int, "x"> (y)'


@pytest.mark.parametrize("name", ["concurrent", "copies", "launchbound"])
def test_the_trace_has_what_its_format_asks_of_every_event(name):
    timeline = recorded(name)
    trace = json.loads(chrome_trace(view_of(timeline)))
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "s", "f"}
    for event in events:
        assert {"name", "ph", "pid", "tid"} <= event.keys()
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] != "M":
            assert isinstance(event["ts"], float | int)
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "M":
            assert event["args"]["name"]
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    assert used <= named
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert begins.keys() == ends.keys() == set(range(len(timeline.operations)))
    for at, operation in enumerate(timeline.operations):
        assert begins[at]["ts"] == timeline.calls[operation.call].start / 1e3
        assert ends[at]["ts"] == operation.start / 1e3
        assert ends[at]["bp"] == "e"


def test_streams_of_two_processes_have_rows_of_their_own():
    made = Made()
    made.ran("a", 7, 0, 10)
    made.ran("b", 13, 0, 10)
    events = json.loads(chrome_trace(view_of(made.timeline())))["traceEvents"]
    assert len({event["tid"] for event in events if event["ph"] == "X"}) == 2


def test_a_large_trace_leaves_out_arrows_and_says_so(monkeypatch):
    from mla_var3 import conf

    monkeypatch.setitem(conf.table("timeline")["trace"], "flows", {"value": 5})
    made = Made()
    for number in range(10):
        made.launch("k", 7, 10 * number, 10 * number + 2, 10 * number + 5)
    made.call("cudaGetDevice", 200, 201)
    trace = json.loads(chrome_trace(view_of(made.timeline())))
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X"}
    assert "arrows" in trace["otherData"]["left_out"]
    assert not any(event["name"] == "cudaGetDevice" for event in trace["traceEvents"])


def drawn(view, panel: int) -> list[tuple[float, float, str]]:
    """Begins and ends in pixels and colours of what is drawn in streams' rows of a panel."""
    root = ET.fromstring(timeline_svg(view))
    titles = [one for one in root.iter(f"{SVG}text") if one.get("font-weight") == "bold"]
    tops = [float(one.get("y")) for one in titles[1:]] + [1e9]
    marks = []
    for path in root.iter(f"{SVG}path"):
        for x, y, length in re.findall(r"M([\d.]+) (\d+)h([\d.]+)", path.get("d")):
            if tops[panel] <= float(y) < tops[panel + 1]:
                marks.append((float(x), float(x) + float(length), path.get("fill")))
    return sorted(marks)


def test_what_is_drawn_lies_where_it_ran():
    """Two kernels of 100 and 200 µs, 300 µs apart, in a capture of 600 µs."""
    made = Made()
    made.ran("a", 7, 0, 100)
    made.ran("b", 7, 400, 600)
    marks = drawn(view_of(made.timeline()), 0)
    width = WIDTH - LEFT - RIGHT
    assert [(x0, x1) for x0, x1, _ in marks] == [
        (LEFT, pytest.approx(LEFT + width / 6, abs=0.1)),
        (pytest.approx(LEFT + width * 4 / 6, abs=0.1), pytest.approx(LEFT + width, abs=0.1)),
    ]
    assert marks[0][2] != marks[1][2]


def test_the_window_and_the_axis_have_the_scale_of_what_is_drawn():
    """A capture of 1000 µs whose ranges launch from 500 to 1000 µs."""
    made = Made()
    made.launch("before", 7, 0, 0, 100)
    made.inside("step", 490, 990)
    made.launch("a", 7, 495, 500, 600)
    made.launch("b", 7, 505, 900, 1000)
    root = ET.fromstring(timeline_svg(view_of(made.timeline())))
    width = WIDTH - LEFT - RIGHT
    (band,) = [one for one in root.iter(f"{SVG}rect") if one.get("fill") == "#fff3c4"]
    assert float(band.get("x")) == pytest.approx(LEFT + width / 2, abs=0.1)
    assert float(band.get("width")) == pytest.approx(width / 2, abs=0.1)
    ticks = {one.text: float(one.get("x")) for one in root.iter(f"{SVG}text") if one.text}
    assert ticks["800 µs"] == pytest.approx(LEFT + 0.8 * width, abs=0.1)


def test_the_picture_has_a_row_a_stream_a_legend_an_axis_and_the_window(concurrent):
    root = ET.fromstring(timeline_svg(concurrent))
    texts = [one.text for one in root.iter(f"{SVG}text")]
    for expected in ("stream 7", "stream 13", "stream 17", "window", "latent", "50 ms", "100 µs"):
        assert expected in texts, expected
    assert sum(text.startswith("iteration 2 alone: 625") for text in texts) == 1


def test_shades_of_a_pixel_follow_how_much_of_it_is_filled():
    """1000 ns on 10 pixels: 25 ns in one of them is a quarter."""
    runs = bins([Mark(100, 125, "red", ""), Mark(500, 600, "blue", "")], 0, 1000, 10)
    assert runs == {("red", 1): [(1.0, 2.0)], ("blue", LEVELS): [(5.0, 6.0)]}


def test_narrow_marks_of_one_colour_join_and_the_larger_colour_wins():
    marks = [Mark(at, at + 60, "red", "") for at in range(0, 300, 100)]
    marks += [Mark(61, 91, "blue", "")]
    runs = bins(sorted(marks), 0, 1000, 10)
    assert runs == {("red", 4): [(0.0, 1.0)], ("red", 2): [(1.0, 3.0)]}


@pytest.mark.slow
def test_a_picture_of_many_operations_stays_small(request):
    many = 200_000 if request.config.getoption("--full") else 20_000
    made = Made()
    for number in range(many):
        made.ran(f"k{number % 12}", number % 16, number, number + 0.5 + number % 3)
    assert len(timeline_svg(view_of(made.timeline()))) < 1_000_000


def test_launches_name_their_iteration_from_one():
    launches = rows(view_of(concurrent_plan(iterations=3)), artifacts.LAUNCHES_CSV)
    told = [(row["stage"], row["iteration"]) for row in launches]
    of_iterations = [(stage, str(n)) for n in (1, 2, 3) for stage in ("matmul", "copy", "join")]
    assert told == [("outside a stage", ""), ("matmul", ""), ("copy", ""), *of_iterations]


def test_streams_of_one_number_in_two_contexts_have_rows_of_their_own():
    made = Made()
    made.launch("a", 7, 0, 10, 50)
    made.launch("b", 7, 1, 20, 60)
    timeline = made.timeline()
    a, b = timeline.operations
    timeline = replace(timeline, operations=(a, replace(b, context=2)))
    trace = json.loads(chrome_trace(view_of(timeline)))
    own = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    assert len({event["pid"] for event in own}) == 1
    assert len({event["tid"] for event in own}) == 2


def test_a_cell_with_a_comma_or_a_quote_is_read_back_as_it_was():
    name, stage = 'copy<int, "x">', 'say "a", b'
    made = Made()
    made.inside(stage, 0, 100)
    made.launch(name, 7, 1, 10, 20)
    made.launch(name, 7, 2, 30, 40)
    view = view_of(made.timeline())
    launches, gaps = rows(view, artifacts.LAUNCHES_CSV), rows(view, artifacts.GAPS_CSV)
    assert [(row["name"], row["stage"], row["ranges"]) for row in launches] == [
        (name, stage, stage)
    ] * 2
    assert [(row["after"], row["before"], row["in_window"]) for row in gaps] == [(name, name, "1")]
