"""Library kernels as users meet them: long template names, one name with several grids, NVTX."""

import sys

import torch
from torch.cuda import nvtx


def main(repeats: int) -> None:
    torch.manual_seed(0)
    big = torch.randn(1 << 27, device="cuda", dtype=torch.bfloat16)  # 256 MiB
    small = torch.randn(1000, device="cuda", dtype=torch.bfloat16)
    x = torch.randn(16384, 8192, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(8192, device="cuda", dtype=torch.bfloat16)
    a8, b8 = (torch.randn(8192, 8192, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    q = torch.randn(64, 128, 1, 128, device="cuda", dtype=torch.bfloat16)
    kv = torch.randn(64, 128, 2048, 128, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for _ in range(repeats):
        with nvtx.range("elementwise"):
            big.add(1.0)
            small.add(1.0)
        with nvtx.range("norm"):
            torch.nn.functional.layer_norm(x, (8192,), w)
        with nvtx.range("fp8 matmul"):
            torch._scaled_mm(a8, b8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        with nvtx.range("decode bmm"):
            torch.matmul(q, kv.transpose(-1, -2))
        with nvtx.range("cumsum"):
            torch.cumsum(x.float()[:64], dim=-1)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
