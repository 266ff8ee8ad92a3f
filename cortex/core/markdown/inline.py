"""What stands inside the text of one block: links, tags, block ids and Dataview fields.

Brackets bind as CommonMark says: code spans, raw HTML and autolinks first, an inner link before an outer one.
Obsidian's wikilinks, tags, comments and block ids come on top. Time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Link(NamedTuple):
    """A way from this note to somewhere: `kind` is "wikilink", "embed" or "markdown".

    `target` is empty for a link within the note; `anchor` is `Heading`, `Heading#Sub` or `^block`; `text` is
    the alias or label. A local markdown target is percent-decoded; a URL is left alone and has no anchor.
    """

    kind: str
    target: str
    anchor: str
    text: str
    line: int


class Tag(NamedTuple):
    """A `#tag`, without the sign, in the case in which the note first wrote it."""

    name: str
    line: int


class BlockId(NamedTuple):
    """A ` ^name` at the end of a line: what `[[note#^name]]` points to."""

    name: str
    line: int


class Field(NamedTuple):
    """A Dataview field: a line `key:: value`, or `[key:: value]` or `(key:: value)` within one."""

    key: str
    value: str
    line: int


_LABEL_LIMIT: Final = (
    999  # CommonMark's bound for references; it also keeps nested labels from adding up
)
_VALUE_LIMIT: Final = 1000
_KEY_LIMIT: Final = 80
_URL_LOOKBACK: Final = 256


def _destination() -> str:
    """A link destination without angle brackets; its parentheses balance, four deep at most."""
    plain = r"[^()\\\x00-\x20\x7f]++|\\[^\x00-\x20\x7f]?+"
    nested = f"(?:{plain})*"
    for _ in range(4):
        nested = rf"(?:{plain}|\({nested}\))*"
    return nested


# A possessive quantifier stands behind single characters alone: behind groups, Python before 3.11.5 gets it wrong.
ANGLED: Final = r"<([^<>\n\\]*+(?:\\.[^<>\n\\]*+)*)>"
BARE: Final = rf"((?!<){_destination()})"
TITLE: Final = (
    r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*"|'[^'\\]*+(?:\\.[^'\\]*+)*'|\([^()\\]*+(?:\\.[^()\\]*+)*\))"""
)
LABEL: Final = r"\[([^\[\]\\]*+(?:\\.[^\[\]\\]*+)*)\]"

_ATTRIBUTE = (
    r"""\s++[A-Za-z_:][A-Za-z0-9:._-]*+(?:\s*+=\s*+(?:[^"'=<>`\x00-\x20]++|'[^']*+'|"[^"]*+"))?"""
)
HTML_TAG: Final = (
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_ATTRIBUTE})*\s*+/?>|/[A-Za-z][A-Za-z0-9-]*+\s*+>)"
)

_TOKEN = re.compile(r"[\\`\[\]<#^%]")
_TOKEN_WITH_FIELDS = re.compile(r"[\\`\[\]<#^%:(]")
_TICKS = re.compile(r"`+")
_COLONS = re.compile(r":+")
_NEWLINE = re.compile(r"\n")
_WIKILINK = re.compile(r"\[\[(?!\[)((?:[^\[\]\n]++|\[[^\[\]\n]*+\])+)\]\]")
_INLINE = re.compile(rf"\([ \t\n]*+(?:{ANGLED}|{BARE})(?:[ \t\n]++{TITLE})?[ \t\n]*+\)", re.DOTALL)
_LABEL = re.compile(LABEL, re.DOTALL)
_ANGLE = re.compile(
    r"<(?:(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*+)"
    r"|(?P<mail>[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*))>"
    rf"|{HTML_TAG}"
)
_RAW_HTML: Final = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">"))
# Obsidian's own set: all but white space, ASCII punctuation and two blocks of Unicode punctuation.
_TAG = re.compile(r"[^\s!-,.:-@\[-^`{-~\x00-\x1f\x7f\ufeff\u2000-\u206f\u2e00-\u2e7f]+")
_BLOCK_ID = re.compile(r"([A-Za-z0-9-]++)[ \t]*+(?=\n|\Z)")
_KEY = rf"(?![ \t/-])[^\x00-\x08\x0a-\x1f!-,.:-@\[-^`{{-~]{{1,{_KEY_LIMIT}}}"
_WHOLE_KEY = re.compile(_KEY)
_BRACKET_KEY = re.compile(rf"({_KEY})::[ \t]")
_PAREN_FIELD = re.compile(rf"\(({_KEY})::[ \t]++([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*)\)")
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_BACKSLASH = re.compile(r"\\[!-/:-@\[-`{-~]")
_ENTITY = re.compile(
    r"&(?:amp|lt|gt|quot);"
)  # what addresses need; the full table costs 2 ms to import
_ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"'}
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def worth_reading(text: str) -> bool:
    """Whether `text` can hold anything that `Inline` reports: a cheap look before the careful one."""
    return "[" in text or "#" in text or "<" in text or "^" in text or "::" in text


