"""mla_var3: a profiling workbench that takes a GPU kernel to the reason it is slow."""

from mla_var3.core.plan import (
    ConcurrentKernels,
    Cost,
    Kernel,
    KernelPipeline,
    KernelPlan,
    MlaPlan,
    Tensor,
    Tiling,
    problem,
)
from mla_var3.core.record import Profile
from mla_var3.core.record_file import load_profile

__version__ = "0.1.0"
__all__ = [
    "ConcurrentKernels",
    "Cost",
    "Kernel",
    "KernelPipeline",
    "KernelPlan",
    "MlaPlan",
    "Profile",
    "Tensor",
    "Tiling",
    "__version__",
    "load_profile",
    "problem",
]
