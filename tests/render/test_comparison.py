"""What a comparison shows: the figures of its rows, its width, and that nothing is hidden."""

import json

import jsonschema
import pytest
from msgspec import structs
from tests.support.comparisons import WHERE, comparison_of, quads_of, run_of, shape_of

from mla_var3.analyse.comparison import exit_code, judge
from mla_var3.core.comparison import Comparison, Floors, Shape, Side, StoredSeries
from mla_var3.render.comparison_machine import json_schema, render_comparison_json
from mla_var3.render.comparison_report import render_comparison_report
from mla_var3.render.comparison_screen import render_comparison

EQUAL = (1392.0, 1392.0)
FOLDER = "out/comparisons/flash_mla_v2_v3/b32_s16_t4096_h128_d128_k512_p64_bf16/20261201-101502"
THREE = comparison_of(
    shape_of(run_of(-10.7, mhz=EQUAL), params={"s": 32}),
    shape_of(run_of(-10.6, mhz=(1392.0, 1355.0)), params={"s": 48}),
    shape_of(run_of(-0.3, mhz=EQUAL), params={"s": 64}),
)
STORED = (
    StoredSeries(samples_ns=(1e6,) * 200, mhz=1392.0, profile="event/a/1", created="2026-11-01"),
    StoredSeries(samples_ns=(0.95e6,) * 200, mhz=1400.0, profile="event/a/2", created="2026-12-01"),
)


def screen(compared: Comparison) -> list[str]:
    steps = (("mla compare flash_mla v2 v3 --s=64 --processes=3", "for a release"),)
    return render_comparison(compared, judge(compared), FOLDER, steps).splitlines()


def test_one_shape() -> None:
    lines = screen(comparison_of(shape_of(run_of(-3.4, mhz=EQUAL))))
    assert lines[:5] == [
        "flash_mla v2 → v3 · b=32 s=16 t=4096 bfloat16 · NVIDIA H200 · clocks not locked",
        "  12 quads ABBA, one process, floor 1.0 % · A/A self-check +0.1 % ok"
        " · outputs agree (2.1e-03)",
        "",
        " v2 µs  v3 µs  change       99 % CI  cycles  verdict",
        "1000.0  966.2  −3.4 %  [−3.6, −3.2]  −3.4 %  faster",
    ]
    assert not any("geometric mean" in line for line in lines)
    assert f"  {FOLDER}/report.md" in lines


def test_several_shapes() -> None:
    lines = screen(THREE)
    start = next(at for at, line in enumerate(lines) if line.lstrip().startswith("s  "))
    assert lines[0].startswith("flash_mla v2 → v3 · b=32 t=4096 bfloat16 · NVIDIA H200")
    assert lines[start : start + 7] == [
        " s   v2 µs  v3 µs   change         99 % CI   cycles  verdict",
        "32  1000.0  893.2  −10.7 %  [−10.9, −10.5]  −10.7 %  faster",
        "48  1000.0  894.2  −10.6 %  [−10.8, −10.4]  −13.0 %  faster",
        "     power-limited: fewer cycles than time shows",
        "64  1000.0  997.2   −0.3 %    [−0.5, −0.1]   −0.3 %  no change",
        "geometric mean −7.3 % [−7.4, −7.2] · 2 faster, 0 slower, 1 no change, 0 inconclusive",
        "",
    ]
    assert "note      s=48: SM clocks differ by −2.7 %: A 1392, B 1355 MHz" in lines


@pytest.mark.parametrize(
    ("shape", "row"),
    [
        (
            shape_of(failure="v3 gives wrong results: relative error 0.3", outputs={}),
            "n/a n/a n/a n/a n/a failed (v3 gives wrong results: relative error 0.3)",
        ),
        (
            Shape(a=WHERE, b=structs.replace(WHERE, cache="warm")),
            "n/a n/a n/a n/a n/a not comparable (cache: cold → warm)",
        ),
    ],
)
def test_what_has_no_times_has_no_figures(shape: Shape, row: str) -> None:
    lines = screen(comparison_of(shape))
    assert row.split() in [line.split() for line in lines]
    assert not any("%" in line and "floor" not in line for line in lines[3:6])


def test_a_failed_self_check_and_a_level_of_its_own_are_seen() -> None:
    compared = comparison_of(
        shape_of(run_of(3.0, check=2.0), params={"s": 1}),
        shape_of(run_of(0.9, 30, 4.0, mhz=EQUAL), params={"s": 2}),
    )
    text = "\n".join(screen(compared))
    assert "12–30 quads ABBA, one process" in text
    assert "A/A self-check +2.0 % FAILED" in text
    assert (
        "[+2.8, +3.2] 99 %      n/a  unreliable (A against a second build of A: +2.0 %" in text
        or ("A against a second build of A: +2.0 % [+1.7, +2.3]" in text)
    )
    assert "[+0.6, +1.2] 96 %" in text
    assert "1 inconclusive, 1 unreliable" in text
    assert "note      s=1: cycles n/a: nvidia-smi is not on PATH" in text


