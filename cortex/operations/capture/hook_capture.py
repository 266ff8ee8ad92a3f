"""What a hook keeps of what its host tells: the new part of a session, as one event, captured once.

A session that does nothing leaves nothing in the vault: its start is kept aside until its first event. What could not be
captured stays where it was, and the next hook, or the next verb that reads, takes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, Invalid
from cortex.core.redact.secrets import clean
from cortex.core.text import context_markers
from cortex.core.text.value import NamedTuple
from cortex.operations.capture import hooks_enabled
from cortex.operations.capture.capture import new_id, publish
from cortex.operations.capture.sanitize import fitted, here, kept_path, one_word, text_of
from cortex.operations.capture.transcript_chunk import Part, Source, part, reads
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors, spool
from cortex.vault.state.session_state import Attempt, Cursor, Held, said

_MOST_UNSENT = 200  # events that wait for room
_FOR_EVER = "9999"  # later than the time of any line
_AGAIN = 30  # seconds in which the same prompt is the same one, where the host does not number them


class Told(NamedTuple):
    """What a host tells on an event, in our words. Empty where it says nothing."""

    event: str  # session-start, user-prompt-submit, pre-compact, post-compact, stop, subagent-stop, session-end
    host: str
    session: str = ""
    cwd: str = ""
    transcript: str = ""
    prompt: str = ""
    message: str = ""  # the last thing that the agent said
    source: str = ""
    reason: str = ""
    summary: str = ""
    agent: str = ""
    agent_transcript: str = ""
    turn: str = ""  # the same for all that belongs to one prompt
    moment: str = ""  # when it was told: another one for each


class Place(NamedTuple):
    """Where a session is at work."""

    cwd: str
    root: str
    project: str
    branch: str


def observe(vault: Vault, caller: Caller, told: Told, place: Place, wait: float) -> bool:
    """Capture what an event of a host tells; whether there was anything. `wait`: seconds for another hook of the session.
    Raises `CortexError` or `OSError` when it could not be kept; then nothing of the session's state has moved, and the next
    one takes it. What only the payload tells is captured without any state where there is none."""
    action = _ACTIONS.get(told.event)
    if action is None:
        return False
    agent = told.agent if told.event == "subagent-stop" else ""
    path = told.agent_transcript if agent else told.transcript
    now = Cursor(
        host=told.host, session=one_word(told.session), agent=one_word(agent), cwd=kept_path(place.cwd), root=kept_path(place.root),
        project=place.project, branch=place.branch, transcript=kept_path(path),
    )  # fmt: skip
    key = key_of(told, agent)
    try:
        with cursors.held(vault, key, wait) as held:
            session = Session(
                vault, caller, told, held, Source(path or held.cursor.transcript, place.root)
            )
            if session.source.path:
                held.may_grow()
            done = action(session, seen_as(held.cursor, now))
    except Conflict:
        # A mark made before the lock was asked for would be taken away by whoever has the lock.
        cursors.leave(vault, key, now)
        if reads(told.host, path) or not _direct(vault, caller, told, now):
            raise
        return True
    except cursors.Unkept:
        if not _direct(vault, caller, told, now):
            raise
        return True
    if done and agent:
        _begin_parent(vault, caller, told)
    return done


def seen_as(known: Cursor, now: Cursor) -> Cursor:
    """A session as a hook sees it now, with all that is known of it."""
    return known._replace(
        host=now.host, session=now.session, agent=now.agent, cwd=now.cwd, root=now.root, project=now.project, branch=now.branch,
        transcript=now.transcript or known.transcript,
    )  # fmt: skip


class Session(NamedTuple):
    """A session under its lock, and what is told of it."""

    vault: Vault
    caller: Caller
    told: Told
    held: Held
    source: Source


def key_of(told: Told, agent: str = "") -> str:
    """The name of the session's file. Where a host names no session, its transcript or its place stands for one."""
    return cursors.key_of(told.host, told.session or told.transcript or told.cwd, agent)


def place_of(cwd: str, environ: Mapping[str, str]) -> Place:
    """Where a session is at work: in the directory that the host names, or else in this process's."""
    started = environ.get("CLAUDE_PROJECT_DIR", "")
    if not (os.path.isabs(cwd) and os.path.isdir(cwd)):
        cwd = started if os.path.isabs(started) and os.path.isdir(started) else here()
    real = os.path.realpath(cwd)
    home = cwd
    if (
        os.path.isabs(started)
        and os.path.isdir(started)
        and f"{real}/".startswith(f"{os.path.realpath(started)}/")
    ):
        home = started
    git = checkout.git_folder(home)
    root = git[0] if git and os.path.realpath(home) != git[0] else home
    project = checkout.project_of(home)
    if project and clean(root) != root:  # the name is made of the folder's, which holds a secret
        from cortex.core.text.strings import short_hash, slug  # noqa: PLC0415  hardly ever

        project = f"{slug(clean(os.path.basename(root)), 48)}-{short_hash(root, 4)}"
    return Place(cwd, root, project, one_word(checkout.branch_of(cwd)))


