"""A stage of a plan from one cuTile call."""

from functools import partial
from typing import Any

from mla_var3.core.plan import Kernel
from mla_var3.kernel.cutile.arguments import TileCall
from mla_var3.kernel.cutile.backend import launcher
from mla_var3.kernel.cutile.compile import compile_to_files
from mla_var3.kernel.cutile.interpreter.cost import TileWork, estimate_seconds


def tile_stage(call: TileCall, work: TileWork, **fields: Any) -> Kernel:
    """The stage that launches and compiles `call`; `fields` are the others of `Kernel`."""
    return Kernel(
        grid=call.grid,
        launch=launcher(call),
        compile_to_files=partial(compile_to_files, call),
        cpu_seconds=estimate_seconds(work),
        **fields,
    )
