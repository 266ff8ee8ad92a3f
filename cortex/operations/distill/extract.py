"""Show what extraction finds in a text, an event, or all events of a session or a record."""

from __future__ import annotations

import shlex
from typing import Annotated

from cortex.core.distill.answer import ModelAnswer, parse_memories
from cortex.core.distill.prompt import build_question
from cortex.core.extract.candidate import Candidate
from cortex.core.extract.extraction import TAGS_ONLY_TYPES, choose_candidates, find_candidates
from cortex.core.extract.learnings import find_learnings
from cortex.core.model import event as events, turn_summary
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.parameters import PROGRAM
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.model.record import intended_type
from cortex.core.normalize.handlers import SESSION_TEXT_TYPES
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import text_digest
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.distill.model_command import run_model
from cortex.operations.distill.replay import ReplayResult, replay as run_replay, undo_replay
from cortex.operations.find import resolve_note
from cortex.operations.records.save import save
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.preserve_text import find_event
from cortex.vault import settings
from cortex.vault.locate import Vault

_MAX_EVENTS = 2000  # of one session
_FINDS_EVENTS = "cortex search finds events by their words: type:stop …"
_LEARNINGS_LAYER = "learnings"  # the items below a heading `Key Learnings`
TIMEOUT_SECONDS = 120.0  # from the question to the end of the answer


class ExtractedItem(NamedTuple):
    """One thing that a layer found."""

    layer: str
    type: str
    confidence: float
    record: bool  # whether it becomes a record
    text: str
    reason: str
    line: int  # of the event's text, or of the text given; 0 where nobody counted
    pinned: bool
    tags: tuple[str, ...]
    event: str  # in which it stands; empty in a text


class ExtractResult(NamedTuple):
    """What was found, in the order of events and lines."""

    found: tuple[ExtractedItem, ...]
    events: tuple[str, ...]  # that were read
    problems: tuple[Problem, ...]
    kept: tuple[str, ...] = ()  # ids of the records that --keep has saved
    replay: ReplayResult | None = None  # of --replay and --undo


def extract(
    vault: Vault,
    caller: Caller,
    what: str = "",
    *,
    model: Annotated[str, PROGRAM] = "",
    keep: bool = False,
    replay: bool = False,
    apply: bool = False,
    undo: bool = False,
) -> ExtractResult:
    """Show what extraction finds in a text, an event or a session.

    Tags, what was done, and words of a decision or a lesson. Of a turn of a session become records at
    once what a tag or a label marks, and the plan; what the whole session bears out, when it ends. The
    rest stays in the event and in the session's note, where search finds it. Summaries of hosts and
    ends of sessions are read for tags alone. A team's own words stand in cortex.toml, below [extract].

    --model asks a command of your own, such as that of an agent: it reads a question on standard
    input and answers JSON. Cortex runs none that you do not name here. After 120 seconds, or more
    than 1 MB of answer, it is ended with all that it has started, and nothing of it is kept.

    --replay reads the events of all sessions again with today's rules and words, and shows which
    records would come and which would go: extracted ones that no event gives any more, and that
    nobody has edited, pinned or linked, and that you have not used. With --apply it is done, those that go are
    archived. In a vault with a remote nobody knows here what teammates have used: a terminal asks.

    what: an event, a session, a record (for its events), or a text; a single - reads standard input
    model: the command, as for a shell: 'claude -p'
    keep: save what the model finds, each as a record with the confidence that it gave
    replay: compare the records of all sessions with what today's rules make of their events
    apply: with --replay, write the difference
    undo: take back what --replay --apply has written, where nobody has changed it since

    Example: cortex extract 20261120t164512z-k3f7q2abcd
    Example: cortex extract "We chose SQLite over Postgres because it is one file."
    Example: cortex extract 5f0c7a52 --model 'claude -p' --keep
    Example: cortex extract --replay
    """
    if apply and not replay:
        raise InvalidInputError("--apply belongs to --replay", "cortex extract --replay --apply")
    if replay or undo:
        if what or model or (replay and undo):
            raise InvalidInputError("--replay and --undo stand alone", "cortex extract --replay")
        answer = undo_replay(vault, caller) if undo else run_replay(vault, caller, apply=apply)
        return ExtractResult((), (), (), replay=answer)
    return _extracted(vault, caller, what, model=model, keep=keep)


