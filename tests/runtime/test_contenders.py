"""From words to plans: every form of the grammar, and one line for every wrong one."""

import pytest

from mla_var3.core.errors import BadArgument
from mla_var3.runtime.contenders import Contenders, expanded, is_versions, read_word

RIVALS = "tests/support/rival_plans.py"


def found(
    *words: str, language: str | None = None, compiles: bool = False
) -> list[tuple[str, ...]]:
    with Contenders() as contenders:
        each = contenders.find(words, language, compiles)
        return [(c.plan.LANGUAGE, c.plan.__name__, c.label) for c in each]


def test_versions_of_a_kernel_are_taken_from_one_language() -> None:
    """torch has no v1, so neither is taken from torch; --language decides otherwise."""
    pytest.importorskip("cuda.tile")
    assert found("flash_mla", "base", "v1") == [
        ("cutile", "FlashMla", "base"),
        ("cutile", "FlashMlaV1", "v1"),
    ]
    with pytest.raises(BadArgument, match="flash_mla has no version 'v1' in torch"):
        found("flash_mla", "base", "v1", language="torch")


def test_the_same_twice_is_numbered() -> None:
    assert found("flash_mla", "base", "v0", language="torch") == [
        ("torch", "FlashMla", "base"),
        ("torch", "FlashMla", "base #2"),
    ]


def test_languages_are_told_where_they_differ() -> None:
    pytest.importorskip("cuda.tile")
    assert found("torch:flash_mla", "cutile:flash_mla:v1") == [
        ("torch", "FlashMla", "torch base"),
        ("cutile", "FlashMlaV1", "cutile v1"),
    ]


def test_own_plans_are_told_by_their_class() -> None:
    assert found(f"{RIVALS}:Twice", f"{RIVALS}:Slow", f"{RIVALS}:Twice") == [
        ("torch", "Twice", "Twice"),
        ("torch", "Slow", "Slow"),
        ("torch", "Twice", "Twice #2"),
    ]


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        (["flash_mla", "base", "v1"], True),
        (["flash_mla", "v1@HEAD~3", "v1"], True),
        (["flash_mal", "base", "v1"], True),
        (["flash_mla", "torch:flash_mla"], False),
        (["flash_mla", "flash_attention"], False),
        (["torch:flash_mla", "v1"], False),
        (["flash_mla"], False),
        (["a.py", "b.py"], False),
    ],
)
def test_which_form_it_is(words: list[str], versions: bool) -> None:
    assert is_versions(words) is versions


def test_versions_are_spelled_out() -> None:
    assert expanded(["flash_mla", "base", "v1@a:b"]) == ["flash_mla:base", "flash_mla:v1@a:b"]
    assert expanded(["x.py", "y.py"]) == ["x.py", "y.py"]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("flash_mla", ("flash_mla", None, None, "", False)),
        ("flash_mla:v1", ("flash_mla", "v1", None, "", False)),
        ("torch:flash_mla", ("flash_mla", None, "torch", "", False)),
        ("cutile:flash_mla:v1@HEAD~3", ("flash_mla", "v1", "cutile", "HEAD~3", False)),
        ("flash_mla:v1@user/branch:x", ("flash_mla", "v1", None, "user/branch:x", False)),
        ("flash_mal:v1", ("flash_mal", "v1", None, "", False)),
        ("my.mod:Plan", ("my.mod:Plan", None, None, "", True)),
        ("dir@2/plan.py:Plan", ("dir@2/plan.py:Plan", None, None, "", True)),
    ],
)
def test_what_a_word_says(word: str, parts: tuple[object, ...]) -> None:
    assert tuple(read_word(word)) == parts


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("flash_mal", "base", "v1"), "no kernel 'flash_mal'; did you mean flash_mla"),
        (("flash_mla", "base", "v2"), "no version 'v2'.*did you mean v1"),
        (("torch:flash_mla:v1",), "flash_mla has no version 'v1' in torch"),
        (("torch:a:b:c", "x"), "cannot read 'torch:a:b:c'"),
        (("flash_mla", "v1@", "v1"), "no revision after @"),
        (("my.mod:Plan@HEAD", "x.py"), "@REV is for kernels of mla_var3 itself"),
        ((f"{RIVALS}:Tvice",), "no KernelPlan 'Tvice' in the file; did you mean Twice"),
        (("nothing.py",), "NOT_FOUND nothing.py"),
    ],
)
def test_wrong_words(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(BadArgument, match=why) as caught:
        found(*words)
    assert "\n" not in str(caught.value)


def test_another_language_than_the_word_names() -> None:
    with pytest.raises(BadArgument, match="torch:flash_mla names torch, --language=cutile"):
        found("torch:flash_mla", "torch:flash_mla", language="cutile")
