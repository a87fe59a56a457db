"""Runs a kernel block after block over CPU tensors."""

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from mla_var3.kernel.cutile.arguments import TileCall, constant_parameters
from mla_var3.kernel.cutile.hooks import TileCalls, python_function
from mla_var3.kernel.cutile.interpreter import (
    NotValidCuTile,
    UnsupportedInInterpreter,
    elementwise,
    memory,
    whole_tiles,
)
from mla_var3.kernel.cutile.interpreter.tiles import Array, Tile

AXES = 3


class _Block(TileCalls):
    """Answers the calls of the block that runs."""

    def __init__(self, grid: tuple[int, ...]) -> None:
        self.grid = grid + (1,) * (AXES - len(grid))
        self.index: tuple[int, ...] = (0,) * AXES
        self.operations: dict[str, Callable[..., Any]] = {
            **elementwise.OPERATIONS,
            **whole_tiles.OPERATIONS,
            **memory.OPERATIONS,
            "bid": lambda axis: self.index[axis],
            "num_blocks": lambda axis: self.grid[axis],
        }

    def call(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        operation = self.operations.get(name)
        if operation is None:
            raise UnsupportedInInterpreter(f"ct.{name}")
        try:
            return operation(*args, **kwargs)
        except TypeError:
            _refuse_unknown_keywords(name, operation, args, kwargs)
            raise


def run_kernel(call: TileCall) -> None:
    """Run every block of the call on its CPU tensors, one after the other."""
    function = python_function(call.function)
    arguments = _arguments(call)
    block = _Block(call.grid)
    axes = (range(size) for size in reversed(block.grid))
    with torch.no_grad(), one_thread(), block.as_current():
        for index in itertools.product(*axes):
            block.index = tuple(reversed(index))
            function(*arguments)


@contextmanager
def one_thread() -> Iterator[None]:
    """Tiles are too small to share: more threads would mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _arguments(call: TileCall) -> list[Any]:
    """Tensors as arrays, floats as float32 scalars; constants and whole numbers as they are."""
    constant = constant_parameters(call.function)
    if len(constant) != len(call.arguments):
        raise NotValidCuTile(f"{len(call.arguments)} arguments for {len(constant)} parameters")
    found: list[Any] = []
    for value, is_constant in zip(call.arguments, constant, strict=True):
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                raise NotValidCuTile(f"the interpreter takes CPU tensors, not {value.device}")
            found.append(Array(value))
        elif isinstance(value, float) and not is_constant:
            found.append(Tile(torch.tensor(value, dtype=torch.float32)))
        elif isinstance(value, bool | int | float):
            found.append(value)
        else:
            raise UnsupportedInInterpreter(f"an argument of type {type(value).__name__}")
    return found


def _refuse_unknown_keywords(
    name: str,
    operation: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """`UnsupportedInInterpreter` naming what the operation does not take; else nothing."""
    parameters = inspect.signature(operation).parameters
    unknown = [keyword for keyword in kwargs if keyword not in parameters]
    if unknown:
        raise UnsupportedInInterpreter(f"ct.{name}({unknown[0]}=…)")
    positional = [p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(positional):
        raise UnsupportedInInterpreter(f"ct.{name} with {len(args)} arguments")
