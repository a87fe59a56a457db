"""The sweep-lines against arithmetic on sets of nanoseconds, and pair by pair."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from mla_var3.analyse.timeline_spans import between, holes, intersect, length, merge, together

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda one: (one[0], one[0] + one[1])),
    max_size=8,
).map(sorted)


def moments(spans):
    """The nanoseconds that spans cover."""
    return {at for begin, end in spans for at in range(begin, end)}


@given(SPANS)
def test_a_union_covers_the_same_nanoseconds_without_touching_itself(spans):
    merged = merge(spans)
    assert moments(merged) == moments(spans)
    assert length(merged) == len(moments(spans))
    assert all(a[1] < b[0] for a, b in pairwise(merged))


@given(SPANS, SPANS)
def test_an_intersection_holds_what_both_cover(a, b):
    assert moments(intersect(merge(a), merge(b))) == moments(a) & moments(b)


@given(SPANS, st.integers(0, 70), st.integers(0, 30))
def test_holes_and_parts_share_out_a_stretch(spans, begin, size):
    end = begin + size
    stretch, covered = set(range(begin, end)), moments(spans)
    assert moments(holes(merge(spans), begin, end)) == stretch - covered
    assert moments(between(merge(spans), begin, end)) == stretch & covered


@given(st.lists(SPANS, max_size=5))
def test_the_sweep_tells_pairs_and_counts_as_sets_do(lanes):
    sets = [moments(spans) for spans in lanes]
    met = together([merge(spans) for spans in lanes])
    pairs = {
        (a, b): len(sets[a] & sets[b])
        for a, b in combinations(range(len(lanes)), 2)
        if sets[a] & sets[b]
    }
    assert met.pairs == pairs
    counts: dict[int, int] = {}
    for at in set().union(*sets):
        number = sum(at in own for own in sets)
        counts[number] = counts.get(number, 0) + 1
    assert met.by_count == counts


def test_what_touches_does_not_overlap():
    assert together([[(0, 5)], [(5, 9)]]).pairs == {}
    assert together([[(0, 5)], [(4, 9)]]).pairs == {(0, 1): 1}
