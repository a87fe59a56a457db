"""Markdown that shows text as it is: escaped cells, tables, values with their units."""

from collections.abc import Iterable, Sequence

from mla_var3.core import units
from mla_var3.core.record import Metric
from mla_var3.render.layout import plain

_MARKS = ("\\", "|", "*", "_", "`", "<", "[")


def md(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    for mark in _MARKS:
        text = text.replace(mark, "\\" + mark)
    return plain(text)


def md_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the first row is its heading."""
    head, *body = [f"| {' | '.join(map(md, row))} |" for row in rows]
    return [head, "|---" * len(rows[0]) + "|", *body]


def md_list(texts: Iterable[str]) -> list[str]:
    """One line a text."""
    return [f"- {md(text)}" for text in texts]


def value_text(metric: Metric) -> str:
    """`612.8 µs`, `1.62 GHz`, `4.273 TFLOP/s`."""
    value = metric.value
    if metric.unit == "ns":
        return units.duration(value)
    if metric.unit == "Hz":
        return f"{value / 1e9:.3f} GHz"
    whole = float(value).is_integer() and abs(value) < 1e6
    return f"{value:.0f} {metric.unit}" if whole else f"{value:.4g} {metric.unit}"
