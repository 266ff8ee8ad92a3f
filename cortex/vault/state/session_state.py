"""How far the hooks have come in each session of an agent: one small file per session in the user's
state folder.

A hook holds the session's lock while it works. Before it publishes an event it writes down which
one and how things stand after it, so that whoever comes after a killed hook captures nothing twice.
Standard library only: hooks are on this path.
"""

from __future__ import annotations

import os
from _collections_abc import Iterator

from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.text.light import contextmanager, dumps, suppress
from cortex.core.text.strings import hash_bytes
from cortex.core.text.value import Any, NamedTuple
from cortex.vault import files, private
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state import spool
from cortex.vault.state.json_store import JsonStore

STATE_FOLDER = "sessions"
_LOCK_FILES = 64  # lock files; two sessions that share one wait for each other for milliseconds
_MAX_BYTES = 200_000  # bytes of a file; more is nothing that we wrote
_MAX_EXPECTED_TEXTS = 40  # texts
_KEY_CHARS = 24  # of what `session_key` gives
_MAX_SESSIONS = 2_000  # sessions; of more the oldest are forgotten


class TextFingerprint(NamedTuple):
    """By which a text is known again: its letters without white space, and their digest."""

    size: int
    digest: str


class SessionCursor(NamedTuple):
    """What is known of a session. Texts that hold a secret are never among it."""

    host: str = ""
    session: str = ""
    agent: str = ""  # a subagent of the session; empty for the session itself
    cwd: str = ""
    root: str = ""  # the project's folder
    project: str = ""
    branch: str = ""
    transcript: str = ""
    offset: int = 0  # of the transcript, with what follows
    head: str = ""
    of: str = ""  # the session that the last line read is of, where lines name theirs
    named: bool = False  # lines that name this session were read; later ones of others are theirs
    copied: str = ""  # the first line, while all that was read is a copy of an earlier transcript
    passed: str = ""  # the other session whose lines were passed over, and the time of the last
    since: str = ""  # the latest time of a line that was read
    floor: str = ""  # lines up to this time are of another session, or of the file before a rewrite
    last: tuple[TextFingerprint, ...] = ()  # what the agent said last, as captured
    # Texts captured from payloads, to be skipped when the transcript repeats them.
    ahead: tuple[TextFingerprint, ...] = ()
    prompt: str = ""  # digest, number and time of the last prompt
    summary: str = ""  # digest of the last summary
    briefed: str = ""  # digest of the last briefing that was given
    start: str = ""  # the event of a start that nobody has published yet
    headless: bool = False  # whether a program asks, as its transcript says
    begun: bool = False  # whether anything of the session was captured
    ended: bool = False
    latest: str = ""  # the last event
    behind: bool = False  # whether the transcript has more than one hook may read
    turn: str = ""  # digest of the turn in which the agent spoke last, where a host names them
    busy: bool = False  # whether a turn is going on: a prompt has come and no answer yet
    vault: str = ""  # by which the vault is told from another one that has its path later


class StateUnavailable(CortexError):
    """The state of sessions cannot be read or written."""


class PublishAttempt(NamedTuple):
    """An event that is being published, and how the session stands once it is."""

    id: str
    after: SessionCursor


