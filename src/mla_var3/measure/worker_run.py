"""Starts the measuring child for one job, and turns however it ends into a result or an error."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import mla_var3
from mla_var3.core import artifacts
from mla_var3.core.errors import KernelFailed, MlaError, OutOfTime
from mla_var3.measure.child import ChildResult, child_environment, run_child
from mla_var3.measure.worker import raise_error
from mla_var3.measure.worker_spec import WorkerSpec, write_spec

JOB = "worker-job.json"
INTERNAL_ERROR = 1
_PROGRESS = "@progress "
"""Begins a line of the child that is for us, and not for its log."""


def run_worker(
    spec: WorkerSpec, limit_s: float, on_progress: Callable[[int, int], None] | None = None
) -> ChildResult:
    """Run a job to its end; its files lie in the job's folder, its output in `worker.log`.

    Raises what the child reported, `OutOfTime` at the limit, and `KernelFailed` where the child
    died of a signal. `on_progress` is told what is done, and of how much, as the child tells.
    """
    folder = Path(spec.out_dir)
    job = write_spec(spec, folder / JOB)
    log = folder / artifacts.WORKER_LOG
    command = worker_command(job)
    result = run_child(
        command,
        env=worker_environment(),
        cwd=None,
        log=log,
        limit_s=limit_s,
        on_line=lambda line: _progress(line, on_progress),
    )
    job.unlink()  # it names directories of this machine
    _without_progress(log)
    raise_ending(result, folder, limit_s)
    if not log.stat().st_size:
        log.unlink()
    return result


def tell_progress(done: int, total: int) -> None:
    """In the child: say how far it is."""
    sys.stdout.write(f"{_PROGRESS}{done} {total}\n")
    sys.stdout.flush()


def _progress(line: str, told: Callable[[int, int], None] | None) -> None:
    if told is None or not line.startswith(_PROGRESS):
        return
    done, _, total = line.removeprefix(_PROGRESS).partition(" ")
    if done.isdigit() and total.isdigit():
        told(int(done), int(total))


def _without_progress(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(_PROGRESS.encode())]
    if len(kept) < len(lines):
        log.write_bytes(b"".join(kept))


def worker_command(job: Path) -> list[str]:
    """The command that does a job."""
    return [sys.executable, "-m", "mla_var3.measure.worker", str(job)]


def worker_environment() -> dict[str, str]:
    """The child's variables; it finds this very package."""
    root = str(Path(mla_var3.__file__).parent.parent)
    others = [word for word in os.environ.get("PYTHONPATH", "").split(os.pathsep) if word]
    return child_environment({"PYTHONPATH": os.pathsep.join([root, *others])})


def raise_ending(result: ChildResult, folder: Path, limit_s: float) -> None:
    """Raise the error that an ended child stands for; nothing where it did its job."""
    raise_error(folder)
    if result.timed_out:
        raise OutOfTime(
            f"the measuring child did not end within {limit_s:.0f} s and was stopped; give it more "
            "with --limit_s, or a smaller problem"
        )
    if not result.returncode:
        return
    last = next((line.strip() for line in reversed(result.tail) if line.strip()), "no output")
    if result.returncode > 128:
        word = _signal(result.returncode - 128)
        hint = ": out of memory?" if word == "SIGKILL" else ""
        raise KernelFailed(f"the measuring child was ended by {word}{hint}; it said: {last[:200]}")
    if result.returncode == INTERNAL_ERROR:
        raise MlaError(f"the measuring child failed: {last[:300]}")
    raise KernelFailed(f"the measuring child ended with code {result.returncode}: {last[:200]}")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
