"""torch and the compilers of the kernels, each by a small job in a child of its own."""

import sys
from dataclasses import replace

from mla_var3.core.doctor import Check
from mla_var3.core.locate import is_installed, missing_package
from mla_var3.core.target import arch
from mla_var3.kernel.cutile.toolkit import find_tool
from mla_var3.measure.probe_kernel import ptx
from mla_var3.runtime.doctor.probing import Advice, Machine, check, failed, last_line, limit, run

ARCH = "sm_90"
"""What is compiled for where there is no GPU."""
_TORCH_GPU = (
    "import torch; x = torch.ones(8, device='cuda:{index}'); assert x.sum().item() == 8; "
    "print(torch.__version__)"
)
_TORCH_CPU = "import torch; assert torch.ones(8).sum().item() == 8; print(torch.__version__)"
_STATIC = (
    *("run", "flash_attention", "--language=cutile", "--b=1", "--s=16", "--t=256"),
    "--prof_type=static",
)


def torch(machine: Machine) -> Check:
    """Whether torch computes, on the GPU where there is one."""
    if not is_installed("torch"):
        return failed("torch", missing_package("torch"))
    machine.step("torch")
    gpu = machine.gpu
    code = _TORCH_GPU.format(index=gpu.index) if gpu else _TORCH_CPU
    done = run(machine, [sys.executable, "-c", code], limit("probe_s"), "torch.log")
    where = "the GPU" if gpu else "this CPU"
    if done.returncode:
        advice = Advice("install a torch that fits the driver (pytorch.org)")
        return check("torch", "FIX", f"does not compute on {where}: {last_line(done)}", advice)
    return check("torch", "ok", f"{last_line(done)} computes on {where}")


def compilers(machine: Machine) -> tuple[Check, ...]:
    """The compiler of cuTile with the tools that read machine code, Triton, and ptxas."""
    target = arch(machine.gpu.capability) if machine.gpu else ARCH
    found = [_cutile(machine, target), _ptxas(machine, target)]
    if is_installed("triton"):
        found.insert(1, _triton(machine, target))
    return tuple(one for one in found if one is not None)


def _cutile(machine: Machine, target: str) -> Check:
    """A kernel of ours, compiled in a child as `mla run --prof_type=static` does."""
    if not is_installed("cutile"):
        return failed("compilers", missing_package("cutile"))
    machine.step("tileiras on one kernel")
    place = machine.folder / "static"
    command = [sys.executable, "-m", "mla_var3", *_STATIC, f"--target={target}"]
    command += [f"--out_dir={place}"]
    done = run(
        _with(machine, "MLA_COMPILE_CACHE", "off"), command, limit("compile_s"), "cutile.log"
    )
    cubins = list(place.glob("compiled/*/*.cubin"))
    if done.returncode or not cubins:
        advice = Advice("python -m pip install 'mla_var3[cutile]'")
        return check("compilers", "FIX", f"cuTile: {last_line(done)}", advice)
    lacking = [name for name in ("cuobjdump", "nvdisasm") if find_tool(name) is None]
    if lacking or not list(place.glob("compiled/*/*.sass")):
        text = f"cuTile compiles for {target}; no {' and no '.join(lacking or ['SASS listing'])}"
        advice = Advice("python -m pip install 'cuda-toolkit[cuobjdump,nvdisasm]'")
        return check("compilers", "warn", text, advice)
    return check("compilers", "ok", f"tileiras, cuobjdump and nvdisasm: one kernel for {target}")


def _triton(machine: Machine, target: str) -> Check:
    machine.step("triton on one kernel")
    command = [sys.executable, "-m", "mla_var3.measure.triton_probe", target.removeprefix("sm_")]
    apart = _with(machine, "TRITON_CACHE_DIR", str(machine.folder / "triton"))
    done = run(apart, command, limit("compile_s"), "triton.log")
    said = next((line.split() for line in done.tail if line.startswith("triton ")), None)
    if done.returncode or said is None:
        advice = Advice("python -m pip install 'mla_var3[triton]'")
        return check("triton", "FIX", f"does not compile: {last_line(done)}", advice)
    return check("triton", "ok", f"{said[1]}: one kernel for {target}")


def _ptxas(machine: Machine, target: str) -> Check | None:
    """Of the toolkit; only where there is one: nothing here needs it."""
    tool = find_tool("ptxas")
    if tool is None:
        return check("ptxas", "n/a", "no CUDA toolkit here; no kernel of ours needs it")
    source = machine.folder / "probe.ptx"
    source.write_text(ptx((9, 0)), encoding="ascii")
    command = [str(tool), f"-arch={target}", str(source), "-o", str(machine.folder / "probe.cubin")]
    done = run(machine, command, limit("probe_s"), "ptxas.log")
    if done.returncode:
        advice = Advice("install a CUDA toolkit that knows this architecture")
        return check("ptxas", "warn", f"fails for {target}: {last_line(done)}", advice)
    return check("ptxas", "ok", f"one kernel for {target}")


def _with(machine: Machine, name: str, value: str) -> Machine:
    """With one more variable for its children."""
    return replace(machine, environment=dict(machine.environment) | {name: value})
