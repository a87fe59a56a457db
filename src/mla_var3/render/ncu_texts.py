"""Sentences of a deep profile's pages, from `conf/ncu_details.json`."""

from functools import cache

import msgspec

from mla_var3 import conf


class Texts(msgspec.Struct, frozen=True):
    """The parts of the file that the pages need."""

    texts: dict[str, str]
    line_info: dict[str, str]
    hottest: int
    keep_bytes: int


@cache
def texts() -> Texts:
    """The texts; a mistake in the file raises here."""
    return msgspec.convert(conf.table("ncu_details"), Texts)


def changed_source(file: str) -> str:
    """The warning for a source file that is not what was compiled."""
    return texts().texts["differs"].format(file=file)
