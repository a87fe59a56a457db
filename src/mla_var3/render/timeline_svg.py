"""`timeline.svg`: a row a stream, stages coloured, the window marked, short captures whole.

What is narrower than a pixel is gathered by pixel, as shade; so 200,000 operations are as small a
file as 200. Text is drawn with the reader's own fonts; nothing is loaded from elsewhere.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from mla_var3 import conf
from mla_var3.core import units
from mla_var3.core.timeline_findings import StreamKey
from mla_var3.render.layout import plain, shorten_name
from mla_var3.render.timeline_bins import Mark, bins
from mla_var3.render.timeline_ticks import ticks
from mla_var3.render.timeline_view import TimelineView, headline, short_call

WIDTH = 1200
LEFT, RIGHT, TOP = 150, 20, 52
ROW, GAP, AXIS = 26, 8, 30
_INK, _SOFT, _GROUND = "#222222", "#777777", "#f1f1f1"
_BANDS = {"window": "#fff3c4", "left out": "#d5d5d5"}
_OTHER = "#9a9a9a"
_COLOURS = (
    "#1f77b4", "#e6772e", "#2a9d55", "#c0392b", "#7a3fb0", "#0f8c9a", "#b8860b", "#d6529a",
    "#5b6abf", "#6b8e23",
)  # fmt: skip
_WAIT, _LOAD, _CALL = "#d98880", "#34495e", "#aab7b8"
_CHARACTER = 6.2


class _Row(NamedTuple):
    label: str
    marks: list[Mark]


class _Panel(NamedTuple):
    """One piece of the time axis."""

    title: str
    begin: int
    end: int
    bands: tuple[tuple[int, int, str], ...]
    """Begin, end and name of what is marked behind the rows."""


def timeline_svg(view: TimelineView) -> bytes:
    """The picture: the capture; the window and one iteration where they are much shorter."""
    colours = _stage_colours(view)
    rows = _rows(view, colours)
    body: list[str] = []
    top = TOP
    for panel in _panels(view):
        lines, top = _draw(panel, rows, top)
        body += lines
    lines, top = _legend(view, colours, top)
    title = " · ".join(line.strip() for line in headline(view))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" '
        f'viewBox="0 0 {WIDTH} {top}" font-family="sans-serif" font-size="11">'
    )
    ground = f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>'
    heading = (
        f'<text x="12" y="24" fill="{_INK}" font-size="14" font-weight="bold">'
        f"{escape(_cut(title, 1180, 8.0))}</text>"
    )
    return ("\n".join([head, ground, heading, *body, *lines, "</svg>"]) + "\n").encode()


def _panels(view: TimelineView) -> list[_Panel]:
    """The capture, the window and its first iteration: each where it shows more than the last."""
    capture, window = view.scopes
    zoom = conf.table("timeline")["picture"]["zoom"]["value"]
    band = (window.begin, window.end, "window")
    panels = [_Panel("capture", capture.begin, capture.end, (band,))]
    bands = _iterations(view)
    if window.end - window.begin < zoom * (capture.end - capture.begin):
        panels.append(
            _Panel(_window_title(view), window.begin, window.end, (*bands, *_cut_out(view)))
        )
    elif bands:
        panels[0] = _Panel("capture", capture.begin, capture.end, (band, *bands))
    if len(bands) > 1:
        middle = bands[len(bands) // 2]
        if middle[1] - middle[0] < zoom * (window.end - window.begin):
            panels.append(_Panel(f"iteration {middle[2]} alone", middle[0], middle[1], ()))
    return [panel for panel in panels if panel.end > panel.begin]


def _window_title(view: TimelineView) -> str:
    window = view.findings.window
    if window.length_ns == window.end - window.begin:
        return "window"
    return f"window, of which {units.total(window.length_ns)} count, grey is left out"


def _cut_out(view: TimelineView) -> list[tuple[int, int, str]]:
    """Loading and first launches inside the window, as marks behind the rows."""
    window = view.findings.window
    return [
        (max(item.begin, window.begin), min(item.end, window.end), "left out")
        for item in view.findings.left_out
        if item.left_out_ns and item.kind in ("loading", "first launch")
    ]


def _iterations(view: TimelineView) -> tuple[tuple[int, int, str], ...]:
    """GPU time of each iteration."""
    found = []
    for number, at in enumerate(view.findings.iterations, start=1):
        one = view.findings.ranges[at]
        if one.begin is not None and one.end is not None:
            found.append((one.begin, one.end, str(number)))
    return tuple(found)


def _stage_colours(view: TimelineView) -> dict[int, str]:
    """Stage to colour: the stages of the plan or the ranges first, then by time."""
    times: dict[int, int] = {}
    for operation, launch in zip(view.timeline.operations, view.findings.launches, strict=True):
        length = operation.end - operation.start
        times[launch.stage] = times.get(launch.stage, 0) + length
    named = {launch.stage for launch in view.findings.launches if launch.ranges >= 0}
    ordered = sorted(times, key=lambda stage: (stage not in named, -times[stage]))
    return dict(zip(ordered, _COLOURS, strict=False))


def _rows(view: TimelineView, colours: dict[int, str]) -> list[_Row]:
    """The host's threads that launch, and the streams with most work, each in its order."""
    most = conf.table("timeline")["picture"]["streams"]["value"]
    streams = sorted(view.findings.capture.streams, key=lambda stream: -stream.busy_ns)[:most]
    labels = view.labels
    rows = [_Row(f"host {number}", marks) for number, marks in _host(view)]
    marks: dict[tuple[int, int, int, int], list[Mark]] = {
        _place(stream.key): [] for stream in sorted(streams, key=lambda stream: stream.key)
    }
    for operation, launch in zip(view.timeline.operations, view.findings.launches, strict=True):
        place = (operation.device, operation.process, operation.context, operation.stream)
        if place in marks:
            colour = colours.get(launch.stage, _OTHER)
            name = view.findings.stages[launch.stage]
            marks[place].append(Mark(operation.start, operation.end, colour, name))
    names = {_place(key): label for key, label in labels.items()}
    rows += [_Row(names[place], own) for place, own in marks.items()]
    return rows


