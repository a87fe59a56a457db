"""Runs cuTile kernels on CPU tensors: every `ct.` call is answered by torch.

It is strict: elements that lie outside an array are NaN unless a padding is asked for, and an
operation or a keyword that it does not know raises `UnsupportedInInterpreter`. Arithmetic rounds
as on the GPU: each result has the type that cuTile promotes to; `mma` multiplies bf16 and fp16
exactly and sums in float32; `astype` rounds to nearest even. float32 `mma` is full float32, as
tileiras compiles it for sm_90 (FMUL and FADD, no TF32). What differs from a GPU is the order of
sums, and the last bits of exp2, log2 and of approximate divisions.
"""

from mla_var3.core.errors import KernelFailed, MachineCannot


class UnsupportedInInterpreter(MachineCannot):
    """The kernel uses something of cuTile that the interpreter does not know; it is named."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not known to the CPU interpreter of cuTile kernels: run it on a GPU"
        )


class NotValidCuTile(KernelFailed):
    """The kernel does what cuTile's compiler refuses: types, shapes."""
