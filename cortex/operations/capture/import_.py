"""What agents' transcripts on this disk tell, captured as their sessions would have captured it, and normalized at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.model import event as events, turn_summary as stretches_
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, Invalid, NotFound, Problem
from cortex.core.redact.secrets import clean
from cortex.core.text.strings import hash_bytes, one_line
from cortex.hosts import reader, transcript_files
from cortex.hosts.segmenter import Told, stretches
from cortex.hosts.tail import START, Position, position_at, tail
from cortex.hosts.transcript_files import Glance
from cortex.hosts.transcript_item import PROMPT, SAID, SUMMARY, Piece, Reader, stretch_of
from cortex.operations.capture.capture import publish
from cortex.operations.capture.hooks_enabled import is_off
from cortex.operations.capture.normalize import normalize
from cortex.operations.capture.sanitize import kept_path, one_word
from cortex.operations.find.project_context import project_here
from cortex.vault import settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.settings import Settings
from cortex.vault.state import session_state as cursors
from cortex.vault.state.session_state import Attempt, Cursor

IMPORTED, WAITING, KNOWN = "imported", "would import", "nothing new"
_LONGEST_TEXT = 500_000  # characters of one event; what is longer goes into several
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Session(NamedTuple):
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


class Looked(NamedTuple):
    """A folder, or a file, in which an import looked, and how many transcripts there are."""

    path: str
    transcripts: int


class Unread(NamedTuple):
    """A transcript with lines that could not be read, and how many they are."""

    path: str
    lines: int


class Imported(NamedTuple):
    """What an import did, or would do. Left alone were `others`, sessions of other projects, `off`, those of folders where
    Cortex is switched off, and `older` ones, that ended before `since`. `stopped`: somebody interrupted it."""

    hosts: tuple[str, ...]
    sessions: tuple[Session, ...]
    events: int
    records: int
    skipped: int  # lines that could not be read
    unread: tuple[Unread, ...]
    others: int
    off: int
    older: int
    looked: tuple[Looked, ...]
    dry_run: bool
    stopped: bool
    problems: tuple[Problem, ...] = ()


class _Place(NamedTuple):
    """Where the lines of a session belong."""

    project: str
    branch: str
    root: str


def import_(
    vault: Vault,
    caller: Caller,
    host: str,
    *,
    since: str = "",
    project: str = "",
    all: bool = False,
    path: str = "",
    dry_run: bool = False,
) -> Imported:
    """Capture what agents' sessions on this disk said and did, as their hooks would have done.

    By default the sessions of the project of the working directory. What the hooks have captured already, or an earlier
    import, is not captured again, so an import may be repeated, or interrupted and repeated. What subagents said and did
    belongs to their session. Left out are sessions in a folder with a .cortex-off file, and within a session what its
    person took back: a prompt that was rewound, with all that followed from it, did not happen.

    host: one or several of claude (~/.claude/projects, or $CLAUDE_CONFIG_DIR), codex (~/.codex, or $CODEX_HOME), copilot
    since: only sessions that went on after this: 30d, 12h, 2w, or a day such as 2026-10-01
    project: only sessions of this project, instead of the working directory's
    all: sessions of every project, each as its own
    path: a transcript, whichever project it is of, or a folder of them
    dry_run: say what there is and capture nothing

    Example: cortex import claude --dry-run
    Example: cortex import claude codex --all --since 30d
    """
    hosts = tuple(dict.fromkeys(host.replace(",", " ").split()))
    for one in hosts:
        if one not in transcript_files.HOSTS:
            raise Invalid(
                f"no transcripts of {one!r} can be imported",
                f"use some of: {', '.join(transcript_files.HOSTS)}",
            )
    if path and len(hosts) > 1:
        raise Invalid(
            "--path names transcripts of one host", f"cortex import {hosts[0]} --path {path}"
        )
    after = _since(since, caller.now)
    where = os.path.join(caller.cwd, os.path.expanduser(path)) if path else ""
    if path and not os.path.exists(where):
        raise NotFound(f"there is no {path}", "give a transcript, or a folder of them")
    wanted = (
        ""
        if all or (path and not os.path.isdir(where) and not project)
        else project_here(vault, caller, project)
    )
    if not wanted and not all and not path:
        raise NotFound(
            "no project is known for this directory",
            f"cortex import {host} --all, or --project NAME",
        )
    run = _Import(vault, caller, dry_run=dry_run)
    try:
        for one in hosts:
            for folder in (where,) if path else transcript_files.folders_of(one, os.environ):
                run.look(one, folder)
        found = run.chosen(wanted, after)
        for number, glance in enumerate(found):
            caller.progress("reading sessions", number, len(found))
            run.session(glance)
        if run.events and not dry_run:
            run.normalize()
    except KeyboardInterrupt:
        run.stopped = True
    caller.progress("reading sessions", 1, 1)
    return run.done(hosts)


def _as_in_earlier_ids(piece: Piece) -> str:
    """A command and a plan as they stand in the ids of imported events: the reprs that they had in the first version."""
    command = piece.command and (
        f"Command(line={piece.command.line!r}, outcome={piece.command.outcome!r})"
    )
    steps = [f"Step(text={one.text!r}, done={one.done!r})" for one in piece.plan]
    plan = f"({', '.join(steps)}{',' if len(steps) == 1 else ''})"
    return f"{command}\0{plan}"


class _Import:
    """One run: what it has done so far."""

    def __init__(self, vault: Vault, caller: Caller, *, dry_run: bool) -> None:
        self.vault, self.caller, self.dry_run = vault, caller, dry_run
        self.settings: Settings = settings.load(vault.root)
        self.looked: list[Looked] = []
        self.glances: list[Glance] = []
        self.homes: dict[
            tuple[str, str], Glance
        ] = {}  # a session -> its own transcript, among those of its subagents
        self.others: set[tuple[str, str]] = set()
        self.off: set[tuple[str, str]] = set()
        self.older: set[tuple[str, str]] = set()
        self.sessions: dict[tuple[str, str], Session] = {}
        self.unread: list[Unread] = []
        self.problems: list[Problem] = []
        self.events = self.records = 0
        self.stopped = False
        self.places: dict[str, tuple[str, str, bool]] = {}
        self.told: set[int] = (
            set()
        )  # messages by the host's id: a session that was resumed may repeat another

    def look(self, host: str, folder: str) -> None:
        """Take a first glance at each transcript of a folder."""
        paths = list(transcript_files.transcripts(host, folder))
        self.looked.append(Looked(folder, len(paths)))
        for number, path in enumerate(paths):
            if number % 20 == 0:
                self.caller.progress("looking at transcripts", number, len(paths))
            one = transcript_files.glance(host, path)
            if one.fault:
                self.problems.append(
                    Problem(path, f"cannot be read: {one.fault}", "give --path to leave it out")
                )
            elif one.session:
                self.glances.append(one)
                if not one.agent:
                    self.homes.setdefault((host, one.session), one)

    def chosen(self, wanted: str, after: str) -> list[Glance]:
        """The transcripts that are wanted, the oldest first."""
        found = []
        for one in self.glances:
            named = (one.host, one.session)
            if wanted and self.settings.project(self.usual(one).project) != wanted:
                self.others.add(named)
            elif after and one.last and one.last < after:
                self.older.add(named)
            elif one.cwd and "\0" not in one.cwd and is_off({}, one.cwd):
                self.off.add(named)
            else:
                found.append(one)
        kept = {(one.host, one.session) for one in found}
        self.others, self.off, self.older = self.others - kept, self.off - kept, self.older - kept
        return sorted(found, key=lambda one: (one.first, one.path))

    def normalize(self) -> None:
        """Make notes of what was captured."""
        normalized = normalize(self.vault, self.caller)
        self.records = len(normalized.created)
        self.problems += (*normalized.failed, *normalized.problems)

    def done(self, hosts: tuple[str, ...]) -> Imported:
        """What was done so far."""
        return Imported(
            hosts, tuple(self.sessions.values()), self.events, self.records, sum(one.lines for one in self.unread), tuple(self.unread),
            len(self.others), len(self.off), len(self.older), tuple(self.looked), self.dry_run, self.stopped, tuple(self.problems),
        )  # fmt: skip

    def usual(self, one: Glance) -> _Place:
        """The place of a transcript's lines that are of no project of their own: that of its session."""
        home = self.homes.get((one.host, one.session), one)
        return self.place(
            one.cwd, one.branch, self.place(home.cwd, one.branch) if home is not one else None
        )

    def place(self, cwd: str, branch: str, usual: _Place | None = None) -> _Place:
        """The project and its folder. A place that is no project of its own is of the session's `usual` one."""
        if not cwd or "\0" in cwd or not os.path.isabs(cwd):
            return usual._replace(branch=branch) if usual else _Place("", branch, "")
        if cwd not in self.places:
            git = checkout.git_folder(cwd)
            named = clean(checkout.project_of(cwd))
            own = bool(git) or os.path.lexists(os.path.join(cwd, checkout.PROJECT_FILE))
            self.places[cwd] = (named, git[0] if git else os.path.realpath(cwd), own)
        named, root, own = self.places[cwd]
        return (
            _Place(named, branch, root) if own or usual is None else usual._replace(branch=branch)
        )

    def session(self, one: Glance) -> None:
        """Import one session, or count what there is to import."""
        key = cursors.key_of(one.host, one.session, one.agent)
        if self.dry_run:
            self._read(one, cursors.load(self.vault, one.host, one.session, one.agent), None)
            return
        try:
            with cursors.held(self.vault, key) as held:
                self._read(one, held.cursor, held)
        except Conflict as conflict:
            self.problems.append(Problem(one.path, str(conflict), "run the import again"))

    def _read(self, one: Glance, cursor: Cursor, held: cursors.Held | None) -> None:
        start = _start(one.path, cursor)
        if start.offset and start.offset >= one.size:
            self._note(one, None, 0, 0, 0)
            return
        read = reader(one.host)
        read.since = (
            cursor.floor if start.offset or not cursor.offset else max(cursor.floor, cursor.since)
        )
        usual = self.usual(one)

        def place_of(piece: Piece) -> tuple[str, str]:
            here = self.place(piece.cwd, piece.branch, usual)
            return here.project, one_word(here.branch)

        ahead = list(cursor.ahead)
        messages = count = 0
        agents = set()
        for told in stretches(one.path, read, start, place_of):
            pieces = [piece for piece in told.pieces if self._is_new(piece, cursor, ahead)]
            root = self.place(pieces[0].cwd, "", usual).root if pieces else ""
            made = self._events(one, told, pieces, root) if pieces else []
            if held and (pieces or cursor.host):
                cursor = self._capture(
                    held,
                    made,
                    self._after(one, cursor, read, told, root)._replace(ahead=tuple(ahead)),
                )
            messages += sum(piece.kind in (SAID, PROMPT) for piece in pieces)
            count += len(made)
            self.events += len(made) if self.dry_run else 0
            agents |= {one.agent or told.chain} if made else set()
        if read.skipped:
            self.unread.append(Unread(one.path, read.skipped))
        if count or messages or start.offset or cursor.begun:
            self._note(one, read, messages, count, len(agents - {""}))

    def _is_new(self, piece: Piece, cursor: Cursor, ahead: list[cursors.Said]) -> bool:
        """Whether neither a hook has captured this text from a payload, nor a session that this one went on from. `ahead`:
        what hooks have captured that is still to come."""
        if piece.kind not in (SAID, SUMMARY, PROMPT):
            return True
        if piece.id:
            name = hash((piece.kind, piece.id, piece.text))
            if name in self.told:
                return False
            self.told.add(name)
        if not (ahead or cursor.summary):
            return True
        text = cursors.said(piece.text)
        if piece.kind == SAID and text in ahead:
            ahead.remove(text)
            return False
        return piece.kind != SUMMARY or text.digest != cursor.summary

    def _events(self, one: Glance, told: Told, pieces: list[Piece], root: str) -> list[Event]:
        """The events that a stretch makes, with ids that depend on nothing but the transcript."""
        found: list[tuple[str, Piece, str]] = []
        aside = bool(one.agent or told.chain)
        if told.is_summary:
            found += [("post_compact", piece, piece.text) for piece in pieces]
        else:
            if self.settings.prompts and not aside:  # a subagent is not asked by a person
                found += [("prompt", piece, piece.text) for piece in pieces if piece.kind == PROMPT]
            found.append(
                (
                    "subagent_stop" if aside else "stop",
                    pieces[0],
                    stretches_.compose(stretch_of(pieces, root)),
                )
            )
        at, made = one.first, []
        session = one_word(one.session)
        project, branch = told.place
        for type_, piece, text in found:
            at = piece.at or at
            for number, part in enumerate(_split(clean(text))):
                id_ = self._id(one, type_, piece, at or self.caller.now, number)
                when = events.time_of(id_)
                made.append(
                    Event(
                        id_,
                        type_,
                        when,
                        part,
                        session=session,
                        project=project,
                        branch=branch,
                        host=one.host,
                        source="import",
                    )
                )
        return made

    def _id(self, one: Glance, type_: str, piece: Piece, at: str, number: int) -> str:
        """An id of this moment of the session. A message that has a name in its host's own words is the same in a copy."""
        named = piece.id or "\0".join(
            (
                one.session,
                one.agent,
                piece.chain,
                piece.at,
                piece.kind,
                piece.text,
                _as_in_earlier_ids(piece),
            )
        )
        stamp = f"{at[:19]}Z".replace("-", "").replace(":", "").lower()
        id_ = events.event_id(
            stamp, hash_bytes("\0".join((one.host, type_, named, str(number))), 7)
        )
        if events.is_event_id(id_):
            return id_
        return self._id(one, type_, piece, self.caller.now, number)

    def _capture(self, held: cursors.Held, made: list[Event], after: Cursor) -> Cursor:
        """Publish the events of a stretch, and remember that it is done: killed anywhere, it is done once."""
        if made:
            held.begin(Attempt(made[-1].id, after))
        for event in made:
            events.check(event)
            try:
                publish(self.vault, self.caller, event, fixed=True)
            except Conflict:  # the session went on since an import that was forgotten
                other = events.event_id(event.id[:16], hash_bytes(f"{event.id}\0{event.text}", 7))
                publish(self.vault, self.caller, event._replace(id=other), fixed=True)
            self.events += 1
        held.keep(after)
        return after

    def _after(self, one: Glance, cursor: Cursor, read: Reader, told: Told, root: str) -> Cursor:
        """How the session stands behind a stretch."""
        at = position_at(one.path, told.end)
        said = [piece for piece in told.pieces if piece.kind == SAID and not piece.chain]
        latest = max((piece.at for piece in told.pieces), default="") or read.last
        last = (cursors.said(said[-1].text),) if said else cursor.last
        return cursor._replace(
            host=one.host, session=one_word(one.session), agent=one_word(one.agent), cwd=cursor.cwd or kept_path(one.cwd), root=cursor.root or kept_path(root),
            transcript=kept_path(one.path), offset=at.offset, head=at.head, since=max(cursor.since, latest), last=last,
            begun=cursor.begun or bool(told.pieces), project=cursor.project or told.place[0], branch=told.place[1] or cursor.branch, behind=False,
        )  # fmt: skip

    def _note(
        self, one: Glance, read: Reader | None, messages: int, count: int, agents: int
    ) -> None:
        """Count what a transcript told to its session."""
        place = self.usual(one)
        first, last = (
            (read.first or one.first, read.last or one.last) if read else (one.first, one.last)
        )
        title = one_line(clean(read.title))[:200] if read and not one.agent else ""
        outcome = KNOWN if not (count or messages) else WAITING if self.dry_run else IMPORTED
        named = (one.host, one.session)
        new = Session(
            one.host,
            one.session,
            place.project,
            one.branch,
            first,
            last,
            messages,
            count,
            agents,
            title,
            outcome,
            one.path,
        )
        if before := self.sessions.get(named):
            of_it = before if one.agent else new
            new = of_it._replace(
                first=min(before.first or first, first or before.first), last=max(before.last, last), messages=before.messages + messages,
                events=before.events + count, agents=before.agents + agents, title=before.title or title,
                outcome=outcome if before.outcome == KNOWN else before.outcome,
            )  # fmt: skip
        self.sessions[named] = new


