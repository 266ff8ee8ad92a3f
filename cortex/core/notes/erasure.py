"""Take words, or a record with its events, out of texts for good: find them, and replace them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator

from cortex.core.model import event as events
from cortex.core.model.event import Event
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.note_status import UTF16_BOMS, decode_text
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import slugify
from cortex.core.text.value import NamedTuple

TOMBSTONE = "[ERASED]"
# A file of the list begins with it. Nothing is erased from one: an id may hold a short word.
LIST_HEAD = (
    b"# What was erased here: ids and git blobs. Keep this file, or an old clone brings it back.\n"
)
_NAME_TOMBSTONE = b"erased"  # in frontmatter, names and links, which brackets would break
MIN_CHARS = 4  # fewer stand in any large picture by chance
_MAX_SLUG_CHARS = 40  # of a long text; ids hold only its beginning
_BINARY_PROBE = 8000  # bytes among which a NUL means no text, as for git
_FRONT_RE = lazy_re(rb"(?s)(?:\xef\xbb\xbf)?---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)")
_ID_LEFT_RE = lazy_re(rb"(?:^|[^a-z0-9-])([a-z0-9-]{0,80})\Z")
_HASH_CHARS = 6  # at the end of a record's id
_RECORD_ID_RE = lazy_re(r"[a-z0-9-]+-[a-z2-7]{6}")
_ID_RE = lazy_re(rb"[a-z0-9-]*-[a-z2-7]{6}(?![a-z0-9-])")
# Between two words: blanks of any kind, also as JSON and HTML write them, marks of markdown, hyphens.
_BETWEEN = (
    rb"(?:[\s_+*>~`-]|%20|\xc2\xa0|\xe2\x80[\x80-\x8b\xaf]|\xe3\x80\x80|&nbsp;|\\u00a0|\\[nrt])+"
)
_OPEN_LINK_RE = lazy_re(rb"(?:\[\[[^\]|\n]{0,200}|\]\([^)\s]{0,200})\Z")


class Eraser(NamedTuple):
    """What is erased: what the pattern finds, these records, and the whole content of these events."""

    pattern: re.Pattern[bytes]
    records: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()

    def holds(self, data: bytes) -> bool:
        """Whether anything of it stands in a content, whatever its path."""
        if data.startswith(LIST_HEAD):
            return False
        is_wide = data.startswith(UTF16_BOMS)
        if self.pattern.search(decode_text(data).encode() if is_wide else data):
            return True
        id_ = notes.read(data).get("id") if self.events and data.startswith(b"---") else ""
        return id_ in self.events and data != _tombstone_event(id_, data)

    def erase(self, path: str, data: bytes) -> bytes | None:
        """The content of a file without it; None if the file itself goes. What is no text stays."""
        name = path.rpartition("/")[2].removesuffix(".md")
        if is_event_path(path) and name in self.events:
            return _tombstone_event(name, data)
        is_text = b"\0" not in data[:_BINARY_PROBE] and not data.startswith(UTF16_BOMS)
        if not is_text or not self.holds(data):
            return data
        if self.records:
            id_ = notes.read(data).get("id")
            if not is_event_path(path) and self.records & {id_, hash_of_id(id_)}:
                return None
            # Of what is made of records, a line goes whole.
            if is_among_briefings(path) or "/sessions/" in f"/{path}":
                lines = data.splitlines(keepends=True)
                return b"".join(line for line in lines if not self.pattern.search(line))
        return self.erase_text(data, is_plain=not path.endswith(".md"))

    def erase_text(self, data: bytes, *, is_plain: bool = False) -> bytes:
        """A text without it. `is_plain`: what stands in its place has no brackets anywhere."""
        front = _FRONT_RE.match(data)
        body = len(data) if is_plain else front.end() if front else 0

        def stand_in(found: re.Match[bytes]) -> bytes:
            left = data[max(0, found.start() - 300) : found.start()]
            begin = _ID_LEFT_RE.search(left)
            at = found.start() - len(begin[1]) if begin else found.start()
            is_name = _ID_RE.match(data, at) or _OPEN_LINK_RE.search(left)
            return _NAME_TOMBSTONE if found.start() < body or is_name else TOMBSTONE.encode()

        return self.pattern.sub(stand_in, data)

    def erase_name(self, path: bytes) -> bytes:
        """A path without it."""
        return self.pattern.sub(_NAME_TOMBSTONE, path)


def make_eraser(
    words: Iterable[str], records: Iterable[str] = (), events: Iterable[str] = ()
) -> Eraser:
    """Finds words in UTF-8: in any case, composed or not, as JSON escapes them, with any blanks or
    hyphens between them; and in the ids and names that are made of them. And records by their ids,
    or what `hash_of_id` gives."""
    texts = [" ".join(unicodedata.normalize("NFC", one).split()) for one in words]
    found = [pattern for text in texts for pattern in _patterns(text)]
    for id_ in records:  # its name goes with the link to it
        is_whole = len(id_) != _HASH_CHARS
        name = re.escape(id_) if is_whole else rf"[a-z0-9][a-z0-9-]*-{id_}(?![a-z0-9-])"
        found.append(rf"\[\[(?:[^\]|#\n]*/)?{name}(?:\.md)?(?:[#|][^\]\n]*)?\]\]|{name}".encode())
    pattern = re.compile(b"|".join(dict.fromkeys(found)) or rb"(?!)")
    return Eraser(pattern, frozenset(records), frozenset(events))


def derive_words(before: bytes, after: bytes) -> set[str]:
    """The words that were erased from a text, by what it was and what it is."""
    found = set()
    for old, new in zip(before.splitlines(), after.splitlines(), strict=False):
        kept = re.split(rb"\[ERASED\]|erased", new)
        if len(kept) > 1 and (pair := re.fullmatch(b"(.{1,400}?)".join(map(re.escape, kept)), old)):
            found |= {one.decode("utf-8", "replace") for one in pair.groups()}
    return {one for one in found if len(one) >= MIN_CHARS and one != "erased"}


def _patterns(text: str) -> Iterator[bytes]:
    yield b"".join(map(_spellings, text))
    slug = slugify(text, 200).encode()
    if len(slug) >= MIN_CHARS:
        yield b"(?<=-)%b(?![a-z0-9])|(?<![a-z0-9])%b(?=-)" % (slug, slug)
    if len(slug) > _MAX_SLUG_CHARS:
        yield slug[:_MAX_SLUG_CHARS] + b"[a-z0-9-]*(?=-[a-z2-7]{6}(?![a-z0-9]))"


def hash_of_id(id_: str) -> str:
    """The end of a record's id, which no word made; empty where a person named it."""
    return id_[-_HASH_CHARS:] if _RECORD_ID_RE.fullmatch(id_) else ""


def _spellings(char: str) -> bytes:
    if char in " -":
        return _BETWEEN
    forms: dict[bytes, None] = {}
    for case in (char, char.lower(), char.upper(), char.title(), char.casefold()):
        for form in (unicodedata.normalize("NFC", case), unicodedata.normalize("NFD", case)):
            forms[form.encode("utf-8", "surrogateescape")] = None
            forms[json.dumps(form)[1:-1].encode()] = None
    return b"(?:%b)" % b"|".join(map(re.escape, forms))


def _tombstone_event(id_: str, data: bytes) -> bytes:
    """An event with nothing in it but where it comes from."""
    note = notes.read(data)
    at, type_ = note.get("at") or events.time_of_id(id_), note.get("type")
    blank = Event(id_, type_ if type_ in events.EVENT_TYPES else "manual", at, TOMBSTONE)
    session, project, branch = map(note.get, ("session", "project", "branch"))
    kept = blank._replace(session=session, project=project, branch=branch)
    return events.compose(kept._replace(host=note.get("host"), source=note.get("source"))).encode()
