"""Compiles a stage for an architecture into files, on any machine, without a driver."""

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cuda.tile as ct

from mla_var3.core.errors import KernelFailed, MachineCannot
from mla_var3.core.plan import CompiledStage
from mla_var3.kernel.cutile.arguments import TileCall, signature
from mla_var3.kernel.cutile.cubin import count_opcodes, read_resources
from mla_var3.kernel.cutile.hooks import compiler_remarks
from mla_var3.kernel.cutile.ptx import ptx_of
from mla_var3.kernel.cutile.remarks import in_words, without_directories
from mla_var3.kernel.cutile.toolkit import (
    compiler_version,
    find_tool,
    missing_tool,
    run_tool,
)

CACHE = Path(".cache") / "cutile-static"
"""Finished folders by the hash of what they come from; `MLA_COMPILE_CACHE` names another place,
`off` none. The compiler's own cache (`CUDA_TILE_CACHE_DIR`) serves launches too."""
FORMAT = "2"
SUMMARY = "compiled.json"


def compile_to_files(call: TileCall, folder: Path, arch: str) -> CompiledStage:
    """Write kernel.tilebc, .mlir, .ptx, .cubin, .sass, resources.txt, remarks.yaml into `folder`.

    What a missing tool would have given is in `missing` with the line that installs the tool.
    Raises `MachineCannot` without a compiler and `KernelFailed` where the kernel does not compile.
    """
    if find_tool("tileiras") is None:
        raise MachineCannot(missing_tool("tileiras"))
    bytecode = _export(call, arch, "tileir_bytecode")
    kept = _cache_folder(bytecode, call, arch)
    if kept is not None and (kept / SUMMARY).is_file():
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        (folder / SUMMARY).unlink()
        summary = json.loads((kept / SUMMARY).read_text(encoding="utf-8"))
        tuples = {name: tuple(summary[name]) for name in ("files", "remarks")}
        return CompiledStage(**summary | tuples)
    compiled = _compile(call, bytecode, folder, arch)
    if kept is not None:
        _keep(folder, kept, compiled)
    return compiled


def _compile(call: TileCall, bytecode: bytes, folder: Path, arch: str) -> CompiledStage:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.tilebc").write_bytes(bytecode)
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(_export(call, arch, "cubin"))
    files, missing = ["kernel.tilebc", "kernel.cubin"], {}

    def write(name: str, make: Callable[[], str]) -> str:
        """The text that was written; empty, with a reason kept, where it cannot be made."""
        try:
            text = make()
        except (MachineCannot, LookupError) as error:
            missing[name] = str(error.args[0])
            return ""
        (folder / name).write_text(text, encoding="utf-8")
        files.append(name)
        return text

    write("kernel.mlir", lambda: run_tool("tileirdisasm", str(folder / "kernel.tilebc")))
    write("kernel.ptx", lambda: ptx_of(cubin.read_bytes()))
    listing = write("kernel.sass", lambda: run_tool("nvdisasm", "-c", str(cubin)))
    usage = write("resources.txt", lambda: run_tool("cuobjdump", "-res-usage", str(cubin)))
    symbol = signature(call).symbol or ""
    remarks = write("remarks.yaml", lambda: without_directories(compiler_remarks(symbol)))
    try:
        elf = run_tool("cuobjdump", "-elf", str(cubin))
    except MachineCannot:
        elf = ""
    needs = read_resources(usage, elf)
    reason = missing.get("resources.txt", "")
    figures = ("registers", "spill_bytes", "static_shared_bytes", "threads", "barriers")
    return CompiledStage(
        arch=arch,
        files=tuple(sorted(files)),
        registers=needs.registers,
        spill_bytes=needs.spill_bytes,
        static_shared_bytes=needs.shared_bytes,
        dynamic_shared_bytes=None if needs.shared_bytes is None else 0,
        threads=needs.threads,
        barriers=needs.barriers,
        opcodes=count_opcodes(listing),
        remarks=in_words(remarks),
        missing=missing | (dict.fromkeys(figures, reason) if reason else {}),
    )


def _export(call: TileCall, arch: str, output_format: str) -> bytes:
    """The bytecode or the cubin, as a launch would compile it."""
    out = io.BytesIO()
    try:
        ct.compilation.export_kernel(
            call.kernel, [signature(call)], out, gpu_code=arch, output_format=output_format
        )
    except ct.TileError as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise KernelFailed(f"cuTile does not compile it for {arch}: {first}") from error
    return out.getvalue()


def _cache_folder(bytecode: bytes, call: TileCall, arch: str) -> Path | None:
    """Where the finished folder is kept: same code, hints, target and tools, same folder."""
    place = os.environ.get("MLA_COMPILE_CACHE", "")
    if place == "off":
        return None
    tools = [str(find_tool(name)) for name in ("cuobjdump", "nvdisasm", "tileirdisasm")]
    hints = repr(sorted(call.hints.items()))
    words = [FORMAT, ct.__version__, compiler_version(), arch, hints, *tools]
    key = hashlib.sha256("\n".join(words).encode() + bytecode).hexdigest()[:32]
    return (Path(place) if place else CACHE) / key


def _keep(folder: Path, kept: Path, compiled: CompiledStage) -> None:
    """Copy the finished folder to the cache in one step; a cache that cannot be written is none."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as beside:
            whole = Path(beside) / "whole"
            whole.mkdir()
            for name in compiled.files:
                shutil.copy2(folder / name, whole / name)
            summary: dict[str, Any] = asdict(compiled)
            (whole / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
            whole.rename(kept)
    except OSError:
        pass
