"""What a note says in briefings: its item lines, a pure function of that note alone."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from cortex.core.briefing.excerpt import MAX_REASON_CHARACTERS, reason_line, session_line
from cortex.core.briefing.pages import (
    DAILY_NOTES,
    OPEN_ACTIONS,
    PAGE_KINDS,
    SET_ASIDE,
    BriefingPage,
    ItemLine,
    break_comments,
    heading_of,
)
from cortex.core.markdown.blocks import Task
from cortex.core.model.generated_text import tells_something
from cortex.core.model.layout import BRIEFINGS_FOLDER, Layout
from cortex.core.model.note_row import NoteRow
from cortex.core.model.note_status import DONE_STATUSES, SET_ASIDE_STATUSES, WITHDRAWN_STATUSES
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import RESERVED_STEMS, one_line, short_hash, shorten, slugify
from cortex.core.text.value import NamedTuple

INDEX = BriefingPage("index")
OPEN_BOX, TICKED_BOX = "[ ] ", "[x] "
_RECENT_SECTIONS = {
    "session": "Recent sessions", "meeting": "Recent meetings", "preference": "Rules",
}  # fmt: skip
NO_PROJECT = "personal"  # the folder of what belongs to no project
_SECTION_BY_TYPE = {
    "session": "Sessions", "decision": "Decisions", "rejection": "Decisions",
    "gotcha": "Gotchas", "pattern": "Patterns",
}  # fmt: skip
_DATE_RE = lazy_re(r"\d{4}-\d{2}-\d{2}(?:T[\d:]{5,8}Z?)?")
_DAILY_NOTE_RE = lazy_re(r"(?:.*/)?(\d{4}-\d{2}-\d{2})\.md")
_FILE_NAME_RE = lazy_re(r"[a-z0-9][a-z0-9._-]{0,63}")
_TOKEN_RE = lazy_re(r"[^\s<>]{1,120}")


class ItemSource(NamedTuple):
    """The parts of a note that its items are made of."""

    row: NoteRow
    created: str
    body: str  # of a meeting: who was there
    tasks: tuple[Task, ...]
    is_record: bool  # rather than a note of a person's own
    has_conflict: bool  # that a merge has left to a person
    is_personal: bool
    has_boxes: bool  # what is to be done has a box to be ticked, as in format 2


def item_lines_of(note: ItemSource) -> Iterator[tuple[BriefingPage, ItemLine]]:
    """The lines of a note, each with the page that it stands on. A deleted or pruned one has none:
    not even the archive, which tells what once held, goes on with what somebody took back. Nor has
    a personal one, since pages are committed for all."""
    if note.row.status in WITHDRAWN_STATUSES or note.is_personal:
        return
    is_aside = note.row.status in SET_ASIDE_STATUSES
    is_session = note.row.type == "session"
    if is_session and not tells_something(note.body):
        return
    text = note.body
    if note.row.type != "meeting":
        text = session_line(text) if is_session else reason_line(note.row.title, text)
    if note.has_conflict:
        line = _make_item(note, "Conflicts", [note.row.project], "")
        yield INDEX, line._replace(id=f"{line.id}.conflict")
    if note.row.type in ("decision", "rejection"):
        # A meeting's decision or a proposal is told apart from what simply holds.
        marks = ["rejected"] if note.row.type == "rejection" else []
        marks += [note.row.status] if note.row.status not in ("", "active") else []
        line = _make_item(note, "", marks, text)
        yield BriefingPage("decisions-archive" if is_aside else "decisions", note.row.project), line
        section = "No longer hold" if is_aside else "Decisions that hold"
        yield INDEX, _make_item(note, section, [note.row.project, *marks], text)
    elif note.row.type in ("action", "plan"):
        yield from _plan_page_items(note)
    elif note.is_record:
        marks = [note.row.status] if is_aside else []
        line = _make_item(note, SET_ASIDE if is_aside else "", marks, text)
        yield BriefingPage("type", note.row.project, note.row.type), line
        if note.row.type in _RECENT_SECTIONS and not is_aside:
            recent = _RECENT_SECTIONS[note.row.type]
            yield INDEX, _make_item(note, recent, [note.row.project], text)
    elif daily := _DAILY_NOTE_RE.fullmatch(note.row.path):
        line = _make_item(note._replace(created=daily[1]), DAILY_NOTES, [], "")
        same = f"{daily[1]} " if note.row.title == daily[1] else ""  # it is told once
        yield INDEX, line._replace(text=line.text.removeprefix(same))
    if note.is_record and note.row.topic:
        line = _make_item(note, SET_ASIDE if is_aside else "", [note.row.topic], text)
        family = note.row.topic.partition("/")[0]
        page = BriefingPage("topic", note.row.project, family)
        yield page, line if is_aside else line._replace(order=slugify(note.row.topic, 100))
    section = _SECTION_BY_TYPE.get(note.row.type, "")
    if section and note.row.branch and not is_aside:
        yield (
            BriefingPage("branch", note.row.project, note.row.branch),
            _make_item(note, section, [], text),
        )


def page_path(page: BriefingPage) -> str:
    """The path of a page in Cortex's folder, `briefings/<project>/<page>.md`, valid everywhere."""
    if page.kind == "index":
        return f"{BRIEFINGS_FOLDER}/index.md"
    name = _safe_file_name(page.name, PAGE_KINDS) if page.name else page.kind
    folder = _safe_file_name(page.project, (NO_PROJECT,)) if page.project else NO_PROJECT
    below = f"{page.kind}s/" if page.kind in ("type", "topic") else ""
    return f"{BRIEFINGS_FOLDER}/{folder}/{below}{name}.md"


