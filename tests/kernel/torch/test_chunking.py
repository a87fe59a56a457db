"""Chunks cover everything once and stay within the workspace: by arithmetic, without torch."""

from collections import Counter
from dataclasses import replace

import pytest

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import MlaPlan
from mla_var3.kernel.torch.chunking import MB, Workspace, chunks
from mla_var3.kernel.torch.mla.flash_attention import FlashAttention, FlashAttentionTiling
from mla_var3.kernel.torch.mla.flash_mla import FlashMla, FlashMlaTiling

FULL_SIZE = ({"s": 1}, {"s": 16}, {"s": 4096}, {"s": 16384, "t": 16384, "b": 2})


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 5, 4), (1, 3, 4), (1, 2, 3), (9, 9, 9)])
def test_chunks_hold_every_query_of_every_head_exactly_once(size: tuple[int, int, int]) -> None:
    plan = FlashMla(b=2, h=5, s=4, t=7)
    seen = Counter(
        (b, h, s)
        for bs, hs, ss in chunks(plan, size)
        for b in range(bs.start, bs.stop)
        for h in range(hs.start, hs.stop)
        for s in range(ss.start, ss.stop)
    )
    assert seen == Counter((b, h, s) for b in range(2) for h in range(5) for s in range(4))


@pytest.mark.parametrize("sizes", FULL_SIZE)
@pytest.mark.parametrize("kind", [FlashAttention, FlashMla])
def test_a_chunk_of_a_full_size_problem_stays_within_one_gigabyte(
    kind: type[MlaPlan], sizes: dict[str, int]
) -> None:
    plan = kind(**sizes)
    size = plan.workspace().chunk_size(plan, 1024 * MB)
    assert plan.workspace().bytes(*size) <= 1 << 30
    assert all(1 <= n <= most for n, most in zip(size, (plan.b, plan.h, plan.s), strict=True))


def test_the_workspace_of_latent_attention_by_hand() -> None:
    plan = FlashMla(b=4, s=3, t=100, h=8, d=16, k=32, p=8)
    # A latent of 100 x 32 float32; a query: 100 scores of 10 bytes, (32 + 8 + 32) float32 twice.
    assert plan.workspace() == Workspace(100 * 32 * 4, 0, 100 * 10 + 2 * 72 * 4)
    assert plan.workspace().bytes(2, 8, 3) == 2 * (12800 + 24 * 1576)


def test_the_workspace_of_decompressed_attention_by_hand() -> None:
    plan = FlashAttention(b=4, s=3, t=100, h=8, d=16, k=32, p=8)
    assert plan.workspace() == Workspace(100 * 8 * 4, 100 * 16 * 4, 100 * 10 + 4 * (16 + 8 + 16))


def test_queries_are_split_last_and_heads_before_sequences() -> None:
    plan = FlashMla(b=4, s=3, t=100, h=8)
    needs = Workspace(sequence_bytes=100, head_bytes=10, query_bytes=5)
    one_head, one_sequence = 100 + 10 + 3 * 5, 100 + 8 * (10 + 3 * 5)
    assert needs.chunk_size(plan, 4 * one_sequence) == (4, 8, 3)
    assert needs.chunk_size(plan, 4 * one_sequence - 1) == (3, 8, 3)
    assert needs.chunk_size(plan, one_sequence - 1) == (1, 7, 3)
    assert needs.chunk_size(plan, one_head) == (1, 1, 3)
    assert needs.chunk_size(plan, one_head - 1) == (1, 1, 2)
    assert needs.chunk_size(plan, 115) == (1, 1, 1)
    with pytest.raises(BadArgument, match="workspace_mb"):
        needs.chunk_size(plan, 114)


def test_a_workspace_that_cannot_hold_one_query_does_not_validate() -> None:
    small, enough = FlashMlaTiling(workspace_mb=8), FlashMlaTiling(workspace_mb=9)
    plan = FlashMla(t=4096)  # 8 MB of latents as float32, and a little
    assert not small.validate(plan)
    assert enough.validate(plan)
    assert not FlashAttentionTiling(workspace_mb=1).validate(FlashAttention(t=1 << 20))


def test_another_workspace_is_another_tiling_of_the_same_problem() -> None:
    plan = FlashMla(b=2, t=300)
    changed = plan.with_tilings({"flash_mla": FlashMlaTiling(workspace_mb=3)})
    assert changed.tilings() == {"flash_mla": FlashMlaTiling(workspace_mb=3)}
    assert plan.tilings() == {"flash_mla": FlashMlaTiling(workspace_mb=1024)}
    assert replace(changed, chosen=()) == plan
    assert changed.params() == plan.params()
    with pytest.raises(BadArgument, match="no stage 'latent'"):
        plan.with_tilings({"latent": FlashMlaTiling()})
    with pytest.raises(BadArgument, match="not a tiling of stage"):
        plan.with_tilings({"flash_mla": FlashAttentionTiling()})
