"""The progress line, with a clock and a terminal of our own."""

import io

from mla_var3.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_after_two_seconds_the_time_left_is_told_and_then_removed() -> None:
    now = [100.0]
    terminal = Terminal()
    with Progress("a.ncu-rep", "kernels", terminal, lambda: now[0]) as progress:
        now[0] = 101.9
        progress.update(20, 100)
        assert terminal.getvalue() == ""
        now[0] = 104.0
        progress.update(40, 100)  # 4 s for 40: 6 s for the other 60
        assert terminal.getvalue() == "\ra.ncu-rep: 40 of 100 kernels, 6 s left"
        progress.update(100, 100)
    line = "a.ncu-rep: 40 of 100 kernels, 6 s left"
    assert terminal.getvalue() == f"\r{line}\r{' ' * len(line)}\r"


def test_no_terminal_no_progress() -> None:
    now = [0.0]
    stream = io.StringIO()
    with Progress("a.ncu-rep", "kernels", stream, lambda: now[0]) as progress:
        now[0] = 10.0
        progress.update(40, 100)
    assert stream.getvalue() == ""
