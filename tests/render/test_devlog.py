"""The development log: the spec's block to the letter, and nothing of a person's is ever lost."""

import re
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mla_var3.core.devlog import DevlogEntry, Figure
from mla_var3.render.devlog import update

ENTRY = DevlogEntry(
    kernel="flash_mla",
    section="v1",
    place="NVIDIA H200, bfloat16, b=32, s=16, t=4096",
    figures=(
        Figure("Duration", "1224.14 μs", "27.2% faster"),
        Figure("Achieved TFLOPs/s", "477.16", "+37.4%"),
        Figure("Achieved GB/s", "239.84", "+37.4%"),
        Figure("Occupancy", "16%"),
        Figure("TC Util", "n/a (not read)"),
    ),
    notes=("Taken 2026-12-01 15:07 UTC in mode annotation.", "Previous: base."),
    bottleneck="Memory-bound",
    issues=("latent: shared memory 67.5 %",),
)
BLOCK = """\
**Performance** (NVIDIA H200, bfloat16, b=32, s=16, t=4096):

| Metric            | Value          | vs Previous  |
| ----------------- | -------------- | ------------ |
| Duration          | 1224.14 μs     | 27.2% faster |
| Achieved TFLOPs/s | 477.16         | +37.4%       |
| Achieved GB/s     | 239.84         | +37.4%       |
| Occupancy         | 16%            | --           |
| TC Util           | n/a (not read) | --           |

Taken 2026-12-01 15:07 UTC in mode annotation.

Previous: base.

**Bottleneck**: Memory-bound

**Issues**:
- latent: shared memory 67.5 %

**Insights**:
"""
OTHER = msgspec.structs.replace(
    ENTRY, place=ENTRY.place.replace("s=16", "s=1"), issues=("underfilled",)
)
FASTER = msgspec.structs.replace(
    ENTRY,
    figures=(Figure("Duration", "999.00 μs", "40.6% faster"), *ENTRY.figures[1:]),
    bottleneck="Compute-bound",
    issues=("never shown: the block is there",),
)


def test_the_block_is_the_specs() -> None:
    text = update("", ENTRY)
    assert text.startswith("# flash_mla\n\n")
    assert BLOCK in text
    assert text.index("## v1\n") < text.index("**Performance**")
    assert text.endswith("**Insights**:\n- (to be written by hand: why it worked or did not, "
                         "and what to try next)\n")  # fmt: skip


def test_twice_changes_nothing() -> None:
    once = update("", ENTRY)
    assert update(once, ENTRY) == once
    both = update(once, OTHER)
    assert update(update(both, ENTRY), OTHER) == both


def test_new_figures_replace_old_ones_and_nothing_else() -> None:
    mine = update(update("", ENTRY), OTHER)
    mine = mine.replace("- latent: shared memory 67.5 %", "- P goes through shared memory")
    mine = mine.replace("- (to be written by hand)", "- latent is split over blocks")
    mine = mine.replace("- (to be written by hand: why", "- mine (why", 1)
    new = update(mine, FASTER)
    before, after = Counter(mine.splitlines()), Counter(new.splitlines())
    assert sorted(before - after) == [
        "**Bottleneck**: Memory-bound", "| Duration          | 1224.14 μs     | 27.2% faster |",
    ]  # fmt: skip
    assert sorted(after - before) == [
        "**Bottleneck**: Compute-bound", "| Duration          | 999.00 μs      | 40.6% faster |",
    ]  # fmt: skip
    assert new.count("**Performance**") == mine.count("**Performance**") == 2
    assert new.index("40.6%") < new.index("s=1, t=4096")


def test_sections_stand_by_version() -> None:
    text = ""
    for section in ("v10", "v2", "base", "base (torch)", "v1"):
        text = update(text, msgspec.structs.replace(ENTRY, section=section))
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads == ["base", "base (torch)", "v1", "v2", "v10"]


def test_a_section_by_hand_gets_its_block_and_keeps_its_text() -> None:
    text = (
        "# flash_mla\n\n## v1: split over blocks\n\nProse.\n\n## v2\n\nMore.\n\n## Notes\n\nEnd.\n"
    )
    new = update(text, ENTRY)
    assert new.startswith("# flash_mla\n\n## v1: split over blocks\n\nProse.\n\n**Performance**")
    assert new.endswith("## v2\n\nMore.\n\n## Notes\n\nEnd.\n")
    third = update(text, msgspec.structs.replace(ENTRY, section="v3"))
    assert third.index("## v3") < third.index("## Notes")
    assert update(third, msgspec.structs.replace(ENTRY, section="v3")) == third


def test_prose_inside_a_block_is_kept() -> None:
    text = update("", ENTRY).replace(
        "**Bottleneck**", "Previous attempts failed.\nTaken together: fine.\n\n**Bottleneck**"
    )
    new = update(text, FASTER)
    assert "Previous attempts failed.\nTaken together: fine.\n\n**Bottleneck**: Compute" in new
    assert update(new, FASTER) == new


def test_a_heading_inside_code_is_no_section() -> None:
    text = "# flash_mla\n\n## v1\n\n```\n## v2\n**Performance** (x):\n```\n\ntail\n"
    new = update(text, msgspec.structs.replace(ENTRY, section="v2"))
    assert new.startswith(text)
    assert new.count("\n## v2\n") == 2


def test_line_ends_of_windows_stay() -> None:
    text = update("", ENTRY).replace("\n", "\r\n")
    assert update(text, ENTRY) == text
    new = update(text, FASTER)
    assert "\n" not in new.replace("\r\n", "")


LINES = st.lists(
    st.sampled_from(
        ["prose", "", "- a point", "**Issues**:", "**Insights**:", "| a | table |", "## v0",
         "## v1", "## v2", "### sub", "```", "**Bottleneck**: by hand", "> quote", "    code"]
    ),
    max_size=25,
)  # fmt: skip


@given(LINES)
def test_no_line_of_a_person_is_lost(lines: list[str]) -> None:
    """Every line stays, in its order, where the log has no block of this problem."""
    text = "\n".join(["# flash_mla", *lines, ""])
    new = update(text, ENTRY)
    rest = iter(new.split("\n"))
    assert all(line in rest for line in text.rstrip("\n").split("\n") if line)
    assert new.count("**Performance** (NVIDIA H200, bfloat16, b=32, s=16, t=4096):") == 1
    assert update(new, ENTRY) == new


@pytest.mark.parametrize("text", ["# flash_mla", "no heading at all", "\n\n\n"])
def test_logs_of_any_form(text: str) -> None:
    new = update(text, ENTRY)
    assert BLOCK in new and update(new, ENTRY) == new