def _extracted(vault: Vault, caller: Caller, what: str, *, model: str, keep: bool) -> ExtractResult:
    """What extraction finds in a text, an event, or the events of a session or a record."""
    if not what:
        hint = "cortex extract 'We chose SQLite because it is one file.'"
        raise InvalidInputError("say what to read: an event, a session, a record, or a text", hint)
    if keep and not model:
        hint = "name its command: --model 'claude -p'"
        raise InvalidInputError("--keep saves what a model finds", hint)
    phrases = settings.load(vault.root).phrases
    is_text = len(what.split()) != 1
    ids: tuple[str, ...] = () if is_text else (what,)
    problems: list[Problem] = []
    if not is_text and not events.is_event_id(what):
        ids, problems = query_fresh(vault, caller, _event_ids_of, what)
    read = [Event("", "stop", "", what)] if is_text else []
    for id_ in caller.each(ids, "reading"):
        if event := find_event(vault, id_)[1]:
            read.append(event)
        else:
            problems.append(Problem(id_, f"there is no event {id_}", _FINDS_EVENTS))
    if problems and len(ids) == 1 and not read:
        raise NotFoundError(problems[-1].message, problems[-1].hint)
    found = tuple(item for event in read for item in _extract_from_event(event, phrases))
    extracted = ExtractResult(found, ids, tuple(problems))
    return _add_model_items(vault, caller, extracted, read, model=model, keep=keep)


def _add_model_items(
    vault: Vault, caller: Caller, done: ExtractResult, read: list[Event], *, model: str, keep: bool
) -> ExtractResult:
    """With what a model finds beside the other layers, saved if `keep` is set."""
    if not model or not read:
        return done
    known = {text_digest(one.text) for one in done.found}
    answer = ask_model(model, "\n\n".join(event.text for event in read), caller.cwd)
    new = [one for one in answer.candidates if text_digest(one.text) not in known]
    items = [_item(one._replace(line=0), "", keep) for one in new]
    kept = []
    for one in new if keep else ():
        saved = save(
            vault,
            caller,
            one.text,
            type=intended_type(one.type) or one.type,
            body=one.text + (f"\n\n**Why.** {one.reason}" if one.reason else ""),
            confidence=one.confidence,
            session=read[-1].session,
            project=read[-1].project,
        )
        kept.append(saved.id)
    problems = list(done.problems)
    if answer.dropped_count:
        message = f"{answer.dropped_count} of its answers were no memory and left out"
        problems.append(Problem(model, message, ""))
    found = (*done.found, *items)
    return done._replace(found=found, problems=tuple(problems), kept=tuple(kept))


def ask_model(
    command: str, text: str, cwd: str, *, timeout: float = TIMEOUT_SECONDS
) -> ModelAnswer:
    """What the command answers about the text, which it reads on standard input, secrets removed.

    Raises `CortexError` for a command that `run_model` refuses, and for one that answers no JSON
    array.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        hint = "quote it for the shell: --model 'claude -p'"
        raise InvalidInputError(f"{command[:100]!r} is no command: {error}", hint) from error
    if not words:
        raise InvalidInputError("the model's command is empty", "name one: --model 'claude -p'")
    output = run_model(words, build_question(sanitize_text(text)), cwd, timeout)
    answer = parse_memories(output)
    if answer is None:
        message = f"{words[0]} answered no JSON array, but {sanitize_text(output).strip()[:80]!r}"
        raise CortexError(message, "another model, or the same once more")
    return answer


def _extract_from_event(
    event: Event, phrases: tuple[tuple[str, tuple[str, ...]], ...]
) -> list[ExtractedItem]:
    tags_only = event.type in TAGS_ONLY_TYPES
    message = "" if tags_only else turn_summary.parse_turn_summary(event.text).message
    items = [
        _item(Candidate(_LEARNINGS_LAYER, "learning", one.text, 1.0, 0), event.id, True)
        for one in find_learnings(message)
    ]
    found = find_candidates(event.text, phrases, tags_only=tags_only)
    may_become = event.type in SESSION_TEXT_TYPES or (event.type == "passive" and not items)
    kept = choose_candidates(event.text, phrases, event.type) if may_become else ()
    return [*items, *(_item(one, event.id, one in kept) for one in found)]


def _item(one: Candidate, event: str, becomes_record: bool) -> ExtractedItem:
    return ExtractedItem(
        one.layer, one.type, one.confidence, becomes_record, one.text, one.reason, one.line,
        one.pinned, one.tags, event,
    )  # fmt: skip


def _event_ids_of(index: IndexSession, name: str) -> tuple[str, ...]:
    rows = index.catalogue.find(NoteFilter(ids=(session_note_id(name),)), limit=1)
    row = rows[0] if rows else resolve_note.find_one(index.catalogue, name)
    if events.is_event_id(row.id):
        return (row.id,)
    named = tuple(sorted(id_ for id_ in row.events if events.is_event_id(id_)))
    if not named:
        hint = "give an event, a session, or a text in quotes"
        raise NotFoundError(f"{row.path} names no events", hint)
    return named[-_MAX_EVENTS:]
