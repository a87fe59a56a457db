"""The screen, the report and the table of stored profiles, from hand-built values."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.render.samples import attention, many, stage, verdict

from mla_var3.core.device import load_devices
from mla_var3.core.diagnosis import Evidence, ProfileDiagnosis
from mla_var3.core.record import Profile, Stage
from mla_var3.render.machine import DiagnosisDocument, json_schema, render_json
from mla_var3.render.profile_list import StoredProfile, render_list
from mla_var3.render.report import render_report
from mla_var3.render.screen import ScreenRequest, render_screen

H200 = load_devices().find("NVIDIA H200")

EXPECTED = """\
attention.ncu-rep · NVIDIA H200 · captured by ncu 2025.3.1 · 3 kernels
  SM clock 1.56–1.97 GHz of 1.98 (not locked)

1  fa_fwd    612.8 µs   Latency-bound   tensor and softmax phases alternate (tensor 48.8 % + issue
                                        35.7 % = 84 %)
     evidence   TC 46.7 % · stall barrier 23 %                                       confidence high
     not it     occupancy 12.5 %: by design
     where      prog.py:15  s = tl.dot(q, tl.trans(k))   16.7 % of samples, WARPGROUP.DEPBAR
     try        overlap softmax with the next QK, up to 53 %
2  copy_k    259.6 µs   Memory-bound    limiter of copy_k
     evidence   n/a                                                                  confidence high
3  nvjet    1419.7 µs   Compute-bound   limiter of nvjet
     evidence   n/a                                                                  confidence high

