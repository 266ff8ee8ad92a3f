"""An export for people's eyes: a page of decisions, a calendar. Neither is imported again."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from html import escape
from itertools import chain
from string import Template
from urllib.parse import quote

from markdown_it import MarkdownIt

from cortex.core.markdown.snippet import links_as_read
from cortex.core.minutes.note_items import due_of
from cortex.core.model.note_status import (
    DONE_STATUSES,
    SET_ASIDE_STATUSES,
    TIER_CURRENT,
    WITHDRAWN_STATUSES,
)
from cortex.core.model.relation import inverse_of
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.iso_time import parse_day
from cortex.core.text.lazy_re import lazy_re
from cortex.index.catalogue import NoteRow
from cortex.operations.exchange.export_note import ExportedNote, Known, Pieces
from cortex.vault.templates import read_template

# A line of a calendar in parts of at most 73 bytes, between characters.
_FOLD_RE = lazy_re(rb"(?s).{1,73}(?![\x80-\xbf])")
_LINK_RE = lazy_re(r"\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]+))?\]\]")


def is_in_view(row: NoteRow, to: str, project: str) -> bool:
    """Whether a note is in the form: no page has what was withdrawn, that of a project nothing
    personal; a calendar has what holds and has a day."""
    if to == "html":
        return row.status not in WITHDRAWN_STATUSES and not (project and row.scope == "personal")
    has_day = row.type == "meeting" or parse_day(row.due)
    return to != "ics" or (row.tier == TIER_CURRENT and bool(has_day))


def write_html(some: Iterable[ExportedNote], _known: Known, project: str) -> Pieces:
    """One page, which needs nothing but itself."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    newest = sorted(some, key=lambda one: (one.note.get("created"), one.id), reverse=True)
    page = {one.id: one for one in newest}
    known = {id_: (f"#{quote(id_)}", escape(one.title)) for id_, one in page.items()}
    ends: dict[str, dict[tuple[str, str], None]] = {id_: {} for id_ in page}
    for one in newest:
        for kind, to in (pair for pair in one.relations if pair[1] in known):
            ends[one.id][kind, to] = ends[to][inverse_of(kind) or "named_by", one.id] = None
    contents, articles = "", ""
    for id_, one in page.items():
        status, day = one.note.get("status") or "active", one.note.get("created")[:10]
        kept = "gone" if status in SET_ASIDE_STATUSES else "holds"
        words = [day, one.note.get("project"), one.note.get("owner"), *one.note.get_list("tags")]
        about = escape(" · ".join(filter(None, words)))
        links = "".join(
            f'<li>{escape(kind.replace("_", " "))} <a href="{known[to][0]}">{known[to][1]}</a></li>'
            for kind, to in ends[id_]
        )
        text = _LINK_RE.sub(
            lambda found: _shown_link(found, known), sanitize_text(one.note.text_below_title)
        )
        address, shown = known[id_]
        head = f'<a href="{address}">{shown}</a> <b class="status">{escape(status)}</b>'
        contents += f'<li class="{kept}"><time>{escape(day)}</time> {head}</li>\n'
        articles += (
            f'<article class="{kept}" id="{escape(id_)}"><h2>{head}</h2><p class="about">{about}</p>'
            f'<ul class="links">{links}</ul>{markdown.render(text)}</article>\n'
        )
    what = "Decisions" if {one.note.get("type") for one in newest} <= {"decision"} else "Records"
    title = escape(f"{what} of {project}" if project else what)
    values = {"title": title, "contents": contents, "articles": articles}
    yield "", Template(read_template("decisions.html")).substitute(values).encode()


def _shown_link(found: re.Match[str], known: Container[str]) -> str:
    """A link to another decision of the page; the words of a link that leads elsewhere."""
    words = found[2] or found[1]
    return f"[{words}](#{quote(found[1])})" if found[1] in known else words


def write_ics(some: Iterable[ExportedNote], _known: Known, _project: str) -> Pieces:
    """A calendar of RFC 5545."""
    yield from (("", line) for line in calendar_lines("cortex-export", map(_calendar_entry, some)))


def calendar_lines(
    product: str, entries: Iterable[Iterable[tuple[str, str]]], *more: tuple[str, str]
) -> Iterator[bytes]:
    """The lines of a calendar, given names and values of those of each entry, and of `more` at its
    beginning. A long one is cut every 75 bytes; its later parts begin with a blank."""
    start = (("BEGIN", "VCALENDAR"), ("VERSION", "2.0"), ("PRODID", f"-//Cortex//{product}//EN"), *more)  # fmt: skip
    for name, value in (*start, *chain.from_iterable(entries), ("END", "VCALENDAR")):
        text = re.sub(r"([\\;,])", r"\\\1", links_as_read(value)).replace("\n", "\\n")
        plain = "".join(char for char in text if char >= " " and char != chr(127))
        yield (
            b"\r\n ".join(_FOLD_RE.findall(f"{name}:{plain}".encode("utf-8", "replace"))) + b"\r\n"
        )


def _calendar_entry(one: ExportedNote) -> tuple[tuple[str, str], ...]:
    note, at = one.note, re.sub(r"\D", "", one.note.updated)
    is_done = note.get("status").lower() in DONE_STATUSES
    kind, start, status = "VTODO", "DUE", "COMPLETED" if is_done else "NEEDS-ACTION"
    if note.get("type") == "meeting":
        kind, start, status = "VEVENT", "DTSTART", "CONFIRMED"
    day = parse_day(note.get("date") if kind == "VEVENT" else due_of(note))
    day = day or note.get("created")[:10]
    if not day:
        return ()
    who = ", ".join(filter(None, (note.get("owner"), *note.get_list("attendees"))))
    return (
        ("BEGIN", kind), ("UID", one.id), ("DTSTAMP", f"{at[:8] or '19700101'}T{at[8:14]:0<6}Z"),
        (f"{start};VALUE=DATE", day.replace("-", "")), ("SUMMARY", one.title), ("STATUS", status),
        ("DESCRIPTION", f"{who}\n\n{note.text_below_title}".strip()),
        *(("CATEGORIES", tag) for tag in note.get_list("tags")), ("END", kind),
    )  # fmt: skip
