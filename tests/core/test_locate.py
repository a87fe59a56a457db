"""Plans by their place in the folder, by module and by file; what is faulty is one line."""

from pathlib import Path

import pytest
from tests.conftest import ROOT

from mla_var3.core import locate
from mla_var3.core.errors import BadArgument, MachineCannot, NotFound
from mla_var3.core.locate import (
    KernelFile,
    find,
    find_file,
    folder_name,
    import_path,
    kernel_name,
    language_order,
    list_kernels,
    with_version,
)

FAKE = ROOT / "tests" / "support" / "fake_plan.py"


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[KernelFile, ...]:
    """Two designs, three languages, three versions; some files that are none."""
    mla = "cutile/mla/flash_mla"
    make(
        tmp_path,
        f"{mla}/flash_mla/flash_mla.py",
        f"{mla}/flash_mla_v10/flash_mla_v10.py",
        f"{mla}/flash_mla_v2/flash_mla_v2.py",
        f"{mla}/flash_mla_v2/shared.py",
        f"{mla}/flash_mla_vx/flash_mla_vx.py",
        f"{mla}/__init__.py",
        "triton/mla/flash_mla/flash_mla/flash_mla.py",
        "torch/mla/flash_mla/flash_mla/flash_mla.py",
        "torch/mla/demo/demo/demo.py",
        "fortran/mla/demo/demo/demo.py",
        "mla_problem/attention.py",
    )
    found = list_kernels(tmp_path)
    monkeypatch.setattr(locate, "list_kernels", lambda: found)
    return found


def test_the_folder_is_the_registry(registry: tuple[KernelFile, ...]) -> None:
    assert [file[:3] for file in registry] == [
        ("demo", "base", "torch"),
        ("flash_mla", "base", "cutile"),
        ("flash_mla", "v2", "cutile"),
        ("flash_mla", "v10", "cutile"),
        ("flash_mla", "base", "triton"),
        ("flash_mla", "base", "torch"),
    ]
    assert registry[2].module == ("mla_var3.kernel.cutile.mla.flash_mla.flash_mla_v2.flash_mla_v2")


@pytest.mark.parametrize("base", [None, "v0", "base"])
def test_no_version_and_v0_are_the_base(base: str | None, registry: tuple[KernelFile, ...]) -> None:
    assert find_file("flash_mla", base)[:3] == ("flash_mla", "base", "cutile")


def test_the_preferred_language_that_has_the_version(registry: tuple[KernelFile, ...]) -> None:
    torch_first = ("torch", "cutile", "triton")
    assert find_file("flash_mla", None, None, torch_first).language == "torch"
    assert find_file("flash_mla", "v2", None, torch_first).language == "cutile"
    assert find_file("flash_mla", None, "triton", torch_first).language == "triton"
    assert find_file("triton:flash_mla").language == "triton"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("flash_ml",), "no kernel 'flash_ml'; did you mean flash_mla?"),
        (("zzz",), "no kernel 'zzz'; there are demo, flash_mla"),
        (("flash_mla", "v3"), "flash_mla has no version 'v3'; did you mean v2?"),
        (("flash_mla", "new"), "flash_mla has no version 'new'; there are base, v2, v10"),
        (("flash_mla", "v2", "torch"), "flash_mla has no version 'v2' in torch; there are base"),
        (("flash_mla", None, "cutle"), "no language 'cutle'; did you mean cutile?"),
        (("demo", None, "cutile"), "demo is not written in cutile; there is torch"),
        (
            ("torch:flash_mla", None, "cutile"),
            "torch:flash_mla names torch, and --language=cutile another language",
        ),
    ],
)
def test_unknown_names(words: tuple[str, ...], why: str, registry: tuple[KernelFile, ...]) -> None:
    with pytest.raises(BadArgument) as error:
        find_file(*words)
    assert str(error.value) == why


