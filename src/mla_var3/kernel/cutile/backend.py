"""cuTile's two questions (is it there, can it run here), and how a stage is launched."""

import importlib.util
from collections.abc import Callable

from mla_var3.kernel.cutile.arguments import TileCall

DEFAULT_SMS = 132
"""SMs that grids are made for where no CUDA device is in use: an H200's."""


def is_available() -> bool:
    """Whether cuda.tile can be imported."""
    try:
        return importlib.util.find_spec("cuda.tile") is not None
    except (ImportError, ValueError):
        return False


def can_run(device: str) -> bool:
    """Whether kernels run on `cuda:0`, or on `cpu` in the interpreter."""
    if not is_available() or importlib.util.find_spec("torch") is None:
        return False
    if device == "cpu":
        return True
    import torch

    return device.startswith("cuda") and torch.cuda.is_available()


def launcher(call: TileCall) -> Callable[[], None] | None:
    """What runs the call once: `ct.launch` for CUDA tensors, the interpreter for CPU tensors.

    None where the arguments are specs.
    """
    tensors = call.tensors
    if not tensors:
        return None
    if any(tensor.is_cuda for tensor in tensors):
        return lambda: launch(call)
    return lambda: interpret(call)


def launch(call: TileCall) -> None:
    """Launch on torch's current stream of the tensors' device, without waiting."""
    import cuda.tile as ct
    import torch

    stream = torch.cuda.current_stream(call.tensors[0].device)
    ct.launch(stream, call.grid, call.kernel, call.arguments)


def interpret(call: TileCall) -> None:
    """Run on the CPU; see `interpreter`."""
    from mla_var3.kernel.cutile.interpreter.run import run_kernel

    run_kernel(call)


def sm_count(tensor: object) -> int:
    """SMs of the CUDA device that a tensor lies on; `DEFAULT_SMS` for the CPU and for specs."""
    if not getattr(tensor, "is_cuda", False):
        return DEFAULT_SMS
    import torch

    properties = torch.cuda.get_device_properties(tensor.device)  # type: ignore[attr-defined]
    return int(properties.multi_processor_count)
