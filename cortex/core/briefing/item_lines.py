"""What a note says in briefings: its item lines, a pure function of that note alone."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from cortex.core.briefing.pages import FOLDER, KINDS, ItemLine, Page
from cortex.core.markdown.blocks import Task
from cortex.core.model.status import ASIDE, DONE
from cortex.core.text.agent_escape import neutral
from cortex.core.text.strings import RESERVED_STEMS, one_line, short_hash, shorten, slug

NO_PROJECT = "personal"  # the folder of what belongs to no project
REASON_LIMIT = 200
_DELETED = "deleted"
_SECTION_OF = {
    "session": "Sessions",
    "decision": "Decisions",
    "rejection": "Decisions",
    "gotcha": "Gotchas",
    "pattern": "Patterns",
}
_WHY = re.compile(
    r"[#>*_\-\s]{0,12}(?:why|reason|reasoning|rationale|because)\b[.:*_ ]{0,6}(.*)", re.IGNORECASE
)
_LEADING_WORD = re.compile(r"[#>*_\-\s]{0,12}[A-Za-z]{2,20}:[*_]{0,2}\s+")
_LABEL = re.compile(r"\*\*[^*\n]{1,40}[.:]\*\*\s*")
_SENTENCE = re.compile(r"[.!?](?=\s|\Z)")
_TURN = re.compile(r"- \d{4}-\d{2}-\d{2} \d{2}:\d{2} (\w{1,40}): ")
_ASKED = ("prompt", "session_start")  # turns that say what was wanted; what was done says more
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:]{5,8}Z?)?")
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[^\s<>]{1,120}")
_NOT_IN_ITEM = (("<!--", "<!- -"), ("-->", "-- >"))


class Source(NamedTuple):
    """The parts of a note that its items are made of."""

    path: str
    id: str
    type: str
    title: str
    status: str
    project: str
    branch: str
    created: str
    due: str
    owner: str
    body: str
    tasks: tuple[Task, ...]


def items_of(note: Source) -> Iterator[tuple[Page, ItemLine]]:
    """The lines of a note, each with the page that it stands on. A deleted one has none: not even the archive, which tells
    what once held, goes on with what somebody took back."""
    if note.status == _DELETED:
        return
    if note.type in ("decision", "rejection"):
        aside = note.status in ASIDE
        # A meeting's decision or a proposal is told apart from what simply holds.
        marks = [
            word
            for word in (
                "rejected" if note.type == "rejection" else "",
                "" if note.status == "active" else note.status,
            )
            if word
        ]
        yield (
            Page("decisions-archive" if aside else "decisions", note.project),
            _item(note, "", marks, reason(note.body, note.title)),
        )
    elif note.type == "action" and note.status not in ASIDE:
        done = note.status in DONE
        marks = [word for word in (note.owner, note.due and not done and f"due {note.due}") if word]
        order = "" if done else _digits(note.due) or "99999999"
        yield (
            Page("active-plan", note.project),
            _item(note, "Done" if done else "Open", marks, "", before=order),
        )
    elif note.type == "plan" and note.status not in ASIDE:
        yield from _steps(note)
    section = _SECTION_OF.get(note.type)
    if section and note.branch and (note.status not in ASIDE):
        told = _last_turn(note.body) if note.type == "session" else reason(note.body, note.title)
        yield Page("branch", note.project, note.branch), _item(note, section, [], told)


def reason(body: str, title: str) -> str:
    """The line that says why: what stands after `Why`, `Reason` or `Because` at the beginning of a line, else what follows the title."""
    body = body.replace("\r\n", "\n").replace(
        "\r", "\n"
    )  # a checkout may have changed them, and a page is the same everywhere
    paragraphs = [part for part in re.split(r"\n[ \t]*\n", body) if part.strip()]
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.strip().splitlines()
        for at, line in enumerate(lines):
            if found := _WHY.fullmatch(line):
                text = " ".join([found[1], *lines[at + 1 :]]).strip()
                return _first(
                    text or (paragraphs[number + 1] if number + 1 < len(paragraphs) else "")
                )
    if not paragraphs:
        return ""
    first = one_line(paragraphs[0])
    lead = _LEADING_WORD.match(first)
    opening = title.rstrip("….")
    for text in (first, first[lead.end() :] if lead else first):
        if text[: len(opening)].casefold() == opening.casefold():
            rest = text[len(opening) :].lstrip(" .:,;")
            if title.endswith("…"):  # the title was cut: it goes on here
                return f"…{_first(rest)}"
            return _first(rest or (paragraphs[1] if len(paragraphs) > 1 else ""))
    return _first(first)


def page_path(page: Page) -> str:
    """Where a page lies: `briefings/<project>/<page>.md`, with names that every file system can hold."""
    if page.kind == "index":
        return f"{FOLDER}/index.md"
    name = page.kind if page.kind != "branch" else _file_name(page.branch, taken=KINDS)
    return f"{FOLDER}/{_file_name(page.project, taken=(NO_PROJECT,)) if page.project else NO_PROJECT}/{name}.md"


def index_items(pages: Iterable[Page]) -> Iterator[ItemLine]:
    """The index: one line for each page."""
    for page in pages:
        path = page_path(page).removesuffix(".md")
        title = f"{page.project or NO_PROJECT}: {page.branch or KINDS[page.kind].heading.lower()}"
        yield ItemLine(path, "", path, f"[[{path}|{_linked(title)}]]")


def _item(note: Source, section: str, marks: list[str], told: str, *, before: str = "") -> ItemLine:
    date = note.created[:10] if _DATE.fullmatch(note.created) else ""
    text = (
        f"{date} {_link(note)}".strip()
        + (f" ({', '.join(one_line(mark) for mark in marks)})" if marks else "")
        + (f": {told}" if told else "")
    )
    return ItemLine(
        _token(note.id), section, f"{before}{_digits(note.created) or '0'}", _harmless(text)
    )


def _steps(note: Source) -> Iterator[tuple[Page, ItemLine]]:
    """The steps of a plan, each task of it one; a step is known by its words."""
    seen: set[str] = set()
    for task in note.tasks:
        key = short_hash(one_line(task.text), 8)
        if key in seen:
            continue
        seen.add(key)
        order = f"{'' if task.done else '99999999'}{_digits(note.created) or '0'}.{task.line:05}"
        text = _harmless(f"{shorten(task.text, REASON_LIMIT)} ({_link(note)})")
        yield (
            Page("active-plan", note.project),
            ItemLine(f"{_token(note.id)}.{key}", "Done" if task.done else "Open", order, text),
        )


def _link(note: Source) -> str:
    """A link that Obsidian follows: by the file's name where that is the id, which stays, else by its path."""
    stem = note.path.rpartition("/")[2].removesuffix(".md")
    target = stem if stem == note.id else note.path.removesuffix(".md")
    title = _linked(note.title)
    # A path with such characters can be no link target; the title alone still says what it is.
    return title if re.search(r"[\[\]|#^\n\r]", target) else f"[[{target}|{title}]]"


