"""Find plans: the folder is the registry, and `module:Class` or `file.py:Class` need no entry.

`kernel/<language>/mla/<design>/<design>[_vN]/<design>[_vN].py` holds one `KernelPlan`. Listing
looks at file names only; a module is imported when its plan is asked for: the one dynamic import.
"""

import difflib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args

from mla_var3.core.errors import BadArgument, MachineCannot, NotFound
from mla_var3.core.plan import KernelPlan, Language

ROOT = Path(__file__).parent.parent / "kernel"
PACKAGE = "mla_var3.kernel"
LANGUAGES: tuple[str, ...] = get_args(Language)
BASE = "base"
PACKAGES = {"cutile": "cuda.tile", "triton": "triton", "torch": "torch"}
"""What must be importable for a language."""

_PATTERN = "*/mla/*/*/*.py"
_VERSION = re.compile(r"v[1-9]\d*")
_NO_NAME_IN_DIRECTORY = re.compile(r"[^\w.-]+")


class KernelFile(NamedTuple):
    """One version of one design in one language, by its file."""

    kernel: str
    version: str
    """`base`, `v1`, `v2`, …"""
    language: str
    path: Path

    @property
    def module(self) -> str:
        """Import path of the file."""
        return f"{PACKAGE}.{self.language}.mla.{self.kernel}.{self.path.stem}.{self.path.stem}"


def list_kernels(root: Path = ROOT) -> tuple[KernelFile, ...]:
    """All kernel files by design, language and version; nothing is imported."""
    found = (_as_kernel(path, root) for path in root.glob(_PATTERN))
    return tuple(sorted((file for file in found if file is not None), key=_order))


def find(
    name: str,
    version: str | None = None,
    language: str | None = None,
    prefer: Sequence[str] = LANGUAGES,
) -> type[KernelPlan]:
    """The plan class of a design's version, or of `module:Class` or `file.py[:Class]`.

    `v0`, `base` and None are the base. Without a language, the first of `prefer` that has the
    version. Raises `BadArgument` with the nearest name, `MachineCannot` with the install line.
    """
    if is_foreign(name):
        return _foreign(name, version, language)
    return load(find_file(name, version, language, prefer))


def find_file(
    name: str,
    version: str | None = None,
    language: str | None = None,
    prefer: Sequence[str] = LANGUAGES,
) -> KernelFile:
    """The file of a design's version; nothing is imported. `cutile:flash_mla` names a language."""
    before, colon, after = name.partition(":")
    if colon and before in LANGUAGES:
        if language not in (None, before):
            raise BadArgument(f"{name} names {before}, and --language={language} another language")
        name, language = after, before
    files = list_kernels()
    own = [file for file in files if file.kernel == name]
    if not own:
        known = sorted({file.kernel for file in files})
        raise BadArgument(f"no kernel {name!r}{_hint(name, known)}")
    if language is not None:
        own = _of_language(own, language)
    wanted = BASE if version in (None, "v0", BASE) else version
    matching = [file for file in own if file.version == wanted]
    if not matching:
        known = list(dict.fromkeys(file.version for file in own))
        spoken = f" in {language}" if language else ""
        raise BadArgument(f"{name} has no version {wanted!r}{spoken}{_hint(str(wanted), known)}")
    ranks = {word: rank for rank, word in enumerate(prefer)}
    return min(matching, key=lambda file: ranks.get(file.language, len(ranks)))


def load(file: KernelFile) -> type[KernelPlan]:
    """Import the file and return its plan."""
    return _only_plan(_imported(file.module, file.path.name, file.language), file.path.name, "")


