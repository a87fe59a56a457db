"""Triton kernels with line information: row softmax, layer norm, a wgmma matmul, a decode gather."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_rows(out, x, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * cols + at, (e / tl.sum(e, 0)).to(tl.bfloat16), mask=at < cols)


@triton.jit
def matmul_pipelined(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles = tl.cdiv(M, BM)
    pm = tl.program_id(0) % tiles
    pn = tl.program_id(0) // tiles
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        right = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def gather_rows(out, table, index, WIDTH: tl.constexpr):
    row = tl.load(index + tl.program_id(0)).to(tl.int64)
    at = tl.arange(0, WIDTH)
    tl.store(out + tl.program_id(0).to(tl.int64) * WIDTH + at, tl.load(table + row * WIDTH + at))


@triton.jit
def transpose_naive(out, x, N, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1)
    tl.store(out + c * N + r, tl.load(x + r * N + c))


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(32768, 4096, device="cuda", dtype=torch.bfloat16)
    softmax_rows[(32768,)](torch.empty_like(x), x, 4096, BLOCK=4096, num_warps=8)

    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    grid = (n // 128 * (n // 256),)
    matmul_pipelined[grid](c, a, b, n, n, n, BM=128, BN=256, BK=64, num_warps=8, num_stages=3)

    table = torch.randn(1 << 22, 64, device="cuda", dtype=torch.bfloat16)  # 512 MiB
    index = torch.randint(0, 1 << 22, (1 << 20,), device="cuda", dtype=torch.int32)
    out = torch.empty(1 << 20, 64, device="cuda", dtype=torch.bfloat16)
    gather_rows[(1 << 20,)](out, table, index, WIDTH=64, num_warps=1)

    m = torch.randn(8192, 8192, device="cuda", dtype=torch.float32)
    t = torch.empty_like(m)
    transpose_naive[(8192 // 256, 8192)](t, m, 8192, BLOCK=256, num_warps=4)
    torch.cuda.synchronize()
    print(torch.equal(t, m.t()), torch.allclose(out, table[index.long()]))


if __name__ == "__main__":
    main()