def test_languages_by_preference(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuTile, Triton, torch where kernels compile; torch first elsewhere; installed ones first."""
    monkeypatch.setattr(locate, "is_installed", lambda language: True)
    assert language_order(compiles=True)[:3] == ("cutile", "triton", "torch")
    assert language_order(compiles=False)[:3] == ("torch", "cutile", "triton")
    monkeypatch.setattr(locate, "is_installed", lambda language: language != "cutile")
    assert language_order(compiles=True) == ("triton", "torch", "peer", "cutile")


def test_the_plans_of_the_package_are_what_their_place_says() -> None:
    files = [file for file in list_kernels() if file.language == "torch"]
    assert {"flash_mla", "flash_attention", "demo_concurrent"} <= {file.kernel for file in files}
    for file in files:
        plan = find(file.kernel, file.version, "torch")
        assert (plan.KERNEL, plan.VERSION, plan.LANGUAGE) == file[:3]
        assert import_path(plan) == f"{file.module}:{plan.__name__}"


def test_a_file_needs_no_registration() -> None:
    plan = find(f"{FAKE}:FakePlan")
    assert plan.__name__ == "FakePlan"
    assert find(str(FAKE)) is plan
    assert (kernel_name(plan), folder_name(plan)) == ("fake", "fake_v1")
    assert import_path(plan) == "fake_plan.py:FakePlan"


def test_a_module_needs_no_registration() -> None:
    plan = find("tests.support.fake_plan:FakePlan")
    assert plan.__module__ == "tests.support.fake_plan"


HEAD = "from tests.support.fake_plan import FakePlan\n\n\n"


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("def f(:\n", "", "plan.py line 1: invalid syntax"),
        ("x = 1\n\nboom()\n", "", "plan.py line 3: NameError: name 'boom' is not defined"),
        ("x = 1\n", "", "plan.py line 1: no KernelPlan in the file; it needs one subclass"),
        (
            f"{HEAD}class A(FakePlan): ...\n\n\nclass B(FakePlan): ...\n",
            "",
            "plan.py has 2 plans: A (line 4), B (line 7); choose one: plan.py:A",
        ),
        (
            f"{HEAD}class Good(FakePlan): ...\n",
            ":Goood",
            "plan.py line 1: no KernelPlan 'Goood' in the file; did you mean Good?",
        ),
        (
            "from mla_var3.core.plan import MlaPlan\n\n\nclass Half(MlaPlan): ...\n",
            "",
            "plan.py line 4: Half lacks _algorithmic_flops_bytes, plan, plan_empty, "
            "prepare_inputs, reference_fn",
        ),
    ],
)
def test_a_faulty_file_is_one_line_with_file_and_line(
    text: str, name: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.py"
    path.write_text(text)
    with pytest.raises(BadArgument) as error:
        find(f"{path}{name}")
    assert str(error.value) == why


def test_two_plans_with_a_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.py"
    path.write_text(f"{HEAD}class A(FakePlan): ...\n\n\nclass B(FakePlan): ...\n")
    assert find(f"{path}:B").__name__ == "B"


def test_a_plan_of_ones_own_has_one_language_and_no_versions() -> None:
    with pytest.raises(BadArgument, match="is one plan: it takes no version"):
        find(f"{FAKE}:FakePlan", "v2")
    with pytest.raises(BadArgument, match="is written in cutile, not in torch"):
        find(f"{FAKE}:FakePlan", None, "torch")
    with pytest.raises(BadArgument, match="is a plan of its own: it has no other versions"):
        with_version(find(f"{FAKE}:FakePlan")(), "v2")


def test_what_is_not_there() -> None:
    with pytest.raises(NotFound, match=r"NOT_FOUND none\.py: no such file"):
        find("/somewhere/none.py")
    with pytest.raises(NotFound, match=r"no module my_pkg\.my_mod \(no my_pkg\)"):
        find("my_pkg.my_mod:MyPlan")


@pytest.mark.parametrize(
    ("package", "extra"), [("cuda.tile", "cutile"), ("triton", "triton"), ("torch", "torch")]
)
def test_a_package_that_is_missing_has_its_install_line(
    package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package.partition(".")[0], None)
    path = tmp_path / "plan.py"
    path.write_text(f"import {package}\n")
    with pytest.raises(MachineCannot, match=rf"python -m pip install 'mla_var3\[{extra}\]'"):
        find(str(path))


def test_another_version_of_the_same_problem() -> None:
    plan = find("flash_mla", None, "torch")(b=2, t=100)
    assert with_version(plan, None) is plan
    assert with_version(plan, "v0") is plan
    with pytest.raises(BadArgument, match="flash_mla has no version 'v7' in torch"):
        with_version(plan, "v7")
