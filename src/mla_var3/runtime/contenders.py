"""Who is compared or raced: from words such as `flash_mla v1@REV v1` to plans."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from mla_var3.core.comparison import Side
from mla_var3.core.errors import BadArgument
from mla_var3.core.locate import (
    BASE,
    LANGUAGES,
    find,
    find_file,
    import_path,
    is_foreign,
    kernel_name,
    language_order,
    list_kernels,
    load,
)
from mla_var3.core.plan import KernelPlan
from mla_var3.runtime.revisions import Revision, exported, find_at, load_at
from mla_var3.runtime.source_hash import code_sha256, source_sha256

VERSION = re.compile(r"(?:base|v\d+)(?:@.*)?")
"""What a word after the kernel may be."""


class Contender(NamedTuple):
    """One of those that run."""

    plan: type[KernelPlan]
    label: str
    revision: Revision | None = None

    def side(self, made: KernelPlan) -> Side:
        """It as a record names it, with the tilings that a plan of one problem has."""
        path, revision = import_path(self.plan), self.revision
        return Side(
            label=self.label,
            kernel=kernel_name(self.plan),
            version=self.plan.VERSION,
            language=self.plan.LANGUAGE,
            import_path=revision.original(path) if revision else path,
            revision=revision.commit if revision else "",
            source_sha256=source_sha256(self.plan),
            code_sha256=code_sha256(self.plan),
            tilings={name: tiling.as_dict() for name, tiling in made.tilings().items()},
        )


class _Word(NamedTuple):
    """What one word asks for."""

    kernel: str
    version: str | None
    language: str | None
    revision: str
    foreign: bool = False


class Contenders:
    """Finds plans, and keeps exported revisions until it is closed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._revisions: dict[str, Revision] = {}

    def __enter__(self) -> "Contenders":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def find(
        self, words: Sequence[str], language: str | None, compiles: bool
    ) -> tuple[Contender, ...]:
        """The contenders of `KERNEL VERSION VERSION…`, or of words of one contender each.

        `compiles`: a CUDA GPU is here. Raises `BadArgument` with the nearest name.
        """
        order = language_order(compiles)
        read = tuple(read_word(word) for word in expanded(words))
        if is_versions(words) and language is None:
            language = self._common_language(read, order)
        found = [self._one(word, language, order) for word in read]
        return _labelled(found, read)

    def _one(self, word: _Word, language: str | None, order: Sequence[str]) -> Contender:
        if word.foreign:
            return Contender(find(word.kernel, None, language), "")
        if word.language and language not in (None, word.language):
            spoken = f"{word.language}:{word.kernel}"
            raise BadArgument(f"{spoken} names {word.language}, --language={language} another")
        wanted = word.language or language
        if not word.revision:
            return Contender(load(find_file(word.kernel, word.version, wanted, order)), "")
        revision = self._at(word.revision)
        if wanted is None:
            wanted = self._language_at(word, revision, order)
        file = find_at(revision, word.kernel, word.version, wanted)
        return Contender(load_at(revision, file), "", revision)

    def _at(self, typed: str) -> Revision:
        if typed not in self._revisions:
            self._revisions[typed] = self._stack.enter_context(exported(typed))
        return self._revisions[typed]

    def _language_at(self, word: _Word, revision: Revision, order: Sequence[str]) -> str:
        there = {f.language for f in revision.kernels if f.kernel == word.kernel}
        return next((language for language in order if language in there), order[0])

    def _common_language(self, read: Sequence[_Word], order: Sequence[str]) -> str | None:
        """The first language that has all versions, so that languages are not compared unasked."""
        for language in order:
            if all(self._has(word, language) for word in read):
                return language
        return None

    def _has(self, word: _Word, language: str) -> bool:
        files = self._at(word.revision).kernels if word.revision else list_kernels()
        wanted = BASE if word.version in (None, "v0") else word.version
        return any(file[:3] == (word.kernel, wanted, language) for file in files)


def is_versions(words: Sequence[str]) -> bool:
    """Whether it is a kernel and then its versions, not one contender a word."""
    if len(words) < 2 or ":" in words[0] or words[0].endswith(".py"):
        return False
    kernels = {file.kernel for file in list_kernels()}
    if words[0] not in kernels and not all(VERSION.fullmatch(word) for word in words[1:]):
        return False
    if any(_is_file(word) for word in words[1:]):
        return False
    others = [word.partition("@")[0] for word in words[1:]]
    return not any(":" in other or other in kernels for other in others)


def _is_file(word: str) -> bool:
    return word.partition(":")[0].endswith(".py")


def expanded(words: Sequence[str]) -> list[str]:
    """`flash_mla base v1` as `flash_mla:base`, `flash_mla:v1`."""
    if is_versions(words):
        return [f"{words[0]}:{version}" for version in words[1:]]
    return list(words)


def read_word(word: str) -> _Word:
    """`[LANG:]KERNEL[:VERSION[@REV]]`, or a plan of the user's own."""
    if _is_file(word):
        return _Word(word, None, None, "", True)
    before, _, revision = word.partition("@")
    parts = before.split(":")
    kernels = {file.kernel for file in list_kernels()}
    language = parts.pop(0) if parts[0] in LANGUAGES and len(parts) > 1 else None
    is_version = len(parts) == 2 and (parts[0] in kernels or VERSION.fullmatch(parts[1]))
    if language is None and is_foreign(before) and not is_version:
        if "@" in word:
            raise BadArgument(f"{word}: @REV is for kernels of mla_var3 itself, as in v1@HEAD~3")
        return _Word(word, None, None, "", True)
    if len(parts) > 2:
        raise BadArgument(f"cannot read {word!r}: LANGUAGE:KERNEL:VERSION, such as torch:flash_mla")
    if "@" in word and not revision:
        raise BadArgument(f"no revision after @ in {word!r}: a commit, tag or branch")
    return _Word(parts[0], parts[1] if len(parts) == 2 else None, language, revision)


def _labelled(found: Sequence[Contender], read: Sequence[_Word]) -> tuple[Contender, ...]:
    """As short as tells them apart: the version, the language before it, the class."""
    languages = {contender.plan.LANGUAGE for contender in found}
    labels = []
    for contender in found:
        label = contender.plan.VERSION
        if contender.revision:
            label += f"@{contender.revision.short}"
        labels.append(f"{contender.plan.LANGUAGE} {label}" if len(languages) > 1 else label)
    keys = [(kernel_name(c.plan), label) for c, label in zip(found, labels, strict=True)]
    result = []
    for contender, label, key, word in zip(found, labels, keys, read, strict=True):
        alike = {c.plan for c, other in zip(found, keys, strict=True) if other == key}
        own = contender.plan.__name__ if word.foreign and len(alike) > 1 else label
        result.append(contender._replace(label=own))
    return _numbered(result)


def _numbered(found: Sequence[Contender]) -> tuple[Contender, ...]:
    """`base #2` for the second of the same."""
    seen: Counter[tuple[str, str]] = Counter()
    result = []
    for contender in found:
        key = (kernel_name(contender.plan), contender.label)
        seen[key] += 1
        ending = f" #{seen[key]}" if seen[key] > 1 else ""
        result.append(contender._replace(label=contender.label + ending))
    return tuple(result)
