"""Saving and loading a record: byte-stable, of the published form, and small."""

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.records import simple

from mla_var3.conf import table
from mla_var3.core.record import (
    Check,
    Environment,
    HotLine,
    Metric,
    PlanIdentity,
    Profile,
    Rule,
    Shares,
    SourceFile,
    Stage,
)
from mla_var3.core.record_file import json_schema, load_profile, save_profile, to_files

VALIDATOR = jsonschema.Draft202012Validator(json_schema())

text = st.text(st.characters(codec="utf-8"), max_size=20)
word = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
finite = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
metrics = st.builds(
    Metric,
    value=finite,
    unit=text,
    source=st.sampled_from(["ncu", "event", "nsys", "static", "model", "spec"]),
    raw=word,
)
shares = st.builds(
    Shares,
    parts=st.dictionaries(word, st.floats(0, 100), max_size=4),
    unit=st.just("%"),
    source=st.just("ncu"),
    raw=word,
)
rules = st.builds(
    Rule,
    section=text,
    rule=text,
    type=st.sampled_from(["NONE", "OK", "OPTIMIZATION", "WARNING", "ERROR"]),
    message=text,
    speedup_pct=st.none() | st.floats(0, 100),
    focus=st.dictionaries(word, st.floats(0, 1e9), max_size=2),
)
hot_lines = st.builds(
    HotLine, file=word, line=st.integers(1, 10_000), samples_pct=st.floats(0, 100), text=text
)


@st.composite
def profiles(draw: st.DrawFn, count: int | None = None) -> Profile:
    """Any record that agrees with its status, of `count` stages."""
    amount = draw(st.integers(0, 25)) if count is None else count
    names = draw(st.lists(word, min_size=amount, max_size=amount, unique=True))
    stages = []
    for position, name in enumerate(names):
        measured = draw(st.dictionaries(word, metrics, max_size=3))
        missing = draw(st.dictionaries(word, text, max_size=3))
        stages.append(
            Stage(
                name=name,
                kernel=draw(text),
                launch=position,
                metrics=measured,
                missing={key: why for key, why in missing.items() if key not in measured},
                grid=draw(st.tuples(st.integers(1, 2**31), st.integers(1, 65535))),
                stalls=draw(st.none() | shares),
                rules=tuple(draw(st.lists(rules, max_size=1))),
                hot_lines=tuple(draw(st.lists(hot_lines, max_size=1))),
                warnings=tuple(draw(st.lists(text, max_size=1))),
                interrupted=position == amount - 1 and draw(st.booleans()),
                sms_given=draw(st.none() | st.integers(1, 200)),
            )
        )
    partial = any(s.interrupted for s in stages) or draw(st.booleans())
    status = "KERNEL_FAILED" if not stages else "PARTIAL" if partial else "OK"
    return Profile(
        mode="ncu",
        status=status,  # type: ignore[arg-type]
        stages=tuple(stages),
        failure="" if status == "OK" else draw(word),
        environment=Environment(
            device=draw(st.none() | text), clock_max_hz=draw(st.none() | st.floats(1e6, 1e10))
        ),
        plan=draw(
            st.none()
            | st.builds(
                PlanIdentity,
                kernel=word,
                version=text,
                params=st.dictionaries(word, st.integers() | text | st.booleans(), max_size=3),
            )
        ),
        source=draw(
            st.none()
            | st.builds(
                SourceFile,
                file=word,
                kind=st.just("ncu-rep"),
                bytes=st.integers(0, 2**40),
                sha256=text,
            )
        ),
        check=None if not stages else draw(st.none() | st.just(Check(passed=True))),
        missing=draw(st.dictionaries(word, text, max_size=3)),
        warnings=tuple(draw(st.lists(text, max_size=2))),
    )


def check_round_trip(record: Profile, folder: Path) -> None:
    path = save_profile(record, folder)
    loaded = load_profile(path)
    assert loaded == record
    assert to_files(loaded) == to_files(record)
    for name, content in to_files(record).items():
        assert (folder / name).read_bytes() == content