def with_version(plan: KernelPlan, version: str | None) -> KernelPlan:
    """The same problem as a plan of another version of its design; None: the plan itself."""
    if version is None:
        return plan
    here = file_of(type(plan))
    if here is None:
        raise BadArgument(f"{type(plan).__name__} is a plan of its own: it has no other versions")
    chosen = find(here.kernel, version, here.language)
    if chosen is type(plan):
        return plan
    known = {field.name for field in chosen.problem_fields()}
    values = {}
    for field in plan.problem_fields():
        value = getattr(plan, field.name)
        if field.name in known:
            values[field.name] = value
        elif value != field.default:
            raise BadArgument(f"{here.kernel} {version} has no --{field.name} (it is {value} here)")
    return chosen(**values)


def file_of(plan: type[KernelPlan]) -> KernelFile | None:
    """The registry's file of a plan class; None for a plan of the user's own."""
    return next((file for file in list_kernels() if file.module == plan.__module__), None)


def import_path(plan: type[KernelPlan]) -> str:
    """`module:Class`, or `file.py:Class` for a file outside packages; never a directory."""
    module = plan.__module__
    if module.startswith(_FILE_MODULE):
        module = Path(inspect.getfile(plan)).name
    return f"{module}:{plan.__qualname__}"


def kernel_name(plan: type[KernelPlan]) -> str:
    """The design's name; a plan of the user's own may leave it to its class."""
    name = plan.KERNEL or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plan.__name__).lower()
    return _NO_NAME_IN_DIRECTORY.sub("_", name)


def folder_name(plan: type[KernelPlan]) -> str:
    """`flash_mla` or `flash_mla_v1`: the kernel's folder below out/profiles/<mode>/."""
    version = "" if plan.VERSION in ("", BASE, "v0") else f"_{plan.VERSION}"
    return kernel_name(plan) + _NO_NAME_IN_DIRECTORY.sub("_", version)


def is_installed(language: str) -> bool:
    """Whether the language's package can be found; it is not imported."""
    package = PACKAGES.get(language)
    if package is None:
        return True
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def language_order(compiles: bool, languages: Iterable[str] = LANGUAGES) -> tuple[str, ...]:
    """Languages by preference: cuTile, Triton, torch where kernels compile or a GPU is there, else
    torch first; installed ones before the others.
    """
    order = list(languages)
    if not compiles:
        order.sort(key=lambda word: word != "torch")
    return tuple(sorted(order, key=lambda word: not is_installed(word)))


