"""The overview of a session: its title, what was asked, what came of it, made of all its events.

The same events give the same overview, in whatever order they came. In the session's note it stands
above the events, ended by a mark that holds hashes of it and of the title, which show whether a
person has changed them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortex.core.model import turn_summary
from cortex.core.model.event import Event
from cortex.core.model.session_asks import (
    as_title,
    choose_title,
    is_on_the_way,
    subjects_of,
)
from cortex.core.model.session_note import FIELD_ORDER
from cortex.core.model.turn_summary import AGENT, USER, PlannedStep, TurnSummary
from cortex.core.notes.edit import with_fields_in_order
from cortex.core.notes.note import Note
from cortex.core.text.strings import one_line, short_hash, shorten

UNTITLED = "Session"  # begins the title of a session of which nothing tells one
_MAX_ASKS, _MAX_FILES, _MAX_LINKS, _MAX_STEPS = 5, 12, 12, 10
_MAX_ASK_CHARS, _MAX_OUTCOME_CHARS = 200, 1500
_MIN_OUTCOME_CHARS = 80  # of a message that tells what came of a session
_MARK_RE = re.compile(
    rb"<!-- overview ([0-9tz]{16}-[a-z2-7]{10}) (\d{1,5}) ([a-z2-7]{10}) ([a-z2-7]{10}) -->\s*"
)
_HEADING_RE = re.compile(r"(?m)^#{1,4} ")
_COMMENT_RE = re.compile(r"<!--")


class SessionOverview(NamedTuple):
    """What a session's events tell. `text` is markdown below headings of the second level."""

    title: str
    text: str
    last_event: str  # the greatest id of its events


class _Said(NamedTuple):
    """What was said and done in a session, in the order of its events."""

    title: str  # the host's own
    prompts: list[str]
    messages: list[str]
    files: list[str]
    plan: tuple[PlannedStep, ...]
    branch: str


def compose_overview(
    events: Iterable[Event], records: Sequence[tuple[str, str]]
) -> SessionOverview:
    """The overview of a session with these events; `records` are ids and titles of what they made."""
    ordered = sorted(events, key=lambda event: event.id)
    said = _gather(ordered)
    sections = (
        ("Asked", _asked(said.prompts)),
        ("Outcome", _outcome(said.messages)),
        ("Decided and learned", [_link(*one) for one in records[:_MAX_LINKS]]),
        ("Changed", _changed(said.files)),
        ("Open", [f"- {step.text}" for step in said.plan if not step.done][:_MAX_STEPS]),
    )
    text = "\n\n".join(
        f"## {heading}\n\n" + "\n".join(lines) for heading, lines in sections if lines
    )
    last = ordered[-1].id if ordered else ""
    return SessionOverview(_title(said, ordered), _COMMENT_RE.sub("<!- -", text), last)


def with_overview(note: Note, overview: SessionOverview) -> Note:
    """The note with this overview, title and alias, but for those that a person has changed."""
    lines = note.body.splitlines(keepends=True)
    texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines]
    marks = [(n, mark) for n, line in enumerate(lines) if (mark := _MARK_RE.fullmatch(line))]
    start = end = next((n for n, line in enumerate(texts) if line.strip()), 0)
    is_ours, title_hash = True, ""
    if marks:
        end, mark = marks[0]
        start, title_hash = max(0, end - int(mark[2])), mark[4].decode()
        is_ours = short_hash("\n".join(texts[start:end]), 10) == mark[3].decode()
        end += 1
    title = note.get("title")
    is_our_title = short_hash(title, 10) == title_hash if title_hash else title.startswith(UNTITLED)
    if is_our_title:
        aliases = [one for one in note.get_list("aliases") if one != title]
        if not overview.title.startswith(UNTITLED):
            aliases.insert(0, overview.title)
        fields = {"title": overview.title, "aliases": tuple(dict.fromkeys(aliases))}
        changed = {key: value for key, value in fields.items() if note.fields.get(key) != value}
        note = with_fields_in_order(FIELD_ORDER, note, changed)
    if not is_ours or not overview.text:
        return note
    wanted = [*overview.text.splitlines(), ""]
    digest = short_hash("\n".join(wanted), 10)
    title_digest = short_hash(overview.title, 10) if is_our_title else title_hash or "a" * 10
    mark_line = f"<!-- overview {overview.last_event} {len(wanted)} {digest} {title_digest} -->"
    below = [] if marks else [""]
    block = [
        f"{line}{note.eol}".encode("utf-8", "surrogatepass")
        for line in (*wanted, mark_line, *below)
    ]
    return note._replace(body=b"".join([*lines[:start], *block, *lines[end:]]))


