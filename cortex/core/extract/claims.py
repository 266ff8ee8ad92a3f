"""Claims of records that git can contradict: that a file, folder or branch is there, and that a
package is used.

A false claim is worse than a missed one: a sentence that tells of a removal, a wish or an example,
and a part about what was rejected or is planned, claim nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.core.extract.named_entities import PACKAGE_PATTERN, find_files
from cortex.core.markdown.bound import without_fences
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

MAX_FILES, MAX_PACKAGES, MAX_BRANCHES = 12, 8, 4  # of one record
_MAX_TEXT_CHARS = 24_000  # characters of a record that are looked through

_WORDS = {name: tuple(" ".join(lines).split()) for name, lines in read_sections(__file__).items()}
_GONE_STEMS, _DENIAL_STEMS = _WORDS["gone stems"], _WORDS["denial stems"]
_ASIDES, _GONES, _DENIALS, _PRONOUNS = (
    frozenset(_WORDS[name]) for name in ("aside words", "gone words", "denial words", "no packages")
)
# Wikilinks, targets of links, addresses and what is struck through.
_LINK_RE = lazy_re(r"\[\[[^\[\]]{0,300}\]\]|\]\([^()\s]{0,500}\)|~~[^~]{1,300}~~|://[^\s`]{1,500}")
_HEADING_RE = lazy_re(r"\n(#[^\n]{0,500})")
_PARAGRAPH_END_RE = lazy_re(r"\n[ \t]{0,20}(?:\n|(?=(?:[-*+>]|\d{1,3}[.)])\s))")
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?;])[*_]{0,3}\s")
_INSTEAD_RE = lazy_re(r"\s(?:instead of|rather than)\s")
_WORD_RE = lazy_re(r"[^\W\d_]+")
_FOLDER_RE = lazy_re(r"(?<![\w./~$@:<>{}*-])((?:[\w.+@-]{1,100}/){1,20})(?![\w.*<>{}\[(/-])")
_BRANCH_RE = lazy_re(r"\bbranch\s[`'\"*]{0,3}(\w[\w./-]{0,200})", re.IGNORECASE)
# "Use redis.", "depends on `redis`": a word that goes on ("use rich snippets") is no package's name.
_USED_PACKAGE_RE = lazy_re(
    r"\b(?:us(?:es?|ed|ing)|requires?|add(?:s|ed)|adopt(?:s|ed)?|chose|prefer|pin(?:s|ned)?"
    r"|(?:pinned|switched|migrated)(?:\sfrom\s\S{1,80})?\sto|is(?=\s`?[\w.-]{2,60}`?\sv?\d)"
    r"|(?:depends?|relies|rely|built|runs|based)\son"
    r"|(?:built|written|made|read|run|kept|\w{2,20}ed|test|lint|format|build|check|validate|parse"
    r"|deploy|render)(?:\s\w{2,20}){0,2}\s(?:with|via|by|through|in))"
    r"\s(?:the\s(?=`|package|library))?(?:just\s|only\s|package\s|library\s)?"
    r"(?:`(@?[A-Za-z][\w./-]{0,80})(?:[\s@=<>~\[][^`]{0,60})?`"
    rf"|({PACKAGE_PATTERN})(?=[,;:!?)*_]|$|\s(?:for|as|to|in|into|and|because|since|so|on|at|over"
    r"|from|which|that|but|or|by|only|here|everywhere|library|package|client|[v=<>~^]{0,2}\d)))",
    re.IGNORECASE,
)


class RecordClaims(NamedTuple):
    """The claims of a record. Paths are relative to the project; those of folders end with `/`."""

    id: str
    created: str
    files: tuple[str, ...]
    packages: tuple[str, ...]
    branches: tuple[str, ...]


def extract_claims(id_: str, title: str, text: str, created: str) -> RecordClaims:
    """The claims of a record."""
    files: dict[str, None] = {}
    packages: dict[str, None] = {}
    branches: dict[str, None] = {}
    for whole in _iter_sentences(f"{title}\n\n{text}"[:_MAX_TEXT_CHARS]):
        sentence = _INSTEAD_RE.split(whole)[0]
        words = [word.strip("`'\"*_,;:!?.()") for word in sentence.casefold().split()]
        if not _GONES.isdisjoint(words) or any(word.startswith(_GONE_STEMS) for word in words):
            continue
        named = [*find_files(sentence), *(_FOLDER_RE.findall(sentence) if "/" in sentence else ())]
        files.update(dict.fromkeys(filter(_is_inside_project, named)))
        stems = (word.startswith(_DENIAL_STEMS) or word.endswith(("n't", "n’t")) for word in words)
        if sentence.endswith("?") or not _DENIALS.isdisjoint(words) or any(stems):
            continue
        used = ((a or b).rstrip(".-") for a, b in _USED_PACKAGE_RE.findall(sentence))
        packages.update((name, None) for name in used if name.casefold() not in _PRONOUNS)
        branches.update(dict.fromkeys(one.rstrip(".-/") for one in _BRANCH_RE.findall(sentence)))
    return RecordClaims(
        id_,
        created,
        tuple(files)[:MAX_FILES],
        tuple(packages)[:MAX_PACKAGES],
        tuple(branches)[:MAX_BRANCHES],
    )


def _is_inside_project(path: str) -> bool:
    parts = path.removesuffix("/").split("/")
    return path[0] != "~" and ".git" not in parts and all(part.strip(".") for part in parts)


def _iter_sentences(text: str) -> Iterator[str]:
    """The sentences of the prose, without code blocks, links, addresses and asides."""
    prose = _LINK_RE.sub(" ", without_fences(text))
    prose = _HEADING_RE.sub(r"\n\n\1\n\n", f"\n{prose}")
    is_aside_part = False
    for paragraph in map(str.strip, _PARAGRAPH_END_RE.split(prose)):
        first = _WORD_RE.search(paragraph)
        is_aside = first is not None and first[0].casefold() in _ASIDES
        if paragraph.startswith("#"):
            is_aside_part = is_aside
        if not (is_aside or is_aside_part):
            yield from _SENTENCE_END_RE.split(" ".join(paragraph.split()))
