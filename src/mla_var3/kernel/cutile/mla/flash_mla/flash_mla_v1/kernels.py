"""The two kernels of version 1: partial results over splits of the keys, and their combination."""

from typing import Any

import cuda.tile as ct

from mla_var3.kernel.cutile.parameters import ZERO, Flag, Size
from mla_var3.kernel.cutile.softmax import HIDDEN, LEAST_SUM, divide, hide, weigh


def load_chunks(
    array: Any, place: Any, rows: Any, chunk: Any, chunks: Any, latency: Any, tma: Any
) -> Any:
    """`chunks` tiles [rows, chunk] side by side; the columns beyond the array are 0."""
    return tuple(
        ct.load(
            array, (*place, c), (1, rows, chunk), padding_mode=ZERO, latency=latency, allow_tma=tma
        ).reshape((rows, chunk))
        for c in ct.static_iter(range(chunks))
    )


def score(query: Any, query_rope: Any, z: Any, z_rope: Any, chunks: Any) -> Any:
    """Unscaled scores [rows, keys]."""
    scores = ct.full((query_rope.shape[0], z_rope.shape[0]), 0.0, dtype=ct.float32)
    for c in ct.static_iter(range(chunks)):
        scores = ct.mma(query[c], ct.transpose(z[c]), scores)
    return ct.mma(query_rope, ct.transpose(z_rope), scores)


def add_weighted(parts: Any, rescale: Any, weights: Any, z: Any, chunks: Any) -> Any:
    """parts · rescale + weights z, chunk by chunk [rows, chunk]."""
    narrow = weights.astype(z[0].dtype)
    return tuple(ct.mma(narrow, z[c], parts[c] * rescale) for c in ct.static_iter(range(chunks)))


@ct.kernel
def latent_attention(
    q_latent: Any,  # [b, s * h, k]
    q_rope: Any,  # [b, s * h, p]
    latent: Any,  # [b, t, k]
    k_rope: Any,  # [b, t, p]
    out: Any,  # [splits, b, s * h, k]
    lse: Any,  # [splits, b, s * h], base 2
    scale: float,
    history: int,  # t - s: keys before the new ones
    heads: Size,
    splits: Size,
    rows: Size,
    keys: Size,
    chunk: Size,
    chunks: Size,
    rope: Size,
    causal: Flag,
    latency: Size,
    tail_tma: Flag,
) -> None:
    row_tile, b, split = ct.bid(0), ct.bid(1), ct.bid(2)
    t = latent.shape[1]
    query = load_chunks(q_latent, (b, row_tile), rows, chunk, chunks, None, None)
    (query_rope,) = load_chunks(q_rope, (b, row_tile), rows, rope, 1, None, None)
    limit, first_limit, last_key = t, t, t
    if causal:
        tokens = (row_tile * rows + ct.arange(rows, dtype=ct.int32)) // heads  # [rows]
        limit = ct.minimum(t, history + 1 + tokens).reshape((rows, 1))
        first_limit = ct.minimum(t, history + 1 + row_tile * rows // heads)
        last_key = ct.minimum(t, history + 1 + (row_tile * rows + rows - 1) // heads)
    share = ct.cdiv(ct.cdiv(t, keys), splits)
    first = split * share
    last = ct.minimum(ct.cdiv(last_key, keys), first + share)
    whole = ct.minimum(first_limit // keys, last)
    top = ct.full((rows, 1), HIDDEN, dtype=ct.float32)
    # Sums stay by column until the end: no exchange between warps in the loop.
    total = ct.full((rows, keys), 0.0, dtype=ct.float32)
    parts = tuple(
        ct.full((rows, chunk), 0.0, dtype=ct.float32) for c in ct.static_iter(range(chunks))
    )
    # Two loops: a mask that depends on the step makes the compiler wait after every HGMMA, so the
    # loop over whole tiles has none. The second loop has the one or two tiles at the end; without
    # TMA there, the first loop has 100 instructions more, moves of its accumulators.
    for j in range(first, whole):
        z = load_chunks(latent, (b, j), keys, chunk, chunks, latency, None)
        (z_rope,) = load_chunks(k_rope, (b, j), keys, rope, 1, latency, None)
        scores = score(query, query_rope, z, z_rope, chunks)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + weights
        parts = add_weighted(parts, rescale, weights, z, chunks)
    for j in range(ct.maximum(first, whole), last):
        z = load_chunks(latent, (b, j), keys, chunk, chunks, 1, tail_tma)
        (z_rope,) = load_chunks(k_rope, (b, j), keys, rope, 1, 1, tail_tma)
        scores = hide(score(query, query_rope, z, z_rope, chunks), j * keys, limit)
        weights, rescale, top = weigh(scores, scale, top)
        total = total * rescale + weights
        parts = add_weighted(parts, rescale, weights, z, chunks)
    sums = ct.maximum(ct.sum(total, axis=-1, keepdims=True), LEAST_SUM)
    for c in ct.static_iter(range(chunks)):
        part = divide(parts[c], sums).astype(out.dtype)
        ct.store(out, (split, b, row_tile, c), part.reshape((1, 1, rows, chunk)))
    row_lse = (top + ct.log2(sums)).reshape((1, 1, rows))
    ct.store(lse, (split, b, row_tile), row_lse, allow_tma=False)


@ct.kernel
def combine(
    parts: Any,  # [splits, b, s * h, k]
    lse: Any,  # [splits, b, s * h], base 2
    out: Any,  # [b, s * h, k]
    splits: Size,
    rows: Size,
    columns: Size,
) -> None:
    row_tile, b, column = ct.bid(0), ct.bid(1), ct.bid(2)
    top = ct.full((rows, 1), HIDDEN, dtype=ct.float32)
    for split in range(splits):
        row_lse = ct.load(lse, (split, b, row_tile), (1, 1, rows), padding_mode=ZERO)
        top = ct.maximum(top, row_lse.reshape((rows, 1)))
    total = ct.full((rows, 1), 0.0, dtype=ct.float32)
    result = ct.full((rows, columns), 0.0, dtype=ct.float32)
    for split in range(splits):
        row_lse = ct.load(lse, (split, b, row_tile), (1, 1, rows), padding_mode=ZERO)
        weight = ct.exp2(row_lse.reshape((rows, 1)) - top, flush_to_zero=True)
        shape = (1, 1, rows, columns)
        part = ct.load(parts, (split, b, row_tile, column), shape, padding_mode=ZERO)
        result = result + part.reshape((rows, columns)).astype(ct.float32) * weight
        total = total + weight
    result = divide(result, total).astype(out.dtype)
    ct.store(out, (b, row_tile, column), result.reshape((1, rows, columns)))
