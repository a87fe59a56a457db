"""Which folders are of a comparison or a race, not of a profile."""

from pathlib import Path

from mla_var3.core import artifacts


def is_comparison(path: Path) -> bool:
    """Whether a folder, or a file in it, is one of a comparison or a race."""
    folder = path if path.is_dir() else path.parent
    if (folder / artifacts.PROFILE).is_file():
        return False
    return any((folder / name).is_file() for name in (artifacts.COMPARISON, artifacts.RACE))