# --- save, load, save ---


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(record=profiles())
def test_any_record_comes_back_byte_for_byte(
    record: Profile, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_round_trip(record, tmp_path_factory.mktemp("record"))


@pytest.mark.parametrize("count", [0, 10, 11, 25])
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_around_the_limit_of_stages_in_one_file(
    count: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_round_trip(data.draw(profiles(count)), tmp_path_factory.mktemp("record"))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(record=profiles())
def test_the_published_schema_accepts_every_saved_file(record: Profile) -> None:
    head = json.loads(to_files(record)["profile.json"])
    VALIDATOR.validate(head)
    assert head["schema_version"] == 1


def test_stages_beyond_ten_lie_in_files_of_their_own(tmp_path: Path) -> None:
    assert list(to_files(simple(10))) == ["profile.json"]
    assert list(to_files(simple(11))) == ["profile.json", "stages/011.json"]
    names = list(to_files(simple(25)))
    assert names[1:] == [f"stages/{n:03d}.json" for n in range(11, 26)]
    head = json.loads(to_files(simple(25))["profile.json"])
    assert (len(head["stages"]), head["more_stages"]) == (10, 15)
    save_profile(simple(25), tmp_path)
    assert [s.value("duration") for s in load_profile(tmp_path).stages] == [
        1000 + n for n in range(25)
    ]


def test_unicode_names_survive(tmp_path: Path) -> None:
    record = simple()
    odd = msgspec.structs.replace(record.stages[0], name="注意力_fwd<µ>\u2028", kernel="🙂")
    check_round_trip(msgspec.structs.replace(record, stages=(odd,)), tmp_path)
    assert load_profile(tmp_path).stages[0].name == "注意力_fwd<µ>\u2028"


def test_numbers_keep_their_type_and_last_digit(tmp_path: Path) -> None:
    values = [0, -1, 2**53, 0.1, 1 / 3, 1e-300, 104.70000000000002]
    found = {f"m{n}": Metric(value, "%", "ncu", "x") for n, value in enumerate(values)}
    stage = msgspec.structs.replace(simple().stages[0], metrics=found)
    check_round_trip(msgspec.structs.replace(simple(), stages=(stage,)), tmp_path)
    loaded = load_profile(tmp_path).stages[0]
    assert [repr(loaded.value(f"m{n}")) for n in range(len(values))] == list(map(repr, values))


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    first = save_profile(simple(12), tmp_path / "a").read_bytes()
    again = save_profile(load_profile(tmp_path / "a"), tmp_path / "b").read_bytes()
    assert first == again and first.endswith(b"\n")


# --- size ---


def realistic_stage(position: int) -> Stage:
    """Ninety metrics under their real names, and all that a full report adds to them."""
    facts = table("metrics")["facts"]
    keys = [fact["key"] for fact in facts] + [f"derived_metric_{n}" for n in range(90)]
    raw = [str(_first_name(fact)) for fact in facts] + [
        f"derived__some_long_counter_name_{n}.avg.pct_of_peak_sustained_elapsed" for n in range(90)
    ]
    rng = random.Random(position)
    found = {
        key: Metric(rng.uniform(0, 1e9), "byte/second", "ncu", name)
        for key, name in list(zip(keys, raw, strict=True))[:90]
    }
    reasons = ["long_scoreboard", "barrier", "wait", "math_pipe_throttle", "not_selected", "gmma"]
    return Stage(
        name=f"flash_attention_forward_kernel#{position}",
        kernel="void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, true>(Params)",
        launch=position,
        metrics=found,
        missing={f"missing_{n}": "this report was made without that section" for n in range(10)},
        grid=(132, 1, 1),
        block=(384, 1, 1),
        stalls=Shares({r: rng.uniform(0, 50) for r in reasons}, "%", "ncu", "smsp__pcsamp_*"),
        opcodes=Shares({f"OP{n}": rng.uniform(0, 50) for n in range(8)}, "%", "ncu", "sass__*"),
        rules=tuple(
            Rule(
                section="MemoryWorkloadAnalysis",
                rule="SharedMemoryConflicts",
                type="OPTIMIZATION",
                title="Shared Load Bank Conflicts",
                message="The memory access pattern for shared loads might not be optimal. " * 3,
                scope="LOCAL",
                speedup_pct=12.5,
                focus={"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 1e6},
            )
            for _ in range(4)
        ),
        hot_lines=tuple(
            HotLine(file="attention.py", line=n, samples_pct=9.5, text="acc = tl.dot(p, v, acc)")
            for n in range(5)
        ),
    )


def _first_name(fact: dict[str, Any]) -> object:
    name = fact["names"][0]
    return name if isinstance(name, str) else " + ".join(next(iter(name.values())))


@pytest.mark.parametrize("count", [1, 3, 10, 25])
def test_profile_json_stays_below_8_kb_and_8_kb_a_stage(count: int) -> None:
    record = Profile(
        mode="ncu",
        status="OK",
        stages=tuple(realistic_stage(n) for n in range(count)),
        environment=Environment(device="NVIDIA H200", driver="580.159", sm_count=132),
    )
    assert all(len(stage.metrics) == 90 for stage in record.stages)
    files = to_files(record)
    assert len(files["profile.json"]) <= 8192 + 8192 * min(count, 10)
    for name, content in files.items():
        assert name == "profile.json" or len(content) <= 8192 + 8192