def index_items(pages: Iterable[BriefingPage], layout: Layout) -> Iterator[ItemLine]:
    """The index: one line for each page."""
    for page in pages:
        path = layout.path(page_path(page)).removesuffix(".md")
        about = page.name if page.kind == "branch" else heading_of(page).lower()
        title = _link_title(f"{page.project or NO_PROJECT}: {about}")
        yield ItemLine(path, "Pages", path, f"[[{path}|{title}]]")


def _make_item(
    note: ItemSource,
    section: str,
    marks: list[str],
    reason: str,
    *,
    before: str = "",
    box: str = "",
) -> ItemLine:
    date = note.created[:10] if _DATE_RE.fullmatch(note.created) else ""
    text = f"{date} {_wikilink(note)}".strip()
    if said := ", ".join(one_line(mark) for mark in marks if mark):
        text += f" ({said})"
    if reason and reason.casefold() != note.row.title.casefold():
        text += f": {reason}"
    order = f"{before}{_date_digits(note.created) or '0'}"
    box = box if note.has_boxes else ""
    return ItemLine(item_token(note.row.id), section, order, box + _sanitize_item_text(text))


def _plan_page_items(note: ItemSource) -> Iterator[tuple[BriefingPage, ItemLine]]:
    """An action, or the steps of a plan: each task of it is one, known by its words."""
    page, is_action = BriefingPage("active-plan", note.row.project), note.row.type == "action"
    owner = note.row.owner if is_action else ""
    if note.row.status in SET_ASIDE_STATUSES:
        yield page, _make_item(note, SET_ASIDE, [owner, note.row.status], "")
    elif not is_action and note.tasks:
        yield from ((page, item) for item in _step_items(note))
    elif note.row.status in DONE_STATUSES:
        yield page, _make_item(note, "Done", [owner], "", box=TICKED_BOX)
    else:
        marks = [owner, f"due {note.row.due}" if is_action and note.row.due else ""]
        order = (_date_digits(note.row.due) if is_action else "") or "99999999"
        yield page, _make_item(note, "Open", marks, "", before=order, box=OPEN_BOX)
        if is_action:
            marks = [note.row.project, *marks]
            yield INDEX, _make_item(note, OPEN_ACTIONS, marks, "", before=order, box=OPEN_BOX)


def _step_items(note: ItemSource) -> Iterator[ItemLine]:
    seen: set[str] = set()
    for task in note.tasks:
        token = step_token(note.row.id, task.text)
        if token in seen:
            continue
        seen.add(token)
        section, before = ("Done", "") if task.done else ("Open", "99999999")
        order = f"{before}{_date_digits(note.created) or '0'}.{task.line:05}"
        text = f"{shorten(task.text, MAX_REASON_CHARACTERS)} ({_wikilink(note)})"
        box = (TICKED_BOX if task.done else OPEN_BOX) if note.has_boxes else ""
        text = box + _sanitize_item_text(text)
        yield ItemLine(token, section, order, text)


def _wikilink(note: ItemSource) -> str:
    """A wikilink to the note: by its file name if that is the id, which stays, else by its path."""
    stem = note.row.path.rpartition("/")[2].removesuffix(".md")
    target = stem if stem == note.row.id else note.row.path.removesuffix(".md")
    title = _link_title(note.row.title)
    # A path with such characters can be no link target; the title alone still says what it is.
    return title if re.search(r"[\[\]|#^\n\r]", target) else f"[[{target}|{title}]]"


def _link_title(title: str) -> str:
    return one_line(title).replace("|", "-").replace("[", "(").replace("]", ")") or "untitled"


def move_to_done(line: ItemLine) -> ItemLine:
    """An open action's line on its page once the task in its meeting's minutes is ticked."""
    # Without the date by which it is due.
    text = (
        line.text.replace(OPEN_BOX, TICKED_BOX, 1) if line.text.startswith(OPEN_BOX) else line.text
    )
    return line._replace(section="Done", order=line.order[8:], text=text)


def _date_digits(text: str) -> str:
    """A date or time as digits, by which items are ordered; empty when it is none."""
    return re.sub(r"\D", "", text)[:14] if _DATE_RE.fullmatch(text) else ""


def step_token(id_: str, step: str) -> str:
    """The id of the line of a step of a plan."""
    return f"{item_token(id_)}.{short_hash(one_line(step), 8)}"


def item_token(id_: str) -> str:
    """An id as an item carries it: one word."""
    is_token = _TOKEN_RE.fullmatch(id_) and "--" not in id_
    return id_ if is_token else f"{slugify(id_)}-{short_hash(id_)}"


def _sanitize_item_text(text: str) -> str:
    return escape_for_agent(break_comments(one_line(text)))  # agents read these pages too


def _safe_file_name(name: str, taken: Container[str]) -> str:
    """`name` as a file name: itself if it is valid and not taken, else a slug with a hash."""
    plain = _FILE_NAME_RE.fullmatch(name) and name not in taken and not name.endswith((".", ".md"))
    is_valid = plain and name.split(".", maxsplit=1)[0] not in RESERVED_STEMS
    return name if is_valid else f"{slugify(name, 40)}-{short_hash(name)}"
