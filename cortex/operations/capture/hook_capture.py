"""Capture what hooks tell: the new part of a session, as one event, once.

The start of a session is kept aside until its first event, so a session that does nothing leaves
nothing in the vault. What could not be captured is taken by the next hook or the next verb that
reads.
"""

from __future__ import annotations

from _collections_abc import Callable

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.model.speaker import own_words
from cortex.core.redact.person_words import keep_of_prompt
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import context_markers
from cortex.core.text.light import suppress
from cortex.core.text.strings import parse_time
from cortex.core.text.value import NamedTuple
from cortex.hosts.transcript_item import tagged_lines
from cortex.operations.capture import hooks_enabled
from cortex.operations.capture.capture import new_event_id, publish_event, with_time
from cortex.operations.capture.sanitize import (
    compose_event_text,
    sanitize_name,
    sanitize_path,
    truncate_event_text,
)
from cortex.operations.capture.transcript_chunk import (
    TranscriptChunk,
    TranscriptSource,
    is_readable_transcript,
    next_chunk,
)
from cortex.operations.capture.workspace import Workspace
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors, spool
from cortex.vault.state.session_homes import remember_home
from cortex.vault.state.session_state import (
    LockedSession,
    PublishAttempt,
    SessionCursor,
    text_fingerprint,
)

_MAX_UNSENT_EVENTS = 200  # events that wait for room
_END_OF_TIME = "9999"  # later than the time of any line
# Within which an equal prompt is the same one, where the host does not number them.
_SAME_PROMPT_SECONDS = 30
_CURSOR_FIELDS_OF_HOOK = ("host", "session", "agent", "cwd", "root", "project", "branch")


class HookEvent(NamedTuple):
    """What a host tells on an event, in our words. Empty where it says nothing."""

    # session-start, user-prompt-submit, pre-compact, post-compact, stop, subagent-stop, session-end
    name: str
    host: str
    session: str = ""
    cwd: str = ""
    transcript: str = ""
    prompt: str = ""
    message: str = ""  # the last thing that the agent said
    source: str = ""
    summary: str = ""
    agent: str = ""
    agent_transcript: str = ""
    turn: str = ""  # the same for all that belongs to one prompt
    moment: str = ""  # when it was told: another one for each


def capture_hook_event(
    vault: Vault, caller: Caller, event: HookEvent, place: Workspace, wait: float
) -> bool:
    """Capture what a hook event tells; True if it told anything.

    `wait`: seconds to wait for another hook of the session. Raises `CortexError` or `OSError` when
    nothing could be captured; the session's state is unchanged then, and the next hook takes it.
    Where there is no state, what the payload alone tells is captured.
    """
    action = _HANDLERS.get(event.name)
    if action is None:
        return False
    agent = event.agent if event.name == "subagent-stop" else ""
    path = event.agent_transcript if agent else event.transcript
    current = SessionCursor(
        host=event.host,
        session=sanitize_name(event.session),
        agent=sanitize_name(agent),
        cwd=sanitize_path(place.cwd),
        root=sanitize_path(place.root),
        project=place.project,
        branch=place.branch,
        transcript=sanitize_path(path),
    )
    key = session_key(event, agent)
    try:
        with cursors.lock_session(vault, key, wait) as state:
            source = TranscriptSource(path or state.cursor.transcript, place.root)
            session = HookSession(vault, caller, event, state, source)
            if source.path:
                state.mark_recent()
            done = action(session, refresh_cursor(state.cursor, current))
    except (ConflictError, cursors.StateUnavailable) as error:
        if isinstance(error, ConflictError):
            # A mark made before the lock was asked for would be taken away by who has the lock.
            cursors.defer_session(vault, key, current)
            if is_readable_transcript(event.host, path):
                raise
        if not _capture_payload(vault, caller, event, current):
            raise
        return True
    if done and agent:
        _begin_parent_session(vault, caller, event)
    if not place.is_remembered and (done or event.name == "session-start"):
        with suppress(OSError, CortexError):  # the event is there
            remember_home(event.host, event.session, vault, place.home, place.project)
    return done


def refresh_cursor(known: SessionCursor, current: SessionCursor) -> SessionCursor:
    """The state of a session at the place where a hook sees it now."""
    seen = {name: getattr(current, name) for name in _CURSOR_FIELDS_OF_HOOK}
    return known._replace(**seen, transcript=current.transcript or known.transcript)


class HookSession(NamedTuple):
    """A session under its lock, and what is told of it."""

    vault: Vault
    caller: Caller
    hook_event: HookEvent
    state: LockedSession
    source: TranscriptSource


def session_key(event: HookEvent, agent: str = "") -> str:
    """The key of the session's state, by its name, else by its transcript or folder."""
    return cursors.session_key(event.host, event.session or event.transcript or event.cwd, agent)


def mark_injected(vault: Vault, event: HookEvent, text: str) -> bool:
    """Whether the session has not been given this text before; from now on it has."""
    digest = text_fingerprint(text).digest
    with cursors.lock_session(vault, session_key(event), 1.0) as state:
        known = state.cursor
        session = sanitize_name(event.session)
        state.save(known._replace(host=event.host, session=session, briefed=digest))
        return known.briefed != digest


