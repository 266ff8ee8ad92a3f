"""Import transcripts of agents on this disk: capture what their hooks would have, and normalize."""

from __future__ import annotations

import os

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, Problem
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import format_time, hash_bytes
from cortex.core.text.value import NamedTuple
from cortex.hosts import new_reader, transcript_files
from cortex.hosts.tail import FILE_START, FilePosition, position_at, read_new_lines
from cortex.hosts.transcript_files import TranscriptInfo, TranscriptSegment, iter_segments
from cortex.hosts.transcript_item import AGENT_TEXT, PROMPT, SUMMARY, TranscriptItem
from cortex.hosts.transcript_reader import TranscriptReader
from cortex.operations.capture.capture import publish_event
from cortex.operations.capture.hooks_enabled import is_switched_off
from cortex.operations.capture.sanitize import sanitize_name, sanitize_path
from cortex.operations.capture.transcript_chunk import find_copied_lines
from cortex.operations.capture.workspace import find_workspace
from cortex.operations.exchange.transcript_events import build_events, clean_title
from cortex.operations.upkeep.drain_spool import capture_passed_over
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import settings
from cortex.vault.erased import read_list
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors
from cortex.vault.state.session_homes import recall_home, remember_home
from cortex.vault.state.session_state import PublishAttempt, SessionCursor

IMPORTED, WOULD_IMPORT, NOTHING_NEW = "imported", "would import", "nothing new"


class ImportedSession(NamedTuple):
    """One session on disk, with its subagents. Times are of its lines, UTC."""

    host: str
    id: str
    project: str
    branch: str
    first: str
    last: str
    messages: int  # that were not captured before
    events: int  # that they make
    agents: int  # how many of its subagents said or did any of it
    title: str
    outcome: str  # imported, would import or nothing new
    path: str


class UnreadTranscript(NamedTuple):
    """A transcript with lines that could not be read, and how many they are."""

    path: str
    lines: int


class _Location(NamedTuple):
    """Where the lines of a session belong."""

    project: str
    branch: str
    root: str


