"""What stands inside the text of one block: links and tags.

Brackets bind as CommonMark says: code spans, raw HTML and autolinks first, an inner link before an
outer one. Obsidian's wikilinks, tags and comments come on top. Time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple


class Link(NamedTuple):
    """A way from this note to somewhere: `kind` is "wikilink" or "embed", "markdown" or "image".

    `target` is without the anchor, and empty for a markdown link within the note; that of a local
    one is percent-decoded, a URL is whole.
    """

    kind: str
    target: str
    line: int


# CommonMark's bound for references; it also keeps nested labels from adding up.
_MAX_LABEL_CHARS: Final = 999
_URL_LOOKBACK_CHARS: Final = 256


def _bare_destination_pattern() -> str:
    """A link destination without angle brackets; its parentheses balance, four deep at most."""
    plain = r"[^()\\\x00-\x20\x7f]++|\\[^\x00-\x20\x7f]?+"
    nested = f"(?:{plain})*"
    for _ in range(4):
        nested = rf"(?:{plain}|\({nested}\))*"
    return nested


# Possessive quantifiers are used for single characters only: for groups, Python before 3.11.5 gets
# them wrong.
ANGLED_DESTINATION: Final = r"<([^<>\n\\]*+(?:\\.[^<>\n\\]*+)*)>"
BARE_DESTINATION: Final = rf"((?!<){_bare_destination_pattern()})"
LINK_TITLE: Final = (
    r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*"|'[^'\\]*+(?:\\.[^'\\]*+)*'|\([^()\\]*+(?:\\.[^()\\]*+)*\))"""
)
LINK_LABEL: Final = r"\[([^\[\]\\]*+(?:\\.[^\[\]\\]*+)*)\]"

_HTML_ATTRIBUTE = (
    r"""\s++[A-Za-z_:][A-Za-z0-9:._-]*+(?:\s*+=\s*+(?:[^"'=<>`\x00-\x20]++|'[^']*+'|"[^"]*+"))?"""
)
HTML_TAG: Final = (
    rf"<(?:[A-Za-z][A-Za-z0-9-]*+(?:{_HTML_ATTRIBUTE})*\s*+/?>|/[A-Za-z][A-Za-z0-9-]*+\s*+>)"
)