def capture_next_chunk(
    vault: Vault, caller: Caller, state: LockedSession, longest: int
) -> TranscriptChunk:
    """Capture the next part of a session's transcript, with lines of up to `longest` bytes."""
    known = state.cursor
    if not known.host:
        known = refresh_cursor(known, cursors.read_deferred(vault, state.key))
    name = "subagent-stop" if known.agent else "stop"
    source = TranscriptSource(known.transcript, known.root)
    event = HookEvent(name, known.host, known.session)
    session = HookSession(vault, caller, event, state, source)
    new = _next_chunk(session, known, max_line_bytes=longest)
    if new.content:
        text = compose_event_text(new.content)
        _capture_event(session, new.cursor, name.replace("-", "_"), text)
    else:
        state.save(new.cursor)
    return new


def _next_chunk(
    session: HookSession,
    known: SessionCursor,
    message: str = "",
    *,
    is_new_turn: bool = False,
    max_line_bytes: int = 0,
) -> TranscriptChunk:
    def captured_until(other_session: str) -> str:
        """The time up to which another session's lines were captured as its own; `_END_OF_TIME` if
        this transcript is that session's."""
        other = cursors.load_cursor(session.vault, cursors.session_key(known.host, other_session))
        is_its_own = other.transcript and other.transcript == session.source.path
        return _END_OF_TIME if is_its_own else other.since

    return next_chunk(
        known,
        session.source,
        message,
        captured_until,
        prompts=hooks_enabled.read_settings(session.vault).prompts,
        is_new_turn=is_new_turn,
        max_line_bytes=max_line_bytes,
    )


def _on_turn_end(session: HookSession, known: SessionCursor) -> bool:
    """The agent stops, or is about to be compacted: capture what is new since the last event.

    Without a transcript, equal messages of one turn are one. Turns are told apart by the host's
    name of the turn, or by a prompt in between.
    """
    event = session.hook_event
    message = context_markers.strip_injected(event.message)
    turn = event.turn and text_fingerprint(event.turn).digest
    has_transcript = is_readable_transcript(known.host, session.source.path)
    is_new_turn = known.busy or bool(turn and known.turn and turn != known.turn)
    new = _next_chunk(session, known, message, is_new_turn=is_new_turn and not has_transcript)
    after = new.cursor
    if event.name != "pre-compact":
        after = after._replace(busy=False, turn=turn or known.turn)
    if new.content:
        _capture_event(
            session, after, event.name.replace("-", "_"), compose_event_text(new.content)
        )
        return True
    session.state.save(after)
    if session.source.path and not has_transcript and not event.message and event.name == "stop":
        message = f"transcripts of {event.host} cannot be read, and no message came with the event"
        raise CortexError(message, "nothing else is missing; cortex capture keeps a text")
    return False


def _on_session_start(session: HookSession, known: SessionCursor) -> bool:
    """Keep the start aside, unless the session has begun and not ended."""
    if not (known.start or known.begun) or known.ended:
        # The transcript of a resumed session begins with lines of the session before it.
        goes_on = session.hook_event.source in ("resume", "fork") and not known.begun
        floor = session.caller.now if goes_on else known.floor
        start = new_event_id(session.caller, known.latest)
        known = known._replace(start=start, ended=False, floor=floor)
    session.state.save(known)
    return False


def _on_session_end(session: HookSession, known: SessionCursor) -> bool:
    """The rest of the transcript, and the end, unless nothing of the session was ever captured."""
    new = _next_chunk(session, known)
    known = new.cursor._replace(busy=False)
    if new.content:
        _capture_event(session, known, "stop", compose_event_text(new.content))
        known = session.state.cursor
    if not known.begun or known.ended or known.start:
        session.state.save(known._replace(start="", ended=True) if known.begun else known)
        return bool(new.content)
    text = events.PLACEHOLDER_TEXTS["session_end"]
    _capture_event(session, known._replace(ended=True), "session_end", text)
    return True


def _on_post_compact(session: HookSession, known: SessionCursor) -> bool:
    """What the host made of the session when it had to make room. The same one again is no news."""
    text = context_markers.strip_injected(session.hook_event.summary).strip()
    digest = text_fingerprint(text).digest
    if not text or digest == known.summary:
        session.state.save(known)
        return False
    _capture_event(session, known._replace(summary=digest), "post_compact", text)
    return True


def _on_prompt(session: HookSession, known: SessionCursor) -> bool:
    """Capture what the settings keep of a prompt. Of a host with transcripts the event of the turn
    holds it, and only its lines with a memory tag are captured at once."""
    event = session.hook_event
    has_transcript = is_readable_transcript(known.host, session.source.path)
    text, tagged = _text_and_tags(session.vault, event, has_transcript=has_transcript)
    number = event.turn or event.moment
    known = known._replace(busy=True)
    if not text or _is_same_prompt(session, known, text, number):
        session.state.save(known)
        return False
    digest = text_fingerprint(text).digest
    turn = number and text_fingerprint(number).digest
    known = known._replace(prompt=f"{digest} {turn} {session.caller.now}")
    if has_transcript:
        known = cursors.add_expected_texts(known, *(text_fingerprint(line) for line in tagged))
    _capture_event(session, known, "prompt", text)
    return True


