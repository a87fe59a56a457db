"""The whole text of every rule: without link codes, directories and Python errors."""

from typing import Any

from mla_var3.core.ncu_details import Focus, RuleResult, RuleTable
from mla_var3.measure.ncu_reader.rules import clean_text, finite, head_of

_LONGEST = 4000


def read_rule_results(action: Any) -> tuple[RuleResult, ...]:
    """All rules that said something, in the report's order."""
    results = (_result(result) for result in action.rule_results_as_dicts())
    return tuple(result for result in results if result is not None)


def _result(result: dict[str, Any]) -> RuleResult | None:
    head = head_of(result, _LONGEST, _LONGEST)
    if head is None:
        return None
    failed = head.type == "ERROR"
    return RuleResult(
        section=head.section,
        rule=head.rule,
        name=_clean(result.get("name")),
        type=head.type,
        title=head.title,
        message=head.message,
        scope=head.scope,
        speedup_pct=head.speedup_pct,
        focus=() if failed else tuple(map(_focus, result.get("focus_metrics") or ())),
        tables=() if failed else tuple(map(_table, result.get("result_tables") or ())),
    )


def _focus(metric: dict[str, Any]) -> Focus:
    return Focus(
        str(metric.get("name") or ""), finite(metric.get("value")), _clean(metric.get("info"))
    )


def _table(table: dict[str, Any]) -> RuleTable:
    columns = [[_cell(cell) for cell in column] for column in table.get("data") or ()]
    return RuleTable(
        title=_clean(table.get("title")),
        description=_clean(table.get("description")),
        headers=tuple(_clean(header) for header in table.get("headers") or ()),
        rows=tuple(zip(*columns, strict=False)),
    )


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int | float) else _clean(value)


def _clean(text: object) -> str:
    return clean_text(str(text or ""), _LONGEST)
