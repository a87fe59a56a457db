"""A record that contradicts itself cannot be built, and one that does not can."""

import math
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import pytest

from mla_var3.core.errors import ContradictoryRecord, ReportFault
from mla_var3.core.record import Check, Metric, Profile, Shares, Stage, Status

DURATION = Metric(612_128, "ns", "ncu", "gpu__time_duration.sum")
PASSED = Check(passed=True, relative_error=1e-3)
FAILED = Check(passed=False, relative_error=0.4, worst_row=0.9, detail="row 17")


def stage(name: str = "fa", **fields: Any) -> Stage:
    return Stage(
        **{"name": name, "kernel": "fa_fwd", "launch": 0, "metrics": {"duration": DURATION}}
        | fields
    )


def profile(status: Status, **fields: Any) -> Profile:
    """A record of this status that is right; `fields` make it wrong."""
    right: dict[Status, dict[str, Any]] = {
        "OK": {"stages": (stage(),)},
        "PARTIAL": {"stages": (stage(),), "failure": "TRUNCATED after 1 kernel"},
        "CHECK_FAILED": {
            "stages": (stage(metrics={}),),
            "failure": "wrong results",
            "check": FAILED,
        },
        "KERNEL_FAILED": {"stages": (), "failure": "illegal memory access"},
    }
    return Profile(**{"mode": "ncu", "status": status} | right[status] | fields)


@dataclass
class Wrong:
    """One rule broken in an otherwise right record."""

    status: Status
    fields: dict[str, Any]
    words: str


WRONG = [
    Wrong("OK", {"stages": ()}, "OK without a stage"),
    Wrong("OK", {"failure": "why"}, "OK with a failure text"),
    Wrong("OK", {"stages": (stage(interrupted=True),)}, "OK with an interrupted launch"),
    Wrong("OK", {"check": FAILED}, "OK with a failed check"),
    Wrong("PARTIAL", {"stages": ()}, "PARTIAL without a stage"),
    Wrong("PARTIAL", {"failure": ""}, "PARTIAL without the reason"),
    Wrong("PARTIAL", {"check": FAILED}, "PARTIAL with a failed check"),
    Wrong("CHECK_FAILED", {"check": None}, "CHECK_FAILED without a failed check"),
    Wrong("CHECK_FAILED", {"check": PASSED}, "CHECK_FAILED without a failed check"),
    Wrong("CHECK_FAILED", {"stages": (stage(),)}, "CHECK_FAILED with performance numbers"),
    Wrong("CHECK_FAILED", {"failure": ""}, "CHECK_FAILED without the reason"),
    Wrong("KERNEL_FAILED", {"stages": (stage(),)}, "KERNEL_FAILED with stages"),
    Wrong("KERNEL_FAILED", {"stages": (stage(metrics={}),)}, "KERNEL_FAILED with stages"),
    Wrong("KERNEL_FAILED", {"failure": ""}, "KERNEL_FAILED without the reason"),
    Wrong("KERNEL_FAILED", {"check": FAILED}, "KERNEL_FAILED with a check"),
    Wrong("KERNEL_FAILED", {"check": PASSED}, "KERNEL_FAILED with a check"),
]
RIGHT: list[tuple[Status, dict[str, Any]]] = [
    *((status, {}) for status in get_args(Status)),
    ("OK", {"check": PASSED}),
    ("OK", {"stages": (stage("a"), stage("b", launch=1))}),
    ("OK", {"stages": (stage(metrics={}),)}),
    ("PARTIAL", {"check": PASSED}),
    ("PARTIAL", {"stages": (stage("a"), stage("b", interrupted=True, metrics={}))}),
    ("CHECK_FAILED", {"stages": ()}),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.words}-{next(iter(w.fields))}")
def test_a_contradictory_record_cannot_be_built(wrong: Wrong) -> None:
    with pytest.raises(ContradictoryRecord, match=wrong.words):
        profile(wrong.status, **wrong.fields)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.words}-{next(iter(w.fields))}")
def test_nor_can_it_be_decoded(wrong: Wrong) -> None:
    right = msgspec.to_builtins(profile(wrong.status))
    fields = {
        key: msgspec.to_builtins(value) for key, value in wrong.fields.items() if value is not None
    }
    absent = {key for key, value in wrong.fields.items() if value is None}
    data = {key: value for key, value in (right | fields).items() if key not in absent}
    with pytest.raises(msgspec.ValidationError, match=wrong.words):
        msgspec.convert(data, Profile)


@pytest.mark.parametrize(("status", "fields"), RIGHT)
def test_a_record_that_agrees_with_its_status_can(status: Status, fields: dict[str, Any]) -> None:
    assert profile(status, **fields).status == status


def test_every_status_has_its_rules_tested() -> None:
    assert {wrong.status for wrong in WRONG} == set(get_args(Status))


@pytest.mark.parametrize("status", ["OK", "PARTIAL", "CHECK_FAILED"])
def test_two_stages_of_one_name_cannot_be_told_apart(status: Status) -> None:
    twice = (stage("fa", metrics={}), stage("fa", metrics={}, launch=1))
    with pytest.raises(ContradictoryRecord, match="two stages of one name"):
        profile(status, stages=twice)


def test_a_metric_is_measured_or_missing_not_both() -> None:
    with pytest.raises(ContradictoryRecord, match=r"fa: both measured and missing: \['duration'\]"):
        stage(missing={"duration": "not collected", "dram": "not collected"})
    assert stage(missing={"dram": "not collected"}).value("dram") is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_cannot_be_a_metric(value: float) -> None:
    with pytest.raises(ContradictoryRecord, match=r"gpu__time is (nan|inf|-inf)"):
        Metric(value, "ns", "ncu", "gpu__time")
    with pytest.raises(ContradictoryRecord, match="a share is not finite"):
        Shares({"wait": 10.0, "barrier": value}, "%", "ncu", "smsp__pcsamp")


@pytest.mark.parametrize("value", [0, 0.0, -3.5, 104.7, 2**53, 1e308])
def test_any_finite_number_can(value: float) -> None:
    metric = Metric(value, "%", "ncu", "sm__warps_active")
    assert stage(metrics={"occupancy": metric}).value("occupancy") == value


def test_a_metric_says_where_it_comes_from() -> None:
    with pytest.raises(ContradictoryRecord, match="without the name"):
        Metric(1.0, "ns", "ncu", "")
    with pytest.raises(msgspec.ValidationError, match="guess"):
        msgspec.convert({"value": 1, "unit": "ns", "source": "guess", "raw": "x"}, Metric)


def test_a_value_is_its_number_and_a_missing_one_is_none() -> None:
    assert stage().value("duration") == 612_128
    assert stage().value("dram") is None


def test_a_record_cannot_be_changed_after_it_was_checked() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        profile("OK").status = "PARTIAL"  # type: ignore[misc]


@pytest.mark.parametrize("fault", get_args(ReportFault))
def test_a_file_fault_is_read_from_the_first_word(fault: ReportFault) -> None:
    assert profile("PARTIAL", failure=f"{fault} after 3 kernels").fault == fault
    assert profile("PARTIAL", failure=f"the file is {fault}").fault is None
    assert profile("PARTIAL", failure=f"{fault}LY").fault is None


def test_a_record_without_a_failure_has_no_fault() -> None:
    assert profile("OK").fault is None
