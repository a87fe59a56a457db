"""Two streams and a join: what a timeline shows of concurrent kernels."""

from mla_var3.kernel.torch.mla.demo_concurrent.demo_concurrent.demo_concurrent import (
    DemoConcurrent,
)

__all__ = ["DemoConcurrent"]