def _place(key: StreamKey) -> tuple[int, int, int, int]:
    return key.device, key.process, key.context, key.stream


def _host(view: TimelineView) -> list[tuple[str, list[Mark]]]:
    """API calls of the threads that launched most, at most two."""
    timeline = view.timeline
    launched: dict[tuple[int, int], int] = {}
    for operation in timeline.operations:
        if operation.call >= 0:
            call = timeline.calls[operation.call]
            key = (call.process, call.thread)
            launched[key] = launched.get(key, 0) + 1
    threads = sorted(launched, key=lambda key: -launched[key])[:2]
    marks: dict[tuple[int, int], list[Mark]] = {key: [] for key in threads}
    kinds = [_call_colour(name) for name in timeline.names]
    for call in timeline.calls:
        own = marks.get((call.process, call.thread))
        if own is not None:
            own.append(Mark(call.start, call.end, kinds[call.name], ""))
    return [(f"thread {key[1]}", marks[key]) for key in threads]


def _call_colour(name: str) -> str:
    known = conf.table("timeline")
    if short_call(name) in known["sync_calls"]:
        return _WAIT
    return _LOAD if name.startswith(tuple(known["load_calls"])) else _CALL


def _draw(panel: _Panel, rows: Sequence[_Row], top: int) -> tuple[list[str], int]:
    """A panel's title, bands, rows and axis, and where the next one begins."""
    width = WIDTH - LEFT - RIGHT
    scale = width / (panel.end - panel.begin)
    length = units.total(panel.end - panel.begin)
    lines = [_text(LEFT, top, f"{panel.title}: {length}", _INK, more='font-weight="bold"')]
    top += 18
    bottom = top + len(rows) * (ROW + GAP)
    for number, (begin, end, name) in enumerate(panel.bands):
        x0 = LEFT + max(0.0, (begin - panel.begin) * scale)
        x1 = LEFT + min(float(width), (end - panel.begin) * scale)
        shade = _BANDS.get(name) or ("#e9f1fa", "#f6fafd")[number % 2]
        lines.append(
            f'<rect x="{x0:.1f}" y="{top - 4}" width="{max(x1 - x0, 2):.1f}" '
            f'height="{bottom - top + 4}" fill="{shade}"/>'
        )
        if x1 - x0 > _CHARACTER * len(name) + 4 or name == "window":
            place = min(x0 + 2, LEFT + width - _CHARACTER * len(name) - 2)
            lines.append(_text(place, top - 6, name, _SOFT))
    for row in rows:
        lines.append(_text(LEFT - 8, top + 17, _cut(row.label, LEFT - 16), _INK, "end"))
        lines.append(
            f'<rect x="{LEFT}" y="{top}" width="{width}" height="{ROW}" fill="{_GROUND}" '
            'fill-opacity="0.7"/>'
        )
        lines += _marks(row.marks, panel, scale, top)
        top += ROW + GAP
    lines += _axis(panel, scale, bottom)
    return lines, bottom + AXIS + 24