_TOKEN_RE = lazy_re(r"[\\`\[\]<#%]")
_BACKTICKS_RE = lazy_re(r"`+")
_NEWLINE_RE = lazy_re(r"\n")
_WIKILINK_RE = lazy_re(r"\[\[(?!\[)((?:[^\[\]\n]++|\[[^\[\]\n]*+\])+)\]\]")
_INLINE_DESTINATION_RE = lazy_re(
    rf"\([ \t\n]*+(?:{ANGLED_DESTINATION}|{BARE_DESTINATION})(?:[ \t\n]++{LINK_TITLE})?[ \t\n]*+\)",
    re.DOTALL,
)
_LINK_LABEL_RE = lazy_re(LINK_LABEL, re.DOTALL)
_AUTOLINK_OR_TAG_RE = lazy_re(
    r"<(?:(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20]*+)"
    r"|(?P<mail>[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9]"
    r"(?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*))>"
    rf"|{HTML_TAG}"
)
_RAW_HTML_DELIMITERS: Final = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">"))
# Obsidian's own set: all but white space, ASCII punctuation and two blocks of Unicode punctuation.
_TAG_RE = lazy_re(r"[^\s!-,.:-@\[-^`{-~\x00-\x1f\x7f\ufeff\u2000-\u206f\u2e00-\u2e7f]+")
_URL_SCHEME_RE = lazy_re(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
_BACKSLASH_ESCAPE_RE = lazy_re(r"\\[!-/:-@\[-`{-~]")
# What addresses need; the full table costs 2 ms to import.
_ENTITY_RE = lazy_re(r"&(?:amp|lt|gt|quot);")
_ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"'}
_PERCENT_ESCAPES_RE = lazy_re(r"(?:%[0-9A-Fa-f]{2})+")


def may_have_markup(text: str) -> bool:
    """False if `text` holds nothing that `InlineParser` reports; a cheap test before parsing."""
    return "[" in text or "#" in text or "<" in text


def normalize_label(label: str) -> str:
    """The form in which two reference labels are compared."""
    return " ".join(label.split()).casefold()


def raw_html_closing(text: str, at: int) -> str | None:
    """What ends the comment, instruction, declaration or CDATA section that begins at `at`."""
    for opening, closing in _RAW_HTML_DELIMITERS:
        if text.startswith(opening, at) and (opening != "<!" or text[at + 2 : at + 3].isalpha()):
            return closing
    return None


def _percent_decode(text: str) -> str:
    def decode(run: re.Match[str]) -> str:
        try:
            return bytes.fromhex(run[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return run[0]

    return _PERCENT_ESCAPES_RE.sub(decode, text) if "%" in text else text


def parse_destination(raw: str) -> str:
    """The target that a markdown destination means."""
    if "\\" in raw:
        raw = _BACKSLASH_ESCAPE_RE.sub(lambda escape: escape[0][1], raw)
    if "&" in raw:
        raw = _ENTITY_RE.sub(lambda entity: _ENTITIES[entity[0]], raw)
    return raw if _URL_SCHEME_RE.match(raw) else _percent_decode(raw.partition("#")[0])


class InlineParser:
    """Collects links and tags from the texts of a note, in the order of the note."""

    def __init__(self, definitions: Mapping[str, str]) -> None:
        """`definitions` maps the normal labels of `[label]: target` lines to their raw targets."""
        self.definitions = definitions
        self.links: list[Link] = []
        self.tags: dict[str, str] = {}  # as the note first wrote them, by their case-folded names

    def read(self, text: str, line: int) -> None:
        """Take in `text`, which begins on `line`."""
        self._text, self._line = text, line
        self._openers: list[tuple[int, bool]] = []
        self._inactive_openers = 0
        self._pending_tags: list[tuple[int, str]] = []
        self._absent_closings: set[str] = set()
        self._backtick_runs: dict[int, list[int]] | None = None
        self._newline_positions: list[int] | None = None
        handlers = self._handlers
        position = 0
        while found := _TOKEN_RE.search(text, position):
            at = found.start()
            position = handlers[text[at]](self, at, position)
        for _, name in self._pending_tags:
            self.tags.setdefault(name.casefold(), name)

    def _line_of(self, at: int) -> int:
        if self._newline_positions is None:
            self._newline_positions = [found.start() for found in _NEWLINE_RE.finditer(self._text)]
        return self._line + bisect_left(self._newline_positions, at)

    def _find_closing(self, closing: str, start: int) -> int:
        """The end of the next `closing`, or -1. Absence is cached: else each opening is a scan."""
        if closing in self._absent_closings:
            return -1
        at = self._text.find(closing, start)
        if at < 0:
            self._absent_closings.add(closing)
            return -1
        return at + len(closing)

    def _escape(self, at: int, _resumed: int) -> int:
        return at + 2

    def _code(self, at: int, _resumed: int) -> int:
        if self._backtick_runs is None:
            self._backtick_runs = {}
            for run in _BACKTICKS_RE.finditer(self._text):
                self._backtick_runs.setdefault(run.end() - run.start(), []).append(run.start())
        end = at + 1
        while self._text.startswith("`", end):
            end += 1
        closers = self._backtick_runs.get(end - at, [])
        following = bisect_left(closers, end)
        return closers[following] + end - at if following < len(closers) else end

    def _open(self, at: int, resumed: int) -> int:
        text = self._text
        image = at > resumed and text[at - 1] == "!"
        if text.startswith("[", at + 1) and (wikilink := _WIKILINK_RE.match(text, at)):
            return self._wikilink(wikilink, image=image)
        self._openers.append((at, image))
        return at + 1

    def _wikilink(self, found: re.Match[str], *, image: bool) -> int:
        end = found.end()
        if self._text.startswith("(", end) and (
            inline := _INLINE_DESTINATION_RE.match(self._text, end)
        ):
            self._add_link(inline[1] or inline[2] or "", found.start(), image=image)
            return inline.end()
        name = found[1].replace("\\|", "|").partition("|")[0]
        if target := name.partition("#")[0].strip():
            kind = "embed" if image else "wikilink"
            self.links.append(Link(kind, target, self._line_of(found.start())))
        return end

    def _close(self, at: int, _resumed: int) -> int:
        if not self._openers:
            return at + 1
        start, image = self._openers.pop()
        alive = image or len(self._openers) >= self._inactive_openers
        self._inactive_openers = min(self._inactive_openers, len(self._openers))
        place = self._resolve_destination(start, at) if alive else None
        if place is None:
            return at + 1
        raw, end = place
        self._add_link(raw, start, image=image)
        while self._pending_tags and self._pending_tags[-1][0] > start:
            self._pending_tags.pop()
        if not image:
            # A link holds no link: every "[" still open is text.
            self._inactive_openers = len(self._openers)
        return end

    def _resolve_destination(self, start: int, at: int) -> tuple[str, int] | None:
        """The raw destination of the bracket from `start` to `at`, and where its link ends."""
        text = self._text
        if text.startswith("(", at + 1) and (inline := _INLINE_DESTINATION_RE.match(text, at + 1)):
            return inline[1] or inline[2] or "", inline.end()
        if not self.definitions:
            return None
        label, end = "", at + 1
        if text.startswith("[", end) and (reference := _LINK_LABEL_RE.match(text, end)):
            label, end = reference[1], reference.end()
        if not label and at - start <= _MAX_LABEL_CHARS:
            label = text[start + 1 : at]
        raw = self.definitions.get(normalize_label(label))
        return None if raw is None else (raw, end)

    def _add_link(self, raw: str, at: int, *, image: bool) -> None:
        kind = "image" if image else "markdown"
        self.links.append(Link(kind, parse_destination(raw), self._line_of(at)))

    def _angle(self, at: int, _resumed: int) -> int:
        text = self._text
        if found := _AUTOLINK_OR_TAG_RE.match(text, at):
            if target := found["url"] or (found["mail"] and f"mailto:{found['mail']}"):
                self.links.append(Link("markdown", target, self._line_of(at)))
            return found.end()
        closing = raw_html_closing(text, at)
        end = self._find_closing(closing, at + 2) if closing else -1
        return end if end > 0 else at + 1

    def _comment(self, at: int, _resumed: int) -> int:
        if not self._text.startswith("%%", at):
            return at + 1
        end = self._find_closing("%%", at + 2)
        return end if end > 0 and "\n" not in self._text[at:end] else at + 2

    def _tag(self, at: int, _resumed: int) -> int:
        text = self._text
        before = text[at - 1] if at else " "
        if not (before.isspace() or before == "(") or not (found := _TAG_RE.match(text, at + 1)):
            return at + 1
        name = found[0].rstrip("/")
        if name and not name.isdigit() and not (before == "(" and self._in_url(at)):
            self._pending_tags.append((at, name))
        return found.end()

    def _in_url(self, at: int) -> bool:
        words = self._text[max(0, at - _URL_LOOKBACK_CHARS) : at].split()
        return bool(words) and "://" in words[-1]

    _handlers: Final = {
        "\\": _escape, "`": _code, "[": _open, "]": _close, "<": _angle, "%": _comment, "#": _tag,
    }  # fmt: skip
