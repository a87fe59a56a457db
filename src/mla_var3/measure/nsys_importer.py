"""Why nsys recorded and made no report: its importer lacks a library, or is not there at all."""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

from mla_var3 import conf
from mla_var3.measure.clocks import run_tool

NAME = "QdstrmImporter"
_LOADER = re.compile(r"(lib[\w.+-]+\.so[.\d]*): cannot open shared object file")
_LDD = re.compile(r"^\s*(lib[\w.+-]+\.so[.\d]*) => not found", re.MULTILINE)
_LIKELY = 2
"""How many of the known libraries are tried where nobody names one: the first ones of the table."""

Run = Callable[[list[str]], tuple[int, str]]


def importer_advice(nsys: Path, log: str, run: Run = run_tool) -> str:
    """What is missing and what installs it, to stand behind `its importer failed`; may be empty.

    Asked are nsys's own words, then `ldd`, then the loader about the libraries it usually lacks.
    """
    importer = find_importer(nsys)
    if importer is None:
        part = "this nsys is the part that only records"
        return f": {NAME} is not there, {part}; install the whole of Nsight Systems"
    missing = list(dict.fromkeys(_LOADER.findall(log)))
    if not missing:
        missing = list(dict.fromkeys(_LDD.findall(run(["ldd", str(importer)])[1])))
    if not missing:
        known = list(conf.table("nsys")["libraries"])[:_LIKELY]
        missing = [name for name in known if not _loads(name)]
    return _install(missing) if missing else ""


def find_importer(nsys: Path) -> Path | None:
    """The importer in the installation that nsys belongs to."""
    for place in dict.fromkeys((nsys, nsys.resolve())):
        for root in (place.parent, *list(place.parents)[1:3]):
            found = [path for path in sorted(root.glob(f"*/{NAME}")) if path.is_file()]
            if found:
                return found[0]
    return None


def _install(missing: list[str]) -> str:
    """`: libdw.so.1 is missing (apt-get install libdw1, or dnf install elfutils-libs)`."""
    packages: dict[str, list[str]] = conf.table("nsys")["libraries"]
    known = [packages[name] for name in missing if name in packages]
    verb = "is" if len(missing) == 1 else "are"
    text = f": {', '.join(missing)} {verb} missing"
    if not known:
        return text
    debian = " ".join(dict.fromkeys(names[0] for names in known))
    fedora = " ".join(dict.fromkeys(names[1] for names in known))
    return f"{text} (apt-get install {debian}, or dnf install {fedora})"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
