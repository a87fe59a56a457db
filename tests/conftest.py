"""Shared fixtures: the recordings of `examples/`, unpacked once a test session."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`recording("zoo_a")` is the path of the plain zoo_a.ncu-rep."""
    folder = tmp_path_factory.mktemp("recordings")

    def unpack(name: str) -> Path:
        path = folder / f"{name}.ncu-rep"
        if not path.exists():
            packed = ROOT / "examples" / f"{name}.ncu-rep.xz"
            path.write_bytes(lzma.decompress(packed.read_bytes()))
        return path

    return unpack


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write expected texts anew")
    parser.addoption("--full", action="store_true", help="run what is marked slow in full")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
