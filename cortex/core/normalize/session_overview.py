"""The overview of a session: its title, what was asked, what came of it, made of all its events.

The same events give the same overview, in whatever order they came. In the session's note it stands
above the events, ended by a mark that holds hashes of it and of the title, which show whether a
person has changed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cortex.core.model import turn_summary
from cortex.core.model.distillation import BY_RULES, Distillation, standing_distillations
from cortex.core.model.event import Event, is_headless
from cortex.core.model.generated_text import OVERVIEW_MARK_RE, is_untitled, untitled_by_what
from cortex.core.model.note_status import OVERVIEW_MARK
from cortex.core.model.session_asks import as_title, choose_title, is_on_the_way, subjects_of
from cortex.core.model.turn_summary import AGENT, USER, PlannedStep
from cortex.core.normalize.session_note import (
    END_TYPE,
    NO_GOAL,
    NO_SUMMARY,
    START_TYPE,
)
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, shorten
from cortex.core.text.value import NamedTuple

MAX_LINKS = 12
_MAX_ASKS, _MAX_FILES, _MAX_STEPS = 5, 12, 10
_MAX_ASK_CHARS, _MAX_OUTCOME_CHARS = 200, 1500
_MIN_OUTCOME_CHARS = 80  # of a message that tells what came of a session
_MIN_REPORT_WORDS = 3  # of a sentence of it that is a title
_NO_DIGEST = "a" * 10  # of a title that Cortex did not give
_HEADING_RE = lazy_re(r"(?m)^#{1,4} ")
_COMMENT_RE = lazy_re(r"<!--")
_NOT_DISTILLED = Distillation("", (), "", (), ())


class SessionOverview(NamedTuple):
    """What a session's events tell. `text` is markdown below headings of the second level."""

    title: str
    text: str
    last_event: str  # the greatest id of its events; empty when none of them can be read


class _Said(NamedTuple):
    """What was said and done in a session, in the order of its events."""

    title: str  # the host's own
    prompts: list[str]
    messages: list[str]
    files: list[str]
    plan: tuple[PlannedStep, ...]
    branch: str
    goal: str  # as `cortex session start` takes it
    summary: str  # as `cortex session end` takes it


def compose_overview(
    events: Iterable[Event], records: Sequence[tuple[str, str]]
) -> SessionOverview:
    """The overview of a session with these events; `records` are ids and titles of what they made."""
    ordered = sorted(events, key=lambda event: event.id)
    said, later, distilled = _gather(ordered), _gather(ordered), _NOT_DISTILLED
    for _, one in standing_distillations(ordered):
        if one.model == BY_RULES:  # it has records alone
            continue
        distilled, end = one, max(one.covers)
        later = _gather([event for event in ordered if event.id > end])
    left = [step.text for step in later.plan if not step.done]
    sections = (
        ("Asked", [*(f"- {one}" for one in distilled.asked), *_asked(later)][:_MAX_ASKS]),
        ("Outcome", [*filter(None, (distilled.outcome,)), *_outcome(later.messages)]),
        ("Decided and learned", [_link(*one) for one in records[:MAX_LINKS]]),
        ("Changed", _changed(said.files)),
        ("Open", [f"- {one}" for one in (*distilled.open, *left)][:_MAX_STEPS]),
    )
    parts = (f"## {heading}\n\n" + "\n".join(lines) for heading, lines in sections if lines)
    text = "\n\n".join(parts)
    if not ordered:
        return SessionOverview("", "", "")
    title = distilled.title.rstrip(" .") or _title(said, ordered[0])
    return SessionOverview(title, _COMMENT_RE.sub("<!- -", text), ordered[-1].id)


