"""What the screens show: an answer as rows and as text. No markup of a note is read; controls are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rich.text import Text
from textual.content import Content

from cortex.core.model.note_status import MATCH_END, MATCH_START, SET_ASIDE_STATUSES
from cortex.core.runs.run_note import is_run_id
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.interfaces.cli import render
from cortex.interfaces.cli.text import format_day, format_time, who_and_when
from cortex.interfaces.cli.view import BOLD, DIM, LEAD_RE, OFF, PATH_RE, YELLOW, View, finish
from cortex.interfaces.escape_terminal import escape

MOST = 200  # notes of a list
_AROUND = 30  # notes before and after one in its timeline
_MAX_SHOWN_CHARS = 60_000  # of a text; a longer one is slow to lay out
_MIN_WIDTH = 60  # columns, below which a row is a title alone
_HEADING = "\x1b[1;36m"
_DAY_RE = lazy_re(r"(\d{4}-\d\d-\d\d) (.*)")
_STRONG_RE = lazy_re(r"\*\*([^*\n]+)\*\*")


class Row(NamedTuple):
    """A row of a list; without a `name` it is a heading."""

    shown: Content
    name: str = ""  # by which verbs find the note
    title: str = ""
    note: Any = None  # as the answer has it
    root: str = ""  # of its vault, where that is another than was opened

    def get(self, field: str) -> str:
        """A field of the note; empty where the answer has none."""
        return str(getattr(self.note, field, ""))


class ScreenPage(NamedTuple):
    """What a screen shows: a verb, and what it is given."""

    title: str
    verb: str
    given: dict[str, object]
    beside: str = ""  # the verb whose answer stands beside the rows; by default the row's note does
    of: Row = Row(Content(""))  # the note that it is about


PAGES = (
    ScreenPage("Home", "brief", {}, beside="status"),
    ScreenPage("Recent", "search", {"number": MOST}),
    ScreenPage("Sessions", "session", {"action": "list", "number": MOST}),
    ScreenPage("Archive", "search", {"status": SET_ASIDE_STATUSES, "number": MOST}),
    ScreenPage("Health", "doctor", {}),
    ScreenPage("Runs", "run", {"action": "list", "number": MOST}, beside="costs"),
)


def page_of(verb: str, row: Row) -> ScreenPage:
    """The answer of show, timeline or graph to the note of a row; of a run its log."""
    if is_run_id(row.name):
        return ScreenPage(row.title, "run", {"action": "show", "name": row.name}, "run", row)
    if verb == "show" and row.get("type") == "session":
        given: dict[str, object] = {"action": "show", "name": row.get("id")}
        return ScreenPage(row.title, "session", given, beside="session", of=row)
    number = {"timeline": {"number": _AROUND}, "graph": {"number": MOST}}.get(verb, {})
    title = row.title if verb == "show" else f"{verb.capitalize()}: {row.title}"
    return ScreenPage(title, verb, {"note": row.name, **number}, of=row)


def rows_of(verb: str, answer: Any, width: int) -> list[Row]:
    """The answer as rows of so many columns; none where it holds no note."""
    makers = {"brief": _briefing_rows, "graph": _graph_rows, "doctor": _problem_rows, "run": _runs}
    rows = [] if verb == "show" else list(makers.get(verb, _hit_rows)(answer, width))
    if rows and verb != "doctor" and answer.problems:  # the first: Health has all
        rows += [_heading("Problems"), *_problem_rows(answer, width)][:4]
    return rows


def _hit_rows(answer: Any, width: int) -> Iterator[Row]:
    for hit in answer.records.hits if getattr(answer, "session", None) else answer.hits:
        note = getattr(hit, "hit", hit)
        is_aside = note.status in SET_ASIDE_STATUSES
        what, when = note.status if is_aside else note.type or "note", format_day(note.date)
        if note is not hit:
            what, when = hit.state, format_time(hit.started)
        begin = f"{YELLOW if is_aside else DIM}{when}  {escape(what):<10}{OFF}  "
        focus = BOLD if note.id == getattr(answer, "focus", "") else ""
        title, task = escape(note.title), f"  {DIM}{escape(who_and_when(note))}{OFF}"
        shown = f"{begin if width >= _MIN_WIDTH else ''}{focus}{title}{OFF}{task}"
        root = note.file.removesuffix(f"/{note.path}") if note.vault == "personal" else ""
        yield Row(_painted(shown), note.path, title, note, root)


def _briefing_rows(answer: Any, width: int) -> Iterator[Row]:
    for part in answer.sections:
        yield _heading(part.title, f"{part.more:,} more" if part.more else "")
        for item in part.lines:
            text = escape(item.text).lstrip().removeprefix("- ")
            content, _, handle = text.removesuffix("]").rpartition(" [")
            is_named = text.endswith("]") and escape(item.id).endswith(handle)
            dated = _DAY_RE.fullmatch(text := content if is_named else text)
            day, title = dated.groups() if dated else ("", text)
            begin = f"{DIM}{day:<10}{OFF}  " if width >= _MIN_WIDTH else ""
            yield Row(_painted(f"{begin}{title}"), item.id, title, item)


def _graph_rows(answer: Any, _: int) -> Iterator[Row]:
    nodes = {node.id: node for node in answer.hits}
    for line in render.marked_text("graph", answer).split("\n"):
        if node := (found := LEAD_RE.search(line)) and nodes.get(found[1]):
            yield Row(_painted(line), node.path, escape(node.title or node.id), node)


def _problem_rows(answer: Any, _: int) -> Iterator[Row]:
    for one in answer.problems:
        hint = f"\n  {DIM}{escape(one.hint)}{OFF}" if one.hint else ""
        text = f"{YELLOW}{escape(one.where)}{OFF}: {escape(one.message)}{hint}"
        yield Row(_painted(text), one.where if ".md" in one.where else "", escape(one.where), one)


def _runs(answer: Any, _: int) -> Iterator[Row]:
    for one in answer.runs if not answer.events else ():  # else it is one, with its log
        alone = answer._replace(runs=(one._replace(output=""),), problems=())
        yield Row(_painted(render.marked_text("run", alone)), one.id, escape(one.agent), one)


def _heading(text: str, more: str = "") -> Row:
    return Row(_painted(f"{_HEADING}{escape(text)}{OFF}  {DIM}{more}{OFF}"))


def text_of(verb: str, answer: Any, cwd: str, root: str, snippet: str | None = None) -> Content:
    """An answer as its command prints it; of a status without paths. Of a note its text, below what was
    found in it (`snippet`); with None, above its properties."""
    if verb != "show":
        return _painted(render.marked_text(verb, answer), cwd, "" if verb == "status" else root)
    text = escape(answer.text[:_MAX_SHOWN_CHARS], lines=True)
    has_head = text.startswith("---\n") and "\n---\n" in text
    head, body = text[4:].split("\n---\n", 1) if has_head else ("", text)
    parts = []
    if snippet and MATCH_START in snippet:
        found = escape(snippet).replace(MATCH_START, YELLOW).replace(MATCH_END, OFF)
        parts += [found, ""]
    for line in body.strip("\n").split("\n"):
        strong = _STRONG_RE.sub(rf"{BOLD}\1{OFF}", line)
        parts.append(f"{BOLD}{line}{OFF}" if line.startswith("#") else strong)
    if answer.cut or len(answer.text) > _MAX_SHOWN_CHARS:
        parts += ["", f"{YELLOW}only the beginning: the rest is in {escape(answer.file)}{OFF}"]
    if snippet is None:
        parts += ["", f"{_HEADING}Properties{OFF}", f"path: {escape(answer.path)}", head]
    return _painted("\n".join(parts))


def _painted(marked: str, cwd: str = "", root: str = "") -> Content:
    """What a renderer of the command line gave, in its colours; without `root` it loses its paths."""
    if not root:
        marked = re.sub(r"(?m) +$", "", PATH_RE.sub("", marked))
    return Content.from_rich_text(Text.from_ansi(finish(marked, View(cwd, root))))
