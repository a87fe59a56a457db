"""Facts are taken out of recordings: never a crash, never a confident wrong class.

A wrong class is one that is neither Unknown nor that of the whole recording. It may be told with
low confidence only; the pairs that do so are listed, each with the reason, so that a new one fails.
"""

import random
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from msgspec import structs

from mla_var3.analyse.diagnose import diagnose_stage
from mla_var3.core.device import Device
from mla_var3.core.diagnosis import Diagnosis
from mla_var3.core.record import Environment, Profile, Stage

Recorded = Callable[[str], Profile]

REPORTS = ("zoo_a", "attention_full", "cutile_mla", "triton_ops", "zoo_b_basic", "torch_ops")
OTHER = ("*stalls", "*opcodes", "*rules", "*grid", "*block", "*sms")
NO_NUMBER = re.compile(r"\b(nan|None|inf|NaN)\b|\{|\}|-0\.0")
SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z0-9(\"'`])")

LOW_IS_ACCEPTED = {
    # true class, told class, cause
    ("Latency", "Memory", "uncoalesced"): "bad accesses are certain, their price is not",
    ("Compute", "Memory", "l1"): "without TC %, a wgmma's operand reads look like an L1 limit",
    ("Compute", "Memory", "l2"): "without TC %, a matmul's tile loads look like an L2 limit",
    ("Memory", "Compute", "issue"): "60 to 70 % of the issue slots and DRAM, L2 or L1 not read",
}


def without(stage: Stage, keys: set[str]) -> Stage:
    """The stage as if these facts had not been recorded."""
    fields: dict[str, object] = {}
    if "*stalls" in keys:
        fields["stalls"] = None
    if "*opcodes" in keys:
        fields["opcodes"] = None
    if "*rules" in keys:
        fields["rules"] = ()
    if "*grid" in keys:
        fields["grid"] = ()
    if "*block" in keys:
        fields["block"] = ()
    gone = {key: "taken out" for key in keys & stage.metrics.keys()}
    kept = {key: value for key, value in stage.metrics.items() if key not in keys}
    return structs.replace(stage, metrics=kept, missing={**stage.missing, **gone}, **fields)


def texts(found: Diagnosis) -> Iterator[str]:
    """Everything that is shown."""
    yield from (found.limiter, found.root_cause, found.key_issue)
    yield from (item.text for item in found.evidence + found.counter_evidence)
    yield from found.not_checked + found.notes
    for item in found.opportunities:
        yield from (item.name, item.trigger, item.bound, item.how)
    for row in found.rows:
        yield from (row.shown, row.reason, row.guard)
    if found.roofline is not None:
        yield from found.roofline.missing.values()
        yield from found.roofline.notes


def shown_on_a_line(found: Diagnosis) -> Iterator[str]:
    """Texts that stand on a line of their own."""
    yield from (item.text for item in found.evidence + found.counter_evidence)
    yield from found.not_checked + found.notes
    yield from (item.name for item in found.opportunities)


def check_shape(found: Diagnosis) -> None:
    """What holds for any diagnosis."""
    for text in texts(found):
        assert not NO_NUMBER.search(text), text
    assert found.limiter and found.root_cause and found.key_issue
    assert len(found.key_issue) <= 60, found.key_issue
    assert len(SENTENCE_END.findall(found.root_cause)) <= 1, found.root_cause
    for text in shown_on_a_line(found):
        assert len(text) <= 92, text  # with its indent within 100 columns
    assert len(found.limiter) <= 125, found.limiter
    gains = [item.gain_pct for item in found.opportunities]
    assert len(gains) <= 3
    assert gains == sorted(gains, reverse=True)
    assert all(2.0 <= gain <= 100.0 for gain in gains)
    assert (found.bound == "Unknown") == (found.confidence == "none")


class Judge:
    """Diagnoses maimed stages and compares with the whole one."""

    def __init__(self, stages: list[Stage], environment: Environment, device: Device) -> None:
        self.stages, self.environment, self.device = stages, environment, device
        self.truth = cache(self._truth)
        self.judged = 0

    def _truth(self, position: int) -> str:
        return diagnose_stage(self.stages[position], self.environment, self.device).bound

    def check(self, position: int, keys: set[str], device: Device | None) -> None:
        stage = without(self.stages[position], keys)
        environment = self.environment
        if "*sms" in keys:
            environment = structs.replace(environment, sm_count=None)
        found = diagnose_stage(stage, environment, device)
        self.judged += 1
        check_shape(found)
        true = self.truth(position)
        if found.bound in ("Unknown", true):
            return
        where = f"{stage.name} without {sorted(keys)}: {found.limiter}"
        assert found.confidence == "low", where
        assert (true, found.bound, found.cause) in LOW_IS_ACCEPTED, where


@pytest.fixture(scope="module")
def judge(recorded: Recorded, h200: Device) -> Judge:
    """All recorded launches; of many repetitions the first ones."""
    profiles = [recorded(name) for name in REPORTS]
    stages = [stage for profile in profiles for stage in profile.stages[:9]]
    return Judge(stages, profiles[0].environment, h200)


def names(stage: Stage) -> list[str]:
    return [*sorted(stage.metrics), *OTHER]


def test_whole_recordings_have_the_shape(judge: Judge) -> None:
    for stage in judge.stages:
        check_shape(diagnose_stage(stage, judge.environment, judge.device))
        check_shape(diagnose_stage(stage, Environment(), None))


def test_any_single_fact_is_taken_out(judge: Judge) -> None:
    for position, stage in enumerate(judge.stages):
        for key in names(stage):
            judge.check(position, {key}, judge.device)
    assert judge.judged > 2000


def test_pairs_and_subsets_are_taken_out(judge: Judge) -> None:
    take_out(judge, random.Random(1), 20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_more_are_taken_out(judge: Judge, seed: int, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--full", default=False):
        pytest.skip("only with --full")
    take_out(judge, random.Random(seed), 100)


def take_out(judge: Judge, chance: random.Random, rounds: int) -> None:
    """Pairs, small and large subsets of every launch; with and without known peaks."""
    for position, stage in enumerate(judge.stages):
        keys = names(stage)
        for _ in range(rounds):
            sizes = (2, chance.randint(3, 12), chance.randint(12, len(keys)))
            for size in sizes:
                device = chance.choice((judge.device, None))
                judge.check(position, set(chance.sample(keys, size)), device)


@pytest.mark.parametrize("value", [-1.0, 0.0, 101.0, 106.0, 1e6, 1e18])
def test_any_single_fact_is_nonsense(judge: Judge, value: float) -> None:
    for stage in judge.stages[:9]:
        for key in sorted(stage.metrics):
            wrong = structs.replace(stage.metrics[key], value=value)
            maimed = structs.replace(stage, metrics={**stage.metrics, key: wrong})
            check_shape(diagnose_stage(maimed, judge.environment, judge.device))
