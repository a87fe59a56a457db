"""Names in the first column of a table: cut to fit, and still telling the rows apart."""

import random

import pytest

from mla_var3.render.layout import distinct_names


def test_names_that_fit_or_differ_at_once_are_cut_at_their_end() -> None:
    long = "vectorized_elementwise_kernel#2"
    assert distinct_names(["latent", long], 18) == {
        "latent": "latent",
        long: "vectorized_elem…#2",
    }


def test_names_that_begin_alike_show_where_they_differ() -> None:
    names = [
        "nvjet_sm90_tss_512x8_64",
        "nvjet_sm90_tss_64x64_64",
        "nvjet_sm90_tss_512x8_64#3",
        "nvjet_sm90_tss_64x64_64#3",
        "softmax",
    ]
    assert list(distinct_names(names, 18).values()) == [
        "nvjet_…512x8_64",
        "nvjet_…64x64_64",
        "nvjet_…512x8_64#3",
        "nvjet_…64x64_64#3",
        "softmax",
    ]


def test_a_difference_that_does_not_fit_is_numbered() -> None:
    names = ["a" * 30 + "b", "a" * 30 + "c"]
    assert list(distinct_names(names, 12).values()) == ["aaa…aaaaaaa…", "aaa…aaaaa…~2"]


def test_one_name_reads_alike_everywhere() -> None:
    assert distinct_names(["latent", "latent"], 4) == {"latent": "lat…"}


@pytest.mark.parametrize("seed", range(20))
def test_no_two_names_read_alike_and_all_fit(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        width = rng.randint(8, 20)
        stems = ("".join(rng.choices("ab_", k=rng.randint(1, 30))) for _ in range(7))
        names = {stem + rng.choice(("", "#2", "#13")) for stem in stems}
        shown = distinct_names(sorted(names), width)
        assert set(shown) == names
        assert len(set(shown.values())) == len(names)
        assert all(len(text) <= width for text in shown.values())
