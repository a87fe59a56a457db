"""The roofline as SVG: roofs, ridge points and stages where arithmetic puts them."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from mla_var3.render.roofline_plot import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    PlotPoint,
    PlotRoof,
    roofline_svg,
)

NS = "{http://www.w3.org/2000/svg}"
ROOF = PlotRoof(label="bf16 dense", tflops=1000.0, gbps=5000.0)
"""Ridge point: 200 FLOP/byte."""


def point(label: str, intensity: float, tflops: float, filled: bool = True) -> PlotPoint:
    group = label.partition(",")[0]
    return PlotPoint(label=label, group=group, intensity=intensity, tflops=tflops, filled=filled)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_a_stage_lies_where_its_figures_say() -> None:
    svg = parsed(roofline_svg("t", [ROOF], [point("k, model", 10.0, 50.0)]))
    circle = next(c for c in svg.iter(f"{NS}circle") if c.get("fill") != "#777777")
    # x: 3 … 600 FLOP/byte become 1 … 1000; y: 16.7 … 1600 TFLOP/s become 10 … 10000
    x = LEFT + (WIDTH - RIGHT - LEFT) * math.log10(10.0) / 3
    y = (HEIGHT - BOTTOM) + (TOP - (HEIGHT - BOTTOM)) * (math.log10(50.0) - 1) / 3
    assert float(circle.get("cx") or 0) == pytest.approx(x, abs=0.06)
    assert float(circle.get("cy") or 0) == pytest.approx(y, abs=0.06)


def test_ridge_points_have_their_unit() -> None:
    svg = parsed(roofline_svg("t", [ROOF], []))
    texts = [node.text for node in svg.iter(f"{NS}text")]
    assert "ridge 200 FLOP/byte" in texts
    assert "arithmetic intensity (FLOP/byte)" in texts and "TFLOP/s" in texts
    assert "1000 TFLOP/s, 5000 GB/s" in texts
    assert "no stage has both FLOPs and bytes" in texts


def test_the_slope_meets_the_flat_roof_at_the_ridge() -> None:
    svg = parsed(roofline_svg("t", [ROOF], [point("k, model", 10.0, 50.0)]))
    slope, flat = [line for line in svg.iter(f"{NS}line") if line.get("stroke-width") == "2"][:2]
    assert (slope.get("x2"), slope.get("y2")) == (flat.get("x1"), flat.get("y1"))
    assert flat.get("y1") == flat.get("y2")


def test_sources_are_told_apart_and_a_stage_keeps_its_colour() -> None:
    points = [
        point("k, model", 10, 50),
        point("k, counters", 11, 50, False),
        point("c, model", 1, 2),
    ]
    svg = parsed(roofline_svg("t", [ROOF], points))
    circles = [c for c in svg.iter(f"{NS}circle") if c.get("stroke") != "#777777"]
    assert [c.get("fill") == c.get("stroke") for c in circles] == [True, False, True]
    assert circles[0].get("stroke") == circles[1].get("stroke") != circles[2].get("stroke")


def test_labels_do_not_lie_on_one_another() -> None:
    points = [point(f"stage{n}, model", 100.0 * 1.01**n, 400.0) for n in range(6)]
    svg = parsed(roofline_svg("t", [ROOF], points))
    places = [
        (node.get("x"), node.get("y"))
        for node in svg.iter(f"{NS}text")
        if re.match(r"stage\d|ridge", node.text or "")
    ]
    assert len(places) == 7 and len(set(places)) == 7


def test_names_are_escaped_and_nothing_is_loaded() -> None:
    svg = roofline_svg("<b>&", [ROOF], [point("a<b>, model", 10, 50)])
    assert "<b>" not in svg and "a&lt;b&gt;" in svg
    assert "href" not in svg and "url(" not in svg
    assert parsed(svg).tag == f"{NS}svg"


def test_without_roofs_it_says_so() -> None:
    assert "no roofs are known for this device" in roofline_svg("t", [], [point("k, model", 1, 1)])


def test_points_without_work_are_left_out() -> None:
    svg = roofline_svg("t", [ROOF], [point("copy, model", 0.0, 0.0), point("k, model", 1, 1)])
    assert "copy, model" not in svg and "k, model" in svg