def _linked(title: str) -> str:
    return one_line(title).replace("|", "-").replace("[", "(").replace("]", ")") or "untitled"


def _last_turn(body: str) -> str:
    turns = [
        (found[1] not in _ASKED, line[found.end() :])
        for line in body.splitlines()
        if (found := _TURN.match(line))
    ]
    told = [turn for did, turn in turns if did] or [turn for _, turn in turns]
    return _first(told[-1].rpartition(" [[")[0] or told[-1]) if told else ""


def done_by_a_tick(line: ItemLine) -> ItemLine:
    """An open action's line on its page once the task in its meeting's minutes is ticked."""
    return line._replace(
        section="Done", order=line.order[8:]
    )  # without the date by which it is due


def _first(text: str) -> str:
    """The first sentence of a text, on one line."""
    line = one_line(text)
    label = _LABEL.match(line)
    line = (
        line[label.end() if label else 0 :].lstrip("#>*- ").removeprefix("[ ] ").replace("**", "")
    )
    end = _SENTENCE.search(line)
    return shorten(
        line[: end.start()] if end and end.start() <= REASON_LIMIT else line, REASON_LIMIT
    )


def _digits(text: str) -> str:
    """A date or time as digits, by which items are ordered; empty when it is none."""
    return re.sub(r"\D", "", text)[:14] if _DATE.fullmatch(text) else ""


def _token(id_: str) -> str:
    """An id as an item carries it: one word."""
    return id_ if _TOKEN.fullmatch(id_) and "--" not in id_ else f"{slug(id_)}-{short_hash(id_)}"


def _harmless(text: str) -> str:
    text = one_line(text)
    for mark, broken in _NOT_IN_ITEM:
        text = text.replace(mark, broken)
    return neutral(text)  # agents read these pages too


def _file_name(name: str, taken: Container[str]) -> str:
    """`name` as a file name: itself when it is one that nothing else has, else a slug of it with a hash."""
    plain = _FILE_NAME.fullmatch(name) and name not in taken and not name.endswith((".", ".md"))
    return (
        name
        if plain and name.split(".", maxsplit=1)[0] not in RESERVED_STEMS
        else f"{slug(name, 40)}-{short_hash(name)}"
    )
