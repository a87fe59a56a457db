"""torch.profiler's trace as a timeline: a hand-written trace of a GPU, and damaged ones."""

import json
from typing import Any

import pytest

from mla_var3.core.errors import NoUsableData
from mla_var3.core.timeline import Timeline
from mla_var3.measure.kineto_reader import read_kineto

# 16 digits before the point: as a float this would be off by up to 125 ns.
BASE_US = "1790857026123456"
MATMUL = "void cutlass::gemm<float, 128>(cutlass::Params<float>)"


def event(category: str, name: str, begin: str, lasts: str, **more: Any) -> str:
    """One row as torch writes it; times as text, so that no float of ours rounds them."""
    row = {"ph": "X", "cat": category, "name": name, "pid": 41, "tid": 43, "args": {}} | more
    return json.dumps(row)[:-1] + f', "ts": {BASE_US}.{begin}, "dur": {lasts}}}'


def gpu(device: int, stream: int, correlation: int, **more: Any) -> dict[str, Any]:
    found = {"device": device, "context": 1, "stream": stream, "correlation": correlation}
    return {"pid": device, "tid": stream, "args": found | more}


SHAPE = {
    "grid": [132, 1, 1],
    "block": [384, 1, 1],
    "registers per thread": 168,
    "shared memory": 232448,
}
ROWS = [
    '{"ph": "M", "name": "process_name", "pid": 41, "ts": 1.5, "args": {"name": "python"}}',
    event("kernel", MATMUL, "900", "12.345", **gpu(0, 7, 21, **SHAPE)),
    event("gpu_memcpy", "Memcpy HtoD (Pinned)", "901", "3.002", **gpu(0, 13, 22, bytes=8)),
    event("gpu_memset", "Memset (Device)", "950", "0.999", **gpu(0, 7, 23, bytes=512)),
    event("gpu_user_annotation", "iteration", "900", "12.345", pid=0, tid=7),
    event("user_annotation", "iteration", "100", "0.700"),
    event("user_annotation", "matmul", "150", "0.300"),
    event("cpu_op", "aten::mm", "160", "0.200"),
    event("cuda_runtime", "cudaMemcpyAsync", "250", "0.050", args={"correlation": 22}),
    event("cuda_runtime", "cudaLaunchKernel", "170", "0.080", args={"correlation": 21}),
    event("cuda_driver", "cuLaunchKernelEx", "180", "0.050", args={"correlation": 21}),
]  # fmt: skip
DEVICE = {"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132}


def trace(rows: list[str] = ROWS) -> str:
    head: dict[str, Any] = {"host_name": "secret-host", "traceName": "/home/me/t.json"}
    head |= {"deviceProperties": [DEVICE]}
    return json.dumps(head)[:-1] + f', "traceEvents": [{", ".join(rows)}]}}'


def read(rows: list[str] = ROWS, on_gpu: bool = True) -> Timeline:
    return read_kineto(trace(rows), "torch 2.11.0", on_gpu)


def test_times_are_exact_nanoseconds_from_the_first_event() -> None:
    found = read()
    # By hand: everything begins at .100 µs; .900 is 800 ns later, and 12.345 µs are 12345 ns.
    assert [(o.start, o.end) for o in found.operations] == [
        (800, 800 + 12345),
        (801, 801 + 3002),
        (850, 850 + 999),
    ]
    assert [(r.start, r.end) for r in found.ranges] == [(0, 700), (50, 350)]
    assert [(c.start, c.end) for c in found.calls] == [(70, 150), (80, 130), (150, 200)]


def test_operations_know_what_they_are_and_who_launched_them() -> None:
    found = read()
    kernel, copy, memset = found.operations
    shape = found.shape_of(kernel)
    assert (shape.kind, shape.name, shape.full_name) == ("kernel", "gemm", MATMUL)
    assert (shape.grid, shape.block) == ((132, 1, 1), (384, 1, 1))
    assert (shape.registers, shape.shared_bytes, shape.local_bytes) == (168, 232448, None)
    assert "local_bytes" in found.missing
    assert [found.shape_of(o).name for o in (copy, memset)] == ["memcpy HtoD", "memset"]
    assert (kernel.stream, copy.stream, kernel.device, kernel.context) == (7, 13, 0, 1)
    assert (kernel.bytes, copy.bytes, memset.bytes) == (None, 8, 512)
    launchers = [found.names[found.calls[o.call].name] for o in (kernel, copy)]
    # The driver's call inside the runtime's carries the same id: the outer one launched it.
    assert launchers == ["cudaLaunchKernel", "cudaMemcpyAsync"]
    assert memset.call == -1
    assert {o.process for o in found.operations} == {41} == {c.process for c in found.calls}


def test_ranges_are_the_program_s_own_and_not_their_gpu_shadows() -> None:
    found = read()
    assert [found.names[r.name] for r in found.ranges] == ["iteration", "matmul"]
    assert {(r.thread, r.process, r.nested) for r in found.ranges} == {(43, 41, True)}


def test_the_device_is_named_and_the_host_is_not() -> None:
    found = read()
    (device,) = found.devices
    assert (device.name, device.ordinal, device.compute_capability, device.sm_count) == (
        "NVIDIA H200", 0, "9.0", 132,
    )  # fmt: skip
    assert (found.collector, found.tool) == ("kineto", "torch 2.11.0")
    assert "secret-host" not in repr(found) and "/home" not in repr(found)


def test_a_gpu_without_work_is_not_filled_up_with_the_cpu_s() -> None:
    host = [row for row in ROWS if "gpu_" not in row and '"kernel"' not in row]
    assert read(host).operations == ()
    assert [c.end for c in read(host).calls] == [150, 130, 200]


def test_on_a_cpu_the_outermost_operators_of_each_thread_are_the_work() -> None:
    rows = [
        event("cpu_op", "aten::mm", "170", "0.050"),
        event("cpu_op", "aten::matmul", "160", "0.200"),
        event("cpu_op", "aten::copy_", "170", "0.010", tid=44),
        event("cpu_op", "aten::add_", "360", "0.100"),  # begins where the first one ends
    ]
    found = read(rows, on_gpu=False)
    seen = [(found.shape_of(o).name, o.stream, o.start, o.end) for o in found.operations]
    assert seen == [
        ("aten::matmul", 43, 0, 200),
        ("aten::copy_", 44, 10, 20),
        ("aten::add_", 43, 200, 300),
    ]
    assert {(o.device, o.call) for o in found.operations} == {(-1, -1)}
    assert {found.shape_of(o).kind for o in found.operations} == {"cpu"}
    assert "CPU" in found.missing["calls"]


def test_rows_that_make_no_sense_are_counted_and_zero_lengths_are_not() -> None:
    none = '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "args": {}}'
    rows = [
        event("kernel", "k", "500", "-1.000", **gpu(0, 7, 1)),
        event("kernel", "k", "500", "0", **gpu(0, 7, 2)),
        none,
    ]
    found = read(rows)
    assert [(o.start, o.end) for o in found.operations] == [(0, 0)]
    assert found.impossible == {"ends before it starts": 1, "has no time": 1}


@pytest.mark.parametrize("text", ["", "{}", "[]", "no json", '{"traceEvents": 3}', trace()[:-30]])
def test_no_trace_is_one_line(text: str) -> None:
    with pytest.raises(NoUsableData, match="no readable trace") as caught:
        read_kineto(text, "torch", True)
    assert "\n" not in str(caught.value)
