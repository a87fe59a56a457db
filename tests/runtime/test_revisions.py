"""Kernels of a revision beside today's: both in one process, and neither disturbs the other."""

import hashlib
import sys
from pathlib import Path

import pytest
from tests.support import toy_repository
from tests.support.toy_repository import git

from mla_var3.core.errors import BadArgument, MachineCannot
from mla_var3.core.locate import find
from mla_var3.core.plan import KernelPlan
from mla_var3.runtime import revisions
from mla_var3.runtime.contenders import Contenders
from mla_var3.runtime.revisions import PACKAGE, exported, find_at, is_changed, load_at
from mla_var3.runtime.source_hash import code_sha256, source_sha256


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_repository.make(tmp_path_factory.mktemp("git") / "toy")


def test_two_revisions_in_one_process(package: Path) -> None:
    """The factor of `one` is 3, of `two` 5; each plan adds the two ways of importing it."""
    with exported("one", package) as old, exported("two", package) as new:
        plans = [load_at(r, find_at(r, "toy", None, "torch")) for r in (old, new)]
        assert [plan().factor() for plan in plans] == [6, 10]  # type: ignore[attr-defined]
        assert plans[0] is not plans[1]
        assert all(issubclass(plan, KernelPlan) for plan in plans)
        assert [file[:3] for file in new.kernels] == [
            ("toy", "base", "torch"),
            ("toy", "v1", "torch"),
        ]
        assert old.commit == git(package, "rev-parse", "one")
        assert old.short == old.commit[:7]
        path = f"{plans[0].__module__}:Toy"
        assert old.original(path) == "mla_var3.kernel.torch.mla.toy.toy.toy:Toy"


def test_nothing_is_left_and_the_working_tree_is_untouched(package: Path) -> None:
    before, path = git(package, "status", "--porcelain"), list(sys.path)
    with exported("one", package) as old:
        load_at(old, find_at(old, "toy", "v0", "torch"))
        place = old.place
        assert place.is_dir()
    assert not place.exists()
    assert sys.path == path
    assert not any(name.startswith(old.package) for name in sys.modules)
    assert git(package, "status", "--porcelain") == before == ""
    assert git(package, "rev-parse", "--abbrev-ref", "HEAD") == "main"


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("nope", "no revision 'nope' in the git history"),
        ("--all", "no revision '--all'"),
        ("", "no revision ''"),
        ("one:src", "no revision 'one:src'"),
        ("none", r"revision 'none' has no src/mla_var3/kernel/"),
    ],
)
def test_what_is_no_revision_to_take(package: Path, typed: str, why: str) -> None:
    with pytest.raises(BadArgument, match=why) as caught, exported(typed, package):
        pass
    assert "\n" not in str(caught.value)


def test_a_plan_that_was_not_there_yet(package: Path) -> None:
    with exported("one", package) as old:
        with pytest.raises(BadArgument, match=rf"toy v1 \(torch\) is absent at {old.short}; "):
            find_at(old, "toy", "v1", "torch")
        with pytest.raises(BadArgument, match="there was torch base"):
            find_at(old, "toy", "base", "cutile")
        with pytest.raises(BadArgument, match="tea was not there at all"):
            find_at(old, "tea", "base", "torch")


def test_a_plan_that_does_not_load_any_more(package: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(package.parent.parent), str(root))
    plan = root / toy_repository.DESIGN / "toy" / "toy.py"
    plan.write_text("from mla_var3.core.plan import Gone\n")
    git(root, "commit", "-q", "-am", "broken")
    with exported("HEAD", root / "src" / "mla_var3") as broken:
        file = find_at(broken, "toy", "base", "torch")
        with pytest.raises(BadArgument) as caught:
            load_at(broken, file)
    told = str(caught.value)
    assert told.startswith(f"toy base of {broken.short} does not load: mla_var3.kernel.torch.mla.")
    assert "ImportError: cannot import name 'Gone'" in told
    assert "_at_" not in told


def test_no_checkout_and_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mla_var3").mkdir()
    (tmp_path / "mla_var3" / "__init__.py").touch()
    with pytest.raises(MachineCannot, match="in a checkout of its git history, and this is none"):
        with exported("HEAD", tmp_path / "mla_var3"):
            pass
    monkeypatch.setattr(revisions.shutil, "which", lambda tool: None)
    with pytest.raises(MachineCannot, match="git is not installed here"), exported("HEAD"):
        pass


def test_a_package_that_git_does_not_know_is_no_checkout(package: Path) -> None:
    """As in a virtual environment inside a checkout."""
    place = package.parent.parent / "venv" / "mla_var3"
    place.mkdir(parents=True)
    (place / "__init__.py").touch()
    with pytest.raises(MachineCannot, match="this is none"), exported("HEAD", place):
        pass
    (place / "__init__.py").unlink()
    place.rmdir()
    place.parent.rmdir()


def test_a_changed_working_tree_is_told(package: Path) -> None:
    assert is_changed(package) is False
    helper = package.parent.parent / toy_repository.HELPER
    text = helper.read_text()
    helper.write_text("FACTOR = 6\n")
    assert is_changed(package) is True
    helper.write_text(text)


def test_hashes_tell_what_changed(package: Path) -> None:
    """The plan's file is the same in both revisions; what it imports is not."""
    with exported("one", package) as old, exported("two", package) as new:
        plans = [load_at(r, find_at(r, "toy", "base", "torch")) for r in (old, new)]
        own = [source_sha256(plan) for plan in plans]
        whole = [code_sha256(plan) for plan in plans]
    assert own[0] == own[1]
    assert whole[0] != whole[1]
    file = package / "kernel" / "torch" / "mla" / "toy" / "toy" / "toy.py"
    assert own[1] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_same_code_has_the_same_hash() -> None:
    """Of this very package: today's kernel, and the same one taken from its last commit."""
    try:
        if is_changed():
            pytest.skip("kernels of the working tree are changed")
    except (BadArgument, MachineCannot) as error:
        pytest.skip(str(error))
    with Contenders() as contenders:
        at, now = contenders.find(["flash_mla", "base@HEAD", "base"], "torch", False)
        sides = [contender.side(contender.plan()) for contender in (at, now)]
        assert at.plan is not now.plan and now.plan is find("flash_mla", None, "torch")
    assert sides[0].source_sha256 == sides[1].source_sha256
    assert sides[0].code_sha256 == sides[1].code_sha256
    assert sides[0].import_path == sides[1].import_path
    assert sides[0].revision == git(PACKAGE, "rev-parse", "HEAD")
    assert (sides[0].label, sides[1].label) == (f"base@{sides[0].revision[:7]}", "base")
