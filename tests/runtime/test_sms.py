"""Records tell the stages, grids and work of the device that ran them: its SMs, not an H200's."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.annotating import timed
from tests.support.fake_ncu import FakeNcu
from tests.support.range_plans import RangesPlan
from tests.support.split_plan import JoinTiling, SplitPlan
from tests.support.timings import H200 as MACHINE
from tests.support.timings import gpu_timing

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, MlaError
from mla_var3.core.params import check_tilings, depends_on_sms
from mla_var3.core.timing import Timing, save_timing
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.worker_event import RESULT, Compiled
from mla_var3.runtime.on_device import plan_on
from mla_var3.runtime.profiling.annotation import AnnotationOptions, annotation_profile_plan
from mla_var3.runtime.profiling.disabled import run_once
from mla_var3.runtime.profiling.event import event_profile_plan

NAME = "A GPU of 108 SMs"
SMALL = Gpu(0, NAME, "8.0", "GPU-1", sm_count=108)
QUIET = Gpu(0, NAME, "8.0", "GPU-1")
"""Its driver does not tell the SMs, and no table knows it."""


def machine(sms: int | None) -> Timing:
    told = msgspec.structs.replace(MACHINE, device=NAME, capability="8.0", sm_count=sms)
    return gpu_timing([1000e3] * 200, machine=told)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`measured(gpu, timing, launched)`: a child on that GPU, with that timing and those grids."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("mla_var3.runtime.measuring.is_installed", lambda language: True)
    ready = tmp_path / "ready"
    ready.mkdir()
    code = (
        "import json, shutil, sys; from pathlib import Path\n"
        "to = json.loads(Path(sys.argv[1]).read_text())['out_dir']\n"
        "for file in Path(sys.argv[2]).iterdir(): shutil.copy(file, to)\n"
    )

    def prepare(gpu: Gpu, timing: Timing, launched: dict[str, tuple[int, ...]]) -> None:
        monkeypatch.setattr("mla_var3.runtime.measuring.cuda_devices", lambda: (gpu,))
        save_timing(timing, ready / artifacts.TIMING)
        (ready / RESULT).write_bytes(msgspec.json.encode(Compiled(launched=launched)))
        monkeypatch.setattr(
            "mla_var3.measure.worker_run.worker_command",
            lambda job: [sys.executable, "-c", code, str(job), str(ready)],
        )

    return prepare


def test_event_records_what_108_sms_ran(measured: Any, tmp_path: Path) -> None:
    """b=120 needs one wave of 108 SMs: 1 split, no joining. 132 SMs would make 2 and join."""
    measured(SMALL, machine(108), {"latent": (120, 1)})
    result = event_profile_plan(SplitPlan(b=120), tmp_path / "p")
    (stage,) = result.profile.stages
    assert (stage.name, stage.grid, stage.value("grid_size")) == ("latent", (120, 1), 120)
    assert stage.value("model_write_bytes") == 1e6
    assert stage.value("sm_count") == 108
    assert stage.metrics["sm_count"].raw == "as the driver tells"
    assert result.profile.environment.sm_count == 108
    assert set(result.profile.tilings) == {"latent"}
    assert not (result.out_dir / "tiling" / "join.json").exists()
    assert not any("plan_empty()" in text for text in result.profile.warnings)


def test_event_records_other_splits_on_108_sms_than_on_132(measured: Any, tmp_path: Path) -> None:
    seen = {}
    for sms, splits in ((108, 3), (132, 4)):
        gpu = msgspec.structs.replace(SMALL, sm_count=sms)
        measured(gpu, machine(sms), {"latent": (40, splits), "join": (40,)})
        latent, join = event_profile_plan(SplitPlan(b=40), tmp_path / str(sms)).profile.stages
        seen[sms] = (latent.grid, latent.value("model_write_bytes"), join.value("model_read_bytes"))
    assert seen == {108: ((40, 3), 3e6, 3e6), 132: ((40, 4), 4e6, 4e6)}


def test_event_takes_the_sms_that_the_child_saw(measured: Any, tmp_path: Path) -> None:
    """The driver's library does not tell them, or tells another number: the run decides."""
    for number, gpu in enumerate((QUIET, msgspec.structs.replace(SMALL, sm_count=132))):
        measured(gpu, machine(108), {"latent": (120, 1)})
        (stage,) = event_profile_plan(SplitPlan(b=120), tmp_path / str(number)).profile.stages
        assert (stage.name, stage.grid) == ("latent", (120, 1))


def test_a_grid_other_than_planned_is_said(measured: Any, tmp_path: Path) -> None:
    measured(SMALL, machine(108), {"latent": (40, 4), "join": (40,)})
    profile = event_profile_plan(SplitPlan(b=40), tmp_path / "p").profile
    assert profile.warnings[0] == (
        "stage latent was launched with the grid 40 × 4, but plan_empty() says 40 × 3: "
        "its grid and work here may be wrong"
    )


