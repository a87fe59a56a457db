"""The static mode on a plan without GPU libraries: files, figures, contract, screen."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.fake_plan import FakePlan, LatentTiling

from mla_var3.core import artifacts
from mla_var3.core.errors import BadArgument, KernelFailed
from mla_var3.core.plan import KernelPipeline
from mla_var3.core.record_file import load_profile, to_files
from mla_var3.render.contract_grammar import parse
from mla_var3.runtime.diagnosing import diagnose_file
from mla_var3.runtime.profiling.static import static_profile_plan
from mla_var3.runtime.result import ProfileResult

PLAN = FakePlan(b=32, s=16)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ProfileResult:
    folder = tmp_path_factory.mktemp("static") / "profile"
    return static_profile_plan(PLAN, folder, target="h200")


def read(result: ProfileResult, name: str) -> dict[str, object]:
    content = json.loads((result.out_dir / name).read_text())
    assert isinstance(content, dict)
    return content


def test_the_files_have_the_names_of_the_specification(result: ProfileResult) -> None:
    files = {p.relative_to(result.out_dir).as_posix() for p in result.out_dir.rglob("*.*")}
    assert files == {
        "params.json",
        "profile.json",
        "report.md",
        "contract.md",
        "contract.json",
        "tiling/latent.json",
        "tiling/latent/autotuning.json",
        "tiling/combine.json",
        "tiling/combine/autotuning.json",
        "compiled/latent/latent.sass",
    }
    assert (result.out_dir / "compiled" / "combine").is_dir()


def test_params_tell_problem_and_target(result: ProfileResult) -> None:
    assert read(result, "params.json") == {
        "b": 32,
        "s": 16,
        "t": 4096,
        "h": 128,
        "d": 128,
        "k": 512,
        "p": 64,
        "dtype": "bfloat16",
        "causal": False,
        "kernel": "fake",
        "version": "v1",
        "language": "cutile",
        "target": "NVIDIA H200",
        "arch": "sm_90",
    }


def test_tilings_with_the_one_candidate(result: ProfileResult) -> None:
    latent = read(result, "tiling/latent.json")
    assert latent["source"] == "default"
    assert latent["tiling"] == {"tile_m": 64, "latency": 3}
    history = read(result, "tiling/latent/autotuning.json")
    assert history["source"] == "default"
    assert history["candidates"] == [
        {"tiling": {"tile_m": 64, "latency": 3}, "chosen": True, "measured": False}
    ]


def test_the_record_keeps_what_was_compiled(result: ProfileResult) -> None:
    latent, combine = result.profile.stages
    values = {key: latent.value(key) for key in ("registers", "spill_bytes", "block_size")}
    assert values == {"registers": 168, "spill_bytes": 0, "block_size": 384}
    assert latent.value("occupancy_theoretical") == 18.75
    assert (latent.value("code_hgmma"), latent.value("code_waits")) == (2, 1)
    assert (combine.value("code_hmma"), combine.value("code_calls")) == (8, 2)
    assert latent.grid == (32, 32, 1)
    assert latent.value("waves") == 1024 / 132
    assert latent.value("wave_loss") == pytest.approx(100 * (1 - 1024 / 132 / 8))
    assert combine.value("waves") == 132 / (132 * 5)
    assert combine.value("wave_loss") == 0.0  # a block on every SM
    assert latent.tuned_for == ("sm_90",)
    assert {metric.source for metric in latent.metrics.values()} == {"static", "model", "spec"}
    for key in ("duration", "tensor", "dram", "occupancy"):
        assert "never runs" in latent.missing[key]


def test_the_prediction_is_the_arithmetic(result: ProfileResult) -> None:
    """2 * 32 * 16 * 128 * 4096 * (2 * 512 + 64) = 5.84e11 FLOP at 989.5 TFLOP/s: 590.3 µs."""
    latent, combine = result.profile.stages
    flops = 2 * 32 * 16 * 128 * 4096 * 1088
    assert flops == 584115552256
    assert latent.value("roofline_time") == pytest.approx(flops / 989.5e12 * 1e9)
    assert latent.value("ceiling_time") == pytest.approx(flops / 690e12 * 1e9)
    assert combine.value("roofline_time") == pytest.approx(96e6 / 4800e9 * 1e9)
    assert combine.value("ceiling_time") == pytest.approx(96e6 / 4270e9 * 1e9)


def test_a_record_is_saved_and_loaded_byte_for_byte(result: ProfileResult) -> None:
    loaded = load_profile(result.out_dir)
    assert loaded == result.profile
    for name, content in to_files(loaded).items():
        assert (result.out_dir / name).read_bytes() == content


def test_the_verdict_is_the_models(result: ProfileResult) -> None:
    whole = result.diagnoses
    latent, combine = whole.stages
    assert (latent.bound, combine.bound, whole.bound) == ("Compute", "Memory", "Compute")
    assert whole.root_cause == (
        "from the model: latent needs 590.3 µs for its FLOPs at the dense peak, "
        "31.5 µs for its bytes at the DRAM peak. It was compiled, never run"
    )
    assert [item.text.partition(":")[0] for item in combine.evidence] == [
        "HMMA fall-off on sm_90",
        "spills 2.6 KB of local memory a thread, 7 LDL and STL in the code",
        "truediv call in the epilogue, or another function",
    ]
    assert not latent.evidence


def test_diagnosing_the_stored_profile_says_the_same(result: ProfileResult) -> None:
    assert diagnose_file(result.out_dir).diagnosis == result.diagnoses


def test_the_contract_has_the_models_class_and_no_predicted_duration(
    result: ProfileResult,
) -> None:
    text = (result.out_dir / artifacts.CONTRACT_MD).read_text()
    sheet = parse(text)
    assert (sheet.kernel, sheet.version, sheet.configuration) == (
        "fake",
        "v1",
        ("32", "16", "4096", "bfloat16"),
    )
    assert sheet.bottleneck == "Compute"
    assert sheet.root_cause.startswith("from the model: ")
    assert [row.bottleneck for row in sheet.stages] == ["Compute", "Memory"]
    for row in sheet.stages:
        assert {row.duration_us, row.tc, row.dram, row.occupancy} == {"n/a"}
    assert "duration" in read(result, "contract.json")["stages"][0]["missing"]  # type: ignore[index]


def test_another_target_says_that_the_tiling_is_not_tuned_for_it(tmp_path: Path) -> None:
    result = static_profile_plan(PLAN, tmp_path / "a", target="b200")
    (text,) = (e.text for e in result.diagnoses.stages[0].evidence)
    assert text == "tiling not tuned for sm_100: it is meant for sm_90"
    assert result.profile.environment.device == "NVIDIA B200"


def test_a_bare_architecture_has_no_peaks_and_no_contract(tmp_path: Path) -> None:
    result = static_profile_plan(PLAN, tmp_path / "a", target="sm_90")
    stage = result.profile.stages[0]
    assert stage.value("occupancy_theoretical") == 18.75
    assert stage.missing["roofline_time"] == "sm_90 names no product: its peaks are unknown"
    assert "no contract" in result.no_contract
    assert not (result.out_dir / artifacts.CONTRACT_MD).exists()
    assert result.diagnoses.bound == "Unknown"


def test_a_stage_too_large_for_the_target_is_said(tmp_path: Path) -> None:
    result = static_profile_plan(PLAN, tmp_path / "a", target="rtx-5090")
    texts = [e.text for e in result.diagnoses.stages[0].evidence]
    assert texts[0] == (
        "cannot launch on sm_120: one block needs 153 KB of shared memory: more than an SM has"
    )
    assert result.profile.stages[0].missing["waves"] == "not one block fits an SM"


def test_where_it_goes_without_out_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = static_profile_plan(PLAN, target="h200").out_dir
    second = static_profile_plan(PLAN, target="h200").out_dir
    parts = ("out", "profiles", "static", "fake_v1", "b32_s16_t4096_h128_d128_k512_p64_bf16")
    assert first.parts[:5] == second.parts[:5] == parts
    assert first != second
    assert all(path.name[0] != "." for path in first.parent.iterdir())


def test_typed_tilings_are_said(tmp_path: Path) -> None:
    plan = PLAN.with_tilings({"latent": LatentTiling(tile_m=128)})
    result = static_profile_plan(plan, tmp_path / "a", target="h200")
    assert read(result, "tiling/latent.json")["source"] == "typed"
    assert result.profile.tilings["latent"] == {"tile_m": 128, "latency": 3}


@pytest.mark.parametrize(
    ("plan", "words", "why"),
    [
        (PLAN, {"bench_runs": 3}, "--bench_runs has no meaning for static"),
        (FakePlan(b=0), {}, "--b=0: must be at least 1"),
        (PLAN, {"version": "v2"}, "FakePlan is a plan of its own"),
        (
            PLAN.with_tilings({"latent": LatentTiling(tile_m=256)}),
            {},
            "stage 'latent': tile_m=256 latency=3 does not fit",
        ),
    ],
)
def test_what_is_refused_leaves_nothing(
    plan: FakePlan, words: dict[str, object], why: str, tmp_path: Path
) -> None:
    with pytest.raises(BadArgument, match=why):
        static_profile_plan(plan, tmp_path / "a", target="h200", **words)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_stage_that_does_not_compile_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    class Broken(FakePlan):
        def plan_empty(self) -> KernelPipeline:
            def fail(folder: Path, arch: str) -> object:
                raise RuntimeError("tile too large\nlong trace")

            from dataclasses import replace

            stages = super().plan_empty().stages
            return KernelPipeline((replace(stages[0], compile_to_files=fail),))

    with pytest.raises(KernelFailed) as error:
        static_profile_plan(Broken(), tmp_path / "a", target="h200")
    assert str(error.value) == (
        "stage latent does not compile for sm_90: RuntimeError: tile too large"
    )
    assert list(tmp_path.iterdir()) == []


def test_grids_are_made_for_the_sms_of_the_target(tmp_path: Path) -> None:
    """A plan that makes one block an SM: 170 on an RTX 5090, its own default on a bare arch."""
    for target, blocks in (("rtx-5090", 170), ("h200", 132), ("sm_90", 7)):
        made = static_profile_plan(OneBlockAnSm(b=1), tmp_path / target, target=target)
        assert [stage.value("grid_size") for stage in made.profile.stages] == [blocks]
        said = any("grids and splits follow the SMs" in text for text in made.profile.warnings)
        assert said == (target == "sm_90")


def test_waves_are_of_the_sms_that_a_stage_is_given(tmp_path: Path) -> None:
    """One block an SM: 99 blocks are 1.5 waves of 66 SMs; half of one is a quarter of two."""
    made = static_profile_plan(OnSomeSms(b=1), tmp_path / "part", target="h200")
    (stage,) = made.profile.stages
    assert stage.value("blocks_an_sm") == 1
    assert stage.value("waves") == 1.5
    assert stage.value("wave_loss") == 25.0


@dataclass(frozen=True, kw_only=True)
class OnSomeSms(FakePlan):
    """Its first stage is given half of an H200."""

    def plan_empty(self) -> KernelPipeline:
        first = super().plan_empty().stages[0]
        return KernelPipeline((replace(first, grid=(99,), sms=66),))


@dataclass(frozen=True, kw_only=True)
class OneBlockAnSm(FakePlan):
    """Its grid follows the SMs that it is told."""

    def plan_empty(self) -> KernelPipeline:
        first = super().plan_empty().stages[0]
        return KernelPipeline((replace(first, grid=(self.target_sms or 7,)),))
