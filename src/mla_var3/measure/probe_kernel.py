"""Launches one empty kernel by the driver's library alone, for a profiler to look at.

`python -m mla_var3.measure.probe_kernel [INDEX]`; prints `launched`, else the call that failed and
its code, and exits with 1. Source of the names: https://docs.nvidia.com/cuda/cuda-driver-api.
"""

import ctypes
import sys

NAME = "mla_probe"
_MAJOR, _MINOR = 75, 76


def ptx(capability: tuple[int, int]) -> str:
    """The kernel as text that a driver compiles for any newer GPU."""
    # 7.5 is the oldest that a driver of CUDA 13 takes; older GPUs have older drivers.
    version, target = ("6.3", "sm_75") if capability >= (7, 5) else ("6.0", "sm_50")
    head = f".version {version}\n.target {target}\n.address_size 64\n"
    return f"{head}.visible .entry {NAME}()\n{{\n    ret;\n}}\n"


def launch(index: int) -> None:
    """Launch it and wait; `OSError` without a driver, `RuntimeError` names the call that failed."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    major, minor = ctypes.c_int(), ctypes.c_int()

    def call(name: str, *arguments: object) -> None:
        code = getattr(cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} gave {code}")

    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), index)
    call("cuDeviceGetAttribute", ctypes.byref(major), _MAJOR, device)
    call("cuDeviceGetAttribute", ctypes.byref(minor), _MINOR, device)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    image = ctypes.c_char_p(ptx((major.value, minor.value)).encode())
    call("cuModuleLoadData", ctypes.byref(module), image)
    call("cuModuleGetFunction", ctypes.byref(function), module, NAME.encode())
    sizes = [ctypes.c_uint(size) for size in (1, 1, 1, 32, 1, 1, 0)]
    call("cuLaunchKernel", function, *sizes, None, None, None)
    call("cuCtxSynchronize")


def main(words: list[str]) -> int:
    """The exit code."""
    try:
        launch(int(words[0]) if words else 0)
    except (OSError, RuntimeError) as error:
        sys.stdout.write(f"{error}\n")
        return 1
    sys.stdout.write("launched\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
