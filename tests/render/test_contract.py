"""The contract: the spec's form to the letter, 2.5 kB at most, and a grammar that refuses."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.render.samples import attention, many, opportunity, planned, stage, verdict

from mla_var3.core.diagnosis import ProfileDiagnosis
from mla_var3.core.errors import NoUsableData
from mla_var3.core.record import Metric, Profile
from mla_var3.render.contract import BaselineFigure, build_contract, json_schema
from mla_var3.render.contract_grammar import ContractViolation, parse, write
from mla_var3.render.contract_sheet import sheet, to_markdown

EXPECTED = """\
## Profile: attention_full -

### Configuration
| b | s | t | dtype |
|---|---|---|-------|
| n/a | n/a | n/a | n/a |

### Stages
| Stage | Duration (us) | TC% | DRAM% | Occ% | Bottleneck | Key Issue |
|-------|---------------|-----|-------|------|------------|-----------|
| fa_fwd | 612.8 | 46.7 | 8.8 | 12.5 | Latency | phases alternate |
| copy_k | 259.6 | 0.0 | 84.0 | 79.8 | Memory | limiter of copy_k |
| nvjet | 1419.7 | 93.5 | 20.7 | 14.8 | Compute | limiter of nvjet |

### Bottleneck: Compute-bound
Root cause: The tensor pipe is 93.5 % busy. Only a faster clock helps.

### Top 3 Opportunities (ranked by estimated impact)
1. raise the clock — est. 21% gain — trigger: TC %=46.7 %
2. overlap — est. 12% gain — trigger: TC %=46.7 %

Each gain is an upper bound; gains do not add up.
"""


def single(profile: Profile, **fields: object) -> ProfileDiagnosis:
    """A diagnosis of the profile's only stage."""
    one = verdict(profile.stages[0].name, **fields)  # type: ignore[arg-type]
    return ProfileDiagnosis(
        stages=(one,), bound=one.bound, root_cause=one.root_cause, confidence="high"
    )


def test_reads_exactly_as_the_spec_says() -> None:
    assert to_markdown(build_contract(*attention(), "attention_full")) == EXPECTED


def test_a_plan_fills_version_and_configuration() -> None:
    profile, diagnosis = attention()
    lines = to_markdown(build_contract(planned(profile), diagnosis)).splitlines()
    assert lines[0] == "## Profile: flash_mla v1"
    assert lines[5] == "| 32 | 16 | 4096 | bfloat16 |"


def test_the_base_version_prints_base() -> None:
    profile, diagnosis = attention()
    profile = planned(profile)
    assert profile.plan is not None
    plan = msgspec.structs.replace(profile.plan, version="")
    profile = msgspec.structs.replace(profile, plan=plan)
    assert to_markdown(build_contract(profile, diagnosis)).startswith(
        "## Profile: flash_mla base\n"
    )


def test_the_class_with_most_time_is_the_bottleneck() -> None:
    profile, diagnosis = attention()
    wrong = msgspec.structs.replace(diagnosis, bound="Unknown", root_cause="not decidable")
    text = to_markdown(build_contract(profile, wrong))
    assert "### Bottleneck: Compute-bound\nRoot cause: nvjet is limited. It is known why.\n" in text


def test_twelve_launches_show_the_ten_longest_and_the_rest_summed() -> None:
    contract = build_contract(*many(12), "many")
    rows = sheet(contract).stages
    # Launches 1 and 2 are the shortest: 1 µs + 2 µs.
    assert [row.stage for row in rows] == [*(f"kernel#{i}" for i in range(3, 13)), "others (2)"]
    assert (rows[-1].duration_us, rows[-1].bottleneck) == ("3.00", "n/a")
    assert len(contract.stages) == 12
    assert parse(to_markdown(contract)) == sheet(contract)


def test_balanced_takes_the_nearer_roof_and_says_so() -> None:
    profile = Profile(
        mode="ncu", status="OK", stages=(stage("k", duration=1e5, tensor=72.0, dram=78.0),)
    )
    text = to_markdown(build_contract(profile, single(profile, bound="Balanced"), "r"))
    assert "### Bottleneck: Memory-bound\nRoot cause: both roofs within 28 %: k is limited." in text
    assert "| k | 100.0 | 72.0 | 78.0 | n/a | Memory | limiter of k |" in text


