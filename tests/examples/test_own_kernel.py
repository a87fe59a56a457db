"""The kernels of `examples/own_kernel` are found by their file, and checked.

Triton decides when it is imported whether it interprets, so its kernel runs in a fresh process.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mla_var3.core.errors import MachineCannot
from mla_var3.core.locate import find
from mla_var3.core.plan import stages_of
from mla_var3.measure.check import check_plan
from mla_var3.measure.check_cost import refuse_slow_cpu

FOLDER = Path(__file__).parents[2] / "examples" / "own_kernel"
SOFTMAX, NORM = "row_softmax_triton.py:RowSoftmax", "rms_norm_torch.py:RmsNorm"


def plan_of(name: str) -> Any:
    """The plan's class; skips without its language."""
    language = "triton" if "triton" in name else "torch"
    if importlib.util.find_spec(language) is None:
        pytest.skip(f"{language} is not installed")
    return find(str(FOLDER / name))


def in_fresh_process(code: str, **environment: str) -> str:
    """What Python prints for `code`."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.kernel
@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize(
    "sizes",
    [{"rows": 33, "columns": 77}, {"rows": 1, "columns": 1}, {"rows": 5, "columns": 9, "eps": 0.5}],
)
def test_the_torch_norm_passes_its_check(sizes: dict[str, Any], dtype: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    verdict = check_plan(plan_of(NORM)(**sizes, dtype=dtype), "cpu", seed=2)
    assert verdict.passed, verdict.detail
    elements = sizes["rows"] * sizes["columns"]
    assert verdict.detail == f"all {elements} elements compared; seed 2, cpu"


@pytest.mark.kernel
def test_the_triton_softmax_passes_its_check_in_the_interpreter() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    plan_of(SOFTMAX)
    code = f"""
from mla_var3.core.locate import find
from mla_var3.measure.check import check_plan
kind = find({str(FOLDER / SOFTMAX)!r})
for dtype in ("bf16", "fp16", "fp32"):
    for columns in (1, 1025):
        print(check_plan(kind(rows=2, columns=columns, dtype=dtype), "cpu", 2).detail)
"""
    lines = in_fresh_process(code, TRITON_INTERPRET="1").splitlines()
    sizes = (2, 2050) * 3
    assert lines == [f"all {size} elements compared; seed 2, cpu" for size in sizes]


@pytest.mark.kernel
def test_a_triton_that_compiles_says_how_to_run_on_the_cpu() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    plan_of(SOFTMAX)
    code = f"""
from mla_var3.core.errors import MachineCannot
from mla_var3.core.locate import find
from mla_var3.measure.check import check_plan
try:
    check_plan(find({str(FOLDER / SOFTMAX)!r})(rows=1, columns=1), "cpu", 2)
except MachineCannot as error:
    print(error)
"""
    assert "with TRITON_INTERPRET=1" in in_fresh_process(code, TRITON_INTERPRET="0")


@pytest.mark.kernel
def test_references_by_hand() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    norm = plan_of(NORM)(rows=1, columns=2, eps=1.5)
    result = norm.reference_fn(torch.tensor([[3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    size = (25 / 2 + 1.5) ** 0.5
    assert result[0].tolist() == pytest.approx([3 / size, 40 / size])
    weights = plan_of(SOFTMAX)(rows=1, columns=2).reference_fn(torch.tensor([[0.0, 1.0]]))
    assert weights[0].tolist() == pytest.approx([1 / (1 + 2.718281828), 2.718281828 / 3.718281828])


@pytest.mark.kernel
def test_their_tilings_and_work() -> None:
    softmax = plan_of(SOFTMAX)(rows=3, columns=5)
    (kernel,) = stages_of(softmax.plan_empty())
    assert kernel.grid == (3,)
    assert kernel.cost.flops == sum(4 + 5 + 5 + 4 + 5 for _row in range(3))
    assert (kernel.cost.read_bytes, kernel.cost.write_bytes) == (30, 30)
    tiling = type(softmax.tiling("row_softmax"))
    assert tiling(tile=64).validate(softmax)
    assert not tiling(tile=96).validate(softmax)
    norm = plan_of(NORM)(rows=3, columns=5, dtype="fp32")
    assert norm._algorithmic_flops_bytes().flops == sum(5 + 4 + 10 + 3 for _row in range(3))
    assert norm._algorithmic_flops_bytes().read_bytes == 4 * (15 + 5)


@pytest.mark.kernel
def test_the_full_size_is_too_much_for_the_interpreter() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(MachineCannot, match=r"row_softmax at .* \d+ min .*: try --rows=") as caught:
        refuse_slow_cpu(plan_of(SOFTMAX)())
    typed = dict(re.findall(r"--(rows|columns)=(\d+)", str(caught.value)))
    refuse_slow_cpu(plan_of(SOFTMAX)(**{name: int(value) for name, value in typed.items()}))


def test_the_readme_names_what_is_there() -> None:
    text = (FOLDER / "README.md").read_text()
    named = set(re.findall(r"examples/own_kernel/(\S+\.py):(\w+)", text))
    assert named == {("row_softmax_triton.py", "RowSoftmax"), ("rms_norm_torch.py", "RmsNorm")}
    assert {path.name for path in FOLDER.glob("*.py")} == {file for file, _ in named}
    options = set(re.findall(r"--(\w+)", text)) - {"check", "help"}
    assert options <= {"rows", "columns", "tile"}


@pytest.mark.kernel
def test_loading_a_plan_does_not_load_torch() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    code = (
        "import sys; from mla_var3.core.locate import find; "
        f"find({str(FOLDER / NORM)!r})().plan_empty(); print('torch' in sys.modules)"
    )
    assert in_fresh_process(code) == "False"
