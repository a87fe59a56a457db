"""Options by tyro, with its box of several lines turned into one line of ours."""

import contextlib
import dataclasses
import difflib
import io
import re
from typing import Annotated, Any, TypeVar

from mla_var3.core.errors import BadArgument

Options = TypeVar("Options")

_BOX = re.compile(r"[╭╮╰╯│─┃━┏┓┗┛|+]")
_EXPECTED = {int: "a whole number", float: "a number"}


def parse(kind: type[Options], command: str, argv: list[str]) -> Options:
    """The options of `mla COMMAND`; `BadArgument` with one line where they are wrong."""
    if not argv and _all_have_defaults(kind):
        return kind()
    import tyro

    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            found = tyro.cli(
                _for_tyro(kind),
                prog=f"mla {command}",
                args=argv,
                config=(tyro.conf.FlagCreatePairsOff,),
                use_underscores=True,
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        text = " ".join(_BOX.sub(" ", box.getvalue()).split())
        raise BadArgument(_one_line(text, kind, argv, command)) from None
    return kind(**vars(found))


def _all_have_defaults(kind: type[Any]) -> bool:
    return all(field.default is not dataclasses.MISSING for field in dataclasses.fields(kind))


def _for_tyro(kind: type[Any]) -> Any:
    """The same dataclass with what `options.py` noted in tyro's own words."""
    import tyro

    fields = []
    for field in dataclasses.fields(kind):
        of = _words_for_tyro() if field.type == tuple[str, ...] else field.type
        noted: Any = Annotated[of, tyro.conf.arg(**field.metadata["words"])]
        if field.metadata["positional"]:
            marker: Any = tyro.conf.Positional
            noted = marker[noted]
        fields.append((field.name, noted, dataclasses.field(default=field.default)))
    return dataclasses.make_dataclass(kind.__name__, fields, namespace={"__doc__": kind.__doc__})


class Words(tuple[str, ...]):
    """Words of the command line. tyro checks values of a plain class without typeguard, which takes
    a tenth of a second to load.
    """


def _words_for_tyro() -> Any:
    """`tuple[str, ...]` for tyro: any number of words, as they are."""
    from tyro.constructors import PrimitiveConstructorSpec

    spec = PrimitiveConstructorSpec(
        nargs="*",
        metavar="WORDS",
        instance_from_str=Words,
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=list,
    )
    return Annotated[Words, spec]


def nearest(word: str, known: list[str]) -> str:
    """`; did you mean X?` for a close word, else nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _one_line(text: str, kind: type[Any], argv: list[str], command: str) -> str:
    """What is wrong, and where to look: from tyro's words and the options that exist."""
    fields = dataclasses.fields(kind)
    names = {f"--{field.metadata['words'].get('name', field.name)}": field for field in fields}
    typed = [word.partition("=")[0].replace("-", "_").replace("__", "--", 1) for word in argv]
    help_ = f"(mla {command} --help)"
    unknown = [word for word in typed if word.startswith("--") and word not in names]
    if unknown:
        hint = nearest(unknown[0], list(names))
        return f"unknown option {unknown[0]}{hint or ' '}{'' if hint else help_}"
    short = [word for word in argv if re.fullmatch(r"-[A-Za-z].*", word)]
    if short:
        return f"unknown option {short[0]} {help_}"
    option = re.search(r"--\w+", text)
    if option and option.group() in names:
        return f"{option.group()} {_need(names[option.group()], argv, option.group())} {help_}"
    words = re.search(r"Unrecognized (?:options|arguments): (.*?)(?: For full|$)", text)
    if words:
        return f"cannot use {words.group(1)!r} {help_}"
    return f"{text[:60]} {help_}"


def _need(field: dataclasses.Field[Any], argv: list[str], option: str) -> str:
    """`needs a whole number, not 'x'`, or `needs a value` where none was typed."""
    value = ""
    for position, word in enumerate(argv):
        name, equals, after = word.partition("=")
        if name.replace("-", "_").replace("__", "--", 1) == option:
            value = after if equals else "".join(argv[position + 1 : position + 2])
    wanted = next((text for kind, text in _EXPECTED.items() if _is(field.type, kind)), "a value")
    return f"needs {wanted}" + (f", not {value!r}" if value else "")


def _is(annotation: Any, kind: type) -> bool:
    return annotation is kind or kind.__name__ in re.findall(r"\w+", str(annotation))
