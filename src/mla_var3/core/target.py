"""What `static` compiles for: a product of the device table, or a bare architecture."""

import re
from typing import NamedTuple

from mla_var3.core.device import Device, Devices
from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import nearest

DEFAULT = "NVIDIA H200"
"""Where there is neither a CUDA device nor a `--target`."""

_VENDOR = re.compile(r"^(nvidia|geforce)-")


class Target(NamedTuple):
    """An architecture `sm_90` and its compute capability `9.0`; `device` None: no product."""

    arch: str
    capability: str
    device: Device | None
    driver_sms: int | None = None
    """SMs as the driver tells; None: there is no such device here, or it does not."""

    @property
    def name(self) -> str:
        """The product's exact name, or the architecture."""
        return self.device.name if self.device else self.arch

    @property
    def sm_count(self) -> int | None:
        """SMs as the driver tells, else as the table says; None: not known."""
        return self.driver_sms or (self.device.sm_count if self.device else None)


def find_target(word: str, devices: Devices, capabilities: tuple[str, ...]) -> Target:
    """The target of `NVIDIA H200`, `h200`, `rtx-5090` or `sm_90`.

    Raises `BadArgument` with the nearest name, and where a short name fits several products.
    """
    exact = devices.find(word)
    if exact is not None:
        return of_device(exact)
    known = {short_name(device.name): device for device in devices}
    short = short_name(word)
    if short in known:
        return of_device(known[short])
    archs = {arch(capability): capability for capability in capabilities}
    if word in archs:
        return Target(word, archs[word], None)
    fitting = [name for name in known if name.startswith(f"{short}-")]
    if len(fitting) == 1:
        return of_device(known[fitting[0]])
    if fitting:
        raise BadArgument(f"--target={word} may be {' or '.join(fitting)}: choose one")
    near = nearest(short, known) or nearest(word, archs)
    listed = ", ".join([*(name for name in known if len(name) < 12), *archs])
    hint = f"did you mean {near}?" if near else f"there are {listed}, …"
    raise BadArgument(f"no target {word!r}; {hint}")


def of_device(device: Device) -> Target:
    """The target that a product is."""
    return Target(arch(device.compute_capability), device.compute_capability, device)


def of_driver(name: str, capability: str, devices: Devices, sms: int | None = None) -> Target:
    """The target of a device by what its driver says; a product not in the table has no peaks."""
    return Target(arch(capability), capability, devices.find(name), sms)


def short_name(name: str) -> str:
    """`h200` of `NVIDIA H200`, `rtx-5090` of `NVIDIA GeForce RTX 5090`."""
    short = re.sub(r"[\s_-]+", "-", name.strip().lower())
    while _VENDOR.match(short):
        short = _VENDOR.sub("", short)
    return short


def arch(capability: str) -> str:
    """`sm_90` of `9.0`."""
    return f"sm_{capability.replace('.', '')}"
