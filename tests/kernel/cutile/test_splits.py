"""Wave quantisation against figures worked out by hand."""

import pytest

from mla_var3.kernel.cutile.splits import choose_splits, without_empty


@pytest.mark.parametrize(
    ("blocks", "key_tiles", "sms", "expected"),
    [
        (64, 64, 132, 2),  # 64 of 132 SMs in use: 128 with two splits
        (128, 64, 132, 1),  # one wave of 128; two splits would be two waves of half the length
        (192, 64, 132, 2),  # two waves; three waves of a half are 1.5
        (320, 64, 132, 2),  # 3 waves; 5 / 2 = 2.5
        (1024, 64, 132, 1),  # 8 waves, 97 % full
        (64, 64, 108, 5),  # 3 waves of a fifth, 0.60 · 1.12; three splits: 0.67 · 1.06
        (1, 4, 132, 2),  # t = 200: two tiles each
        (1, 3, 132, 1),  # a split would have one tile
        (1, 1, 132, 1),
    ],
)
def test_splits_fill_the_sms(blocks: int, key_tiles: int, sms: int, expected: int) -> None:
    assert choose_splits(blocks, key_tiles, sms) == expected


def test_no_split_is_empty() -> None:
    for key_tiles in range(1, 40):
        for wanted in range(1, 40):
            splits = without_empty(wanted, key_tiles)
            each = -(-key_tiles // splits)
            assert 1 <= splits <= wanted
            assert (splits - 1) * each < key_tiles <= splits * each
