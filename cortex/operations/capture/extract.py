"""What the layers of extraction find in a text, in an event, or in all events of a session or a record."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.extract import candidates, is_record
from cortex.core.extract.passive import learnings
from cortex.core.model import event as events, session as sessions, turn_summary
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError, Invalid, NotFound, Problem
from cortex.core.normalize.handlers import ONLY_TAGS, TURNS, read_event
from cortex.core.text.strings import digest
from cortex.index.refresh import Views, look
from cortex.operations.capture.save import save
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.vault import files, layout, settings
from cortex.vault.locate import Vault

_MOST_READ = 2 * events.MAX_BYTES
_MOST_EVENTS = 2000  # of one session


LEARNINGS = "learnings"  # in the place of a layer: the items below a heading `Key Learnings`


class Found(NamedTuple):
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


class Extracted(NamedTuple):
    """What was found, in the order of events and lines."""

    found: tuple[Found, ...]
    events: tuple[str, ...]  # that were read
    problems: tuple[Problem, ...]
    kept: tuple[str, ...] = ()  # ids of the records that --keep has saved


def extract(
    vault: Vault, caller: Caller, what: str, *, model: str = "", keep: bool = False
) -> Extracted:
    """Show what the layers of extraction find: tags, what was done, and words that tell a decision, a rejection or a lesson.

    What has a confidence of 0.5 or more becomes a record when its event is normalized; the rest stays in the
    event, where search finds it. Of what was done only the plan becomes a record. Prompts, summaries of hosts and ends of sessions
    are read for tags alone. A team's own words stand in cortex.toml, below [extract].

    With --model another layer is asked: a command of your own that reads a question on standard input and answers JSON, such as that
    of an agent. Cortex runs none of its own accord, and none that a vault names. It has 120 seconds, and 1 MB for its answer; what takes
    or says more is ended, with all that it has started, and nothing of it is kept.

    what: an event, a session, a record (then the events that it came from), or a text; a single - reads standard input
    model: the command, as for a shell: 'claude -p'
    keep: save what the model finds, each as a record with the confidence that it gave

    Example: cortex extract 20261120t164512z-k3f7q2abcd
    Example: cortex extract "We chose SQLite over Postgres because it is one file."
    Example: cortex extract 5f0c7a52 --model 'claude -p' --keep
    """
    if keep and not model:
        raise Invalid("--keep saves what a model finds", "name its command: --model 'claude -p'")
    phrases = settings.load(vault.root).phrases
    if len(what.split()) != 1:
        found = _in(what, "", "stop", phrases)
        return _with_model(
            vault,
            caller,
            Extracted(tuple(found), (), ()),
            [Event("", "stop", "", what)],
            model,
            keep=keep,
        )
    found, problems, read = [], [], []
    if events.is_event_id(what):
        named: tuple[str, ...] = (what,)
    else:
        problems += freshen(vault, caller)
        named = look(vault, caller.progress, lambda now: _events_of(now, what))
    for count, id_ in enumerate(named, start=1):
        try:
            event = _event(vault, id_)
            found += _in(event.text, id_, event.type, phrases)
            read.append(event)
        except CortexError as error:
            if len(named) == 1:
                raise
            problems.append(Problem(id_, error.message, error.hint))
        caller.progress("reading", count, len(named))
    extracted = Extracted(tuple(found), named, tuple(problems))
    return _with_model(vault, caller, extracted, read, model, keep=keep)


def _with_model(
    vault: Vault, caller: Caller, extracted: Extracted, read: list[Event], model: str, *, keep: bool
) -> Extracted:
    """The same with what a model finds that no other layer has found, saved where that is asked for."""
    if not model or not read:
        return extracted
    from cortex.operations.capture.ask_model import ask  # noqa: PLC0415  subprocess costs 5 ms, and models are rarely asked

    known = {digest(one.text) for one in extracted.found}
    answered = ask(model, "\n\n".join(event.text for event in read), caller.cwd)
    fresh = [one for one in answered.candidates if digest(one.text) not in known]
    found = [
        Found(
            one.layer,
            one.type,
            one.confidence,
            keep,
            one.text,
            one.reason,
            0,
            one.pinned,
            one.tags,
            "",
        )
        for one in fresh
    ]
    kept = []
    for one in fresh if keep else ():
        body = one.text + (f"\n\n**Why.** {one.reason}" if one.reason else "")
        of = {"session": read[-1].session, "project": read[-1].project}
        kept.append(
            save(
                vault,
                caller,
                one.text,
                type=one.type,
                body=body,
                confidence=str(one.confidence),
                **of,
            ).id
        )
    dropped = (
        (Problem(model, f"{answered.dropped} of its answers were no memory and left out", ""),)
        if answered.dropped
        else ()
    )
    return extracted._replace(
        found=(*extracted.found, *found), problems=(*extracted.problems, *dropped), kept=tuple(kept)
    )


def _in(
    text: str, event: str, type_: str, phrases: tuple[tuple[str, tuple[str, ...]], ...]
) -> list[Found]:
    said = [] if type_ in ONLY_TAGS else learnings(turn_summary.read(text).said)
    learned = [
        Found(
            LEARNINGS,
            "learning",
            1.0,
            record=True,
            text=one.text,
            reason="",
            line=0,
            pinned=False,
            tags=(),
            event=event,
        )
        for one in said
    ]
    kept = type_ in TURNS or (type_ == "passive" and not learned)
    found = candidates(text, phrases, tags_only=type_ in ONLY_TAGS)
    return learned + [
        Found(
            one.layer, one.type, one.confidence, kept and is_record(one) and not (type_ == "subagent_stop" and one.type == "plan"), one.text,
            one.reason, one.line, one.pinned, one.tags, event,
        )
        for one in found
    ]  # fmt: skip


def _events_of(now: Views, name: str) -> tuple[str, ...]:
    named_so = list(now.catalogue.rows("id = ? LIMIT 1", (sessions.id_of(name),)))
    row = named_so[0] if named_so else resolve_note.one(now.catalogue, name)
    if events.is_event_id(row.id):
        return (row.id,)
    named = tuple(sorted(id_ for id_ in row.events if events.is_event_id(id_)))
    if not named:
        raise NotFound(
            f"{row.path} names no events", "give an event, a session, or a text in quotes"
        )
    return named[-_MOST_EVENTS:]


def _event(vault: Vault, id_: str) -> Event:
    for path in (events.path_of(id_), layout.pending(id_)):
        try:
            return read_event(files.read(vault.root, path, _MOST_READ), path)
        except (FileNotFoundError, NotFound):
            continue
    raise NotFound(
        f"there is no event {id_}", "cortex search finds events by their words: type:stop …"
    )
