"""What a text of an export may say: no folder, variable, user, nor anything like a key."""

import re
from collections.abc import Iterable

_ASSIGNED = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)=(?:\"[^\"]*\"|'[^']*'|\S+)")
_ADDRESS = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_PATH = re.compile(r"(?:\b[A-Za-z]:[\\/]|\\\\|~/|(?<![\w.])/)(?:[^\s\"'<>|,;()]+)")
_TOKEN = re.compile(r"(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{16,}")
_HOME = re.compile(
    r"(?:\b[A-Za-z]:[\\/]+|/)(?:home|Users|users|root|tmp|var|opt|usr|mnt|media|srv|scratch|data|"
    r"private|workspace|proc|run)[\\/]+[^\s\"'<>|,;()]+"
)


def plain(text: str, secrets: Iterable[str] = (), limit: int | None = None) -> str:
    """A message of the collector without paths, values of variables, addresses and long keys.

    `secrets` are words that the file itself tells are names of a user or a host.
    """
    text = _ASSIGNED.sub(r"\1=<value>", text)
    text = _URL.sub("<address>", text)
    text = _ADDRESS.sub("<address>", text)
    text = _PATH.sub("<path>", text)
    for secret in sorted(secrets, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "<name>", text)
    text = _TOKEN.sub("<text>", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if limit is None or len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def without_paths(text: str) -> str:
    """A name that the program gave, without folders of the machine; `/model/layer.0` stays."""
    return _HOME.sub("<path>", text)
