"""Rule results of Nsight Compute, their texts without link codes, directories and errors."""

import math
import re
from typing import Any, TypeVar

import msgspec

from mla_var3.core.record import Rule, RuleType, SpeedupScope

_Word = TypeVar("_Word", bound=str)

MOST_RULES = 12
_MESSAGE_LENGTH = 200
_TITLE_LENGTH = 80
_BUDGET_BYTES = 2300
"""Of all rules of a launch in the record: a stage stays below 8 kB."""
_MOST_FOCUS = 2
_TYPES: tuple[RuleType, ...] = ("NONE", "OK", "OPTIMIZATION", "WARNING", "ERROR")
_SCOPES: tuple[SpeedupScope, ...] = ("UNKNOWN", "LOCAL", "GLOBAL")
_ORDER: tuple[RuleType, ...] = ("OPTIMIZATION", "WARNING", "OK", "ERROR", "NONE")
_LINK = re.compile(r"@(url|section|sass|source):([^@]*)@")
_WORD = r"[\w.+~-]"
_PART = r'[^\\/:*?"<>|]+\\'
_PATHS = (
    re.compile(rf"[A-Za-z]:\\(?:Users\\{_PART}|(?!Users\\))(?:{_PART})*({_WORD}+)"),
    re.compile(rf"(?<![\w.:/])(?:[A-Za-z]:|~)?/(?:{_WORD}+/)+({_WORD}+)"),
)
"""Paths of Windows and others; their base names stay."""
# a bare home directory: its base name is the user's
_HOME = re.compile(rf"(?:/home|/Users|[A-Za-z]:\\Users)[\\/]{_WORD}+[\\/]?(?=$|[^\\/\w])")
_ERROR = "the rule failed when the report was recorded"


def read_rules(results: list[dict[str, Any]]) -> tuple[Rule, ...]:
    """Rules worth keeping, the most useful first, from `rule_results_as_dicts()`."""
    rules = [rule for result in results if (rule := _rule(result)) is not None]
    rules.sort(key=lambda rule: (_ORDER.index(rule.type), -(rule.speedup_pct or 0.0)))
    return _within_budget(rules[:MOST_RULES])


def clean_text(text: str, longest: int) -> str:
    """Text without link codes and directories, in one line, cut at a word."""
    text = _LINK.sub(_link_text, text)
    text = " ".join(text.split())
    windows, unix = _PATHS
    text = _HOME.sub("…", windows.sub(r"\1", text))
    text = unix.sub(r"\1", text)
    if len(text) <= longest:
        return text
    return text[: longest - 1].rpartition(" ")[0].rstrip(" ,.;:") + "…"


def _rule(result: dict[str, Any]) -> Rule | None:
    head = head_of(result, _TITLE_LENGTH, _MESSAGE_LENGTH)
    if head is None:
        return None
    return msgspec.structs.replace(head, focus=_focus(result.get("focus_metrics") or []))


def head_of(result: dict[str, Any], longest_title: int, longest_message: int) -> Rule | None:
    """A rule of `rule_results_as_dicts()` without what it looked at; None where it says nothing."""
    message = result.get("rule_message") or {}
    kind = _pick(_TYPES, message.get("type"), "NONE")
    title = clean_text(str(message.get("title") or ""), longest_title)
    body = clean_text(str(message.get("message") or ""), longest_message)
    if kind == "ERROR":
        # its texts hold Python errors and directories of the machine it was recorded on
        title, body = "", _ERROR
    if not title and not body:
        return None
    estimate = result.get("speedup_estimation") or {}
    speedup = finite(estimate.get("speedup"))
    return Rule(
        section=str(result.get("section_identifier") or ""),
        rule=str(result.get("rule_identifier") or ""),
        type=kind,
        title=title,
        message=body,
        scope=_pick(_SCOPES, estimate.get("type"), "-") if speedup is not None else "-",
        speedup_pct=speedup,
    )


def _focus(metrics: list[dict[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in metrics[:_MOST_FOCUS]:
        value = finite(metric.get("value"))
        if value is not None and metric.get("name"):
            found[str(metric["name"])] = value
    return found


def _within_budget(rules: list[Rule]) -> tuple[Rule, ...]:
    """The rules that fit, the less useful ones without message, focus or at all."""
    left = _BUDGET_BYTES
    kept: list[Rule] = []
    for rule in rules:
        short = msgspec.structs.replace(rule, message="", focus={}) if rule.title else None
        for form in (rule, short):
            size = 0 if form is None else len(msgspec.json.encode(form))
            if form is not None and size <= left:
                kept.append(form)
                left -= size
                break
    return tuple(kept)


def _link_text(match: re.Match[str]) -> str:
    kind, inside = match.groups()
    if kind == "url":
        return inside.partition(":")[0]
    return str(inside).rpartition(":")[2]


def _pick(words: tuple[_Word, ...], index: object, otherwise: _Word) -> _Word:
    if isinstance(index, int) and 0 <= index < len(words):
        return words[index]
    return otherwise


def finite(value: object) -> float | None:
    """A number rounded to four digits, None for anything else and for inf and nan."""
    if isinstance(value, int | float) and math.isfinite(value):
        return round(float(value), 4)
    return None
