"""A small git history of a package with kernels, as mla_var3 is one, to take revisions from."""

import os
import subprocess
from pathlib import Path

DESIGN = "src/mla_var3/kernel/torch/mla/toy"
HELPER = "src/mla_var3/kernel/torch/factor.py"
DEEP = "src/mla_var3/kernel/torch/deep.py"
"""What the helper imports."""
PLAN = """\
from dataclasses import dataclass
from typing import ClassVar

from mla_var3.core.errors import BadArgument
from mla_var3.kernel.torch.factor import FACTOR
from tests.support.rival_plans import Twice


@dataclass(frozen=True, kw_only=True)
class Toy{name}(Twice):
    KERNEL: ClassVar[str] = "toy"
    VERSION: ClassVar[str] = "{version}"

    def factor(self) -> int:
        from mla_var3.kernel.torch import factor

        return FACTOR + factor.FACTOR
"""


def git(folder: Path, *words: str) -> str:
    """Run git there, as nobody in particular."""
    names = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n"}
    environment = os.environ | names | {"GIT_COMMITTER_EMAIL": "e", "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env=environment,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


def write(root: Path, name: str, text: str = "") -> None:
    """A file, with a package in every folder above it."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for folder in path.relative_to(root).parents:
        if "mla_var3" in folder.parts and not (root / folder / "__init__.py").exists():
            (root / folder / "__init__.py").touch()


def make(root: Path) -> Path:
    """Three commits: `none` without kernels, `one` with toy base, `two` with base and v1; the
    factor is 3 in `one`, 5 in `two`. The package's folder is returned.
    """
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(root, "src/mla_var3/__init__.py")
    _commit(root, "none")
    write(root, DEEP, "FACTOR = 3\n")
    write(root, HELPER, "from mla_var3.kernel.torch.deep import FACTOR as FACTOR\n")
    write(root, f"{DESIGN}/toy/toy.py", PLAN.format(name="", version="base"))
    _commit(root, "one")
    write(root, DEEP, "FACTOR = 5\n")
    write(root, f"{DESIGN}/toy_v1/toy_v1.py", PLAN.format(name="V1", version="v1"))
    _commit(root, "two")
    return root / "src" / "mla_var3"


def _commit(root: Path, name: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", name)
    git(root, "tag", name)
