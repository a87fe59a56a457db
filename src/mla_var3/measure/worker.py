"""`python -m mla_var3.measure.worker SPEC.json`: the child that runs a plan to measure it.

It needs the standard library, msgspec and the kernel's language, and imports no profiler. What goes
wrong is one line on stderr, the same in `worker-error.json`, and the exit code of its kind.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from mla_var3.core import errors
from mla_var3.core.errors import MlaError, NoUsableData
from mla_var3.measure.worker_spec import WorkerSpec, read_spec

ERROR = "worker-error.json"
"""In the job's folder: why the child ended without a result."""


class WorkerError(msgspec.Struct, frozen=True):
    """The class of `core.errors` and its message."""

    kind: str
    message: str


def main(words: list[str]) -> int:
    """Do the job of one spec; the exit code."""
    if len(words) != 1:
        sys.stderr.write("usage: python -m mla_var3.measure.worker SPEC.json\n")
        return errors.BadArgument.exit_code
    folder: Path | None = None
    try:
        spec = read_spec(Path(words[0]))
        folder = Path(spec.out_dir)
        task(spec)
    except MlaError as error:
        _report(error, folder)
        return error.exit_code
    except RuntimeError as error:
        if "CUDA" not in str(error) and type(error).__name__ != "OutOfMemoryError":
            raise
        from mla_var3.measure.events import failure

        told = failure(error)  # the device's faults show wherever it is waited for
        _report(told, folder)
        return told.exit_code
    return 0


def task(spec: WorkerSpec) -> None:
    """Run the job's task; each lives in a file of its own, which is imported only here."""
    tasks: dict[str, Callable[[WorkerSpec], None]] = {
        "event": _event,
        "ranges": _ranges,
        "operators": _operators,
        "timeline": _timeline,
        "compare": _compare,
        "race": _race,
    }
    tasks[spec.task](spec)


def raise_error(folder: Path) -> None:
    """Raise what a child reported in its folder; nothing where it reported nothing."""
    file = folder / ERROR
    if not file.is_file():
        return
    try:
        found = msgspec.json.decode(file.read_bytes(), type=WorkerError)
    except msgspec.MsgspecError as error:
        raise NoUsableData(f"{ERROR} of the measuring child is damaged: {error}") from error
    kind = getattr(errors, found.kind, MlaError)
    is_plain = (
        isinstance(kind, type)
        and issubclass(kind, MlaError)
        and kind.__init__ is (Exception.__init__)
    )
    raise (kind if is_plain else MlaError)(found.message)


def _event(spec: WorkerSpec) -> None:
    from mla_var3.measure.worker_event import measure

    measure(spec)


def _ranges(spec: WorkerSpec) -> None:
    from mla_var3.measure.worker_ranges import run_ranges

    run_ranges(spec)


def _operators(spec: WorkerSpec) -> None:
    from mla_var3.measure.operators import run_operators

    run_operators(spec)


def _timeline(spec: WorkerSpec) -> None:
    from mla_var3.measure.worker_timeline import run_timeline

    run_timeline(spec)


def _compare(spec: WorkerSpec) -> None:
    from mla_var3.measure.worker_compare import compare

    compare(spec)


def _race(spec: WorkerSpec) -> None:
    from mla_var3.measure.worker_race import race

    race(spec)


def _report(error: MlaError, folder: Path | None) -> None:
    kind = next(
        (name for cls in type(error).__mro__ if getattr(errors, (name := cls.__name__), None)),
        "MlaError",
    )
    sys.stderr.write(f"{error}\n")
    if folder is not None and folder.is_dir():
        found = WorkerError(kind, str(error))
        (folder / ERROR).write_bytes(msgspec.json.encode(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