def _marks(marks: Sequence[Mark], panel: _Panel, scale: float, top: int) -> list[str]:
    """One path a colour and shade, and names where they fit."""
    drawn = bins(marks, panel.begin, panel.end, WIDTH - LEFT - RIGHT)
    lines = [
        f'<path fill="{colour}"{_opacity(level)} d="'
        + "".join(f"M{LEFT + x0:.1f} {top}h{x1 - x0:.1f}v{ROW}h-{x1 - x0:.1f}z" for x0, x1 in runs)
        + '"/>'
        for (colour, level), runs in drawn.items()
    ]
    least = 40 / scale
    for mark in marks:
        if mark.end - mark.begin < least:
            continue
        room = (min(mark.end, panel.end) - max(mark.begin, panel.begin)) * scale
        if mark.name and room > 40:
            name = _cut(mark.name, room - 8)
            x = LEFT + (max(mark.begin, panel.begin) - panel.begin) * scale
            lines.append(_text(x + 4, top + 17, name, "#ffffff"))
    return lines


def _opacity(level: int) -> str:
    return "" if level >= 4 else f' fill-opacity="{level / 4:g}"'


def _axis(panel: _Panel, scale: float, y: int) -> list[str]:
    """Ticks at round times, counted from the panel's begin."""
    end = WIDTH - RIGHT
    lines = [f'<line x1="{LEFT}" y1="{y}" x2="{end}" y2="{y}" stroke="{_SOFT}"/>']
    for time, label in ticks(panel.end - panel.begin):
        x = LEFT + time * scale
        lines.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}" stroke="{_SOFT}"/>')
        anchor = "end" if x > end - 30 else "middle"
        lines.append(_text(x, y + 17, label, _SOFT, anchor))
    return lines


def _legend(view: TimelineView, colours: dict[int, str], top: int) -> tuple[list[str], int]:
    items = [(colour, view.findings.stages[stage]) for stage, colour in colours.items()]
    shown = {launch.stage for launch in view.findings.launches}
    rest = len(shown) - len(colours)
    if rest > 0:
        items.append((_OTHER, f"{rest} others"))
    items += [(_WAIT, "host waits"), (_LOAD, "host loads code"), (_CALL, "other API call")]
    lines, x = [], 12.0
    for colour, name in items:
        text = shorten_name(plain(name), 40)
        width = 18 + _CHARACTER * len(text) + 16
        if x + width > WIDTH - RIGHT:
            x, top = 12.0, top + 18
        lines.append(f'<rect x="{x:.1f}" y="{top - 9}" width="12" height="11" fill="{colour}"/>')
        lines.append(_text(x + 17, top, text, _INK))
        x += width
    hidden = (
        len(view.findings.capture.streams) - conf.table("timeline")["picture"]["streams"]["value"]
    )
    if hidden > 0:
        top += 18
        lines.append(_text(12, top, f"{hidden} more streams with less work are not drawn", _SOFT))
    top += 18
    lines.append(
        _text(
            12, top, "lighter: operations shorter than a pixel, and how much of it they fill", _SOFT
        )
    )
    return lines, top + 16


def _cut(text: str, room: float, character: float = _CHARACTER) -> str:
    return shorten_name(text, max(1, int(room / character)))


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", more: str = "") -> str:
    extra = f" {more}" if more else ""
    return (
        f'<text x="{x:.1f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}"{extra}>'
        f"{escape(text)}</text>"
    )
