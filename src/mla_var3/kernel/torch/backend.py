"""Whether torch is here, and what it can run."""

import importlib.util

INSTALL = 'pip install "mla_var3[torch]"'


def is_available() -> bool:
    """Whether torch is installed; does not load it."""
    return importlib.util.find_spec("torch") is not None


def can_run(device: str) -> bool:
    """Whether eager torch runs on a device such as `cpu` or `cuda:0`: on both kinds."""
    return device.partition(":")[0] in ("cpu", "cuda")