class TranscriptImport:
    """An import of transcripts: what it has done so far."""

    def __init__(self, vault: Vault, caller: Caller, *, dry_run: bool = True) -> None:
        self.vault, self.caller, self.dry_run = vault, caller, dry_run
        self.settings = settings.load(vault.root)
        self.erased = read_list(vault.root).events  # which do not come back
        self.folders: list[str] = []
        self.transcript_count = 0
        self.transcripts: list[TranscriptInfo] = []
        # A session -> its own transcript, among those of its subagents.
        self.main_transcripts: dict[tuple[str, str], TranscriptInfo] = {}
        self.left_alone = 0
        self.sessions: dict[tuple[str, str], ImportedSession] = {}
        self.unread: list[UnreadTranscript] = []
        self.problems: list[Problem] = []
        self.events = self.records = 0
        self.any_vault = False
        self.locations_by_cwd: dict[str, tuple[str, str, bool]] = {}
        # Messages by the host's id: a session that was resumed may repeat another.
        self.seen_messages: set[int] = set()

    def scan_folder(self, host: str, folder: str) -> None:
        """Read the ends of each transcript of a folder."""
        paths = list(transcript_files.list_paths(host, folder))
        self.folders.append(folder)
        self.transcript_count += len(paths)
        for path in self.caller.each(paths, "looking at transcripts"):
            one = transcript_files.read_info(host, path)
            if one.fault:
                hint = "give --path to leave it out"
                self.problems.append(Problem(path, f"cannot be read: {one.fault}", hint))
            elif one.session:
                self.transcripts.append(one)
                if not one.subagent:
                    self.main_transcripts.setdefault((host, one.session), one)

    def select_transcripts(self, wanted: str, since: int | None) -> list[TranscriptInfo]:
        """The transcripts of the project `wanted` that went on after `since`, the oldest first."""
        after = f"{format_time(since)[:-1]}.000Z" if since is not None else ""

        def is_wanted(one: TranscriptInfo) -> bool:
            project = self.default_location(one).project if wanted else ""
            return (
                (not wanted or self.settings.resolve_project(project) == wanted)
                and (self.any_vault or not self.writes_elsewhere(one))
                and not (one.last_time and one.last_time < after)
                and not (one.cwd and "\0" not in one.cwd and is_switched_off({}, one.cwd))
            )

        selected = list(filter(is_wanted, self.transcripts))
        sessions = {(one.host, one.session) for one in self.transcripts}
        self.left_alone = len(sessions - {(one.host, one.session) for one in selected})
        return sorted(selected, key=lambda one: (one.first_time, one.last_time, one.path))

    def import_sessions(self, wanted: str, since: int | None) -> None:
        """Import the transcripts that are wanted, then make notes of what was captured."""
        selected = self.select_transcripts(wanted, since)
        for one in self.caller.each(selected, "reading sessions"):
            self.import_session(one)
        if not self.dry_run:
            paths = {sanitize_path(one.path) for one in selected}
            self.events += capture_passed_over(self.vault, self.caller, paths)
        if self.events and not self.dry_run:
            normalized = normalize(self.vault, self.caller)
            self.records = len(normalized.created)
            self.problems += (*normalized.failed, *normalized.problems)

    def default_location(self, one: TranscriptInfo) -> _Location:
        """The place of the transcript's session, for lines that are of no project of their own."""
        home = self.main_transcripts.get((one.host, one.session), one)
        usual = self.location_of(home.cwd, one.branch) if home is not one else None
        return self.location_of(one.cwd, one.branch, usual)

    def writes_elsewhere(self, one: TranscriptInfo) -> bool:
        """Whether the session of a transcript writes into another vault."""
        main = self.main_transcripts.get((one.host, one.session), one)
        found, _ = find_workspace(one.host, one.session, main.path, self.vault.root, {})
        return found is not None and found.root != self.vault.root

    def location_of(self, cwd: str, branch: str, usual: _Location | None = None) -> _Location:
        """The project and its folder; `usual`, the session's, where `cwd` is no project itself."""
        if not cwd or "\0" in cwd or not os.path.isabs(cwd):
            return usual._replace(branch=branch) if usual else _Location("", branch, "")
        if cwd not in self.locations_by_cwd:
            git = checkout.find_repository(cwd)
            named = sanitize_text(checkout.project_of(cwd))
            own = bool(git) or os.path.lexists(os.path.join(cwd, checkout.PROJECT_FILE))
            self.locations_by_cwd[cwd] = (named, git[0] if git else os.path.realpath(cwd), own)
        named, root, own = self.locations_by_cwd[cwd]
        if usual and not own:
            return usual._replace(branch=branch)
        return _Location(named, branch, root)

    def import_session(self, one: TranscriptInfo) -> None:
        """Import one session, or count what there is to import."""
        key = cursors.session_key(one.host, one.session, one.subagent)
        if self.dry_run:
            self._read_transcript(one, cursors.load_cursor(self.vault, key), None)
            return
        try:
            with cursors.lock_session(self.vault, key) as locked:
                self._read_transcript(one, locked.cursor, locked)
        except ConflictError as conflict:
            self.problems.append(Problem(one.path, str(conflict), "run the import again"))

    def _read_transcript(
        self, one: TranscriptInfo, cursor: SessionCursor, locked: cursors.LockedSession | None
    ) -> None:
        start = _resume_position(one.path, cursor)
        if start.offset and start.offset >= one.size:
            self._add_to_session(one, None, 0, 0, 0)
            return
        read = new_reader(one.host)
        is_new_file = cursor.offset and not start.offset
        read.since = max(cursor.floor, cursor.since) if is_new_file else cursor.floor
        if locked and not start.offset:
            read.copied = find_copied_lines(one.host, one.path)
        usual = self.default_location(one)

        def location_of(piece: TranscriptItem) -> _Location:
            here = self.location_of(piece.cwd, piece.branch, usual)
            # Of another project are only folders to which the agent went.
            return here if here.project == usual.project or not usual.project else usual

        def place_of(piece: TranscriptItem) -> tuple[str, str]:
            here = location_of(piece)
            return here.project, sanitize_name(here.branch)

        ahead = list(cursor.ahead)
        messages = count = 0
        agents = set()
        for segment in iter_segments(one.path, read, start, place_of):
            pieces = [piece for piece in segment.items if self._is_new(piece, cursor, ahead)]
            root = location_of(pieces[0]).root if pieces else ""
            title = clean_title(read.title)
            made = []
            if pieces:
                made = build_events(
                    one, segment, pieces, root, title,
                    prompts=self.settings.prompts, now=self.caller.now,
                )  # fmt: skip
            if read.is_headless:
                made = [*map(events.as_headless, made)]
            if locked and (pieces or cursor.host):
                cursor = self._cursor_after(one, cursor, read, segment, root)
                cursor = cursor._replace(ahead=tuple(ahead))
                self._publish_events(locked, made, cursor)
            messages += sum(piece.kind in (AGENT_TEXT, PROMPT) for piece in pieces)
            count += len(made)
            self.events += len(made) if self.dry_run else 0
            agents |= {one.subagent or segment.sidechain} if made else set()
        if read.skipped_lines:
            self.unread.append(UnreadTranscript(one.path, read.skipped_lines))
        if count or messages or start.offset or cursor.begun:
            self._add_to_session(one, read, messages, count, len(agents - {""}))

    def _is_new(
        self, piece: TranscriptItem, cursor: SessionCursor, ahead: list[cursors.TextFingerprint]
    ) -> bool:
        """False if a hook captured this text from a payload, or if an earlier session has it.

        `ahead`: texts that hooks captured and that are still to come; changed in place.
        """
        if piece.kind not in (AGENT_TEXT, SUMMARY, PROMPT):
            return True
        if piece.id:
            name = hash((piece.kind, piece.id, piece.text))
            if name in self.seen_messages:
                return False
            self.seen_messages.add(name)
        if not (ahead or cursor.summary):
            return True
        text = cursors.text_fingerprint(piece.text)
        if piece.kind == AGENT_TEXT and text in ahead:
            ahead.remove(text)
            return False
        return piece.kind != SUMMARY or text.digest != cursor.summary

    def _publish_events(
        self, locked: cursors.LockedSession, made: list[Event], after: SessionCursor
    ) -> None:
        """Publish the events of a segment and save the cursor; a kill in between repeats none."""
        if made:
            locked.begin_publish(PublishAttempt(made[-1].id, after))
        for event in (one for one in made if one.id not in self.erased):
            events.validate(event)
            try:
                publish_event(self.vault, self.caller, event, is_retry=True)
            except ConflictError:  # the session went on since an import that was forgotten
                other = events.make_id(event.id[:16], hash_bytes(f"{event.id}\0{event.text}", 7))
                publish_event(self.vault, self.caller, event._replace(id=other), is_retry=True)
            self.events += 1
        locked.save(after)
        if made and not recall_home(after.host, after.session):
            remember_home(after.host, after.session, self.vault, after.cwd, after.project)

    def _cursor_after(
        self,
        one: TranscriptInfo,
        cursor: SessionCursor,
        read: TranscriptReader,
        segment: TranscriptSegment,
        root: str,
    ) -> SessionCursor:
        """The session's cursor after a segment of its transcript: what was read and captured so far."""
        at = position_at(one.path, segment.end_offset)
        said = [item for item in segment.items if item.kind == AGENT_TEXT and not item.sidechain]
        latest = max((piece.at for piece in segment.items), default="") or read.last_time
        last = (cursors.text_fingerprint(said[-1].text),) if said else cursor.last
        return cursor._replace(
            host=one.host,
            session=sanitize_name(one.session),
            agent=sanitize_name(one.subagent),
            cwd=cursor.cwd or sanitize_path(one.cwd),
            root=cursor.root or sanitize_path(root),
            transcript=sanitize_path(one.path),
            offset=at.offset,
            head=at.checksum,
            since=max(cursor.since, latest),
            last=last,
            headless=cursor.headless or read.is_headless,
            begun=cursor.begun or bool(segment.items),
            project=cursor.project or segment.project_branch[0],
            branch=segment.project_branch[1] or cursor.branch,
            behind=False,
        )

    def _add_to_session(
        self,
        one: TranscriptInfo,
        read: TranscriptReader | None,
        messages: int,
        count: int,
        agents: int,
    ) -> None:
        """Add what was read of a transcript to the figures of its session."""
        first, last = one.first_time, one.last_time
        title = ""
        if read:
            first, last = read.first_time or first, read.last_time or last
            title = "" if one.subagent else clean_title(read.title)
        project, path = self.default_location(one).project, one.path
        session = self.sessions.get((one.host, one.session)) or ImportedSession(
            one.host, one.session, project, one.branch, first, last, 0, 0, 0, "", NOTHING_NEW, path
        )
        if not one.subagent:
            session = session._replace(project=project, branch=one.branch, path=path)
        if count or messages:
            session = session._replace(outcome=WOULD_IMPORT if self.dry_run else IMPORTED)
        self.sessions[one.host, one.session] = session._replace(
            first=min(filter(None, (session.first, first)), default=""),
            last=max(session.last, last),
            messages=session.messages + messages,
            events=session.events + count,
            agents=session.agents + agents,
            title=session.title or title,
        )


def _resume_position(path: str, cursor: SessionCursor) -> FilePosition:
    """Where reading goes on: behind what was captured if this is still the same file, else at its
    start."""
    start = FilePosition(cursor.offset, cursor.head)
    is_same_path = os.path.realpath(cursor.transcript or path) == os.path.realpath(path)
    can_resume = start.offset and is_same_path and not read_new_lines(path, start, 1).fault
    return start if can_resume else FILE_START
