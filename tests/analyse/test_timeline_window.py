"""What the window holds and leaves out, by hand arithmetic."""

from tests.support.timelines import Made, concurrent_plan

from mla_var3.analyse.timeline import analyse_timeline


def cut(findings):
    return {(item.kind, item.what): item.left_out_ns for item in findings.left_out}


def test_of_a_plan_only_its_iterations_count():
    findings = analyse_timeline(concurrent_plan(iterations=3))
    assert findings.window.operations == 9
    # From the first matmul (2010) to the end of the third join (2000 + 600 + 165).
    assert findings.window.begin == 2_010_000
    assert findings.window.length_ns == 755_000
    assert findings.window.devices[0].busy_ns == 3 * (100 + 10) * 1000
    assert findings.capture.operations == 12
    assert findings.capture.devices[0].busy_ns == (500 + 90 + 30 + 330) * 1000
    kinds = [item.kind for item in findings.left_out]
    assert kinds == ["warm-up", "start-up", "solo"]
    warm = findings.left_out[0]
    assert (warm.begin, warm.end, warm.operations) == (0, 600_000, 1)


def test_a_slow_first_launch_is_cut_out_only_while_the_device_is_idle():
    made = Made()
    made.inside("step", 0, 900)
    made.launch("a", 7, 1, 10, 110)
    # The call takes 600 µs, from 50 to 650; the device works until 110.
    made.ran("b", 7, 645, 665, made.call("cudaLaunchKernel_v7000", 50, 650))
    made.launch("b", 7, 700, 705, 725)
    findings = analyse_timeline(made.timeline())
    assert cut(findings) == {("first launch", "b (cudaLaunchKernel)"): 535_000}
    assert findings.window.length_ns == (725 - 10) * 1000 - 535_000
    (device,) = findings.window.devices
    assert (device.busy_ns, device.idle_ns) == (140_000, 40_000)
    # The gap of loading is gone from the gaps, the one of 40 µs stays.
    assert (device.gaps, device.gap_max_ns) == (1, 40_000)
    assert findings.capture.devices[0].idle_ns == 575_000


def test_a_second_slow_launch_of_the_same_kernel_is_no_first_launch():
    made = Made()
    made.inside("step", 0, 2000)
    made.launch("a", 7, 1, 10, 20)
    made.ran("a", 7, 600, 610, made.call("cudaLaunchKernel_v7000", 50, 605))
    assert cut(analyse_timeline(made.timeline())) == {}


def test_loading_inside_a_first_launch_is_not_left_out_twice():
    made = Made()
    made.inside("step", 0, 2000)
    made.launch("a", 7, 1, 10, 20)
    made.call("cuLibraryLoadData", 100, 500)
    made.ran("b", 7, 900, 910, made.call("cudaLaunchKernel_v7000", 90, 890))
    made.launch("b", 7, 1000, 1010, 1020)
    findings = analyse_timeline(made.timeline())
    assert sum(cut(findings).values()) == 800_000
    assert findings.window.length_ns == (1020 - 10 - 800) * 1000


def test_without_ranges_the_window_begins_after_the_last_load_of_the_start_up():
    made = Made()
    made.launch("first", 7, 1, 10, 20)
    made.call("cuLibraryLoadData_v1", 100, 400)
    for number in range(8):
        made.launch("work", 7, 500 + 10 * number, 503 + 10 * number, 508 + 10 * number)
    findings = analyse_timeline(made.timeline())
    assert (findings.window.operations, findings.window.begin) == (8, 503_000)
    assert cut(findings)["start-up", "before the window"] == 493_000


def test_a_late_load_does_not_swallow_the_capture():
    made = Made()
    for number in range(8):
        made.launch("work", 7, 10 * number, 3 + 10 * number, 8 + 10 * number)
    made.call("cuModuleLoadData", 100, 400)
    made.launch("other", 7, 410, 413, 418)
    findings = analyse_timeline(made.timeline())
    assert findings.window.operations == 9
    assert cut(findings) == {("loading", "cuModuleLoadData"): 300_000}
    assert findings.window.length_ns == 415_000 - 300_000


def test_a_stream_does_not_idle_in_what_is_left_out():
    made = Made()
    made.inside("work", 0, 600)
    made.launch("a", 7, 1, 10, 20)
    made.call("cuLibraryLoadData", 30, 530)
    made.launch("b", 7, 540, 550, 560)
    findings = analyse_timeline(made.timeline())
    (capture,), (window,) = findings.capture.streams, findings.window.streams
    assert (capture.idle_ns, capture.gap_max_ns) == (530_000, 530_000)
    assert (window.busy_ns, window.idle_ns, window.gap_max_ns) == (20_000, 30_000, 30_000)


def test_the_slow_first_launch_of_a_graph_is_cut_out():
    made = Made()
    made.inside("work", 0, 600)
    made.launch("a", 7, 1, 10, 20)
    launch = made.call("cudaGraphLaunch_v10000", 30, 530)
    made.ran("graph 1", 7, 540, 560, launch, kind="graph")
    findings = analyse_timeline(made.timeline())
    (one,) = [item for item in findings.left_out if item.kind == "first launch"]
    assert (one.what, one.left_out_ns) == ("graph 1 (cudaGraphLaunch)", 500_000)
    assert findings.window.length_ns == 550_000 - 500_000
