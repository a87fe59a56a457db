"""What the Profiler Output Contract shows of its figures, cut to 2.5 kB."""

from mla_var3.core import units
from mla_var3.core.diagnosis import Opportunity
from mla_var3.core.record import Metric
from mla_var3.render import contract_grammar as grammar
from mla_var3.render.contract import BaselineFigure, Contract, ContractStage
from mla_var3.render.layout import plain, shorten, unique_names


def to_markdown(contract: Contract) -> str:
    """The contract's text, at most 2.5 kB: long names and issues are cut until it fits."""
    for scale in (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2):
        text = grammar.write(sheet(contract, scale))
        if len(text.encode()) <= grammar.MAX_BYTES:
            return text
    raise AssertionError("a contract of the shortest cells is too long")


def sheet(contract: Contract, scale: float = 1.0) -> grammar.ContractSheet:
    """What the text shows, its free texts cut to `scale` of their normal width."""

    def width(normal: int) -> int:
        return max(8, round(normal * scale))

    shown, others = _longest(contract.stages)
    names = unique_names([_cell(stage.stage, 200) for stage in shown], width(40))
    rows = [_row(stage, name, width(100)) for stage, name in zip(shown, names, strict=True)]
    if others:
        rows.append(_others(others))
    config = contract.configuration
    sizes = [units.NA if size is None else str(size) for size in (config.b, config.s, config.t)]
    return grammar.ContractSheet(
        kernel=shorten(contract.kernel, width(60)),
        version=shorten(contract.version, width(30)),
        configuration=(sizes[0], sizes[1], sizes[2], config.dtype or units.NA),
        stages=tuple(rows),
        bottleneck=contract.bottleneck,
        root_cause=_two_sentences(contract.root_cause, width(500)),
        opportunities=_opportunities(contract.opportunities, width(90)),
        baseline=tuple(_baseline_row(figure, width(30)) for figure in contract.baseline[:12]),
    )


def _cell(text: str, width: int) -> str:
    return shorten(text.replace("|", "/"), width) or units.NA  # a bar would end the cell


def _longest(
    stages: tuple[ContractStage, ...],
) -> tuple[list[ContractStage], list[ContractStage]]:
    """The ten longest in their own order, and the rest."""
    if len(stages) <= grammar.MAX_ROWS:
        return list(stages), []
    ranked = sorted(range(len(stages)), key=lambda i: -(stages[i].duration_ns or 0.0))
    kept = set(ranked[: grammar.MAX_ROWS])
    return (
        [stage for i, stage in enumerate(stages) if i in kept],
        [stage for i, stage in enumerate(stages) if i not in kept],
    )


def _row(stage: ContractStage, name: str, width: int) -> grammar.StageRow:
    value = {key: metric.value for key, metric in stage.metrics.items()}
    return grammar.StageRow(
        stage=name,
        duration_us=units.microseconds(value.get("duration")),
        tc=units.percent_cell(value.get("tensor")),
        dram=units.percent_cell(value.get("dram")),
        occupancy=units.percent_cell(value.get("occupancy")),
        bottleneck=stage.bottleneck or units.NA,
        key_issue=_cell(stage.key_issue, width),
    )


def _others(stages: list[ContractStage]) -> grammar.StageRow:
    times = [stage.duration_ns for stage in stages]
    known = [time for time in times if time is not None]
    duration = units.microseconds(sum(known) if len(known) == len(times) else None)
    cells = (units.NA,) * 3
    issue = "summed; each in contract.json"
    return grammar.StageRow(f"others ({len(stages)})", duration, *cells, units.NA, issue)


def _two_sentences(text: str, width: int) -> str:
    ends = [match.start() + 1 for match in grammar.SENTENCE_END.finditer(text)]
    return shorten(text[: ends[1]] if len(ends) > 1 else text, width)


def _opportunities(
    items: tuple[Opportunity, ...], width: int
) -> tuple[grammar.OpportunityLine, ...]:
    lines = []
    names = unique_names([_opportunity_name(item.name) for item in items], width)
    for item, name in zip(items, names, strict=True):
        metric = shorten(item.trigger_metric.replace("=", " "), width) or units.NA
        value = shorten(item.trigger_value, width) or units.NA
        lines.append(grammar.OpportunityLine(name, units.gain(item.gain_pct), metric, value))
    return tuple(lines)


def _opportunity_name(name: str) -> str:
    """A long dash ends the name in the grammar, so none may stand in it."""
    return plain(name).replace("—", "–") or "unnamed"


def _baseline_row(figure: BaselineFigure, width: int) -> grammar.BaselineRow:
    def shown(metric: Metric) -> str:
        return _cell(f"{metric.value:.4g} {metric.unit}", width)

    return grammar.BaselineRow(
        _cell(figure.metric, width),
        shown(figure.previous),
        shown(figure.current),
        _cell(figure.change, width),
    )