def test_balanced_nearer_to_the_compute_roof_is_compute() -> None:
    profile = Profile(
        mode="ncu", status="OK", stages=(stage("k", duration=1e5, tensor=84.0, dram=71.0),)
    )
    text = to_markdown(build_contract(profile, single(profile, bound="Balanced"), "r"))
    assert "### Bottleneck: Compute-bound\nRoot cause: both roofs within 29 %: k is" in text


def test_the_rest_has_no_sum_where_one_duration_is_missing() -> None:
    profile, diagnosis = many(12)
    gone = msgspec.structs.replace(profile.stages[0], metrics={}, missing={"duration": "absent"})
    profile = msgspec.structs.replace(profile, stages=(gone, *profile.stages[1:]))
    rows = sheet(build_contract(profile, diagnosis, "many")).stages
    assert (rows[-1].stage, rows[-1].duration_us) == ("others (2)", "n/a")


def test_all_unknown_gives_no_contract() -> None:
    profile = Profile(mode="ncu", status="OK", stages=(stage("k", duration=1e5),))
    unknown = single(profile, bound="Unknown", root_cause="not decidable: missing TC %")
    with pytest.raises(NoUsableData, match=r"no contract: .*missing TC %") as caught:
        build_contract(profile, unknown)
    assert caught.value.exit_code == 5


def test_a_misread_percentage_is_na_with_its_reason() -> None:
    profile = Profile(
        mode="ncu",
        status="OK",
        stages=(stage("k", {"tensor": "absent"}, duration=1e5, dram=80, occupancy=104.7),),
    )
    contract = build_contract(profile, single(profile, bound="Memory"), "r")
    assert contract.stages[0].missing == {
        "tensor": "absent",
        "occupancy": "104.7 % is no share of 100: the counter misread",
    }
    assert "| k | 100.0 | n/a | 80.0 | n/a | Memory |" in to_markdown(contract)


def test_no_opportunity_is_the_fixed_line() -> None:
    profile = Profile(mode="ncu", status="OK", stages=(stage("k", duration=1e5),))
    text = to_markdown(build_contract(profile, single(profile, bound="Memory"), "r"))
    assert text.endswith("impact)\n1. none above 2 % (at the roof)\n")


def test_three_sentences_are_cut_to_two() -> None:
    profile = Profile(mode="ncu", status="OK", stages=(stage("k", duration=1e5),))
    cause = "At 1.97 GHz it waits. DRAM is 84.0 % busy. A third sentence."
    text = to_markdown(build_contract(profile, single(profile, bound="Memory", root_cause=cause)))
    assert "Root cause: At 1.97 GHz it waits. DRAM is 84.0 % busy.\n" in text


def test_a_baseline_is_a_section_of_its_own() -> None:
    contract = build_contract(*attention(), "a")
    figure = BaselineFigure(
        metric="Duration",
        previous=Metric(1590.7, "us", "ncu", "gpu__time_duration.sum"),
        current=Metric(1089.4, "us", "ncu", "gpu__time_duration.sum"),
        change="-31.5 %",
    )
    text = to_markdown(msgspec.structs.replace(contract, baseline=(figure,)))
    assert text.endswith("| Duration | 1591 us | 1089 us | -31.5 % |\n")
    assert parse(text).baseline[0].change == "-31.5 %"


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(NAMES, min_size=1, max_size=14, unique=True),
    issue=NAMES,
    cause=NAMES,
    tries=st.lists(st.tuples(NAMES, st.floats(0.01, 99.9), NAMES), max_size=5),
)
def test_any_content_gives_a_valid_text_of_2500_bytes(
    names: list[str], issue: str, cause: str, tries: list[tuple[str, float, str]]
) -> None:
    stages = tuple(stage(name, duration=123456.0, tensor=33.3) for name in names)
    diagnosis = ProfileDiagnosis(
        stages=tuple(verdict(name, "Latency", key_issue=issue) for name in names),
        bound="Latency",
        root_cause=cause,
        confidence="low",
        opportunities=tuple(opportunity(name, gain) for name, gain, _ in tries),
    )
    contract = build_contract(Profile(mode="ncu", status="OK", stages=stages), diagnosis, issue)
    text = to_markdown(contract)
    assert len(text.encode()) <= 2500
    read = parse(text)
    assert write(read) == text
    assert len(read.stages) == min(len(names), 11)
    assert read.bottleneck == "Latency"


