"""What must be equal of a machine, as a stand-in for nvidia-smi tells it."""

from pathlib import Path

import pytest
from tests.measure.test_clocks import UUID, fake

from mla_var3.core.locate import find
from mla_var3.measure.clocks import power_limit_w
from mla_var3.measure.gpus import Gpu
from mla_var3.measure.noise_floor import Floor, save_floor
from mla_var3.runtime.machine_facts import (
    MachineFacts,
    conditions_on,
    facts_of,
    is_memory_bound,
    machine_floor_pct,
)
from mla_var3.runtime.measuring import MeasureOptions

H200 = Gpu(0, "NVIDIA H200", "9.0", UUID, 132)


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver 580 whose clocks are not locked, with another process on the device."""
    path = fake(tmp_path, apps="4711\\n")
    script = tmp_path / "nvidia-smi"
    told = '  --query-gpu=enforced.power.limit) echo "700.00";;\n  --query-gpu=driver_version)'
    script.write_text(script.read_text().replace("  --query-gpu=driver_version)", told))
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_driver_is_asked(smi: Path) -> None:
    assert facts_of(H200) == MachineFacts(H200, "580.159.03", 700.0, False, True)
    where = conditions_on(facts_of(H200), None, MeasureOptions(cache="warm", seed=7))
    assert (where.gpu, where.driver_major, where.power_limit_w) == ("NVIDIA H200", "580", 700.0)
    assert (where.clocks, where.cache, where.seed) == ("not locked", "warm", 7)
    assert (where.tool, where.distribution, where.kernel) == ("event", "normal", None)


def test_a_cpu_is_asked_nothing() -> None:
    assert facts_of(None) == MachineFacts()
    where = conditions_on(MachineFacts(), None, MeasureOptions())
    assert (where.gpu, where.driver_major, where.clocks) == (None, None, None)


def test_what_is_not_told_is_missing(tmp_path: Path) -> None:
    assert power_limit_w(UUID, fake(tmp_path)) is None
    assert power_limit_w(UUID, str(tmp_path / "nowhere")) is None
    assert power_limit_w("", fake(tmp_path)) is None


def test_the_floor_of_this_very_machine(smi: Path) -> None:
    facts = facts_of(H200)
    assert machine_floor_pct(facts) is None
    floor = Floor(pct=1.7, measured="2026-12-01T10:00:00Z", kernels={"copy": 1.7})
    save_floor(UUID, "580.159.03", False, floor)
    assert machine_floor_pct(facts) == 1.7
    assert machine_floor_pct(facts._replace(locked=True)) is None


@pytest.mark.parametrize(("s", "bound"), [(1, False), (16, False)])
def test_the_model_tells_the_nearer_roof(s: int, bound: bool) -> None:
    """Latent attention of 128 heads: 2 s h FLOPs a byte of latent, 242 and more at s = 1; the ridge
    of an H200 is 206 FLOP/byte.
    """
    plan = find("flash_mla", None, "torch")(b=32, s=s, t=4096)
    cost = plan._algorithmic_flops_bytes()
    assert (cost.flops / cost.bytes < 989.5e3 / 4800) is bound
    assert is_memory_bound(plan, H200) is bound
    assert is_memory_bound(plan, None) is None
    assert is_memory_bound(plan, Gpu(0, "NVIDIA Unknown", "9.0")) is None


def test_few_heads_are_memory_bound() -> None:
    plan = find("flash_mla", None, "torch")(b=32, s=1, h=8, t=4096)
    assert is_memory_bound(plan, H200) is True