def missing_package(language: str) -> MachineCannot:
    """The error that tells how to install a language."""
    package = PACKAGES.get(language, language)
    names = {"cutile": "cuTile", "triton": "Triton", "torch": "torch"}
    extra = language if language in PACKAGES else "torch"
    return MachineCannot(
        f"{names.get(language, language)} ({package}) is not installed here: "
        f"python -m pip install 'mla_var3[{extra}]'"
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like it, or an empty text."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return close[0] if close else ""


def _hint(word: str, known: Sequence[str]) -> str:
    """`; did you mean X?`, else what there is."""
    near = nearest(word, known)
    listed = f"; there are {', '.join(known)}" if known else "; there are none"
    return f"; did you mean {near}?" if near else listed


def _as_kernel(path: Path, root: Path) -> KernelFile | None:
    """The entry that a path stands for; None where folder and file do not match."""
    language, _, design, folder, _ = path.relative_to(root).parts
    if language not in LANGUAGES or folder != path.stem:
        return None
    if folder == design:
        return KernelFile(design, BASE, language, path)
    version = folder.removeprefix(f"{design}_")
    if _VERSION.fullmatch(version) and folder != version:
        return KernelFile(design, version, language, path)
    return None


def _order(file: KernelFile) -> tuple[str, int, int]:
    number = 0 if file.version == BASE else int(file.version[1:])
    return file.kernel, LANGUAGES.index(file.language), number


def _of_language(own: list[KernelFile], language: str) -> list[KernelFile]:
    if language not in LANGUAGES:
        raise BadArgument(f"no language {language!r}{_hint(language, LANGUAGES)}")
    matching = [file for file in own if file.language == language]
    if not matching:
        there = ", ".join(dict.fromkeys(file.language for file in own))
        raise BadArgument(f"{own[0].kernel} is not written in {language}; there is {there}")
    return matching


_FILE_MODULE = "mla_var3_plan_file_"


def is_foreign(name: str) -> bool:
    """Whether the name is `module:Class` or a Python file, not a design of the registry."""
    before, colon, _ = name.partition(":")
    return name.endswith(".py") or (bool(colon) and before not in LANGUAGES)


def _foreign(name: str, version: str | None, language: str | None) -> type[KernelPlan]:
    where, _, class_name = name.partition(":")
    if version is not None:
        raise BadArgument(f"{name} is one plan: it takes no version ({version})")
    shown = Path(where).name if where.endswith(".py") else where
    module = _from_file(Path(where)) if where.endswith(".py") else _imported(where, shown, "")
    plan = _only_plan(module, shown, class_name)
    if language not in (None, plan.LANGUAGE):
        raise BadArgument(f"{name} is written in {plan.LANGUAGE}, not in {language}")
    return plan


def _from_file(path: Path) -> ModuleType:
    """The module of a file, which may import its neighbours."""
    if not path.is_file():
        raise NotFound(f"NOT_FOUND {path.name}: no such file; check the path")
    name = _FILE_MODULE + re.sub(r"\W", "_", str(path.resolve()))
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadArgument(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _faulty(error, path.name, "") from error
    return module


def _imported(module: str, shown: str, language: str) -> ModuleType:
    here = str(Path.cwd())
    if not module.startswith(PACKAGE) and here not in sys.path:
        sys.path.append(here)  # as `python -m` does; a console script does not
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(f"{error.name}."):
            raise NotFound(f"no module {module} (no {error.name})") from error
        if error.name == module:
            raise NotFound(f"no module {module}; check the name and the folder") from error
        raise _faulty(error, shown, language) from error
    except Exception as error:
        raise _faulty(error, shown, language) from error


def _faulty(error: Exception, shown: str, language: str) -> Exception:
    """What is wrong with a plan file in one line, with the line where it stands."""
    if isinstance(error, MachineCannot):
        return error
    if isinstance(error, ModuleNotFoundError):
        missing = error.name or ""
        for word, package in PACKAGES.items():
            if missing and (missing == package or missing in package.split(".")):
                return missing_package(word)
        if language:
            return MachineCannot(f"{shown} needs {missing}, which is not installed here")
    if isinstance(error, SyntaxError) and error.filename:
        return BadArgument(f"{Path(error.filename).name} line {error.lineno}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == shown]
    at = f" line {lines[-1]}" if lines else ""
    return BadArgument(f"{shown}{at}: {type(error).__name__}: {error}")


def _only_plan(module: ModuleType, shown: str, class_name: str) -> type[KernelPlan]:
    """The plan of that name, or the only plan that the module defines."""
    plans = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, KernelPlan)
        and value.__module__ == module.__name__
    }
    if class_name and class_name not in plans:
        hint = _hint(class_name, list(plans))
        raise BadArgument(f"{shown} line 1: no KernelPlan {class_name!r} in the file{hint}")
    if not plans:
        raise BadArgument(f"{shown} line 1: no KernelPlan in the file; it needs one subclass")
    if not class_name and len(plans) > 1:
        where = ", ".join(f"{name} (line {_line(plan)})" for name, plan in plans.items())
        first = next(iter(plans))
        raise BadArgument(f"{shown} has {len(plans)} plans: {where}; choose one: {shown}:{first}")
    plan = plans[class_name] if class_name else next(iter(plans.values()))
    if inspect.isabstract(plan):
        absent = ", ".join(sorted(plan.__abstractmethods__))
        raise BadArgument(f"{shown} line {_line(plan)}: {plan.__name__} lacks {absent}")
    return plan


def _line(plan: type[Any]) -> int:
    try:
        return inspect.getsourcelines(plan)[1]
    except (OSError, TypeError):
        return 1
