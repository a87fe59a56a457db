"""Event, ncu and nsys times of one kernel: beside each other, explained, and never divided (H7)."""

from pathlib import Path

import msgspec
import pytest

from mla_var3.analyse.cross_method import note_of, notes_of
from mla_var3.core.history import Run, StageLine
from mla_var3.core.record import Environment, PlanIdentity
from mla_var3.core.record_file import load_profile
from mla_var3.render.method_note import method_lines, method_section

H200 = Path(__file__).parents[2] / "examples" / "h200"


def run(mode: str, us: float, minute: int = 0, **more: object) -> Run:
    plan = PlanIdentity(kernel="gemm", version="v1", params={"m": 512}, source_sha256="a")
    how = {"event": "median of 9 samples, CUDA events, warm cache"}.get(mode, "sum of its launches")
    base = Run(
        profile=f"{mode}/gemm/{minute}",
        mode=mode,  # type: ignore[arg-type]
        status="OK",
        created=f"2026-12-01T10:{minute:02d}",
        plan=plan,
        environment=Environment(device="NVIDIA H200"),
        duration_ns=us * 1e3,
        duration_by=mode,  # type: ignore[arg-type]
        duration_from=how,
        stages=(StageLine(stage="k", kernel="k"),),
    )
    return msgspec.structs.replace(base, **more)


def test_three_methods_stand_in_one_order_with_their_newest_times() -> None:
    runs = [run("ncu", 11.15), run("nsys", 7.0, 1), run("event", 14.0, 2), run("nsys", 7.5, 3)]
    ((newest, note),) = notes_of(runs)
    assert newest.profile == "nsys/gemm/3"
    assert [(t.method, t.duration_ns, t.profile) for t in note.times] == [
        ("event", 14000.0, "event/gemm/2"),
        ("nsys", 7500.0, "nsys/gemm/3"),
        ("ncu", 11150.0, "ncu/gemm/0"),
    ]
    assert [t.caches.partition(",")[0] for t in note.times] == [
        "as the call before left them",
        "not flushed: as the call before left them",
        "flushed by ncu before each pass",
    ]
    assert [text.partition(":")[0] for text in note.why] == [
        "event and ncu", "event and nsys", "ncu and nsys",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"plan": PlanIdentity(kernel="gemm", version="v1", params={"m": 64}, source_sha256="a")},
        {"plan": PlanIdentity(kernel="gemm", version="v1", params={"m": 512}, source_sha256="b")},
        {"plan": PlanIdentity(kernel="gemm", version="v2", params={"m": 512}, source_sha256="a")},
        {"environment": Environment(device="NVIDIA H100")},
        {"plan": None},
        {"status": "CHECK_FAILED"},
        {"duration_by": "model"},
        {"duration_ns": None},
    ],
)
def test_other_problems_sources_and_devices_are_not_put_together(change: dict[str, object]) -> None:
    assert notes_of([run("ncu", 11.15), run("nsys", 7.0, 1, **change)]) == ()
    assert len(notes_of([run("ncu", 11.15), run("nsys", 7.0, 1)])) == 1


def test_annotation_has_both_times_itself() -> None:
    """flash_mla v1 at s=1 launches two kernels: ncu's time is their sum."""
    profile = load_profile(H200 / "annotation_flash_mla_v1_s1")
    note = note_of(profile)
    assert note is not None and profile.end_to_end is not None
    event, ncu = note.times
    assert event.duration_ns == profile.end_to_end.metrics["duration"].value
    assert ncu.duration_ns == sum(s.metrics["duration"].value for s in profile.stages)
    assert (event.taken.partition(" ")[0], ncu.taken) == ("median", "sum of 2 launches")
    assert event.caches == "flushed before each call"


def test_an_event_profile_has_one_time_only() -> None:
    assert note_of(load_profile(H200 / "event_flash_mla_v1_s16")) is None
    assert note_of(load_profile(H200 / "event_control_copy")) is None


def test_a_time_in_bursts_is_not_said_to_be_one_of_sustained_load() -> None:
    how = "median of 9 samples, CUDA events, in bursts, cold cache"
    ((_, note),) = notes_of([run("ncu", 11.15), run("event", 7.0, 1, duration_from=how)])
    event = note.times[0]
    assert event.load.startswith("bursts of 20 ms")
    assert event.caches == "flushed before each call"


def test_no_text_divides_one_by_the_other() -> None:
    notes = notes_of([run("ncu", 11.15), run("nsys", 7.0, 1), run("event", 14.0, 2)])
    shown = [*method_lines([("gemm v1", note) for _, note in notes]), *method_section(notes[0][1])]
    text = "\n".join(shown)
    for ratio in ("%", "×", "1.59", "0.63", "2.00", "1.26"):
        assert ratio not in text
    assert "no ratio is given" in text
    assert max(map(len, method_lines([("gemm v1", n) for _, n in notes]))) <= 100
    assert "11.2 µs" in text or "11.15 µs" in text
