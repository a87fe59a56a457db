"""The kernels of a revision of the git history, beside today's, under a package name of their own.

`v1@REV`: `git archive` writes `kernel/` of that revision to a temporary folder, and its imports of
itself are renamed, so that both can be loaded in one process. The types they speak, in `core`, are
today's. The working tree is not touched.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import mla_var3
from mla_var3.core.errors import BadArgument, MachineCannot, MlaError
from mla_var3.core.locate import BASE, KernelFile, find, list_kernels
from mla_var3.core.plan import KernelPlan

PACKAGE = Path(mla_var3.__file__).parent
KERNELS = "kernel"
SHORT = 7
_OWN = re.compile(rb"\bmla_var3\.kernel\b")
_LIMIT_S = 60.0


class Revision(NamedTuple):
    """An exported revision. `package` holds its kernels; `place` is where it is imported from."""

    commit: str
    package: str
    place: Path

    @property
    def short(self) -> str:
        """`a1b2c3d`."""
        return self.commit[:SHORT]

    @property
    def kernels(self) -> tuple[KernelFile, ...]:
        """What there was to run."""
        return list_kernels(self.place / self.package / KERNELS)

    def original(self, text: str) -> str:
        """An import path as it was called in its own tree."""
        return text.replace(self.package, PACKAGE.name)


@contextmanager
def exported(typed: str, package: Path = PACKAGE) -> Iterator[Revision]:
    """The kernels of a revision, as long as the block lasts.

    Raises `MachineCannot` without git or a checkout, `BadArgument` for a revision that is not there
    or has no kernels.
    """
    prefix = _prefix(package)
    commit = _commit(typed, package)
    name = f"{PACKAGE.name}_at_{commit[:12]}"
    try:
        archive = _git(package, "archive", "--format=tar", commit, f"{KERNELS}/")
    except MlaError as error:
        raise BadArgument(f"revision {typed!r} has no {prefix}{KERNELS}/: {error}") from error
    with tempfile.TemporaryDirectory(prefix="mla-revision-") as folder:
        place = Path(folder).resolve()
        _unpack(archive, place / name)
        try:
            yield Revision(commit, name, place)
        finally:
            _forget(name, place)


def find_at(revision: Revision, kernel: str, version: str | None, language: str) -> KernelFile:
    """The file of a plan at a revision; `BadArgument` where it was not there yet."""
    wanted = BASE if version in (None, "v0", BASE) else version
    own = [file for file in revision.kernels if file.kernel == kernel]
    for file in own:
        if (file.version, file.language) == (wanted, language):
            return file
    there = ", ".join(f"{file.language} {file.version}" for file in own)
    known = f"; there was {there}" if there else f"; {kernel} was not there at all"
    raise BadArgument(f"{kernel} {wanted} ({language}) is absent at {revision.short}{known}")


def load_at(revision: Revision, file: KernelFile) -> type[KernelPlan]:
    """Import a plan of a revision. Raises what `locate.find` raises, with the revision named."""
    if str(revision.place) not in sys.path:
        sys.path.append(str(revision.place))
    module = file.module.replace(f"{PACKAGE.name}.", f"{revision.package}.", 1)
    try:
        return find(f"{module}:")
    except MlaError as error:
        why = revision.original(str(error))
        error.args = (f"{file.kernel} {file.version} of {revision.short} does not load: {why}",)
        raise


def is_changed(package: Path = PACKAGE) -> bool:
    """Whether kernels of the working tree differ from its last commit."""
    return bool(_git(package, "status", "--porcelain", "--", f"{KERNELS}/").strip())


def _prefix(package: Path) -> str:
    """The package's folder below the root of its checkout: `src/mla_var3/`."""
    try:
        prefix = _git(package, "rev-parse", "--show-prefix").decode().strip()
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
    except MlaError as error:
        if isinstance(error, MachineCannot):
            raise
        raise MachineCannot(
            "a version @REV needs mla_var3 in a checkout of its git history, and this is none: "
            "clone it, and install it with pip install -e"
        ) from error
    return prefix


def _commit(typed: str, package: Path) -> str:
    if not typed or typed.startswith("-"):
        raise BadArgument(f"no revision {typed!r}: a commit, tag or branch stands after @")
    try:
        words = ("rev-parse", "--verify", "--quiet", f"{typed}^{{commit}}")
        return _git(package, *words).decode().strip()
    except MlaError as error:
        if isinstance(error, MachineCannot):
            raise
        raise BadArgument(
            f"no revision {typed!r} in the git history (git log lists them)"
        ) from error


def _git(folder: Path, *words: str) -> bytes:
    """What git answers; `BadArgument` with its own first line where it fails."""
    tool = shutil.which("git")
    if tool is None:
        raise MachineCannot("git is not installed here: a version @REV needs it")
    environment = {name: v for name, v in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [tool, "-C", str(folder), *words],
            env=environment | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MachineCannot(f"git did not answer in {_LIMIT_S:.0f} s") from error
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        if told and "dubious ownership" in told[0]:
            raise MachineCannot(f"git refuses this checkout: {told[0]}")
        raise BadArgument(told[0] if told else f"git {words[0]} failed")
    return done.stdout


def _unpack(archive: bytes, target: Path) -> None:
    """Write the kernels below a package of another name; only what they call themselves changes."""
    target.mkdir(parents=True)
    (target / "__init__.py").touch()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    for file in target.rglob("*.py"):
        file.write_bytes(_OWN.sub(f"{target.name}.{KERNELS}".encode(), file.read_bytes()))


def _forget(package: str, place: Path) -> None:
    """Let nothing of it be found once the folder is gone."""
    if str(place) in sys.path:
        sys.path.remove(str(place))
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
