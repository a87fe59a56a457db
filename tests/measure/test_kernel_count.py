"""Kernels of one call, counted in hand-written traces of torch's profiler."""

from collections.abc import Callable

from tests.measure.test_kineto_reader import MATMUL, event, gpu, trace

from mla_var3.measure.kernel_count import Record, count_kernels

SOFTMAX = "void softmax_warp_forward<float>(float*)"
COPY = event("gpu_memcpy", "Memcpy HtoD (Pinned)", "901", "3.002", **gpu(0, 13, 22, bytes=8))
CLEAR = event("gpu_memset", "Memset (Device)", "950", "0.999", **gpu(0, 7, 23, bytes=512))


def kernel(name: str, begin: str) -> str:
    return event("kernel", name, begin, "12.345", **gpu(0, 7, int(begin)))


def recording(*traces: str | Exception) -> Record:
    """Sessions in order; one that is an error raises it."""
    left = iter(traces)

    def record(run: Callable[[], None]) -> bytes:
        run()
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return found.encode()

    return record


def test_six_kernels_of_a_baseline_are_counted_by_name_and_copies_are_none() -> None:
    calls: list[int] = []
    rows = [kernel(MATMUL, "900"), kernel(SOFTMAX, "920"), kernel(MATMUL, "940"), COPY, CLEAR]
    rows += [kernel(SOFTMAX, f"{at}") for at in (955, 960, 980)]
    found = count_kernels(lambda: calls.append(1), recording(trace(rows)))
    assert sorted(found.kernels.values()) == [2, 4]
    assert sum(found.kernels.values()) == 6
    assert (found.missing, calls) == ("", [1])


def test_a_first_session_that_stays_empty_is_tried_once_more() -> None:
    found = count_kernels(lambda: None, recording(trace([COPY]), trace([kernel(MATMUL, "900")])))
    assert list(found.kernels.values()) == [1]


def test_no_count_is_missing_with_its_reason_and_never_0() -> None:
    empty = count_kernels(lambda: None, recording(trace([COPY]), trace([COPY])))
    assert (empty.kernels, "saw no kernel" in empty.missing) == ({}, True)
    failing = recording(RuntimeError("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED\nmore"))
    found = count_kernels(lambda: None, failing)
    assert found.kernels == {}
    assert found.missing == (
        "torch's profiler failed: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    )
