"""Comparisons on invented clocks, through the real measuring and the real verdict.

`python -m tests.support.compare_simulation --trials=500` prints the table of the evidence.
"""

import argparse
from collections import Counter
from typing import NamedTuple

from tests.support.noise import BASE_NS, MODELS, NoisyDevice, NoisyTimer

from mla_var3.analyse.comparison import judge
from mla_var3.core.comparison import Comparison, Conditions, Floors, Shape, Side
from mla_var3.core.comparison_verdict import ShapeVerdict
from mla_var3.measure import quads

SETTINGS = quads.settings()
FLOOR = Floors(least_pct=SETTINGS["floor_pct"])
WHERE = Conditions(tool="event", gpu="invented", cache="cold", seed=0)
EFFECTS = (0.0, 0.005, 0.01, 0.0125, 0.015, -0.015, 0.02, -0.02, 0.03)


class Outcome(NamedTuple):
    """Of some trials: how often each word was said, and how many quads a trial took."""

    words: Counter[str]
    quads: float


def one(
    model: str, effect: float, seed: int, penalty: float = 0.0, again: float = 1.0
) -> ShapeVerdict:
    """One comparison of A with B, which is `effect` slower, and of A with itself `again`."""
    device = NoisyDevice(model, seed, penalty)
    builds = (NoisyTimer(device, factor) for factor in (1.0, 1.0 + effect, again))
    pair = quads.Pair(*builds)
    run = quads.take(pair, quads.Task(SETTINGS, FLOOR.pct, BASE_NS))
    comparison = Comparison(
        created="",
        a=Side(label="A", kernel="a"),
        b=Side(label="B", kernel="b"),
        shapes=(Shape(a=WHERE, b=WHERE, runs=(run,)),),
        floors=FLOOR,
        settings=SETTINGS,
    )
    return judge(comparison).shapes[0]


def many(
    model: str, effect: float, trials: int, penalty: float = 0.0, again: float = 1.0
) -> Outcome:
    """Trials with the seeds 0, 1, 2, …"""
    words: Counter[str] = Counter()
    taken = 0
    for seed in range(trials):
        verdict = one(model, effect, seed, penalty, again)
        words[verdict.word] += 1
        taken += verdict.time.n if verdict.time else 0
    return Outcome(words, taken / trials)


def table(trials: int) -> list[str]:
    """The words in percent of the trials, by model and true change, as Markdown."""
    words = ("faster", "slower", "no change", "inconclusive", "unreliable")
    lines = [f"| noise | true change | {' | '.join(words)} | quads |", "|---" * 8 + "|"]
    for model in MODELS:
        lines += [_row(model, effect, trials, words, 0.0) for effect in EFFECTS]
    lines.append(_row("all", 0.0, trials, words, 0.012))
    return lines


def _row(model: str, effect: float, trials: int, words: tuple[str, ...], penalty: float) -> str:
    found = many(model, effect, trials, penalty)
    cells = " | ".join(f"{100 * found.words[word] / trials:.1f}" for word in words)
    switched = f", {100 * penalty:.1f} % after a switch" if penalty else ""
    return f"| {model}{switched} | {100 * effect:+.2f} % | {cells} | {found.quads:.1f} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=500)
    print("\n".join(table(parser.parse_args().trials)))
