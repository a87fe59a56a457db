"""Which code a plan is: its own file, and every file of kernels that it imports."""

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from mla_var3.core.plan import KernelPlan

_RENAMED = "_at_"


def source_sha256(plan: type[KernelPlan]) -> str:
    """Hash of the plan's file as its own tree holds it; empty where there is none."""
    try:
        return hashlib.sha256(_text(Path(inspect.getfile(plan)), plan.__module__)).hexdigest()
    except (OSError, TypeError):
        return ""


def code_sha256(plan: type[KernelPlan]) -> str:
    """Hash of the plan's file and of all kernel files that it imports, by module and content.

    The name that an exported revision is loaded under does not count, so that the same code has the
    same hash. Empty where there is no source.
    """
    try:
        first = Path(inspect.getfile(plan)).resolve()
    except (OSError, TypeError):
        return ""
    root = first.parent
    package = plan.__module__.split(".")
    if "kernel" in package:
        root = first.parents[len(package) - package.index("kernel") - 2]
    digest = hashlib.sha256()
    for file in sorted(_files(plan.__module__, first, root)):
        name = file.relative_to(root).as_posix().encode()
        digest.update(name + b"\0" + _text(file, plan.__module__) + b"\0")
    return digest.hexdigest()


def _text(file: Path, module: str) -> bytes:
    """The file, without the name that an exported revision's package was given."""
    package = module.partition(".")[0]
    text = file.read_bytes()
    return text.replace(package.encode(), b"mla_var3") if _RENAMED in package else text


def _files(module: str, file: Path, root: Path) -> set[Path]:
    """The file and what it imports from below `root`, and so on."""
    found = {file}
    waiting = [(module, file)]
    while waiting:
        own, path = waiting.pop()
        for name in _imports(own, path):
            loaded = getattr(sys.modules.get(name), "__file__", None)
            other = Path(loaded).resolve() if loaded else None
            if other and other not in found and other.is_relative_to(root):
                found.add(other)
                waiting.append((name, other))
    return found


def _imports(module: str, file: Path) -> Iterator[str]:
    """Names that a file imports, of modules and of what might be one."""
    if file.suffix != ".py":
        return
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