def first_time(vault: Vault, told: Told, text: str) -> bool:
    """Whether the session has not been given this text before; from now on it has."""
    digest = said(text).digest
    with cursors.held(vault, key_of(told), 1.0) as held:
        known = held.cursor
        held.keep(known._replace(host=told.host, session=one_word(told.session), briefed=digest))
        return known.briefed != digest


def rest(vault: Vault, caller: Caller, held: Held, longest: int) -> Part:
    """Capture the next part of a session's transcript, with lines of up to `longest` bytes."""
    known = held.cursor
    if not known.host:
        known = seen_as(known, cursors.left(vault, held.key))
    event = "subagent-stop" if known.agent else "stop"
    source = Source(known.transcript, known.root)
    new = part(known, source, "", _others(vault, known, source), longest=longest)
    if new.stretch:
        session = Session(vault, caller, Told(event, known.host, known.session), held, source)
        _captured(session, new.cursor, event.replace("-", "_"), text_of(new.stretch))
    else:
        held.keep(new.cursor)
    return new


def _others(vault: Vault, known: Cursor, source: Source) -> Callable[[str], str]:
    """For `part`: up to which time lines of another session are that one's. All of them where it writes this transcript itself."""

    def captured(session: str) -> str:
        other = cursors.load(vault, known.host, session)
        return _FOR_EVER if other.transcript and other.transcript == source.path else other.since

    return captured


def _turn(session: Session, known: Cursor) -> bool:
    """The agent stops, or is about to be compacted: what is new since the last event. A turn without anything new is none.

    Without a transcript the same words may be a message told twice, or said in two turns. A host that names its turns tells
    them apart, and so does a prompt in between; else they count as told twice."""
    told = session.told
    message, turn = context_markers.without(told.message), told.turn and said(told.turn).digest
    has_transcript = reads(known.host, session.source.path)
    afresh = not has_transcript and (known.busy or bool(turn and known.turn and turn != known.turn))
    new = part(
        known, session.source, message, _others(session.vault, known, session.source), afresh=afresh
    )
    after = new.cursor
    if told.event != "pre-compact":
        after = after._replace(busy=False, turn=turn or known.turn)
    if new.stretch:
        _captured(session, after, told.event.replace("-", "_"), text_of(new.stretch))
        return True
    session.held.keep(after)
    if session.source.path and not has_transcript and not told.message and told.event == "stop":
        raise CortexError(
            f"transcripts of {told.host} cannot be read, and no message came with the event",
            "nothing else is missing; cortex capture keeps a text",
        )
    return False


def _start(session: Session, known: Cursor) -> bool:
    """The start is kept aside; a session that was compacted has started already, one that had ended starts anew."""
    if not (known.start or known.begun) or known.ended:
        # What stands in the transcript before a session that goes on from another one is that one's.
        floor = (
            session.caller.now
            if session.told.source in ("resume", "fork") and not known.begun
            else known.floor
        )
        known = known._replace(
            start=_next_id(session.caller, known.latest), ended=False, floor=floor
        )
    session.held.keep(known)
    return False


def _end(session: Session, known: Cursor) -> bool:
    """The rest of the transcript, and the end, unless nothing of the session was ever captured."""
    new = part(known, session.source, "", _others(session.vault, known, session.source))
    known = new.cursor._replace(busy=False)
    if new.stretch:
        _captured(session, known, "stop", text_of(new.stretch))
        known = session.held.cursor
    if not known.begun or known.ended or known.start:
        session.held.keep(known._replace(start="", ended=True) if known.begun else known)
        return bool(new.stretch)
    _captured(session, known._replace(ended=True), "session_end", events.UNSAID["session_end"])
    return True


def _summary(session: Session, known: Cursor) -> bool:
    """What the host made of the session when it had to make room. The same one again is no news."""
    text = context_markers.without(session.told.summary).strip()
    digest = said(text).digest
    if not text or digest == known.summary:
        session.held.keep(known)
        return False
    _captured(session, known._replace(summary=digest), "post_compact", text)
    return True


def _prompt(session: Session, known: Cursor) -> bool:
    """What the user asks, where the project wants that kept; else only the lines in which they ask to remember something."""
    told = session.told
    text, tagged = _asked(session.vault, told)
    number = told.turn or told.moment
    known = known._replace(busy=True)
    if not text or _same_prompt(session, known, text, number):
        session.held.keep(known)
        return False
    known = known._replace(
        prompt=f"{said(text).digest} {number and said(number).digest} {session.caller.now}"
    )
    if reads(known.host, session.source.path):
        known = cursors.with_ahead(known, *(said(line) for line in tagged))
    _captured(session, known, "prompt", text)
    return True