class LockedSession:
    """A session under its lock."""

    def __init__(self, vault: Vault, key: str) -> None:
        self._vault, self.key = vault, key
        cursor, attempt = _STATES.read(vault, key)
        # The file has to be written, though nothing may change.
        self._must_write = attempt is not None or not cursor.host
        cursor = _after_attempt(vault, cursor, attempt)
        self._vault_identity = _vault_identity(vault.root)
        is_of_another = cursor.vault not in ("", self._vault_identity)
        if is_of_another and cursor.latest and not is_event_captured(vault, cursor.latest):
            cursor = SessionCursor()  # the vault was made anew at its old path
        self._saved_cursor = cursor
        self.cursor = cursor._replace(vault=self._vault_identity) if cursor.host else cursor

    def begin_publish(self, attempt: PublishAttempt) -> None:
        """Write down what is about to be published. From here on `drain_spool` looks after the
        session if nobody else does. Raises `StateUnavailable`."""
        after = attempt.after._replace(vault=self._vault_identity)
        try:
            self.mark_unread()
            _write_state(self._vault, self.key, self.cursor, attempt._replace(after=after))
        except (OSError, CortexError) as error:
            raise _unavailable_error(error) from error
        self._must_write = True

    def save(self, cursor: SessionCursor) -> None:
        """Store how the session stands now."""
        cursor = cursor._replace(vault=self._vault_identity)
        if cursor.behind:
            self.mark_unread()
        if cursor != self._saved_cursor or self._must_write:
            _write_state(self._vault, self.key, cursor, None)
        if not cursor.behind:
            spool.remove_mark(self._vault, self.key, spool.UNREAD_SUFFIX)
        self.cursor, self._saved_cursor, self._must_write = cursor, cursor, False

    def mark_unread(self) -> None:
        """Let the next verb that reads look after this session."""
        spool.add_mark(self._vault, self.key, spool.UNREAD_SUFFIX)

    def mark_recent(self) -> None:
        """Let others look whether the transcript of this session has grown."""
        with suppress(OSError, CortexError):  # said by whoever writes what matters
            spool.add_mark(self._vault, self.key, spool.RECENT_SUFFIX)


def session_key(host: str, session: str, agent: str = "") -> str:
    """The name of a session's file; what a host calls a session may be anything."""
    return hash_bytes(f"{host}\0{session}\0{agent}", 12).hex()


@contextmanager
def lock_session(vault: Vault, key: str, wait: float = 3.0) -> Iterator[LockedSession]:
    """Hold a session. Raises `ConflictError` when another process does for `wait` seconds, and
    `StateUnavailable`. Never hold two: both may wait for the same lock."""
    begun = False  # an ExitStack would load `inspect` from Python 3.15 on: 10 ms
    try:
        folder = private.ensure_folder(os.path.join(vault.state_folder(), STATE_FOLDER))
        name = f".lock-{int(key[:4], 16) % _LOCK_FILES}"
        with lock(os.path.join(folder, name), "session", wait=wait):
            session = LockedSession(vault, key)
            begun = True
            yield session
    except (OSError, CortexError) as error:
        if begun or isinstance(error, ConflictError):
            raise
        raise _unavailable_error(error) from error


def defer_session(vault: Vault, key: str, known: SessionCursor) -> None:
    """Leave a session that another hook holds to the next verb that reads, with what is known of
    it. Raises `OSError`, `CortexError`."""
    spool.add_mark(vault, key, spool.UNREAD_SUFFIX, dumps(known._asdict()))


def read_deferred(vault: Vault, key: str) -> SessionCursor:
    """What `defer_session` said of a session."""
    return _DEFERRED.read(vault, key + spool.UNREAD_SUFFIX)


def load_cursor(vault: Vault, key: str) -> SessionCursor:
    """How far the hooks have come in a session; an empty cursor when they know nothing of it."""
    return _after_attempt(vault, *_STATES.read(vault, key))


def list_agents(vault: Vault, host: str, session: str) -> list[SessionCursor]:
    """What is known of a session's subagents that have transcripts of their own."""
    folder = os.path.join(vault.state_folder(), STATE_FOLDER)
    keys = (name.removesuffix(".json") for name in files.list_folder(folder))
    found = (load_cursor(vault, key) for key in keys if len(key) == _KEY_CHARS)
    some = (one for one in found if (one.host, one.session) == (host, session) and one.agent)
    return sorted(some, key=lambda one: one.agent)


def passed_over(vault: Vault, since: str) -> Iterator[tuple[SessionCursor, str]]:
    """The sessions in whose transcript lines of another session were passed over after `since`,
    each with that one, unless it was captured from there itself."""
    folder = os.path.join(vault.state_folder(), STATE_FOLDER)
    for name in files.list_folder(folder):
        key, _, suffix = name.rpartition(".")
        known = load_cursor(vault, key) if suffix == "json" else SessionCursor()
        other, _, at = known.passed.rpartition(" ")
        if other and at > since:
            theirs = load_cursor(vault, session_key(known.host, other))
            if theirs.transcript != known.transcript:
                yield known, other


