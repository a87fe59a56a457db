"""The Profiler Output Contract as text: its words, written and read by the same table.

`write` and `parse` are inverse on every `ContractSheet` that `parse` accepts. A sheet holds the
cells as they are shown; the figures behind them are in `contract.Contract`, the JSON twin.
"""

import re

import msgspec

MAX_BYTES = 2500
MAX_ROWS = 10
OTHERS = re.compile(r"others \((\d+)\)")
WORDS = ("Memory", "Compute", "Latency")
SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z0-9(\"'`])")

CONFIGURATION = ("### Configuration", "| b | s | t | dtype |", "|---|---|---|-------|")
STAGES = (
    "### Stages",
    "| Stage | Duration (us) | TC% | DRAM% | Occ% | Bottleneck | Key Issue |",
    "|-------|---------------|-----|-------|------|------------|-----------|",
)
OPPORTUNITIES = "### Top 3 Opportunities (ranked by estimated impact)"
NO_OPPORTUNITY = "1. none above 2 % (at the roof)"
UPPER_BOUND = "Each gain is an upper bound; gains do not add up."
BASELINE = (
    "### vs Baseline",
    "| Metric | Previous | Current | Change |",
    "|--------|----------|---------|--------|",
)

_TITLE = re.compile(r"## Profile: (\S+) (\S+)")
_HEADLINE = re.compile(rf"### Bottleneck: ({'|'.join(WORDS)})-bound")
_CAUSE = re.compile(r"Root cause: (\S.*)")
_OPPORTUNITY = re.compile(
    r"([1-3])\. (\S.*?) — est\. (\d+(?:\.\d)?)% gain — trigger: ([^=\s][^=]*)=(\S.*)"
)
_SIZE = re.compile(r"[1-9]\d*|n/a")
_WORD = re.compile(r"\w+|n/a")
_NUMBER = re.compile(r"\d+(\.\d+)?|n/a")
_BOTTLENECK = re.compile(rf"{'|'.join(WORDS)}|n/a")
_TEXT = re.compile(r".+")


class ContractViolation(ValueError):
    """The first place where a text leaves the grammar: `line` counts from 1."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line


class StageRow(msgspec.Struct, frozen=True):
    """One row of the stage table, as shown; `n/a` where a figure is missing."""

    stage: str
    duration_us: str
    tc: str
    dram: str
    occupancy: str
    bottleneck: str
    key_issue: str


class OpportunityLine(msgspec.Struct, frozen=True):
    """One numbered opportunity; `gain` in percent, as shown."""

    name: str
    gain: str
    trigger_metric: str
    trigger_value: str


class BaselineRow(msgspec.Struct, frozen=True):
    """One row of the comparison with the baseline, as shown."""

    metric: str
    previous: str
    current: str
    change: str


class ContractSheet(msgspec.Struct, frozen=True, kw_only=True):
    """All that the text shows, in its order."""

    kernel: str
    version: str
    configuration: tuple[str, str, str, str]
    """b, s, t and dtype."""
    stages: tuple[StageRow, ...]
    bottleneck: str
    root_cause: str
    opportunities: tuple[OpportunityLine, ...] = ()
    baseline: tuple[BaselineRow, ...] = ()


def write(sheet: ContractSheet) -> str:
    """The contract's Markdown."""
    lines = [f"## Profile: {sheet.kernel} {sheet.version}", ""]
    lines += [*CONFIGURATION, _row(sheet.configuration), ""]
    lines += [*STAGES, *(_row(msgspec.structs.astuple(row)) for row in sheet.stages), ""]
    lines += [f"### Bottleneck: {sheet.bottleneck}-bound", f"Root cause: {sheet.root_cause}", ""]
    lines += [OPPORTUNITIES]
    for number, item in enumerate(sheet.opportunities, start=1):
        trigger = f"{item.trigger_metric}={item.trigger_value}"
        lines.append(f"{number}. {item.name} — est. {item.gain}% gain — trigger: {trigger}")
    lines += ["", UPPER_BOUND] if sheet.opportunities else [NO_OPPORTUNITY]
    if sheet.baseline:
        lines += ["", *BASELINE, *(_row(msgspec.structs.astuple(row)) for row in sheet.baseline)]
    return "\n".join(lines) + "\n"


def parse(text: str) -> ContractSheet:
    """The sheet that the text shows. Raises `ContractViolation` at the first wrong line."""
    reader = _Reader(text)
    kernel, version = reader.match(_TITLE, "## Profile: <kernel> <version>").groups()
    reader.blank()
    configuration = reader.table(CONFIGURATION, (_SIZE, _SIZE, _SIZE, _WORD), most=1)[0]
    reader.blank()
    stages = _stages(reader)
    reader.blank()
    bottleneck = _headline(reader, stages)
    cause = reader.match(_CAUSE, "Root cause: <at most two sentences>").group(1)
    reader.require(sentences(cause) <= 2, "the root cause has more than two sentences")
    reader.blank()
    opportunities = _opportunities(reader)
    baseline = _baseline(reader)
    reader.end()
    return ContractSheet(
        kernel=kernel,
        version=version,
        configuration=(configuration[0], configuration[1], configuration[2], configuration[3]),
        stages=stages,
        bottleneck=bottleneck,
        root_cause=cause,
        opportunities=opportunities,
        baseline=baseline,
    )


def sentences(text: str) -> int:
    """Number of sentences: a stop, then space, then what begins a sentence."""
    return len(SENTENCE_END.findall(text)) + 1


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