def _asked(vault: Vault, told: Told) -> tuple[str, list[str]]:
    """What of a prompt is kept, and its lines with a memory tag, as a transcript's reader tells them."""
    text = context_markers.without(told.prompt).strip()
    tagged: list[str] = []
    if "[memory" in text.lower():
        from cortex.hosts.transcript_item import asked_in  # noqa: PLC0415  hardly any prompt has one

        tagged = asked_in(text)
    return text if hooks_enabled.of(vault).prompts else "\n".join(tagged), tagged


_ACTIONS: dict[str, Callable[[Session, Cursor], bool]] = {
    "session-start": _start, "user-prompt-submit": _prompt, "pre-compact": _turn, "post-compact": _summary, "stop": _turn,
    "subagent-stop": _turn, "session-end": _end,
}  # fmt: skip


def _captured(session: Session, after: Cursor, type_: str, text: str) -> None:
    """Publish the event, so that it is there once however often somebody is killed on the way."""
    held, caller = session.held, session.caller
    before = held.cursor
    start = _event(
        after, before.start or after.start, "session_start", events.UNSAID["session_start"]
    )
    id_ = _next_id(caller, max(after.latest, start.id))
    after = after._replace(latest=id_, begun=True, start="")
    event = _event(after, id_, type_, text)
    _check(event)
    held.begin(Attempt(id_, after))
    if start.id:
        _published(session.vault, caller, start)
    _published(session.vault, caller, event)
    with suppress(OSError):  # the attempt is written, and says it too
        held.keep(after)
    held.cursor = after


def _event(cursor: Cursor, id_: str, type_: str, text: str) -> Event:
    return Event(
        id_, type_, "", fitted(clean(text)), session=cursor.session, project=cursor.project, branch=cursor.branch, host=cursor.host, source="hook"
    )  # fmt: skip


def _check(event: Event) -> None:
    """Raise `CortexError` when the event may not be written, without a word of what a host told."""
    try:
        events.check(event)
    except Invalid:
        raise CortexError("what the host told makes no event") from None


def _published(vault: Vault, caller: Caller, event: Event) -> None:
    """Into the inbox; where that has no room, aside, from where it goes there later."""
    try:
        publish(vault, caller, event, fixed=True)
    except CortexError as error:
        try:
            if spool.put_aside(
                vault,
                event.id,
                events.compose(event._replace(at=events.time_of(event.id))).encode(),
                _MOST_UNSENT,
            ):
                return
        except (OSError, CortexError):
            raise error from error.__cause__  # what is wrong with the vault counts
        raise


def _direct(vault: Vault, caller: Caller, told: Told, now: Cursor) -> bool:
    """Capture what the payload alone tells, without knowing what was captured before: twice is better than never. Whether it
    tells anything."""
    kind = told.event.replace("-", "_")
    text = {
        "user-prompt-submit": lambda: _asked(vault, told)[0],
        "post-compact": lambda: context_markers.without(told.summary),
    }.get(
        told.event,
        lambda: context_markers.without(told.message) if told.event != "session-end" else "",
    )()
    if not text.strip():
        return False
    event = _event(
        now, new_id(caller), "prompt" if told.event == "user-prompt-submit" else kind, text
    )
    _check(event)
    publish(vault, caller, event)
    return True


def _begin_parent(vault: Vault, caller: Caller, told: Told) -> None:
    """The session of a subagent has begun with it. Where another hook is at work on it, that one, or the next, says so."""
    with suppress(Conflict), cursors.held(vault, key_of(told), 0.5) as held:
        known = held.cursor
        if known.start:
            _published(
                vault,
                caller,
                _event(known, known.start, "session_start", events.UNSAID["session_start"]),
            )
        if not known.begun or known.start:
            after = known._replace(
                host=told.host,
                session=one_word(told.session),
                begun=True,
                start="",
                latest=max(known.latest, known.start),
            )
            held.keep(after)


def _next_id(caller: Caller, latest: str) -> str:
    """An id of this moment that comes after the session's last event: within a second, chance alone would order them."""
    drawn = new_id(caller)
    return drawn if drawn > latest else events.id_after(latest, caller.random(2))


def _same_prompt(session: Session, known: Cursor, text: str, number: str) -> bool:
    """Whether this is the prompt that came last: a host, or who repeats a hook that was killed, tells it twice."""
    digest, turn, at = (*known.prompt.split(" "), "", "", "")[:3]
    if digest != said(text).digest:
        return False
    from cortex.vault.state.access_log import seconds  # noqa: PLC0415  only when a prompt comes again

    if number:
        return turn == said(number).digest
    return abs(seconds(session.caller.now) - seconds(at)) < _AGAIN