def _mutants(lines: list[str]) -> list[tuple[str, list[str]]]:
    result = []
    for i in range(len(lines)):
        result.append((f"delete {i}", lines[:i] + lines[i + 1 :]))
        result.append((f"double {i}", lines[: i + 1] + lines[i:]))
        for j in range(i + 1, len(lines)):
            swapped = lines.copy()
            swapped[i], swapped[j] = swapped[j], swapped[i]
            if swapped != lines:
                result.append((f"swap {i} {j}", swapped))
    return result


def test_every_mutant_is_refused_unless_it_says_something_valid() -> None:
    lines = EXPECTED.removesuffix("\n").split("\n")
    rows = {10, 11, 12}  # the stage rows: one may be missing, and their order is free
    accepted = set()
    for name, mutant in _mutants(lines):
        text = "\n".join(mutant) + "\n"
        try:
            parse(text)
            accepted.add(name)
        except ContractViolation as violation:
            assert 1 <= violation.line <= len(mutant) + 1
    # Without the nvjet row no stage is Compute-bound, so that deletion is refused too. The last
    # opportunity may be missing.
    assert lines[10].startswith("| fa_fwd")
    expected = {"delete 10", "delete 11", "delete 19"}
    expected |= {f"swap {i} {j}" for i in rows for j in rows if i < j}
    assert accepted == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("## Profile: attention_full -", "## Profile: attention full -", 1, "## Profile"),
        ("| n/a | n/a | n/a | n/a |", "| 0 | n/a | n/a | n/a |", 6, "b cannot be '0'"),
        ("| 612.8 |", "| nan |", 11, "cannot be 'nan'"),
        ("| 612.8 |", "| -1 |", 11, "cannot be '-1'"),
        ("| 46.7 |", "| 146.7 |", 11, "above 100"),
        ("| Latency |", "| Locality |", 11, "Bottleneck cannot be 'Locality'"),
        ("| fa_fwd ", "| copy_k ", 12, "'copy_k' stands twice"),
        ("Compute-bound", "Balanced-bound", 15, "expected '### Bottleneck"),
        ("Only a faster", "It is. Only a faster", 16, "more than two sentences"),
        ("1. raise", "2. raise", 19, "expected number 1"),
        ("est. 21%", "est. 1%", 20, "not ranked"),
        ("est. 21%", "est. 121%", 19, "no gain is above 100 %"),
        ("est. 21% gain", "estimated 21% gain", 19, "expected '1. <name>"),
        ("| phases alternate |", "| phases | alternate |", 11, "row of 7 cells"),
        ("add up.\n", "add up.\n\n", 24, "'### vs Baseline'"),
        ("add up.\n", "add up.", 22, "end of line"),
        ("phases alternate", "x" * 2500, 11, "more than 2500"),
    ],
)
def test_the_first_violation_is_named_with_its_line(
    old: str, new: str, line: int, why: str
) -> None:
    with pytest.raises(ContractViolation) as caught:
        parse(EXPECTED.replace(old, new, 1))
    assert why in str(caught.value)
    assert caught.value.line == line


def test_the_json_twin_round_trips_and_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    contract = build_contract(*attention(), "attention_full")
    encoded = msgspec.json.encode(contract)
    assert msgspec.json.decode(encoded, type=type(contract)) == contract
    jsonschema.validate(msgspec.json.decode(encoded), json_schema())
    assert contract.stages[0].metrics["dram"] == Metric(8.8, "%", "ncu", "counter.dram")