class _Reader:
    """Lines of a contract and the position in them; every refusal names the line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.at = 0

    def require(self, condition: bool, why: str, back: int = 1) -> None:
        """Refuse the line read last, or the one `back` lines before the next."""
        if not condition:
            raise ContractViolation(self.at - back + 1, why)

    def next(self, what: str) -> str:
        """The next line, or the refusal that the text ends before `what`."""
        if self.at >= len(self.lines):
            raise ContractViolation(self.at, f"the text ends before {what!r}")
        self.at += 1
        return self.lines[self.at - 1]

    def peek(self) -> str | None:
        """The next line without taking it; None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def literal(self, expected: str) -> None:
        """Take a line that must read exactly so."""
        found = self.next(expected)
        self.require(found == expected, f"expected {expected!r}, found {found[:40]!r}")

    def blank(self) -> None:
        """Take one empty line."""
        found = self.next("an empty line")
        self.require(found == "", f"expected an empty line, found {found[:40]!r}")

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Take a line of this form."""
        line = self.next(what)
        found = pattern.fullmatch(line)
        if found is None or line != line.rstrip():
            raise ContractViolation(self.at, f"expected {what!r}, found {line[:40]!r}")
        return found

    def table(
        self, head: tuple[str, str, str], cells: tuple[re.Pattern[str], ...], most: int
    ) -> list[tuple[str, ...]]:
        """Take heading, header, rule and one to `most` rows whose cells have these forms."""
        names = [name.strip() for name in head[1].strip("|").split("|")]
        for line in head:
            self.literal(line)
        rows: list[tuple[str, ...]] = []
        while (self.peek() or "").startswith("|") or not rows:
            rows.append(self._cells(names, cells))
            self.require(len(rows) <= most, f"more than {most} rows below {head[0]!r}")
        return rows

    def _cells(self, names: list[str], forms: tuple[re.Pattern[str], ...]) -> tuple[str, ...]:
        line = self.next("a table row")
        found = tuple(line.removeprefix("| ").removesuffix(" |").split(" | "))
        whole = line == _row(found) and len(found) == len(names)
        self.require(whole, f"expected a row of {len(names)} cells, found {line[:40]!r}")
        for name, cell, form in zip(names, found, forms, strict=True):
            good = form.fullmatch(cell) and cell == cell.strip() and "|" not in cell
            self.require(bool(good), f"{name} cannot be {cell[:40]!r}")
        return found

    def end(self) -> None:
        """Nothing may follow but the last line's end, and all of it must fit."""
        self.require(self.text.endswith("\n"), "the last line has no end of line")
        self.literal("")
        if self.at != len(self.lines):
            raise ContractViolation(self.at + 1, "nothing may follow here")
        content = self.text.encode()
        if len(content) > MAX_BYTES:
            line = content[:MAX_BYTES].count(b"\n") + 1
            raise ContractViolation(line, f"{len(content)} bytes, more than {MAX_BYTES}")


def _stages(reader: _Reader) -> tuple[StageRow, ...]:
    numbers: tuple[re.Pattern[str], ...] = (_NUMBER,) * 4
    first = reader.at + len(STAGES)
    rows = reader.table(STAGES, (_TEXT, *numbers, _BOTTLENECK, _TEXT), most=MAX_ROWS + 1)
    stages = tuple(StageRow(*row) for row in rows)
    reader.require(
        len(stages) <= MAX_ROWS or bool(OTHERS.fullmatch(stages[-1].stage)),
        f"more than {MAX_ROWS} stages: the rest stands in one row 'others (N)'",
    )
    known: set[str] = set()
    for position, row in enumerate(stages):
        back = reader.at - first - position
        reader.require(row.stage not in known, f"stage {row.stage!r} stands twice", back)
        others = OTHERS.fullmatch(row.stage) is not None
        reader.require(not others or position == MAX_ROWS, "'others' after ten rows only", back)
        for name, cell in (("TC%", row.tc), ("DRAM%", row.dram), ("Occ%", row.occupancy)):
            sensible = cell == "n/a" or float(cell) <= 100
            reader.require(sensible, f"{name} cannot be {cell!r}: above 100", back)
        known.add(row.stage)
    return stages


def _headline(reader: _Reader, stages: tuple[StageRow, ...]) -> str:
    what = "### Bottleneck: Memory-bound, Compute-bound or Latency-bound"
    word = reader.match(_HEADLINE, what).group(1)
    seen = any(row.bottleneck in (word, "n/a") for row in stages)
    reader.require(seen, f"no stage is {word}-bound")
    return word


def _opportunities(reader: _Reader) -> tuple[OpportunityLine, ...]:
    reader.literal(OPPORTUNITIES)
    if reader.peek() == NO_OPPORTUNITY:
        reader.next(NO_OPPORTUNITY)
        return ()
    found: list[OpportunityLine] = []
    while len(found) < 3 and (reader.peek() or not found):
        form = f"{len(found) + 1}. <name> — est. X% gain — trigger: <metric=value>"
        number, *parts = reader.match(_OPPORTUNITY, form).groups()
        line = OpportunityLine(*parts)
        reader.require(int(number) == len(found) + 1, f"expected number {len(found) + 1}")
        reader.require(" — " not in line.name, "the name holds ' — '")
        reader.require(float(line.gain) <= 100, "no gain is above 100 % of the time")
        ranked = not found or float(line.gain) <= float(found[-1].gain)
        reader.require(ranked, "not ranked: a larger gain stands below a smaller one")
        reader.require(all(line.name != other.name for other in found), "a name stands twice")
        found.append(line)
    reader.blank()
    reader.literal(UPPER_BOUND)
    return tuple(found)


def _baseline(reader: _Reader) -> tuple[BaselineRow, ...]:
    if reader.at + 1 >= len(reader.lines):
        return ()
    reader.blank()
    rows = reader.table(BASELINE, (_TEXT,) * len(msgspec.structs.fields(BaselineRow)), most=12)
    return tuple(BaselineRow(*row) for row in rows)