def normal_label(label: str) -> str:
    """The form in which two reference labels are compared."""
    return " ".join(label.split()).casefold()


def raw_html_end(text: str, at: int) -> str | None:
    """What ends the comment, instruction, declaration or CDATA section that begins at `at`, if one does."""
    for opening, closing in _RAW_HTML:
        if text.startswith(opening, at) and (opening != "<!" or text[at + 2 : at + 3].isalpha()):
            return closing
    return None


def _percent_decoded(text: str) -> str:
    def decode(run: re.Match[str]) -> str:
        try:
            return bytes.fromhex(run[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return run[0]

    return _PERCENT.sub(decode, text) if "%" in text else text


def _place(raw: str) -> tuple[str, str]:
    """The target and anchor that a markdown destination means."""
    if "\\" in raw:
        raw = _BACKSLASH.sub(lambda escape: escape[0][1], raw)
    if "&" in raw:
        raw = _ENTITY.sub(lambda entity: _ENTITIES[entity[0]], raw)
    if _EXTERNAL.match(raw):
        return raw, ""
    path, _, anchor = raw.partition("#")
    return _percent_decoded(path), _percent_decoded(anchor)


class Inline:
    """Reads the texts of a note one after the other and gathers what they hold, in the order of the note."""

    def __init__(self, definitions: Mapping[str, str]) -> None:
        """`definitions` maps the normal labels of `[label]: target` lines to their raw targets."""
        self.definitions = definitions
        self.links: list[Link] = []
        self.tags: dict[str, Tag] = {}
        self.block_ids: list[BlockId] = []
        self.fields: list[Field] = []

    def read(self, text: str, line: int, *, whole_lines: bool) -> None:
        """Take in `text`, which begins on `line`; `whole_lines` allows fields that are lines of their own."""
        self._text, self._line, self._whole_lines = text, line, whole_lines
        self._openers: list[tuple[int, bool]] = []
        self._dead = 0
        self._pending: list[tuple[int, str]] = []
        self._absent: set[str] = set()
        self._runs: dict[int, list[int]] | None = None
        self._breaks: list[int] | None = None
        self._has_fields = "::" in text
        search = (_TOKEN_WITH_FIELDS if self._has_fields else _TOKEN).search
        handlers = self._handlers
        position = 0
        while found := search(text, position):
            at = found.start()
            position = handlers[text[at]](self, at, position)
        for at, name in self._pending:
            self.tags.setdefault(name.casefold(), Tag(name, self._line_of(at)))

    def _line_of(self, at: int) -> int:
        if self._breaks is None:
            self._breaks = [found.start() for found in _NEWLINE.finditer(self._text)]
        return self._line + bisect_left(self._breaks, at)

    def _find(self, closing: str, start: int) -> int:
        """The end of the next `closing`, or -1. Absence is remembered: else each opening costs a scan."""
        if closing in self._absent:
            return -1
        at = self._text.find(closing, start)
        if at < 0:
            self._absent.add(closing)
            return -1
        return at + len(closing)

    def _escape(self, at: int, _resumed: int) -> int:
        return at + 2

    def _code(self, at: int, _resumed: int) -> int:
        if self._runs is None:
            self._runs = {}
            for run in _TICKS.finditer(self._text):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        end = at + 1
        while self._text.startswith("`", end):
            end += 1
        closers = self._runs.get(end - at, [])
        following = bisect_left(closers, end)
        return closers[following] + end - at if following < len(closers) else end

    def _open(self, at: int, resumed: int) -> int:
        text = self._text
        image = at > resumed and text[at - 1] == "!"
        if text.startswith("[", at + 1) and (wikilink := _WIKILINK.match(text, at)):
            return self._wikilink(wikilink, image=image)
        self._openers.append((at, image))
        return at + 1

    def _wikilink(self, found: re.Match[str], *, image: bool) -> int:
        end = found.end()
        if self._text.startswith("(", end) and (inline := _INLINE.match(self._text, end)):
            label = self._text[found.start() + 1 : end - 1]
            self._report(inline[1] or inline[2] or "", label, found.start(), image=image)
            return inline.end()
        name, _, alias = found[1].replace("\\|", "|").partition("|")
        target, _, anchor = name.partition("#")
        target, anchor = target.strip(), anchor.strip()
        if target or anchor:
            kind = "embed" if image else "wikilink"
            self.links.append(
                Link(kind, target, anchor, alias.strip(), self._line_of(found.start()))
            )
        return end

    def _close(self, at: int, _resumed: int) -> int:
        if not self._openers:
            return at + 1
        start, image = self._openers.pop()
        alive = image or len(self._openers) >= self._dead
        self._dead = min(self._dead, len(self._openers))
        place = self._destination(start, at) if alive else None
        if place is None:
            if self._has_fields and not image:
                self._bracket_field(start, at)
            return at + 1
        raw, end = place
        label_end = min(at, start + 1 + _LABEL_LIMIT)
        self._report(raw, self._text[start + 1 : label_end], start, image=image)
        while self._pending and self._pending[-1][0] > start:
            self._pending.pop()
        if not image:
            self._dead = len(self._openers)  # a link holds no link: every "[" still open is text
        return end

    def _destination(self, start: int, at: int) -> tuple[str, int] | None:
        """The raw destination of the bracket from `start` to `at`, and where the whole link ends."""
        text = self._text
        if text.startswith("(", at + 1) and (inline := _INLINE.match(text, at + 1)):
            return inline[1] or inline[2] or "", inline.end()
        if not self.definitions:
            return None
        label, end = "", at + 1
        if text.startswith("[", end) and (reference := _LABEL.match(text, end)):
            label, end = reference[1], reference.end()
        if not label and at - start <= _LABEL_LIMIT:
            label = text[start + 1 : at]
        raw = self.definitions.get(normal_label(label))
        return None if raw is None else (raw, end)

    def _report(self, raw: str, label: str, at: int, *, image: bool) -> None:
        target, anchor = _place(raw)
        self.links.append(
            Link("embed" if image else "markdown", target, anchor, label, self._line_of(at))
        )

    def _angle(self, at: int, _resumed: int) -> int:
        text = self._text
        if found := _ANGLE.match(text, at):
            if url := found["url"]:
                self.links.append(Link("markdown", url, "", url, self._line_of(at)))
            elif mail := found["mail"]:
                self.links.append(Link("markdown", f"mailto:{mail}", "", mail, self._line_of(at)))
            return found.end()
        closing = raw_html_end(text, at)
        end = self._find(closing, at + 2) if closing else -1
        return end if end > 0 else at + 1

    def _comment(self, at: int, _resumed: int) -> int:
        if not self._text.startswith("%%", at):
            return at + 1
        end = self._find("%%", at + 2)
        return end if end > 0 and "\n" not in self._text[at:end] else at + 2

    def _tag(self, at: int, _resumed: int) -> int:
        text = self._text
        before = text[at - 1] if at else " "
        if not (before.isspace() or before == "(") or not (found := _TAG.match(text, at + 1)):
            return at + 1
        name = found[0].rstrip("/")
        if name and not name.isdigit() and not (before == "(" and self._in_url(at)):
            self._pending.append((at, name))
        return found.end()

    def _in_url(self, at: int) -> bool:
        words = self._text[max(0, at - _URL_LOOKBACK) : at].split()
        return bool(words) and "://" in words[-1]

    def _block_id(self, at: int, _resumed: int) -> int:
        text = self._text
        if at and text[at - 1] not in " \t\n":
            return at + 1
        if found := _BLOCK_ID.match(text, at + 1):
            self.block_ids.append(BlockId(found[1], self._line_of(at)))
            return found.end()
        return at + 1

    def _line_field(self, at: int, _resumed: int) -> int:
        text = self._text
        run = _COLONS.match(text, at)
        end = run.end() if run else at + 1
        if (
            end - at != 2
            or not self._whole_lines
            or text[end : end + 1] not in ("", " ", "\t", "\n")
        ):
            return end
        furthest = max(0, at - _KEY_LIMIT - 8)
        begin = text.rfind("\n", furthest, at) + 1
        if begin or not furthest:
            key = text[begin:at].strip(" \t*_~=")
            if _WHOLE_KEY.fullmatch(key):
                stop = text.find("\n", end)
                value = text[end : stop if stop >= 0 else len(text)]
                self.fields.append(Field(key, value.strip(), self._line_of(at)))
        return end

    def _bracket_field(self, start: int, at: int) -> None:
        if at - start <= _VALUE_LIMIT and (key := _BRACKET_KEY.match(self._text, start + 1)):
            value = self._text[key.end() : at]
            if "\n" not in value:
                self.fields.append(Field(key[1].strip(), value.strip(), self._line_of(start)))

    def _paren_field(self, at: int, _resumed: int) -> int:
        if found := _PAREN_FIELD.match(self._text, at):
            self.fields.append(Field(found[1].strip(), found[2].strip(), self._line_of(at)))
        return at + 1

    _handlers: Final = {
        "\\": _escape,
        "`": _code,
        "[": _open,
        "]": _close,
        "<": _angle,
        "%": _comment,
        "#": _tag,
        "^": _block_id,
        ":": _line_field,
        "(": _paren_field,
    }
