"""The only file that touches private parts of cuda.tile, and the versions they were seen in."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import cuda.tile as ct
from cuda.tile._dispatch_mode import DispatchMode

from mla_var3.core.errors import MachineCannot

SUPPORTED = ((1, 7), (1, 8))
"""From the first version on, below the second: `DispatchMode`, `kernel._pyfunc` and the entries of
the compiler's cache have this form there."""


def check_version(version: str = ct.__version__) -> None:
    """Raise `MachineCannot` for a cuda-tile whose private parts may be different."""
    words = re.match(r"(\d+)\.(\d+)", version)
    found = tuple(map(int, words.groups())) if words else (0, 0)
    lowest, highest = SUPPORTED
    if not lowest <= found < highest:
        wanted = f">={lowest[0]}.{lowest[1]},<{highest[0]}.{highest[1]}"
        raise MachineCannot(
            f"cuda-tile {version} is not one of those known here ({wanted}): "
            f"python -m pip install 'cuda-tile[tileiras]{wanted}'"
        )


def python_function(kernel: Any) -> Callable[..., None]:
    """The Python function under `@ct.kernel`."""
    check_version()
    function: Callable[..., None] = kernel._pyfunc
    return function


class TileCalls(DispatchMode):  # type: ignore[misc]  # cuda.tile is not type-checked
    """While current, calls of `ct.<name>(…)` outside a GPU come to `call`."""

    def call_tile_function_from_host(
        self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return self.call(func.__name__, args, kwargs)

    def call(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of `ct.<name>(*args, **kwargs)`."""
        raise NotImplementedError


def compiler_remarks(symbol: str) -> str:
    """The compiler's remarks (YAML) on the entry of this name that its cache used last.

    Raises `LookupError` with the reason where there are none.
    """
    from cuda.tile._cext import default_tile_context
    from cutile_cache._cache import cache_entries

    folder = default_tile_context.config.cache_dir
    if folder is None or not os.path.isdir(folder):
        raise LookupError("the compiler keeps remarks in its cache, which is off")
    for entry in cache_entries(folder, 20):
        if entry.metadata.kernel_names == [symbol]:
            if entry.metadata.remarks:
                return str(entry.metadata.remarks)
            raise LookupError("this compiler gives no remarks: they need tileiras 13.4")
    raise LookupError("the compiler's cache holds no remarks for this kernel")