def with_overview(note: Note, overview: SessionOverview) -> Note:
    """The note with this overview, title and alias, but for those that a person has changed."""
    if not overview.last_event:
        return note
    lines = note.body.splitlines(keepends=True)
    texts = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines]
    found = ((n, OVERVIEW_MARK_RE.fullmatch(line)) for n, line in enumerate(lines))
    place, mark = next((one for one in found if one[1]), (0, None))
    _, count, digest, title_digest = (one.decode() for one in mark.groups()) if mark else [""] * 4
    title, name = note.get("title"), str(note.provenance()[1].get("session"))
    if short_hash(title, 10) == title_digest if mark else is_untitled(title, name):
        title_digest = short_hash(overview.title, 10)
        note = _with_title(note, overview.title, name)
    wanted = [f"# {note.title}", "", *overview.text.splitlines(), ""] if overview.text else []
    start = max(0, place - int(count or 0))
    if mark and not (wanted and short_hash("\n".join(texts[start:place]), 10) == digest):
        # What a person has changed stays; so does what was said in events that are gone.
        block, start = [], place
    elif wanted or mark or not is_untitled(overview.title, name):
        block, count, digest = wanted, str(len(wanted)), short_hash("\n".join(wanted), 10)
    else:
        return note
    digests = f"{digest} {title_digest or _NO_DIGEST}"
    block.append(f"{OVERVIEW_MARK}{overview.last_event} {count} {digests} -->")
    if not mark:
        start = place = next((n for n, line in enumerate(texts) if line.strip()), 0)
        block += [""]
    data = [f"{line}{note.eol}".encode("utf-8", "surrogatepass") for line in block]
    return note._replace(body=b"".join([*lines[:start], *data, *lines[place + bool(mark) :]]))


def _with_title(note: Note, title: str, name: str) -> Note:
    """The note with this title, and this alias in the place of the title before."""
    before, held_aliases = note.get("title"), note.get_list("aliases")
    aliases = [title if one == before else one for one in held_aliases]
    if is_untitled(before, name) and title not in aliases:
        aliases.insert(0, title)
    is_alias = not is_untitled(title, name)
    once = tuple(one for one in dict.fromkeys(aliases) if one != title or is_alias)
    return with_fields(note, {"title": title, "aliases": once})


def _gather(ordered: Sequence[Event]) -> _Said:
    said = _Said("", [], [], [], (), "", "", "")
    files: dict[str, None] = {}
    for event in ordered:
        turn = turn_summary.parse_turn_summary(event.text)
        said = said._replace(branch=event.branch or said.branch, title=turn.title or said.title)
        text = event.text.partition(turn_summary.ACTIVITY_MARK)[0]
        if event.type == START_TYPE and not text.startswith(NO_GOAL):
            said = said._replace(goal=said.goal or text)
        elif event.type == END_TYPE and not text.startswith(NO_SUMMARY):
            said = said._replace(summary=max(text, said.summary, key=len))
        elif event.type == "prompt":
            said.prompts.append(turn.message)
        elif event.type in ("stop", "pre_compact"):
            for one in turn_summary.utterances(turn.message):
                if one.role == AGENT:
                    said.messages.append(one.text)
                elif one.role == USER and not one.about:
                    said.prompts.append(one.text)
            said = said._replace(plan=turn.plan or said.plan)
        files |= dict.fromkeys(turn.changed_files)
    return said._replace(files=list(files))


def _title(said: _Said, first: Event) -> str:
    """The host's title or the goal, else from what was asked, else from the last message or the
    branch; with none of these the day."""
    if is_headless(first.session):
        return f"Headless runs of {first.at[:10]}"
    title = as_title(said.title or said.goal)
    title = title or choose_title(said.prompts, [*said.messages, " ".join(said.files)])
    if not title:
        sentences = subjects_of(_last_report(said.messages) or said.summary, _MIN_REPORT_WORDS)
        title = as_title(next((one for one in sentences if not is_on_the_way(one)), ""))
    if not title:
        what = said.branch or next(iter(said.files), "")
        title = untitled_by_what(first.session, what, first.at[:10])
    return title


def _asked(said: _Said) -> list[str]:
    prompts = [*filter(None, (said.goal,)), *said.prompts]
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