def _text_and_tags(
    vault: Vault, event: HookEvent, *, has_transcript: bool
) -> tuple[str, list[str]]:
    """What is kept of a prompt, and its lines with a memory tag."""
    text = own_words(context_markers.strip_injected(event.prompt))
    tagged: list[str] = []
    if "[memory" in text.lower():  # hardly any prompt has one
        tagged = tagged_lines(text)
    kept = ""
    if not has_transcript:
        kept = keep_of_prompt(text, hooks_enabled.read_settings(vault).prompts)
    left = [line for line in tagged if line not in kept]
    return "\n".join([kept, *left] if kept else left), tagged


_HANDLERS: dict[str, Callable[[HookSession, SessionCursor], bool]] = {
    "session-start": _on_session_start,
    "user-prompt-submit": _on_prompt,
    "pre-compact": _on_turn_end,
    "post-compact": _on_post_compact,
    "stop": _on_turn_end,
    "subagent-stop": _on_turn_end,
    "session-end": _on_session_end,
}


def _capture_event(session: HookSession, after: SessionCursor, type_: str, text: str) -> None:
    """Publish the event, so that it is there once however often somebody is killed on the way."""
    state, caller = session.state, session.caller
    start = state.cursor.start or after.start
    id_ = new_event_id(caller, max(after.latest, start))
    after = after._replace(latest=id_, begun=True, start="")
    event = _build_event(after, id_, type_, text)
    state.begin_publish(PublishAttempt(id_, after))
    _publish_start(session.vault, caller, after, start)
    _publish_or_spool(session.vault, caller, event)
    with suppress(OSError):  # the attempt is written, and says it too
        state.save(after)
    state.cursor = after


def _publish_start(vault: Vault, caller: Caller, cursor: SessionCursor, start: str) -> None:
    """Publish the start that was held back until the session's first event, if there is one."""
    if start:
        text = events.PLACEHOLDER_TEXTS["session_start"]
        _publish_or_spool(vault, caller, _build_event(cursor, start, "session_start", text))


def _build_event(cursor: SessionCursor, id_: str, type_: str, text: str) -> Event:
    """The event. Raises `CortexError`, which quotes nothing of the payload, if it is not valid."""
    text = truncate_event_text(sanitize_text(text))
    event = Event(id_, type_, "", text, cursor.session, cursor.project, cursor.branch)
    event = event._replace(host=cursor.host, source="hook")
    event = events.as_headless(event) if cursor.headless else event
    try:
        events.validate(event)
    except InvalidInputError:
        raise CortexError("what the host told makes no event") from None
    return event


def _publish_or_spool(vault: Vault, caller: Caller, event: Event) -> None:
    """Publish the event in the inbox, or spool it if that fails, to be published later."""
    try:
        publish_event(vault, caller, event, is_retry=True)
    except CortexError as error:
        data = events.compose(with_time(caller, event)).encode()
        try:
            if spool.add_event(vault, event.id, data, _MAX_UNSENT_EVENTS):
                return
        except (OSError, CortexError):
            raise error from error.__cause__  # what is wrong with the vault counts
        raise


def _capture_payload(
    vault: Vault, caller: Caller, event: HookEvent, current: SessionCursor
) -> bool:
    """Capture the text in a hook's payload, without a transcript. True if there was any. The same payload
    again makes another event."""
    type_ = event.name.replace("-", "_")
    if event.name == "user-prompt-submit":
        type_, text = "prompt", _text_and_tags(vault, event, has_transcript=False)[0]
    elif event.name == "session-end":
        text = ""
    else:
        said = event.summary if event.name == "post-compact" else event.message
        text = context_markers.strip_injected(said)
    if not text.strip():
        return False
    publish_event(vault, caller, _build_event(current, new_event_id(caller), type_, text))
    return True


def _begin_parent_session(vault: Vault, caller: Caller, event: HookEvent) -> None:
    """Capture the start of a subagent's session, unless another hook has that session locked."""
    with suppress(ConflictError), cursors.lock_session(vault, session_key(event), 0.5) as state:
        known = state.cursor
        _publish_start(vault, caller, known, known.start)
        if not known.begun or known.start:
            after = known._replace(
                host=event.host, session=sanitize_name(event.session), begun=True
            )
            state.save(after._replace(start="", latest=max(known.latest, known.start)))


def _is_same_prompt(session: HookSession, known: SessionCursor, text: str, number: str) -> bool:
    """True if this prompt is the last one again, as a repeated hook sends it."""
    digest, turn, at = (*known.prompt.split(" "), "", "", "")[:3]
    if digest != text_fingerprint(text).digest:
        return False
    if number:
        return turn == text_fingerprint(number).digest
    passed = (parse_time(session.caller.now) or 0) - (parse_time(at) or 0)
    return abs(passed) < _SAME_PROMPT_SECONDS