def test_a_self_check_that_cannot_be_told_from_zero_is_not_ok() -> None:
    """Six quads from −4.5 to +7.5 %, and sqrt(0.975 * 1.055) is 1.014: larger than the floor."""
    ratios = [1.0 + (1.5 + by) / 100.0 for by in (-6, 4, -2, 6, 2, -4)]
    wide = structs.replace(run_of(0.0), self_check=quads_of(ratios))
    text = "\n".join(screen(comparison_of(shape_of(wide))))
    assert "A/A self-check +1.4 % [−4.5, +7.5] undecided" in text


def test_stored_runs_say_so_in_the_verdict() -> None:
    lines = screen(comparison_of(shape_of(stored=STORED, outputs={})))
    assert lines[1] == "  stored runs, not interleaved, floor 3.0 %"
    assert any(line.endswith("across runs: faster") for line in lines)
    assert "note      the runs were not interleaved; settle it with mla compare" in lines


def test_where_the_floor_comes_from() -> None:
    shape = shape_of(run_of(-3.4, mhz=EQUAL))
    for floors, words in (
        (Floors(least_pct=1.0, machine_pct=1.4), "floor 1.4 % (A against A on this machine)"),
        (Floors(least_pct=1.0, typed_pct=2.0, machine_pct=1.4), "floor 2.0 % (typed)"),
        (Floors(least_pct=1.0, machine_pct=0.4), "floor 1.0 % ·"),
    ):
        assert words in "\n".join(screen(comparison_of(shape, floors=floors)))


@pytest.mark.parametrize(
    "compared",
    [
        THREE,
        comparison_of(
            *(
                shape_of(run_of(-1e-9 * s, mhz=(1e4, 1e4)), params={"s": s, "t": s * 10**9})
                for s in (1, 10**8)
            ),
            a=Side(label="triton flash_mla_with_a_long_name v11", kernel="k" * 40),
            b=Side(label="v1@0123456789abcdef", kernel="q" * 40),
            warnings=("a warning that is long " * 9,),
        ),
        comparison_of(shape_of(failure="w" * 300, outputs={})),
        comparison_of(Shape(a=WHERE, b=structs.replace(WHERE, params={"n" * 60: 1}))),
        comparison_of(shape_of(stored=STORED, outputs={})),
    ],
)
def test_all_fits_in_100_columns(compared: Comparison) -> None:
    lines = screen(compared)
    assert max(map(len, lines)) <= 100
    assert not any("nan" in line or "None" in line or "-0.0" in line for line in lines)


def test_the_report_holds_every_look_and_both_sources() -> None:
    text = render_comparison_report(THREE, judge(THREE))
    assert text.startswith("# flash\\_mla v2 → v3\n")
    assert (
        "| 48 | 1000.0 | 894.2 | −10.6 % | \\[−10.8, −10.4] | −13.0 % | faster (power-limited: "
        in (text)
    )
    assert "| s=64 | 1 | A against A | +0.1 % |" in text
    assert (
        "| s=32 | 1 | 12 quads | −10.7 % | \\[−10.9, −10.5] 99 % | 0.00049 | 1392 | 1392 |" in text
    )
    assert f"| source sha256 | {'a' * 12} | {'b' * 12} |" in text
    assert "| power limit | 700 W |" in text
    assert "| first quads | 12 quad |" in text
    assert "geometric mean −7.3 %" in text


def test_the_report_of_stored_runs_names_both() -> None:
    compared = comparison_of(shape_of(stored=STORED, outputs={}), missing={"burst": "not run"})
    text = render_comparison_report(compared, judge(compared))
    assert "| all | A | event/a/1 | 2026-11-01 | 200 | 1392 |" in text
    assert "| all | B | event/a/2 | 2026-12-01 | 200 | 1400 |" in text
    assert "The runs were not interleaved" in text
    assert "- burst: not run" in text


def test_the_document_for_programs() -> None:
    verdict = judge(THREE)
    text = render_comparison_json(THREE, verdict, exit_code(verdict))
    document = json.loads(text)
    jsonschema.validate(document, json_schema())
    assert (document["format"], document["exit_code"]) == ("mla_var3/comparison-verdict", 0)
    assert [shape["word"] for shape in document["verdict"]["shapes"]] == [
        *("faster", "faster", "no change"),
    ]
    assert document["verdict"]["counts"]["faster"] == 2
    assert document["verdict"]["shapes"][0]["time"]["change_pct"] == pytest.approx(-10.7, abs=0.05)
    assert [shape["params"]["s"] for shape in document["shapes"]] == [32, 48, 64]
    assert text.count("\n") == 1 and "samples_ns" not in text
