"""Claims of records that files and git can contradict.

Claims are that a file, folder or branch exists, and that a package is used or is not. A false claim
is worse than a missed one: text in doubt (an example, a rejected way, something moved or removed)
claims nothing. Words are compared one by one: patterns for all phrases would compile too slowly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from cortex.core.text.data_sections import read_sections

MAX_FILES, MAX_PACKAGES, MAX_BRANCHES = 12, 8, 4  # of one record
_MAX_TEXT_CHARS = 24_000  # characters of a record that are looked through

_SECTIONS = read_sections(__file__)
_WORDS = {name: frozenset(" ".join(lines).split()) for name, lines in _SECTIONS.items()}
_GONE_STEMS = {what: tuple(_WORDS[f"{what}_GONE_STEMS"]) for what in ("FILE", "BRANCH")}
_PATH_SEGMENT_PATTERN = r"(?:[\w.+@-]{1,100}|\([\w.-]{1,60}\)|\[{1,2}[\w.-]{1,60}\]{1,2})"
_PATH_RE = re.compile(
    rf"(?:\./)?((?:{_PATH_SEGMENT_PATTERN}/){{0,20}}[\w.+@-]{{1,120}})"
    r"(?::\d[\d:,-]{0,20}|#L?\d[\dL-]{0,20}|::[\w.:-]{1,120})?(?:['’]s)?"
)
_PACKAGE_RE = re.compile(
    r"((?:@[\w.-]{1,60}/)?[A-Za-z](?:[\w./-]{0,80}\w)?)(?:\[[\w,-]{1,60}\])?"
    r"(?:[@=<>!~^ ]{1,4}v?\d[\w.*,<>= -]{0,30})?"
)
# Wikilinks, targets of links, addresses and what is struck through.
_LINK_PATTERN = r"\[\[[^\[\]]{0,300}\]\]|\]\([^()\s]{0,500}\)|~~[^~]{1,300}~~"
_LINK_OR_URL_RE = re.compile(rf"{_LINK_PATTERN}|\w{{2,10}}://[^\s`]{{1,500}}")
# The same where no address is; without `\w` in front it passes over text ten times as fast.
_LINK_RE = re.compile(_LINK_PATTERN)
_SENTENCE_END_RE = re.compile(r"[.!?;](?=[*_]{0,3}\s)")
_INNER_DOT_RE = re.compile(r"\.\w")
# A name in backticks, with a capital or a hyphen, after `with`; or a name with its version.
_WITH_NAME_RE = re.compile(r"\b(?:with|via|through)\s(?:`|[A-Z]|[a-z]{1,30}-)")
# It begins with letters, which a search finds ten times as fast as `\b`.
_IS_VERSION_RE = re.compile(r"is(?<=\bis)\s`?[\w.-]{2,60}`?\sv?\d")
_BULLET_RE = re.compile(r"[-*+>\d.)#\s]{1,20}\s")
_PUNCTUATION = "`'\"*_,;:!?”“’‘()[]<>"

_REPLACEMENTS, _REMOVALS, _ADOPTIONS = (
    tuple(_SECTIONS[name]) for name in ("replacements", "removals", "adoptions")
)
_PACKAGE_TRIGGERS = frozenset(("instead", "rather")).union(
    *(words for name, words in _WORDS.items() if name.startswith("VERBS_BEFORE_")),
    *(_WORDS[f"{verbs}_VERBS"] for verbs in ("ADOPT", "SWITCH", "REPLACE", "DROP", "NEGATED")),
    _WORDS["DROPPED_PARTICIPLES"],
)
_NAME_TOKENS = ("OLD", "NEW")


class PackageClaim(NamedTuple):
    """A package that a record says is used, or is not."""

    name: str
    is_used: bool


class RecordClaims(NamedTuple):
    """The claims of a record. Paths are relative to the project; those of folders end with `/`."""

    id: str
    title: str
    text: str
    branch: str
    created: str
    files: tuple[str, ...]
    packages: tuple[PackageClaim, ...]
    branches: tuple[str, ...] = ()  # that its text names


class _PackageName(NamedTuple):
    name: str
    next_index: int  # the place of the word behind it


def extract_claims(
    id_: str, title: str, text: str, branch: str, created: str, *, rejected: bool = False
) -> RecordClaims:
    """The claims of a record. A `rejected` one ("Use redis for sessions") claims the contrary."""
    files: dict[str, None] = {}
    uses_by_package: dict[str, set[bool]] = {}
    branches: dict[str, None] = {}
    for sentence in _iter_sentences(f"{title}\n\n{text}"):
        may_name_files, may_name_packages, may_name_branches = _first_look(sentence)
        if not (may_name_files or may_name_packages or may_name_branches):
            continue
        words = sentence.split()
        bare = [word.strip(_PUNCTUATION).rstrip(".") for word in sentence.casefold().split()]
        if may_name_files and len(files) < MAX_FILES and not _is_gone(bare, "FILE"):
            files.update(dict.fromkeys(_find_files(words)))
        if may_name_branches and not _is_gone(bare, "BRANCH"):
            branches.update(dict.fromkeys(_find_branches(words, bare)))
        if may_name_packages and len(uses_by_package) < MAX_PACKAGES:
            for name, is_used in _find_packages(words, bare):
                uses_by_package.setdefault(name, set()).add(is_used)
    # Who says both of a package tells its history.
    uses = {name: True in said for name, said in uses_by_package.items() if len(said) == 1}
    if rejected:
        files, branches, uses = {}, {}, {name: False for name, is_used in uses.items() if is_used}
    packages = tuple(PackageClaim(*one) for one in uses.items())[:MAX_PACKAGES]
    named = tuple(files)[:MAX_FILES], packages, tuple(branches)[:MAX_BRANCHES]
    return RecordClaims(id_, title, text, branch, created, *named)


def _is_gone(bare: Sequence[str], what: str) -> bool:
    """Whether one of the words says of a FILE or a BRANCH that it may not be there."""
    has_stem = any(word.startswith(_GONE_STEMS[what]) for word in bare)
    return has_stem or not _WORDS[f"{what}_GONE_WORDS"].isdisjoint(bare)


def _iter_sentences(text: str) -> Iterator[str]:
    """The sentences of the prose, without code blocks, links, URLs, and asides."""
    aside = False
    for paragraph in _iter_paragraphs(text[:_MAX_TEXT_CHARS]):
        heading = paragraph.startswith("#")
        if not heading and (aside or not any(_first_look(paragraph))):
            continue
        bullet = _BULLET_RE.match(paragraph)
        words = paragraph[bullet.end() if bullet else 0 :].lstrip("*_[ ").split(None, 1)
        first = words[0].casefold() if words else ""
        is_aside = first == "out" or first.strip(f"{_PUNCTUATION}.") in _WORDS["ASIDE_WORDS"]
        if heading:
            aside = is_aside
        if aside or is_aside:
            continue
        begin = 0
        for found in _SENTENCE_END_RE.finditer(paragraph):
            yield paragraph[begin : found.end()]
            begin = found.end()
        yield paragraph[begin:]


def _first_look(text: str) -> tuple[bool, bool, bool]:
    """Whether a text may name files, packages, branches: a filter, 5 times as fast as parsing."""
    lowered = text.casefold()
    words = lowered
    for sign in ".!?;*":  # what may stand behind the last word of a sentence
        words = words.replace(sign, " ")
    has_file_word = "/" in text or "file" in lowered or "codeowners" in lowered
    return (
        has_file_word or _INNER_DOT_RE.search(text) is not None,
        not _PACKAGE_TRIGGERS.isdisjoint(words.split()) or _has_means_phrase(text),
        "branch " in lowered,
    )


def _has_means_phrase(text: str) -> bool:
    if _IS_VERSION_RE.search(text):
        return True
    if not ("with" in text or "via" in text or "through" in text):
        return False
    tool_verbs = _WORDS["TOOL_VERBS"]
    return bool(_WITH_NAME_RE.search(text)) or not tool_verbs.isdisjoint(text.casefold().split())


def _iter_paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, headings and items of lists, each on one line."""
    held: list[str] = []
    fence = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1].isalpha() and not fence:  # most lines: they go on with the paragraph
            held.append(_strip_links(line))
            continue
        if line.startswith(("```", "~~~")):
            mark = line[: len(line) - len(line.lstrip(line[0]))]
            fence = mark if not fence else "" if mark.startswith(fence) and line == mark else fence
            line = ""
        elif fence:
            continue
        alone = line.startswith("#")
        is_item = line.startswith(("- ", "* ", "+ ", "> "))
        is_item = is_item or (line[:1].isdigit() and bool(_BULLET_RE.match(line)))
        if held and (not line or alone or is_item):
            yield " ".join(held)
            held = []
        if line:
            held.append(_strip_links(line))
            if alone:
                yield held.pop()
    if held:
        yield " ".join(held)


