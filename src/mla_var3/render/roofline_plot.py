"""The roofline as SVG: log-log axes, the roofs with their ridge points, a point a stage and source.

Text is drawn with the reader's own fonts; nothing is loaded from elsewhere.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import msgspec

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 78, 210, 44, 60
_INK, _GRID, _SOFT = "#222222", "#dddddd", "#777777"
_ROOFS = ("#1f5fa8", "#a85a1f", "#3c7d3c", "#7d3c7d")
_POINTS = ("#c0392b", "#16803c", "#7a3fb0", "#b8860b", "#0f7c8a", "#8a2f5f")
_LINE = 15
_CHARACTER = 6.6
"""Width of a character at 11 px, about."""


class PlotRoof(msgspec.Struct, frozen=True, kw_only=True):
    """One roof: a peak in TFLOP/s over a memory's GB/s."""

    label: str
    tflops: float
    gbps: float
    dashed: bool = False

    @property
    def ridge(self) -> float:
        """FLOP/byte at which the two parts meet."""
        return 1e3 * self.tflops / self.gbps


class PlotPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One stage by one source: FLOP/byte, TFLOP/s. `filled` tells the two sources apart."""

    label: str
    group: str
    """Points of one group share a colour: the stage."""
    intensity: float
    tflops: float
    filled: bool = True


class _Axis(NamedTuple):
    """A logarithmic axis: powers of ten at both ends, and where they lie in pixels."""

    low: int
    high: int
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Pixels of a value; values outside are put on the edge."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


class _Box(NamedTuple):
    """A rectangle that a label takes."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        """Whether both share any place."""
        apart = (
            self.right <= other.left
            or other.right <= self.left
            or self.bottom <= other.top
            or other.bottom <= self.top
        )
        return not apart


def roofline_svg(title: str, roofs: Sequence[PlotRoof], points: Sequence[PlotPoint]) -> str:
    """The whole picture; without a roof or without a point a picture that says so."""
    shown = [point for point in points if point.intensity > 0 and point.tflops > 0]
    if not roofs:
        return _document(title, [_text(LEFT, TOP + 40, "no roofs are known for this device")])
    x, y = _axes(roofs, shown)
    body = [*_grid(x, y), *_roof_lines(roofs, x, y), *_marks(roofs, shown, x, y)]
    body += _legend(roofs, shown)
    if not shown:
        body.append(_text(LEFT + 12, TOP + 24, "no stage has both FLOPs and bytes", _SOFT))
    return _document(title, body)


def _axes(roofs: Sequence[PlotRoof], points: Sequence[PlotPoint]) -> tuple[_Axis, _Axis]:
    """Axes of whole powers of ten that hold every ridge point and every stage."""
    intensities = [roof.ridge for roof in roofs] + [point.intensity for point in points]
    low, high = _span(min(intensities) / 3, max(intensities) * 3)
    rates = [roof.tflops for roof in roofs] + [point.tflops for point in points]
    bottom, top = _span(min(rates) / 3, max(rates) * 1.6)
    across = _Axis(low, high, LEFT, WIDTH - RIGHT)
    return across, _Axis(bottom, top, HEIGHT - BOTTOM, TOP)


def _span(least: float, most: float) -> tuple[int, int]:
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return low, max(high, low + 1)


def _grid(x: _Axis, y: _Axis) -> list[str]:
    lines = []
    for power in range(x.low, x.high + 1):
        at = x.at(10.0**power)
        lines.append(_line((at, y.begin), (at, y.end), _GRID))
        lines.append(_text(at, y.begin + 18, _power(power), _INK, "middle"))
    for power in range(y.low, y.high + 1):
        at = y.at(10.0**power)
        lines.append(_line((x.begin, at), (x.end, at), _GRID))
        lines.append(_text(x.begin - 8, at + 4, _power(power), _INK, "end"))
    middle = (x.begin + x.end) / 2
    lines.append(_text(middle, y.begin + 42, "arithmetic intensity (FLOP/byte)", _INK, "middle"))
    height = (y.begin + y.end) / 2
    turned = f'transform="rotate(-90 20 {height:.1f})"'
    lines.append(_text(20, height, "TFLOP/s", _INK, "middle", turned))
    return lines


def _roof_lines(roofs: Sequence[PlotRoof], x: _Axis, y: _Axis) -> list[str]:
    """The slope of the memory up to the ridge point, then the flat roof."""
    lines = []
    for roof, colour in zip(roofs, _cycle(_ROOFS, len(roofs)), strict=True):
        start = max(10.0**x.low, 1e3 * 10.0**y.low / roof.gbps)
        corner = (x.at(roof.ridge), y.at(roof.tflops))
        begin = (x.at(start), y.at(roof.gbps * start / 1e3))
        dash = "6 4" if roof.dashed else ""
        lines.append(_line(begin, corner, colour, 2.0, dash))
        lines.append(_line(corner, (x.end, corner[1]), colour, 2.0, dash))
    return lines


def _marks(roofs: Sequence[PlotRoof], points: Sequence[PlotPoint], x: _Axis, y: _Axis) -> list[str]:
    """Ridge points and stages with labels that do not lie on one another."""
    taken: list[_Box] = []
    lines = []
    colours = _colours(points)
    for point in points:
        at = (x.at(point.intensity), y.at(point.tflops))
        taken.append(_Box(at[0] - 7, at[1] - 7, at[0] + 7, at[1] + 7))
    for roof in roofs:  # no label lies on a flat roof
        height = y.at(roof.tflops)
        taken.append(_Box(x.at(roof.ridge) - 4, height - 3, x.end, height + 3))
    for point in points:
        at = (x.at(point.intensity), y.at(point.tflops))
        colour = colours[point.group]
        lines.append(_circle(at, colour, point.filled))
        lines.append(_label(point.label, at, colour, x, taken))
    for roof, colour in zip(roofs, _cycle(_ROOFS, len(roofs)), strict=True):
        at = (x.at(roof.ridge), y.at(roof.tflops))
        lines.append(
            f'<rect x="{at[0] - 3:.1f}" y="{at[1] - 3:.1f}" width="6" height="6" fill="{colour}"/>'
        )
        lines.append(_label(f"ridge {roof.ridge:.3g} FLOP/byte", at, colour, x, taken))
    return lines


def _label(text: str, at: tuple[float, float], colour: str, x: _Axis, taken: list[_Box]) -> str:
    """Beside the point, at the first place that is free; the place is then taken."""
    width = len(text) * _CHARACTER
    places = [(dx, dy) for dy in (0, -_LINE, _LINE, -2 * _LINE, 2 * _LINE) for dx in (10, -10)]
    chosen, anchor = None, "start"
    for dx, dy in places:
        left = at[0] + dx if dx > 0 else at[0] + dx - width
        box = _Box(left, at[1] + dy - 8, left + width, at[1] + dy + 6)
        inside = box.left >= x.begin and box.right <= x.end
        if inside and not any(box.meets(other) for other in taken):
            chosen, anchor = box, "start" if dx > 0 else "end"
            break
    if chosen is None:
        left = min(max(at[0] + 10, x.begin), x.end - width)
        chosen = _Box(left, at[1] - 8, left + width, at[1] + 6)
    taken.append(chosen)
    from_x = chosen.left if anchor == "start" else chosen.right
    return _text(from_x, chosen.top + 12, text, colour, anchor)


def _legend(roofs: Sequence[PlotRoof], points: Sequence[PlotPoint]) -> list[str]:
    left, top = WIDTH - RIGHT + 16, TOP + 8
    lines = []
    for roof, colour in zip(roofs, _cycle(_ROOFS, len(roofs)), strict=True):
        dash = "6 4" if roof.dashed else ""
        lines.append(_line((left, top - 4), (left + 22, top - 4), colour, 2.0, dash))
        lines.append(_text(left + 28, top, roof.label, _INK))
        rates = f"{roof.tflops:.4g} TFLOP/s, {roof.gbps:.4g} GB/s"
        lines.append(_text(left + 28, top + _LINE, rates, _SOFT))
        top += 2 * _LINE + 8
    sources = {True: "filled: the plan's own work", False: "hollow: by the counters"}
    for filled in dict.fromkeys(point.filled for point in points):
        lines.append(_circle((left + 11, top - 4), _SOFT, filled))
        lines.append(_text(left + 28, top, sources[filled], _INK))
        top += _LINE + 4
    return lines


def _colours(points: Sequence[PlotPoint]) -> dict[str, str]:
    groups = list(dict.fromkeys(point.group for point in points))
    return dict(zip(groups, _cycle(_POINTS, len(groups)), strict=True))


def _cycle(colours: Sequence[str], count: int) -> list[str]:
    return [colours[number % len(colours)] for number in range(count)]


def _power(power: int) -> str:
    if -3 <= power <= 4:
        return f"{10.0**power:g}"
    return f"1e{power}"


def _line(
    begin: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    width: float = 1.0,
    dash: str = "",
) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
    )


def _circle(at: tuple[float, float], colour: str, filled: bool) -> str:
    fill = colour if filled else "#ffffff"
    return (
        f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="5" fill="{fill}" '
        f'stroke="{colour}" stroke-width="2"/>'
    )


def _text(
    x: float, y: float, text: str, colour: str = _INK, anchor: str = "start", more: str = ""
) -> str:
    extra = f" {more}" if more else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{extra}>'
        f"{escape(text)}</text>"
    )


def _document(title: str, body: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
    )
    heading = (
        f'<text x="{LEFT}" y="24" fill="{_INK}" font-size="14" font-weight="bold">'
        f"{escape(title)}</text>"
    )
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head, ground, heading, *body, "</svg>"]) + "\n"