def test_other_stages_than_planned_are_refused(measured: Any, tmp_path: Path) -> None:
    measured(SMALL, machine(108), {"latent": (120, 2), "join": (120,)})
    with pytest.raises(BadArgument, match=r"plan\(\) launches latent, join but plan_empty\(\) nam"):
        event_profile_plan(SplitPlan(b=120), tmp_path / "p")
    assert (tmp_path / ".incomplete-p" / artifacts.TIMING).is_file()


def test_where_nobody_tells_the_sms_grid_and_work_are_missing(
    measured: Any, tmp_path: Path
) -> None:
    measured(QUIET, machine(None), {})
    latent, _ = event_profile_plan(SplitPlan(b=40), tmp_path / "p").profile.stages
    why = "it follows the number of SMs, and nobody tells that of this GPU"
    for key in ("grid_size", "model_flops", "model_read_bytes", "model_write_bytes"):
        assert latent.value(key) is None and latent.missing[key] == why
    assert latent.grid == ()
    (fixed, *_) = event_profile_plan(Fixed(), tmp_path / "q").profile.stages
    assert fixed.value("model_flops") is not None  # the same on every device


class Fixed(RangesPlan):
    KERNEL = "fixed"


NCU = """
report = Path(words[words.index("--export") + 1] + ".ncu-rep")
report.write_bytes(b"")
"""


def included(tmp_path: Path, gpu: Gpu, timing: Timing, b: int = 120) -> list[str]:
    """The ranges that ncu is asked for."""
    ncu = FakeNcu(tmp_path / "tool", NCU)
    given = timed(machine=timing.machine)
    options = AnnotationOptions(gpu=gpu, environment=ncu.environment, time_plan=given)
    with pytest.raises(MlaError):
        annotation_profile_plan(SplitPlan(b=b), tmp_path / "p", options=options)
    words = ncu.calls[0]
    return [b for a, b in itertools.pairwise(words) if a == "--nvtx-include"]


@pytest.mark.parametrize(
    ("gpu", "sms", "ranges"),
    [
        (SMALL, 108, ["latent/"]),
        (msgspec.structs.replace(SMALL, sm_count=132), 132, ["latent/", "join/"]),
        (SMALL, 132, ["latent/", "join/"]),  # what the child saw counts
        (QUIET, 108, ["latent/"]),
    ],
)
def test_ncu_is_asked_for_the_ranges_of_the_plan_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: Gpu, sms: int | None, ranges: list[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert included(tmp_path, gpu, machine(sms)) == ranges


def test_where_nobody_tells_the_sms_ncu_is_asked_for_any_range_there_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """b=140: the language's default of 132 SMs makes one split, and would not ask for `join`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert included(tmp_path, QUIET, machine(None), b=140) == ["latent/", "join/"]


def test_a_typed_tiling_is_judged_for_the_sms_of_the_device() -> None:
    typed = SplitPlan(b=120).with_tilings({"join": JoinTiling(tile_m=8)})
    large = msgspec.structs.replace(SMALL, sm_count=132)
    assert plan_on(typed, large).target_sms == 132
    with pytest.raises(BadArgument) as error:
        plan_on(typed, SMALL)
    assert str(error.value) == "stage 'join' is not launched for this problem on 108 SMs"
    assert plan_on(typed, QUIET).target_sms is None  # the child will see
    assert plan_on(typed, Gpu(0, "NVIDIA H200", "9.0")).target_sms == 132  # by its exact name
    assert plan_on(typed, None).target_sms is None
    with pytest.raises(BadArgument, match="on 108 SMs"):
        check_tilings(typed.for_sms(108))


def test_a_run_once_is_judged_for_its_device_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mla_var3.runtime.on_device.cuda_devices", lambda: (SMALL,))
    typed = SplitPlan(b=120).with_tilings({"join": JoinTiling(tile_m=8)})
    with pytest.raises(BadArgument, match="is not launched for this problem on 108 SMs"):
        run_once(typed, "cuda:0")


def test_which_plans_depend_on_the_sms() -> None:
    assert depends_on_sms(SplitPlan(b=40))
    assert not depends_on_sms(SplitPlan(b=1000))  # one split everywhere
    assert not depends_on_sms(RangesPlan())


def test_params_of_a_profile_are_of_its_device(measured: Any, tmp_path: Path) -> None:
    measured(SMALL, machine(108), {})
    result = event_profile_plan(SplitPlan(b=120), tmp_path / "p")
    assert json.loads((result.out_dir / artifacts.PARAMS).read_text())["device"] == NAME