def _strip_links(line: str) -> str:
    if "://" in line:
        return _LINK_OR_URL_RE.sub(" ", line)
    return _LINK_RE.sub(" ", line) if "](" in line or "[[" in line or "~~" in line else line


def _find_files(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        is_known = word.strip("`*(),.:").casefold() in _WORDS["EXTENSIONLESS_FILES"]
        may_be_path = len(word) <= 200 and ("." in word or "/" in word or is_known)
        if may_be_path and (path := _parse_file_path(word)):
            yield path


def _parse_file_path(word: str) -> str:
    """The path that a word is; empty when it is none, or one that leaves the project."""
    bare = word.strip("`'\"*,;:!?”“’‘").rstrip(".)>").lstrip("(<").strip("`'\"*,;:")
    found = _PATH_RE.fullmatch(bare.rstrip("/"))
    if found is None:
        return ""
    path: str = found[1]
    if bare.endswith("/"):
        return _parse_folder_path(path) if bare.rstrip("/") in (path, f"./{path}") else ""
    *folders, name = path.split("/")
    if any(not part.strip(".") for part in (*folders, name)) or ".git" in folders:
        return ""
    if name.casefold() in _WORDS["EXTENSIONLESS_FILES"]:
        return path if folders or "`" in word else ""
    return path if _is_file_name(folders, name) else ""


def _parse_folder_path(path: str) -> str:
    """The path of a folder with `/` at its end; empty for hosts, numbers, and `..`."""
    parts = path.split("/")
    leaves_project = any(not part.strip(".") for part in parts) or ".git" in parts
    is_name = any(map(str.isalpha, path)) and not _is_domain(parts[0])
    return f"{path}/" if is_name and not leaves_project else ""


def _is_domain(name: str) -> bool:
    host = name.casefold().split(".")
    return len(host) > 1 and (host[-1] in _WORDS["TOP_LEVEL_DOMAINS"] or host[0] == "www")


def _find_branches(words: Sequence[str], bare: Sequence[str]) -> Iterator[str]:
    """What stands behind the word `branch`."""
    for at, word in enumerate(bare[:-1]):
        if word == "branch" and not words[at].endswith((",", ":", ";", ")")):
            yield words[at + 1].strip(f"{_PUNCTUATION}.")


def _is_file_name(folders: Sequence[str], name: str) -> bool:
    """True if a name with a dot is a file's, and not that of a library, a host or a version."""
    stem, _, ending = name.rpartition(".")
    if not stem or stem.endswith(".") or not ending.isalnum() or not ending[0].isalpha():
        return False
    if not folders:
        is_library = stem.casefold() in _WORDS["DOTTED_LIBRARIES"]
        return ending in _WORDS["FILE_EXTENSIONS"] and not is_library
    return not _is_domain(folders[0]) and (
        ending.casefold() in _WORDS["FILE_EXTENSIONS"] or (ending.islower() and len(ending) < 5)
    )


def _find_packages(words: Sequence[str], bare: Sequence[str]) -> Iterator[PackageClaim]:
    """Packages that a sentence says are used or not; both of a replacement."""
    replaced = [pair for _, pair in _find_matches(_REPLACEMENTS, words, bare)]
    for pair in replaced:
        yield PackageClaim(pair["OLD"].name, False)
        yield PackageClaim(pair["NEW"].name, True)
    gone = (one["OLD"].name for _, one in _find_matches(_REMOVALS, words, bare))
    removed = [PackageClaim(name, False) for name in gone]
    if not replaced:
        yield from removed
    is_denied = any(word.endswith(("n't", "n’t")) for word in bare)
    is_asked = words[-1].endswith("?") or bare[0] == "when"
    if removed or is_denied or is_asked or not _WORDS["UNCERTAIN_WORDS"].isdisjoint(bare):
        return
    names = {package.name for pair in replaced for package in pair.values()}
    adopted = {at: one["NEW"] for at, one in _find_matches(_ADOPTIONS, words, bare)}
    for at in range(len(bare)):
        package = adopted.get(at) or _package_of_means(words, bare, at)
        if package and package.name not in names:
            yield PackageClaim(package.name, True)
            other = _match("and NEW", words, bare, package.next_index).get("NEW")
            if other and other.name not in names:
                yield PackageClaim(other.name, True)


def _package_of_means(words: Sequence[str], bare: Sequence[str], at: int) -> _PackageName | None:
    """The package behind `is`, if a version follows, or behind `with` or the like after a verb."""
    is_means = bare[at] in _WORDS["MEANS_PREPOSITIONS"]
    if not is_means and bare[at] != "is":
        return None
    before = bare[at - 1] if at else ""
    is_participle = before.endswith("ed") or before in _WORDS["IRREGULAR_PARTICIPLES"]
    if is_means:
        is_named = is_participle and _looks_like_name(words[at + 1 : at + 2])
        is_package = is_named or not _WORDS["TOOL_VERBS"].isdisjoint(bare[max(0, at - 3) : at])
    else:
        is_package = "".join(bare[at + 2 : at + 3]).lstrip("v")[:1].isdigit()
    return _parse_package(words, bare, at + 1) if is_package else None


def _looks_like_name(words: Sequence[str]) -> bool:
    """Whether the next word shows by itself that it is a name."""
    word = words[0] if words else ""
    return word.startswith("`") or word[:1].isupper() or "-" in word[1:-1]


def _find_matches(
    patterns: tuple[str, ...], words: Sequence[str], bare: Sequence[str]
) -> Iterator[tuple[int, dict[str, _PackageName]]]:
    """Where one of the patterns stands in a sentence, and its packages."""
    by_word = _index_patterns(patterns)
    name_first = [
        pattern
        for pattern in by_word[""]
        if not any(one.isdisjoint(bare) for _, one in _parse_pattern(pattern) if one)
    ]
    for at, word in enumerate(bare):
        for pattern in (*by_word.get(word, ()), *name_first):
            if matched := _match(pattern, words, bare, at):
                yield at, matched


@cache
def _index_patterns(patterns: tuple[str, ...]) -> dict[str, list[str]]:
    """The patterns by the words with which they may begin; "" for those that begin with a name."""
    by_word: dict[str, list[str]] = {"": []}
    for pattern in patterns:
        token, accepted = _parse_pattern(pattern)[0]
        for word in ("",) if token in _NAME_TOKENS else accepted:
            by_word.setdefault(word, []).append(pattern)
    return by_word


def _match(
    pattern: str, words: Sequence[str], bare: Sequence[str], at: int
) -> dict[str, _PackageName]:
    """The packages in the words from this place, if they read as the pattern; else none."""
    packages: dict[str, _PackageName] = {}
    for token, accepted in _parse_pattern(pattern):
        if token in _NAME_TOKENS:
            if (package := _parse_package(words, bare, at)) is None:
                return {}
            packages[token], at = package, package.next_index
        elif at < len(bare) and bare[at] in accepted:
            at += 1
        else:
            return {}
    return packages


@cache
def _parse_pattern(pattern: str) -> list[tuple[str, frozenset[str]]]:
    """The tokens of a pattern, with the words that each may be; a name may be any."""
    return [
        (token, _WORDS.get(token, frozenset(() if token in _NAME_TOKENS else token.split("|"))))
        for token in pattern.split()
    ]


def _parse_package(words: Sequence[str], bare: Sequence[str], at: int) -> _PackageName | None:
    """The package that the words from this place name; None when they name none."""
    has_article = is_called = False  # is_called: "the package x", "the x package"
    for _ in range(3):
        if at < len(bare) and bare[at] in _WORDS["FILLER_WORDS"]:
            has_article = has_article or bare[at] in _WORDS["ARTICLES"]
            is_called = is_called or bare[at] in _WORDS["PACKAGE_NOUNS"]
            at += 1
    if at >= len(words):
        return None
    word, after = words[at].lstrip("*_(\"'“‘"), at + 1
    if word.startswith("`"):
        while "`" not in word[1:] and after < min(at + 3, len(words)):
            word, after = f"{word} {words[after]}", after + 1
        text, tick, rest = word[1:].partition("`")
        noun = "".join(bare[after : after + 1]).removesuffix("'s")
        if not tick or (not rest and noun in _WORDS["PART_NOUNS"]):
            return None
    else:
        text = word.rstrip(".,;:!?)*_\"'”’—–")
        follows = bare[after] if after < len(bare) else ""
        is_called = is_called or follows in _WORDS["PACKAGE_NOUNS"]
        is_alone = text != word or follows.lstrip("v=<>~^")[:1].isdigit()
        is_alone |= follows in ("", "—", "–", "-") or follows in _WORDS["WORDS_AFTER_PACKAGE"]
        is_word = has_article and not is_called and text.isalpha() and text.islower()
        if len(text) < 2 or is_word or not (is_alone or is_called):
            return None
    match = _PACKAGE_RE.fullmatch(text)
    if not match or match[1].casefold() in _WORDS["NON_PACKAGES"]:
        return None
    return None if match[1] in _WORDS["WORDS_AFTER_PACKAGE"] else _PackageName(match[1], after)
