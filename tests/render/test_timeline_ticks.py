"""Times of an axis, by hand."""

from mla_var3.render.timeline_ticks import ticks


def test_ticks_are_round_and_at_most_nine():
    assert list(ticks(1_000_000)) == [
        (0.0, "0 µs"),
        (200_000.0, "200 µs"),
        (400_000.0, "400 µs"),
        (600_000.0, "600 µs"),
        (800_000.0, "800 µs"),
        (1_000_000.0, "1000 µs"),
    ]
    assert [label for _, label in ticks(40)] == [f"{time} ns" for time in range(0, 41, 5)]
    assert [label for _, label in ticks(9_000_000_000)][-1] == "8 s"