3 kernels, 2.29 ms. Next: mla import attention.ncu-rep   stores the report
"""


def request(top: int = 10, title: str = "attention.ncu-rep") -> ScreenRequest:
    step = ("mla import attention.ncu-rep", "stores the report")
    return ScreenRequest(title=title, device=H200, top=top, next_step=step)


def test_the_screen_reads_as_designed() -> None:
    assert render_screen(*attention(), request()) == EXPECTED


def test_top_shows_the_longest_in_report_order_and_sums_the_rest() -> None:
    lines = render_screen(*attention(), request(top=2)).splitlines()
    heads = [line.split()[1] for line in lines if line[:1].isdigit() and "bound" in line]
    assert heads == ["fa_fwd", "nvjet"]
    others = next(line for line in lines if "others (1)" in line)
    assert others.split() == ["others", "(1)", "260", "µs", "1", "Memory-bound"]


def test_what_is_missing_is_na_with_its_reason() -> None:
    one = stage("k", {"tensor": "not collected in this report"}, dram=104.7, occupancy=50)
    profile = Profile(mode="ncu", status="OK", stages=(one,))
    diagnosis = ProfileDiagnosis(
        stages=(verdict("k", "Unknown"),), bound="Unknown", root_cause="", confidence="none"
    )
    text = render_screen(profile, diagnosis, request(title="k.csv"))
    lines = text.splitlines()
    assert lines[0] == "k.csv · device n/a · capture version n/a · 1 kernel · SM clock n/a"
    assert lines[2].split() == ["1", "k", "n/a", "Unknown", "limiter", "of", "k"]
    flat = " ".join(text.split())
    assert "duration: not recorded" in flat
    assert "TC %: not collected in this report" in flat
    assert "DRAM %: 104.7 % is no share of 100, the counter misread" in flat
    assert "1 kernel, duration n/a." in text


def test_an_unknown_device_and_a_doubtful_peak_are_said() -> None:
    profile, diagnosis = attention()
    no_device = msgspec.structs.replace(request(), device=None)
    assert "NVIDIA H200 is not in the device table" in render_screen(profile, diagnosis, no_device)
    assert H200 is not None
    peaks = {"bf16": msgspec.structs.replace(H200.peaks["bf16"], tflops=1979.0)}
    doubtful = msgspec.structs.replace(H200, peaks=peaks)
    text = render_screen(profile, diagnosis, msgspec.structs.replace(no_device, device=doubtful))
    assert "doubtful peak, bf16 1979 TFLOP/s" in text
    assert "doubtful" not in render_screen(profile, diagnosis, request())


def test_a_crowded_report_stays_on_one_screen() -> None:
    profile, diagnosis = many(100)
    lines = render_screen(profile, diagnosis, request()).splitlines()
    assert len(lines) <= 50
    assert any("others (90)" in line for line in lines)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=250)


@settings(max_examples=60, deadline=None)
@example(name="n" * 200, words="w" * 300, value=104.7)
@example(name="a name of words " * 9, words="some words " * 40, value=50.0)
@given(name=TEXT, words=TEXT, value=st.floats(-1e6, 1e6))
def test_no_line_is_wider_than_100_columns(name: str, words: str, value: float) -> None:
    one = Stage(
        name=name,
        kernel=words,
        launch=0,
        metrics=stage("k", tensor=value).metrics,
        warnings=(words,),
    )
    found = verdict(
        name,
        "Memory",
        limiter=words,
        evidence=(Evidence(text=words),) * 3,
        not_checked=(words,),
        where={"file": name, "line": 7, "samples_pct": 1.0, "text": words, "instruction": words},
    )
    where = msgspec.convert(found.where, type=type(attention()[1].stages[0].where))
    found = msgspec.structs.replace(found, where=where)
    profile = Profile(mode="ncu", status="PARTIAL", failure=words, stages=(one,))
    diagnosis = ProfileDiagnosis(
        stages=(found,), bound="Memory", root_cause=words, confidence="low", notes=(words,)
    )
    text = render_screen(profile, diagnosis, request(title=words))
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert "\x1b" not in render_report(profile, diagnosis, words)


def test_the_report_holds_each_figure_with_its_origin() -> None:
    text = render_report(*attention(), "attention.ncu-rep", H200)
    assert text.startswith("# attention.ncu-rep\n")
    assert "| 1 | fa\\_fwd | 612.8 µs | Latency-bound |" in text
    assert "| TC % | 46.7 % | ncu | `counter.tensor` |" in text
    assert "- not it: occupancy 12.5 %: by design\n" in text


def test_the_json_document_holds_all_and_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    profile, diagnosis = attention()
    text = render_json(profile, diagnosis, "attention.ncu-rep", H200)
    assert text.endswith("}\n") and text.count("\n") == 1
    document = msgspec.json.decode(text, type=DiagnosisDocument)
    assert (document.profile, document.diagnosis) == (profile, diagnosis)
    jsonschema.validate(msgspec.json.decode(text), json_schema())
    raw = msgspec.json.decode(text)["profile"]["stages"][0]["metrics"]["dram"]
    assert raw == {"value": 8.8, "unit": "%", "source": "ncu", "raw": "counter.dram"}


def test_the_list_names_each_profile_and_what_is_damaged() -> None:
    entries = [
        StoredProfile(folder="ncu/a/imported/1", time="1", status="OK", bottleneck="Memory"),
        StoredProfile(folder="ncu/b/imported/2", time="2", damage="no profile.json"),
    ]
    assert render_list(entries, "out/profiles") == (
        "status         class     mode/kernel/params/time\n"
        "OK             Memory    ncu/a/imported/1\n"
        "damaged: ncu/b/imported/2: no profile.json\n"
        "\n"
        "1 stored, 1 damaged. Next: mla diagnose out/profiles/ncu/a/imported/1\n"
    )
    assert render_list([], "x").startswith("No profiles are stored here yet.")


def test_a_unit_at_its_roof_without_anything_to_try_is_said() -> None:
    one = stage("sfu")
    fields = {"limiter": "SFU (XU) pipe 99.8 % busy", "opportunities": ()}
    told = "nothing above 2 %: at the roof, only less work for that unit helps"
    for issue, limiter, lines in (
        ("at the roof: SFU (XU) pipe 99.8 % busy", "SFU (XU) pipe 99.8 % busy", 1),
        ("at the roof: 95 % of the copy rate", "at the roof: DRAM 84 % of peak", 0),
        ("mixed stalls: wait 20 %", "mixed stalls", 0),
    ):
        fields |= {"key_issue": issue, "limiter": limiter}
        single = msgspec.structs.replace(verdict("sfu", "Compute"), **fields)
        whole = ProfileDiagnosis(
            stages=(single,), bound=single.bound, root_cause="so it is.", confidence="high"
        )
        record = msgspec.structs.replace(attention()[0], stages=(one,))
        assert render_screen(record, whole, request()).count(told) == lines
        assert render_report(record, whole, "sfu.ncu-rep", H200).count(told) == lines
