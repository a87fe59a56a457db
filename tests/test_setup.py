"""`scripts/setup` on machines that lack something: one line, exit 3."""

import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parent.parent / "scripts" / "setup"

OLD = "#!/bin/sh\nexit 1\n"
NO_VENV = '#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\nexit 0\n'


@pytest.mark.parametrize(
    ("python", "says"),
    [
        (None, "setup: Python 3.11 or newer is needed and was not found; install it or name it: "),
        (OLD, "setup: Python 3.11 or newer is needed and was not found; install it or name it: "),
        (NO_VENV, "setup: python3 has no venv module; install it (Debian, Ubuntu: apt-get install"),
    ],
)
def test_what_is_missing_is_said_in_one_line(python: str | None, says: str, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    if python is not None:
        (tools / "python3").write_text(python)
        (tools / "python3").chmod(0o755)
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    shutil.copy(SETUP, project / "scripts" / "setup")
    (project / "pyproject.toml").touch()
    done = subprocess.run(
        [tools / "bash", project / "scripts" / "setup", "core"],
        env={"PATH": str(tools)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 3
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1
    assert not (project / ".venv").exists()
