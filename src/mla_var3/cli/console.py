"""What the user sees: data on stdout, status on stderr, colour on a terminal only."""

import os
import re
import sys

CLASSES = {"Memory-bound": "yellow", "Compute-bound": "green", "Latency-bound": "magenta"}
LABELS = r"(?m)^ {5}(evidence|not it|where|try|unknown|n/a|doubt|note)\b"

_DIRECTORY = re.compile(
    r"(?<![\w.~\-/\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s'\":;,/\\]+[/\\])*(?=[^\s/\\])"
)


def coloured(stream: object) -> bool:
    """Whether colour is wanted there: a terminal, and NO_COLOR is not set."""
    is_terminal = getattr(stream, "isatty", lambda: False)()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(is_terminal) and not plain


def show(text: str) -> None:
    """Print data; on a terminal with its classes and labels in colour."""
    if not coloured(sys.stdout):
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text.rstrip("\n"))
    styled.highlight_regex(LABELS, "cyan")
    for word, colour in CLASSES.items():
        styled.highlight_regex(word, f"bold {colour}")
    styled.highlight_regex(r"mla (?:import|diagnose|list|schema)\b[^\n]*?(?=   |$)", "bold")
    Console(soft_wrap=True, highlight=False).print(styled)


def say(text: str) -> None:
    """Print one status line on stderr, without the directories of this machine."""
    sys.stderr.write(f"{without_directories(text)}\n")


def without_directories(text: str) -> str:
    """`no a.ncu-rep` for `no /home/me/a.ncu-rep`: what is shown may be passed on."""
    return _DIRECTORY.sub("", " ".join(text.split()))