def is_event_captured(vault: Vault, event: str, *, elsewhere: bool = True) -> bool:
    """True if an event is in the vault or, with `elsewhere`, in the spool."""
    layout = vault.layout()
    paths = (layout.pending(event), layout.event(event), layout.failed(event))
    if any(files.exists(vault.root, path) for path in paths):
        return True
    return elsewhere and spool.has_event(vault, event)


def evict_old(vault: Vault) -> None:
    """Of very many sessions, forget those that were quiet longest."""
    folder = os.path.join(vault.state_folder(), STATE_FOLDER)
    private.evict(folder, _MAX_SESSIONS, keep=_MAX_SESSIONS // 2, suffix=".json")


def text_fingerprint(text: str) -> TextFingerprint:
    """A text as it is known again however a host breaks its lines."""
    letters = "".join(text.split())
    return TextFingerprint(len(letters), hash_bytes(letters, 12).hex())


def add_expected_texts(cursor: SessionCursor, *texts: TextFingerprint) -> SessionCursor:
    """The cursor with texts that the transcript has yet to bring."""
    ahead = tuple(dict.fromkeys((*cursor.ahead, *texts)))
    return cursor._replace(ahead=ahead[-_MAX_EXPECTED_TEXTS:])


def _write_state(
    vault: Vault, key: str, cursor: SessionCursor, attempt: PublishAttempt | None
) -> None:
    """Replace the file; with an attempt durably: a power cut must not forget it."""
    stored = attempt and {"id": attempt.id, "after": attempt.after._asdict()}
    table = {"cursor": cursor._asdict(), "attempt": stored}
    _STATES.write(vault, table, key, synced=True, durable=attempt is not None)


def _parse_state(table: Any) -> tuple[SessionCursor, PublishAttempt | None]:
    """The stored cursor and attempt."""
    cursor, stored = _parse_cursor(table["cursor"]), table["attempt"]
    if not stored:
        return cursor, None
    return cursor, PublishAttempt(str(stored["id"]), _parse_cursor(stored["after"]))


def _after_attempt(
    vault: Vault, cursor: SessionCursor, attempt: PublishAttempt | None
) -> SessionCursor:
    """The cursor after an attempt whose process was killed, if its event is there."""
    return attempt.after if attempt and is_event_captured(vault, attempt.id) else cursor


def _parse_cursor(table: dict[str, object]) -> SessionCursor:
    """A cursor from what was read; unknown fields and those of another type are left out."""
    fields: dict[str, Any] = {}
    for key, default in SessionCursor()._asdict().items():
        value = table.get(key)
        if isinstance(default, tuple) and isinstance(value, list):
            fields[key] = tuple(TextFingerprint(int(size), str(digest)) for size, digest in value)
        elif isinstance(value, type(default)):
            fields[key] = value
    return SessionCursor(**fields)


_NOTHING: tuple[SessionCursor, PublishAttempt | None] = SessionCursor(), None
_STATES = JsonStore(f"{STATE_FOLDER}/{{}}.json", _parse_state, _NOTHING, _MAX_BYTES)
_DEFERRED = JsonStore(f"{spool.SPOOL_FOLDER}/{{}}", _parse_cursor, SessionCursor(), _MAX_BYTES)


def _unavailable_error(error: Exception) -> StateUnavailable:
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return StateUnavailable(
        f"how far sessions were captured cannot be kept: {reason}",
        getattr(error, "hint", "") or "mend the state folder of this vault",
    )


def _vault_identity(root: str) -> str:
    """What tells a vault from another one at its path, as long as its settings are not touched."""
    try:
        status = os.stat(os.path.join(root, SETTINGS_FILE))
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_ctime_ns}"
