"""The interpreter against results of the same kernels on an H200, element by element."""

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("cuda.tile", reason="cuTile is not installed")

from tests.kernel.cutile.kernels import PLANS, run  # noqa: E402
from tests.kernel.cutile.recorded import CASES, FILE, digest, fixed_inputs  # noqa: E402

pytestmark = pytest.mark.kernel
WITHIN_ONE_STEP = 0.99


def recorded() -> dict[str, Any]:
    loaded: dict[str, Any] = torch.load(FILE, weights_only=True)
    return loaded


def ordered(tensor: Any) -> Any:
    """16-bit floats as whole numbers in the order of their values: neighbours differ by 1."""
    bits = tensor.contiguous().view(torch.int16).int()
    return torch.where(bits < 0, -(bits & 0x7FFF), bits)


def test_the_order_of_floats_counts_steps() -> None:
    values = torch.tensor([-1.0, -0.0, 0.0, 1.0, 1.0078125], dtype=torch.bfloat16)
    steps = ordered(values)
    assert (steps[4] - steps[3]).item() == 1  # 1 and the next bf16
    assert steps[1] == steps[2] == 0
    assert steps[0] == -steps[3]


@pytest.mark.parametrize("version", CASES)
def test_results_are_those_of_the_gpu(version: str) -> None:
    """Within one step of the element type on 99 %, and 1e-2 + 1 % everywhere."""
    entry = recorded()[version]
    plan = PLANS[version](**CASES[version])
    inputs, result = run(plan, inputs=fixed_inputs(plan))
    assert digest(inputs) == entry["inputs"]
    on_gpu = entry["output"]
    assert result.shape == on_gpu.shape and result.dtype == on_gpu.dtype
    steps = (ordered(result) - ordered(on_gpu)).abs()
    near = result.float() - on_gpu.float()
    assert (near.abs() <= 1e-2 + 1e-2 * on_gpu.float().abs()).all()
    assert (steps <= 1).float().mean().item() >= WITHIN_ONE_STEP
