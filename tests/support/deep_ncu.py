"""A run of ncu mode on a pretended H200: a fake ncu hands out a recorded full report."""

from pathlib import Path
from typing import Any

from tests.support.annotating import H200
from tests.support.fake_ncu import COPY, FakeNcu

from mla_var3.runtime.profiling.ncu import NcuOptions

WORKER = """
folder = report.parent
(folder / "worker.json").write_text({result!r})
(folder / "worker-ranges.json").write_text({seen!r})
for name, text in {files!r}.items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
"""
"""What the measuring child would have left beside the report."""


def options(ncu: FakeNcu, **more: Any) -> NcuOptions:
    """Options that lead to a fake ncu."""
    fields: dict[str, Any] = {"gpu": H200, "environment": ncu.environment}
    return NcuOptions(**fields | more)


def with_worker(
    folder: Path,
    report: Path,
    result: str = "{}",
    seen: str = "{}",
    files: dict[str, str] | None = None,
) -> FakeNcu:
    """An ncu that hands out `report`, and whose program has left its own files too."""
    copy = COPY.format(names=("kernel",), report=str(report))
    left = WORKER.format(result=result, seen=seen, files=files or {})
    return FakeNcu(folder, copy + left)
