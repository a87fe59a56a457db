"""Counters of one launch of a CSV export: texts to numbers, labels to counter names."""

import math
import re
from collections.abc import Iterable
from functools import cache

from mla_var3.measure.ncu_reader.readings import Reading, reading_of
from mla_var3.measure.ncu_reader.table import table

_COMMA_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_POINT_THOUSANDS = re.compile(r"[-+]?\d{1,3}(\.\d{3}){2,}(,\d+)?|[-+]?\d{1,3}(\.\d{3})+,\d+")
_SPACES = str.maketrans("", "", " \u00a0\u202f'")
_INSTANCES = re.compile(r"^([^;{]*?)\s*(?:\{.*\}|;.*)?$", re.DOTALL)
_NOTHING = frozenset({"", "n/a", "-", "nan", "inf", "-nan", "-inf"})


class CsvCounters:
    """Readings by counter name; a label of the details page is found under its counter."""

    def __init__(self) -> None:
        self._readings: dict[str, Reading] = {}
        self._texts: dict[str, str] = {}

    def read(self, name: str) -> Reading:
        """Reading of a counter; never raises."""
        found = self._readings.get(name)
        return found or Reading(None, "", table().absence["not_collected"])

    def names(self) -> Iterable[str]:
        """Names of all counters that are there."""
        return list(self._readings)

    def has(self, name: str) -> bool:
        """Whether there is a value."""
        return self.read(name).value is not None

    def text(self, name: str) -> str:
        """The text as it stands in the file, "" without one."""
        return self._texts.get(name, "")

    def add(self, name: str, unit: str, value: str, shown: str = "") -> None:
        """Take one value as the export writes it; of several under one name the first stays."""
        if name in self._readings:
            return
        self._texts[name] = value.strip()
        # instance values stand behind the value of the launch: `12 (1; 2; 3)`
        self._readings[name] = _judge(value, unit, shown)

    def add_labelled(self, label: str, unit: str, value: str, section: str) -> None:
        """Take one row of the details page; a label that is itself a counter's name stays so."""
        if "__" in label:
            self.add(label, unit, value)
        elif counter := _counter_of(label.strip(), unit, section):
            self.add(counter, unit, value, f"{label.strip()} [details]")

    def add_sizes(self, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        """Blocks and threads from the columns of the row, where no counter gives them."""
        for name, sizes in (("launch__grid_size", grid), ("launch__block_size", block)):
            if sizes and not self.has(name):
                self._readings[name] = Reading(math.prod(sizes))


def number(text: str) -> float | int | None:
    """Number of an export with thousands separators of either custom, None where it is none."""
    text = text.translate(_SPACES)
    if _COMMA_THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif _POINT_THOUSANDS.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if re.fullmatch(r"[-+]?\d+", text) else value


def dimensions(text: str) -> tuple[int, ...]:
    """`(16, 128, 1)` as numbers; () where it is not there."""
    sizes = tuple(int(size) for size in re.findall(r"\d+", text))
    return sizes if 1 <= len(sizes) <= 3 else ()


def _judge(text: str, unit: str, shown: str) -> Reading:
    # `(!)` marks a value that the tool doubts
    text = text.strip().removeprefix("(!)").strip()
    if text.lower() in _NOTHING:
        kind = "not_a_number" if text.lower().endswith(("nan", "inf")) else "empty"
        return Reading(None, unit, table().absence[kind], shown)
    plain = _INSTANCES.sub(r"\1", text)
    value = number(plain)
    return reading_of(text if value is None else value, unit, shown)


@cache
def _counter_of(label: str, unit: str, section: str) -> str:
    """Counter behind a label of the details page, "" where it is none that is read."""
    for known in table().labels:
        if known.label == label and known.section in section:
            # "Memory Throughput" is a percentage in one section and a rate in another
            if known.name.endswith(("_elapsed", "_active")) and "%" not in unit:
                continue
            return known.name
    return ""
