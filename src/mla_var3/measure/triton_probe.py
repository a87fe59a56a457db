"""Compiles a small Triton kernel for an architecture without a GPU: `… triton_probe 90`.

Prints the version of Triton and the size of the cubin; a failure is Triton's own traceback.
"""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def _add_one(source, target, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(target + at, tl.load(source + at, mask=at < n) + 1.0, mask=at < n)


def main(words: list[str]) -> int:
    """Compile for `sm_<number>`."""
    signature = {"source": "*fp32", "target": "*fp32", "n": "i32", "block": "constexpr"}
    made = ASTSource(fn=_add_one, signature=signature, constexprs={"block": 128})
    compiled = triton.compile(made, target=GPUTarget("cuda", int(words[0]), 32))
    sys.stdout.write(f"triton {triton.__version__} {len(compiled.asm['cubin'])}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