def _gather(ordered: Sequence[Event]) -> _Said:
    said = _Said("", [], [], [], (), "")
    files: dict[str, None] = {}
    for event in ordered:
        turn = turn_summary.parse_turn_summary(event.text)
        said = said._replace(branch=event.branch or said.branch, title=turn.title or said.title)
        if event.type == "prompt":
            said.prompts.append(turn.message)
        elif event.type in ("stop", "pre_compact"):
            _add_turn(said, turn)
            said = said._replace(plan=turn.plan or said.plan)
        files |= dict.fromkeys(turn.changed_files)
    return said._replace(files=list(files))


def _add_turn(said: _Said, turn: TurnSummary) -> None:
    for one in turn_summary.utterances(turn.message):
        if one.role == AGENT:
            said.messages.append(one.text)
        elif one.role == USER and not one.about:
            said.prompts.append(one.text)


def _title(said: _Said, ordered: Sequence[Event]) -> str:
    """The host's title, else from what was asked, else from the last message or the branch; with
    none of these the day."""
    if said.title:
        return as_title(said.title)
    title = choose_title(said.prompts, [*said.messages, " ".join(said.files)])
    if not title:
        sentences = subjects_of(_last_report(said.messages))
        title = as_title(next((one for one in sentences if not is_on_the_way(one)), ""))
    if not title:
        day = ordered[0].at[:10] if ordered else ""
        what = said.branch or (said.files[0] if said.files else "")
        title = " ".join(filter(None, (UNTITLED, f"on {what}" if what else "", f"of {day}")))
    return title


def _asked(prompts: Sequence[str]) -> list[str]:
    subjects = (next(iter(subjects_of(prompt)), "") for prompt in prompts)
    lines = dict.fromkeys(shorten(one, _MAX_ASK_CHARS) for one in subjects if one)
    return [f"- {line[:1].upper()}{line[1:]}" for line in lines][:_MAX_ASKS]


def _last_report(messages: Sequence[str]) -> str:
    """The last message that tells what came of it, not what comes next."""
    telling = [one for one in messages if len(one) >= _MIN_OUTCOME_CHARS]
    reports = [
        one
        for one in telling
        if not one.rstrip(" *_`").endswith(("?", ":")) and not is_on_the_way(one)
    ]
    return next(iter((reports or telling or list(messages))[-1:]), "")


def _outcome(messages: Sequence[str]) -> list[str]:
    text = _HEADING_RE.sub("#### ", _last_report(messages).strip())
    if len(text) > _MAX_OUTCOME_CHARS:
        cut = text.rfind("\n\n", _MAX_OUTCOME_CHARS // 2, _MAX_OUTCOME_CHARS)
        text = text[:cut] if cut > 0 else shorten(text, _MAX_OUTCOME_CHARS)
    if text.count("```") % 2:
        text += "\n```"
    return text.splitlines()


def _link(id_: str, title: str) -> str:
    return f"- [[{id_}|{one_line(title).replace('|', '-').replace('[', '(').replace(']', ')')}]]"


def _changed(files: Sequence[str]) -> list[str]:
    names = (name.replace("`", "'") for name in files[:_MAX_FILES])
    more = [f"- and {len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else []
    return [*(f"- `{name}`" for name in names), *more]