def _start(path: str, cursor: Cursor) -> Position:
    """Where to go on reading: where the hooks or an earlier import have come to, if this is still the same file."""
    start = Position(cursor.offset, cursor.head)
    same = os.path.realpath(cursor.transcript or path) == os.path.realpath(path)
    return start if start.offset and same and not tail(path, start, 1).fault else START


def _split(text: str) -> Iterator[str]:
    """A text in parts that an event can hold, cut between lines where that is possible."""
    while len(text) > _LONGEST_TEXT or len(text) * 4 > events.MAX_BYTES < len(
        text.encode("utf-8", "replace")
    ):
        most = _LONGEST_TEXT if text.isascii() else _LONGEST_TEXT // 2
        cut = text.rfind("\n", most // 2, most) + 1 or most
        yield text[:cut]
        text = text[cut:]
    if text.strip():
        yield text


def _since(since: str, now: str) -> str:
    """The moment that `since` names, empty for none. `Invalid` when it names none."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    if not since:
        return ""
    try:
        if since[-1] in _UNITS and since[:-1].isdecimal():
            moment = datetime.fromisoformat(now) - timedelta(
                seconds=int(since[:-1]) * _UNITS[since[-1]]
            )
        else:
            moment = datetime.fromisoformat(since)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    except (ValueError, OverflowError):
        raise Invalid(
            f"{since!r} is no time", "use 30d, 12h, 2w, or a day such as 2026-10-01"
        ) from None
