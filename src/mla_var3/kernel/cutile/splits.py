"""How many blocks share the keys of one row tile: wave quantisation."""

from mla_var3.kernel.cutile.tilings import tiles_over

MOST = 32
LEAST_TILES = 2
"""Key tiles of a split: one tile alone would not overlap with the loading of another."""
COST_OF_A_SPLIT = 0.03
"""Writing, reading and combining one more partial result, as a share of the time of one wave."""


def choose_splits(blocks: int, key_tiles: int, sms: int, blocks_an_sm: int = 1) -> int:
    """Splits with the shortest time: whole waves of `blocks` · n blocks, each 1 / n as long.

    No split is empty.
    """
    slots = sms * blocks_an_sm
    times = {
        n: tiles_over(blocks * n, slots) / n * (1 + COST_OF_A_SPLIT * (n - 1))
        for n in range(1, max(1, min(MOST, key_tiles // LEAST_TILES)) + 1)
    }
    best = min(times, key=lambda n: (round(times[n], 6), n))
    return without_empty(best, key_tiles)


def without_empty(splits: int, key_tiles: int) -> int:
    """Splits that are left when each takes the same number of tiles and none is empty."""
    return tiles_over(key_tiles, tiles_over(key_tiles, min(splits, key_tiles)))
