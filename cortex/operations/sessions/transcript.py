"""The turns of a session as its transcript on this machine has them, else as they were captured."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated

from cortex.core.distill.answer import DONE, said_in
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.parameters import Between, Time
from cortex.core.model.problem import CortexError, NotFoundError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.hosts import HOST_NAMES, has_transcripts, load_host, transcript_files, transcript_turns
from cortex.hosts.transcript_turns import ASSISTANT, USER, SessionTurn, read_turns, shown_turn
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession
from cortex.operations.find.hits import NoteRef
from cortex.operations.find.resolve_session import IS_SESSION, find_session, session_name
from cortex.operations.find.show import read_note
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.preserve_text import find_event
from cortex.vault.locate import Vault, find_vault
from cortex.vault.state import session_state

MAX_TURNS = 1_000
HERE, GONE, NO_TRANSCRIPT = "here", "gone", "none"
CAPTURE = "capture"  # who says what somebody captured by hand
_HAND_TYPES = ("manual", "observation", "passive", "meeting")  # of events
# An id of a host's own: no option of a command, and long enough to be nobody else's session.
_ID_RE = lazy_re(r"[0-9A-Za-z][0-9A-Za-z_-]{15,99}")


class Transcript(NamedTuple):
    """Turns of a session, from its transcript or, where there is none, from its events."""

    session: str  # its name; of a subagent with `/` and its own behind it
    id: str  # of its note, as are path and title
    path: str
    title: str
    project: str
    host: str
    started: Time
    ended: Time
    resume: str  # the command that goes on with it; empty where there is none
    transcript: str  # here, gone (it was, and is not any more) or none
    turns: tuple[SessionTurn, ...]
    total: int
    matches: tuple[int, ...]  # numbers of the turns with the words that were looked for
    subagents: tuple[str, ...]  # names by which the turns of subagents are shown
    earlier: NoteRef | None  # the session before it in its project
    later: NoteRef | None
    problems: tuple[Problem, ...]


class FoundTranscript(NamedTuple):
    """What this machine has of the transcript of a session, and of its subagents."""

    host: str
    state: str
    turns: dict[str, list[SessionTurn]]  # by subagent; those of the session itself first
    problems: tuple[Problem, ...] = ()


def transcript(
    vault: Vault, caller: Caller, session: str, *, find: str = "",
    from_: Annotated[int, Between(1, 1_000_000)] = 1,
    number: Annotated[int, Between(1, MAX_TURNS)] = 50,
) -> Transcript:  # fmt: skip
    """Read the turns of a session, as its transcript has them.

    Transcripts are those that hooks or an import read on this machine; of a session without one the
    answer has what was captured of it. Secrets are taken out; what is long is cut, and says so.

    session: the session's name, or the id or path of its note; /NAME behind it shows a subagent
    find: words, in any case: the answer names the turns that hold all of them
    from_: the number of the first turn
    number: how many turns at the most

    Example: cortex transcript 5f1c2d3e
    Example: cortex transcript 5f1c2d3e --find "exit code" --from 20
    """

    def look(index: IndexSession) -> tuple[NoteRow, str, list[NoteRow]]:
        rows = index.catalogue.find(IS_SESSION)
        try:
            return find_session(index.catalogue, session), "", rows
        except NotFoundError:
            whole, slash, agent = session.rpartition("/")
            if not slash or agent.endswith(".md"):
                raise
            return find_session(index.catalogue, whole), agent, rows

    (row, agent, rows), problems = query_fresh(vault, caller, look)
    name, note = session_name(row), read_note(vault, row.path)

    def ordered() -> Iterator[Event]:
        return filter(None, (find_event(vault, id_)[1] for id_ in sorted(row.events)))

    host = next((event.host for event in ordered() if event.host), "")
    found = find_transcript(vault, name, host, [agent])
    if not found.turns:
        message = f"transcript {found.state}: these are the turns that were captured"
        problems.append(Problem(name, message, "cortex import reads transcripts of this machine"))
        found = found._replace(turns={"": captured_turns(ordered())})
    agents = tuple(f"{name}/{one}" for one in found.turns if one)
    if (turns := found.turns.get(agent)) is None:
        others = f"there are: {', '.join(agents) or 'none'}"
        raise NotFoundError(f"{name} has no subagent {agent!r}", others)
    return Transcript(
        f"{name}/{agent}".rstrip("/"), row.id, row.path, row.title, row.project, found.host,
        (note.get("started") if note else "") or row.created, note.get("ended") if note else "",
        _resume_command(found, name), found.state,
        tuple(map(shown_turn, turns[from_ - 1 : from_ - 1 + number])), len(turns),
        transcript_turns.find_turns(turns, find), agents, *_neighbours(rows, row),
        (*problems, *found.problems),
    )  # fmt: skip


def find_transcript(
    vault: Vault, session: str, host: str, wanted: Sequence[str] = ()
) -> FoundTranscript:
    """The transcript of a session, where hooks and imports of this user wrote down that it lies, else
    where it lies in its host's own folder. Its path is taken from no note. Of subagents in files of
    their own those that are `wanted` are read, all by default."""
    state, hint = NO_TRANSCRIPT, "the file may be damaged, or too long"
    for name in filter(has_transcripts, (host,) if host in HOST_NAMES else HOST_NAMES):
        known = session_state.load_cursor(vault, session_state.session_key(name, session))
        path = known.transcript if known.session == session else ""
        host, state = (name, GONE) if path else (host, state)
        if path := path if _is_file(path) else _find_in_host_folder(vault, name, session):
            agents = session_state.list_agents(vault, name, session)
            paths = {one.agent: one.transcript for one in agents if _is_file(one.transcript)}
            turns, problems = dict[str, list[SessionTurn]](), list[Problem]()
            for agent, at in {"": path, **paths}.items():
                is_left_out = agent and wanted and agent not in wanted
                read, trouble = ({"": []}, "") if is_left_out else read_turns(name, at)
                turns |= {agent: read[""]} if agent else read
                problems += [Problem(at, trouble, hint)] if trouble else []
            return FoundTranscript(name, HERE, turns, tuple(problems))
    return FoundTranscript(host, state, {})


def _is_file(path: str) -> bool:
    """Whether a transcript lies there: no link, which may lead anywhere, and no pipe."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _find_in_host_folder(vault: Vault, host: str, session: str) -> str:
    """The transcript of a session that worked in a folder of this vault; empty for none. The name came
    with a note: it must not show what was said elsewhere."""
    folders = transcript_files.transcript_folders(host, os.environ)
    for folder in folders if _ID_RE.fullmatch(session) else ():
        for path in transcript_files.list_paths(host, folder):
            if session in path[len(folder) :] and _is_file(path):
                one = transcript_files.read_info(host, path)
                if (one.session, one.subagent) == (session, "") and os.path.isdir(one.cwd):
                    with suppress(CortexError, ValueError):
                        if find_vault("", one.cwd, {}).root == vault.root:
                            return path
    return ""


