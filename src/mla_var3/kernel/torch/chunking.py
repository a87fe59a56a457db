"""Eager attention in chunks of sequences, heads and queries: a bounded workspace at any size."""

from collections.abc import Iterator
from dataclasses import dataclass

from mla_var3.core.errors import BadArgument
from mla_var3.core.plan import MlaPlan, Tiling, problem

SCORE_BYTES = 10
"""Workspace of one score: two float32 matrices at a time, or weights in both types; the mask."""
FLOAT_BYTES = 4
MB = 1 << 20

Chunk = tuple[slice, slice, slice]
"""Sequences, heads, queries."""


@dataclass(frozen=True, order=True)
class ChunkTiling(Tiling):
    """How much memory the intermediate results may take: what decides the size of a chunk."""

    workspace_mb: int = problem(1024, "memory for intermediate results", "MB")


@dataclass(frozen=True)
class Workspace:
    """Bytes that a chunk needs: for each sequence, each head of it, and each query of a head."""

    sequence_bytes: int
    head_bytes: int
    query_bytes: int

    def bytes(self, sequences: int, heads: int, queries: int) -> int:
        """Bytes of a chunk of this size."""
        by_head = self.head_bytes + queries * self.query_bytes
        return sequences * (self.sequence_bytes + heads * by_head)

    def chunk_size(self, plan: MlaPlan, limit: int) -> tuple[int, int, int]:
        """Most sequences, heads and queries within `limit` bytes: queries first, then heads."""
        smallest = self.bytes(1, 1, 1)
        if smallest > limit:
            raise BadArgument(
                f"--workspace_mb={limit // MB}: one query needs {-(-smallest // MB)} MB"
            )
        fixed = self.sequence_bytes + self.head_bytes
        queries = min(plan.s, (limit - fixed) // self.query_bytes)
        by_head = self.head_bytes + queries * self.query_bytes
        heads = min(plan.h, (limit - self.sequence_bytes) // by_head)
        whole = heads == plan.h and queries == plan.s
        sequences = min(plan.b, limit // self.bytes(1, heads, queries)) if whole else 1
        return sequences, heads, queries


def fits(workspace: Workspace, tiling: ChunkTiling) -> bool:
    """Whether the smallest chunk fits the tiling's workspace."""
    return workspace.bytes(1, 1, 1) <= tiling.workspace_mb * MB


def chunks(plan: MlaPlan, size: tuple[int, int, int]) -> Iterator[Chunk]:
    """Every (sequence, head, query) of the plan once, in chunks of at most `size`."""
    sequences, heads, queries = size
    for b in range(0, plan.b, sequences):
        for h in range(0, plan.h, heads):
            for s in range(0, plan.s, queries):
                yield (
                    slice(b, min(b + sequences, plan.b)),
                    slice(h, min(h + heads, plan.h)),
                    slice(s, min(s + queries, plan.s)),
                )
