"""The whole way from an invented clock to the word, in numbers: how often it is wrong.

In full (`--full`) 500 comparisons a row; else few, with the bounds of so few.
"""

import pytest
from tests.support.compare_simulation import many
from tests.support.noise import MODELS

FEW = 30
FULL = 500


@pytest.fixture
def trials(pytestconfig: pytest.Config) -> int:
    return FULL if pytestconfig.getoption("--full", default=False) else FEW


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_equal_kernels_are_called_equal(model: str, trials: int) -> None:
    """At most one wrong word of 500."""
    found = many(model, 0.0, trials).words
    assert found["faster"] + found["slower"] + found["unreliable"] <= (1 if trials == FULL else 0)
    assert found["no change"] >= 0.95 * trials


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("effect", "word"), [(0.015, "slower"), (-0.015, "faster")])
def test_a_change_of_one_and_a_half_percent_is_found(
    model: str, effect: float, word: str, trials: int
) -> None:
    found = many(model, effect, trials)
    assert found.words[word] >= 0.99 * trials
    assert found.quads < 15


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_half_a_percent_is_no_change(model: str, trials: int) -> None:
    found = many(model, 0.005, trials).words
    assert found["no change"] >= 0.95 * trials


@pytest.mark.slow
def test_a_penalty_for_running_after_the_other_is_no_change(trials: int) -> None:
    """1.2 % on every leg that follows the other side's: a fixed order would call B slower."""
    found = many("all", 0.0, trials, penalty=0.012).words
    assert found["no change"] >= 0.99 * trials
    assert found["slower"] + found["faster"] == 0


def test_a_second_build_that_differs_is_noticed() -> None:
    """The check that the others rest on can fail: A again is 2 % slower in every trial."""
    found = many("all", 0.0, 10, again=1.02).words
    assert found["unreliable"] == 10
