"""Errors a user can act on. Each is one line: what, why, what to do next; and one exit code.

MlaError
├── BadArgument          2   wrong option, or a mode that is not usable for this plan
│   └── NotFound         2   a path or name that does not exist
├── MachineCannot        3   no GPU, tool, package or permission here
├── KernelFailed         4   the kernel failed or gave wrong results
├── NoUsableData         5   the tool ran, or the file opened, but nothing usable came of it
│   └── UnreadableFile   5   begins with its own word: EMPTY, NOT_A_REPORT, WRONG_TYPE, …
├── Unreliable           6   measurement unreliable
├── OutOfTime            7   time limit
└── NotComparable       12   two results that must not be compared
"""

from typing import ClassVar, Literal

ReportFault = Literal[
    "EMPTY", "NOT_A_REPORT", "WRONG_TYPE", "TRUNCATED", "NO_KERNELS", "NO_METRICS", "TOO_LARGE"
]


class MlaError(Exception):
    """Base of all errors that are shown as one line. `exit_code` is what the process returns."""

    exit_code: ClassVar[int] = 1


class BadArgument(MlaError):
    exit_code = 2


class NotFound(BadArgument):
    pass


class MachineCannot(MlaError):
    exit_code = 3


class KernelFailed(MlaError):
    exit_code = 4


class NoUsableData(MlaError):
    exit_code = 5


class UnreadableFile(NoUsableData):
    """A file that cannot be shown as a report; the message begins with `fault`."""

    def __init__(self, fault: ReportFault, why: str) -> None:
        super().__init__(f"{fault} {why}")
        self.fault = fault


class Unreliable(MlaError):
    exit_code = 6


class OutOfTime(MlaError):
    exit_code = 7


class NotComparable(MlaError):
    exit_code = 12


class ContradictoryRecord(ValueError):
    """A record that says two things that cannot both be true: a defect of the caller."""
