"""The table of thresholds, causes, phrases and actions is complete and used."""

import re
from pathlib import Path

import pytest

from mla_var3 import conf
from mla_var3.analyse import diagnose
from mla_var3.analyse.facts import PIPES
from mla_var3.analyse.knowledge import knowledge, limit, spec_rows
from mla_var3.analyse.verdict import Verdict

FILES = {p.name: p.read_text() for p in Path(diagnose.__file__ or "").parent.glob("*.py")}
SOURCES = "".join(FILES.values())
FIELD = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tensor_high", 60.0),
        ("dram_high", 70.0),
        ("occupancy_low", 25.0),
        ("roof_reached", 60.0),
        ("stall_named", 30.0),
        ("short_launch", 5000.0),
        ("gain_least", 2.0),
        ("phases_sum", 75.0),
    ],
)
def test_the_lines_lie_where_the_design_puts_them(name: str, value: float) -> None:
    assert limit(name) == value


def test_the_seed_lines_are_those_of_the_spec() -> None:
    spec = {row.key: row.value for row in spec_rows()}
    assert (limit("tensor_high"), limit("dram_high")) == (spec["tensor"], spec["dram"])


def test_every_threshold_has_a_reason_a_source_and_a_use() -> None:
    for name, threshold in knowledge().thresholds.items():
        assert threshold.unit and threshold.reason and threshold.source, name
        assert f'"{name}"' in SOURCES, f"{name} is not used"


def test_every_threshold_that_the_code_names_exists() -> None:
    for file, text in FILES.items():
        timeline = file.startswith("timeline")
        known = conf.table("timeline")["limits"] if timeline else knowledge().thresholds
        for name in set(re.findall(r'\blimit\("(\w+)"\)', text)):
            assert name in known, file


def test_every_phrase_is_used_and_every_used_phrase_exists() -> None:
    for name, phrase in knowledge().phrases.items():
        assert f'"{name}"' in SOURCES, f"{name} is not used"
        assert phrase.limiter and phrase.why and phrase.short
    for name in set(re.findall(r'phrase(?:=|: str = )"(\w+)"', SOURCES)):
        assert name in knowledge().phrases


def test_every_action_is_called_for_and_exists() -> None:
    table = knowledge()
    called = {action for cause in table.causes.values() for action in cause.actions}
    called |= {stall.action for stall in table.stalls.values()}
    called |= {rule.action for rule in table.rules if not rule.action.startswith("stall:")}
    called |= {"balance", "less_local"}
    assert called - {"stall_actions"} == set(table.actions)
    for action in table.actions.values():
        assert action.name and action.how
        assert len(action.name) <= 60, action.name


def test_rules_name_known_stalls_and_causes() -> None:
    table = knowledge()
    for rule in table.rules:
        if rule.action.startswith("stall:"):
            assert rule.action.removeprefix("stall:") in table.stalls
        assert set(rule.unless) <= set(table.causes)
        assert rule.rule not in table.ignored_rules


def test_every_pipe_is_a_cause_of_the_compute_class() -> None:
    for pipe in PIPES:
        assert knowledge().causes[pipe].bound == "Compute"
        assert knowledge().units[pipe]


def test_a_stall_is_a_latency_cause() -> None:
    assert Verdict("stall_barrier", "stall").bound_class == "Latency"


def test_templates_have_at_most_two_sentences_and_plain_fields() -> None:
    for name, phrase in knowledge().phrases.items():
        plain = FIELD.sub("x", phrase.why)
        assert len(re.findall(r"[.!?]\s+(?=[A-Z])", plain)) <= 1, name
        assert plain.endswith("."), name
        assert "{" not in plain and "{" not in FIELD.sub("x", phrase.limiter + phrase.short)
