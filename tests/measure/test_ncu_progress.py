"""What is said while ncu replays: which kernel, how much of it, and how long it still takes."""

import sys
from pathlib import Path

from mla_var3.measure.child import Watch, run_child
from mla_var3.measure.ncu_progress import NcuProgress, Replay

DONE = '==PROF== Profiling "{name}" - {number}: 0%....50%....100% - 38 passes'


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_by_the_mean_of_the_launches_that_are_done() -> None:
    clock, steps = Clock(), list[NcuProgress]()
    replay = Replay(steps.append, of=4, clock=clock)
    replay.line("==PROF== Connected to process 4711 (/usr/bin/python3)")
    assert steps == []
    replay.unfinished('==PROF== Profiling "latent" - 0: 0%')
    assert steps == [NcuProgress(1, 4, "latent", 0, None, None)]
    clock.now += 2.0
    replay.unfinished('==PROF== Profiling "latent" - 0: 0%....50%')
    # half a launch took 2 s: the other 3.5 take 14 s
    assert steps[-1] == NcuProgress(1, 4, "latent", 50, None, 14.0)
    replay.line(DONE.format(name="latent", number=0))
    replay.unfinished('==PROF== Profiling "combine" - 1: 0%..')
    assert steps[-1][:5] == (2, 4, "combine", 20, 38)
    assert steps[-1].text == "kernel 2 of 4, combine, 20 % of its 38 passes, about 5 s left"


def test_ncu_s_own_count_is_taken_where_it_tells_one() -> None:
    steps = list[NcuProgress]()
    replay = Replay(steps.append)
    replay.line('==PROF== Profiling "k" - 0 (1/7): 0%....50%....100% - 9 passes')
    replay.unfinished('==PROF== Profiling "k" - 1 (2/7): 0%....5')
    assert [(step.kernel, step.of) for step in steps] == [(1, 7), (2, 7)]
    assert steps[-1].percent == 40


def test_the_most_launches_that_ncu_was_given_are_not_how_many_will_come() -> None:
    """Real line of ncu 2025.3.1 with --launch-count 64, of a program with one launch."""
    line = '==PROF== Profiling "flash_mla_Kt1_A3bf16_3v8l0_4t..." - 0 (1/64): 0%....50%'
    known, unknown = list[NcuProgress](), list[NcuProgress]()
    Replay(known.append, of=1, clock=Clock(), most=64).unfinished(line)
    Replay(unknown.append, clock=Clock(), most=64).unfinished(line)
    assert [(step.kernel, step.of) for step in (*known, *unknown)] == [(1, 1), (1, None)]
    assert unknown[0].left_s is None


def test_more_launches_than_expected_are_no_longer_counted_down() -> None:
    steps = list[NcuProgress]()
    replay = Replay(steps.append, of=1, clock=Clock())
    for number in range(2):
        replay.line(DONE.format(name="k", number=number))
    assert [(step.kernel, step.of, step.left_s is None) for step in steps] == [
        (1, 1, True), (2, None, True),
    ]  # fmt: skip
    assert steps[-1].text == "kernel 2, k, 100 % of its 38 passes"


def test_a_bar_is_followed_while_its_line_grows(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "for part in ('==PROF== Profiling \"k\" - 0: 0%', '....50%', '....100% - 3 passes\\n'):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.15)\n"
    )
    steps = list[NcuProgress]()
    replay = Replay(steps.append)
    result = run_child(
        [sys.executable, "-S", "-c", script], env={}, cwd=None, log=tmp_path / "log", limit_s=20,
        on_line=Watch(replay.line, replay.unfinished),
    )  # fmt: skip
    assert result.returncode == 0
    assert [step.percent for step in steps] == [0, 50, 100]
    assert result.text.endswith("100% - 3 passes\n")
