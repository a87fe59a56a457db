"""One launch as a `Stage` of the record, within its 8 kB."""

import msgspec

from mla_var3.core.record import HotLine, Shares, Stage
from mla_var3.measure.ncu_reader import source
from mla_var3.measure.ncu_reader.facts import read_facts
from mla_var3.measure.ncu_reader.launches import Launch
from mla_var3.measure.ncu_reader.names import short_name
from mla_var3.measure.ncu_reader.opcodes import read_opcodes
from mla_var3.measure.ncu_reader.rules import read_rules
from mla_var3.measure.ncu_reader.source import Instruction
from mla_var3.measure.ncu_reader.stalls import read_stalls
from mla_var3.measure.ncu_reader.table import Chip, facts_by_key, table

LONGEST_NAME = 400
_MOST_RANGES, _RANGE_LENGTH = 4, 50
_INTERRUPTED = "the profiler was stopped inside this launch: nothing of it can be trusted"
_NO_OPCODES = "opcodes were not recorded: which tensor instructions ran cannot be told"


def read_stage(launch: Launch, chip: Chip | None, instruction: Instruction) -> Stage:
    """All that is read of one launch, under its short name."""
    short = short_name(launch.function_name, launch.full_name)
    bare = Stage(
        name=short,
        kernel=cut(launch.full_name, LONGEST_NAME) or short,
        launch=launch.position,
        metrics={},
        grid=launch.dimensions("grid"),
        block=launch.dimensions("block"),
        nvtx=tuple(cut(name, _RANGE_LENGTH) for name in launch.nvtx()[:_MOST_RANGES]),
    )
    return interrupted(bare) if launch.interrupted else _filled(bare, launch, chip, instruction)


def interrupted(bare: Stage) -> Stage:
    """The stage of a launch inside which the profiler was stopped: no number of it is kept."""
    return msgspec.structs.replace(
        bare,
        missing=dict.fromkeys(facts_by_key(), table().absence["interrupted"]),
        warnings=(_INTERRUPTED,),
        interrupted=True,
    )


def _filled(bare: Stage, launch: Launch, chip: Chip | None, instruction: Instruction) -> Stage:
    metrics, missing = read_facts(launch.counters, chip)
    opcodes = read_opcodes(launch.action)
    hot_lines = source.read_hot_lines(launch.action, instruction)
    return msgspec.structs.replace(
        bare,
        metrics=metrics,
        missing=missing,
        stalls=read_stalls(launch.counters),
        opcodes=opcodes,
        rules=read_rules(launch.action.rule_results_as_dicts()),
        hot_lines=hot_lines,
        warnings=_warnings(launch, opcodes, hot_lines),
    )


def cut(text: str, longest: int) -> str:
    """Text of at most so many characters, ending in … where it was longer."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _warnings(
    launch: Launch, opcodes: Shares | None, hot_lines: tuple[HotLine, ...]
) -> tuple[str, ...]:
    warnings = []
    if not hot_lines and source.has_samples(launch.action):
        warnings.append(source.NO_LINES)
    if opcodes is None:
        warnings.append(_NO_OPCODES)
    return tuple(warnings)