def captured_turns(ordered: Iterable[Event]) -> list[SessionTurn]:
    """What was said, by the events of a session."""
    turns = list[SessionTurn]()
    for event in ordered:
        is_empty = event.text == events.PLACEHOLDER_TEXTS.get(event.type)
        is_by_hand = event.type in _HAND_TYPES and event.source != "mcp"
        said = () if is_empty or event.type == events.DISTILLED else said_in(event)
        for one in (one for one in said if one.role != DONE):
            who = CAPTURE if is_by_hand else USER if one.role == USER else ASSISTANT
            turns.append(SessionTurn(len(turns) + 1, event.at, who, one.text, one.about))
    return turns


def _resume_command(found: FoundTranscript, name: str) -> str:
    """The command of a session's host that goes on with it, if its transcript is on this machine."""
    command = load_host(found.host).resume_command if found.state == HERE else ()
    return " ".join((*command, name)) if command and _ID_RE.fullmatch(name) else ""


def _neighbours(rows: list[NoteRow], row: NoteRow) -> tuple[NoteRef | None, NoteRef | None]:
    """The sessions before and after one, of its project; none of headless runs."""
    near = [
        one
        for one in sorted(rows, key=lambda one: (one.created, one.id))
        if one.project == row.project and (one.id == row.id or not events.is_headless(one.session))
    ]
    at = [one.id for one in near].index(row.id)
    refs = [None, *(NoteRef(one.id, one.type, one.title, one.path) for one in near), None]
    return refs[at], refs[at + 2]
