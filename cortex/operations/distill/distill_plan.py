"""What there is to ask a model about a session, and which sessions are distilled without being asked
for."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.distill.prompt import (
    MAX_PARTS,
    TURN_TOKENS,
    SessionContext,
    SessionPart,
    build_prompt,
    plan_parts,
)
from cortex.core.extract.candidate import RULE_LAYERS
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.distillation import BY_RULES, Distillation, standing_distillations
from cortex.core.model.event import Event
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes.note import Note
from cortex.core.ranking.text_similarity import token_set
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import short_hash
from cortex.core.text.token_count import count_tokens
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.resolve_session import last_event_time, session_name
from cortex.operations.find.show import read_note
from cortex.operations.upkeep.judge import is_of_this_machine
from cortex.operations.upkeep.preserve_text import find_event
from cortex.vault.git import checkout, git_cli
from cortex.vault.locate import Vault
from cortex.vault.state import distill_log
from cortex.vault.user_settings import DistillSettings

# Events that a model reads: what was said and done, and how a session was begun and ended.
_READ_TYPES = (*events.TURN_TYPES, "prompt", "session_start", "session_end")
_MAX_EVENTS, _MAX_KNOWN, _MAX_CANDIDATES, _MAX_COMMITS = 2000, 12, 2000, 30
# Of a record's title that the session must hold to be named as known.
_MIN_TITLE_WORDS, _MIN_TITLE_SHARE = 3, 0.5
_GIT_TIMEOUT_SECONDS = 5.0
HAND_TOKENS = 18_000  # of a part: Claude Code shows 25,000 of an answer, with all around it
_RECENT_SECONDS, _QUIET_SECONDS = 2 * 24 * 3600, 600
_MIN_TOKENS = 300  # of what a model is asked about by itself
_MAX_FAILURES = 2  # of one session in a day


DONE, WOULD, UP_TO_DATE, FAILED = "distilled", "would be distilled", "up to date", "failed"
WAITS = "waits for the next agent"


class DistilledSession(NamedTuple):
    """What was done about one session or roll-up, or would be."""

    session: str  # of a roll-up the options that choose its records
    title: str
    outcome: str  # one of the words above; of a roll-up also what `save` says, and WAITS
    parts: int  # prompts that it takes
    tokens: int  # of these prompts, about
    records: tuple[str, ...] = ()  # ids that came of it
    dropped: tuple[tuple[str, int], ...] = ()  # records that were not believed: why, how often
    refused: tuple[str, ...] = ()  # the statements among them
    left: int = 0  # prompts that are still to be answered by hand
    staying: tuple[tuple[str, str], ...] = ()  # decisions of rules it did not name: id, command
    originals: tuple[str, ...] = ()  # ids of the records that a roll-up is made of


class DistillResult(NamedTuple):
    """What was done about the sessions, or would be."""

    sessions: tuple[DistilledSession, ...]
    dollars: float  # what it cost, as far as the command says
    dry_run: bool
    prompt: str = ""  # of --print-prompt
    problems: tuple[Problem, ...] = ()


class DistillPlan(NamedTuple):
    """What there is to ask about a session."""

    row: NoteRow
    context: SessionContext
    parts: list[SessionPart]
    before: Distillation | None  # what earlier parts gave
    events: list[Event]
    parts_before: int  # that are distilled

    def prompt(self, number: int) -> str:
        """What a model is asked about a part."""
        at = self.parts_before + number + 1
        total = self.parts_before + len(self.parts)
        return build_prompt(self.context, self.parts[number], at, total, self.before)


def plan_session(
    vault: Vault, caller: Caller, row: NoteRow, *, again: bool, by_hand: bool = False
) -> DistillPlan:
    """What there is to ask: the turns after the last one that is distilled, or all `again`. `by_hand`: in
    smaller parts, since hosts cut what is longer."""
    # Another process may have distilled it while this one waited.
    row = query_index(vault, caller.progress, lambda index: index.catalogue.row_at(row.path)) or row
    all_events = _read_events(vault, row)
    turns = [event for event in all_events if event.type in _READ_TYPES and not _is_empty(event)]
    answers = [one for _, one in standing_distillations(all_events) if one.model != BY_RULES]
    standing = [] if again else answers
    end = max((id_ for one in standing for id_ in one.covers), default="")
    tokens = HAND_TOKENS if by_hand else TURN_TOKENS
    left = max(1, MAX_PARTS * TURN_TOKENS // tokens - len(standing))
    parts = plan_parts([event for event in turns if event.id > end], left, tokens)
    words = token_set(" ".join(part.text for part in parts)[:200_000])
    known, own = query_index(
        vault,
        caller.progress,
        lambda index: (
            _nearest_records(vault, index, row, words),
            records_of_rules(index, vault, row.session),
        ),
    )
    own_texts = tuple((one.id, _title_and_text(one.title, note)) for one, note in own[:_MAX_KNOWN])
    commits = _commits(caller, row, turns) if parts else ()
    # An answer to a part that was answered meanwhile is not taken for one to the next.
    handle = short_hash(f"{session_name(row)}\0{end}" if end else session_name(row), 8)
    context = SessionContext(handle, row.project, row.branch, commits, known, own_texts)
    last = standing[-1] if standing else None
    return DistillPlan(row, context, parts, last, all_events, len(standing))


def _read_events(vault: Vault, row: NoteRow) -> list[Event]:
    """The events of a session that can be read, oldest first."""
    ids = sorted(filter(events.is_event_id, row.events))[-_MAX_EVENTS:]
    read = (find_event(vault, id_)[1] for id_ in ids)  # others: told by doctor
    return [event for event in read if event]


def _is_empty(event: Event) -> bool:
    placeholder = events.PLACEHOLDER_TEXTS.get(event.type)
    return bool(placeholder) and event.text.startswith(placeholder or "")


def _nearest_records(
    vault: Vault, index: IndexSession, row: NoteRow, words: frozenset[str]
) -> tuple[tuple[str, str], ...]:
    """Ids and texts of the project's older records whose titles share most with a session."""
    until, others = last_event_time(row) or row.created, ("session", "plan", "action", "meeting")
    of_project = CURRENT._replace(projects=(row.project,), has_id=True, not_types=others)
    wanted = of_project._replace(created_until=epoch_seconds(until))
    layout = vault.layout()
    ranked: dict[frozenset[str], tuple[float, NoteRow]] = {}
    for one in index.catalogue.find(wanted, "-date", _MAX_CANDIDATES):
        title = token_set(one.title)
        shared = len(title & words)
        is_near = shared >= max(_MIN_TITLE_WORDS, _MIN_TITLE_SHARE * len(title))
        if is_near and one.session != row.session and layout.is_in(one.path, "records"):
            ranked.setdefault(title, (-shared * shared / len(title), one))
    nearest = sorted(ranked.values(), key=lambda pair: (pair[0], pair[1].id))[:_MAX_KNOWN]
    notes_of = ((one, read_note(vault, one.path)) for _, one in nearest)
    return tuple((one.id, _title_and_text(one.title, note)) for one, note in notes_of if note)


def records_of_rules(index: IndexSession, vault: Vault, session: str) -> list[tuple[NoteRow, Note]]:
    """What rules made of a session and what holds, the oldest first."""
    wanted = KNOWLEDGE._replace(sessions=(session,), tiers=(TIER_CURRENT,), not_types=("session",))
    rows = index.catalogue.find(wanted, "date") if session else []
    read = [(row, read_note(vault, row.path)) for row in rows]
    return [
        (row, note)
        for row, note in read
        if note and note.provenance()[1].get("layer") in RULE_LAYERS
    ]


def _title_and_text(title: str, note: Note) -> str:
    text = note.text.strip()
    return text if text.startswith(title.rstrip("….")) else f"{title}. {text}"


def _commits(caller: Caller, row: NoteRow, turns: Sequence[Event]) -> tuple[str, ...]:
    """The commits made during a session, if the working directory is its project's."""
    repository = checkout.find_repository(caller.cwd)
    if not turns or repository is None or checkout.project_of(caller.cwd) != row.project:
        return ()
    words = ["log", f"-n{_MAX_COMMITS}", "--reverse", "--format=%h %s"]
    words += [f"--since={turns[0].at}", f"--until={turns[-1].at}"]
    try:
        output = git_cli.run(repository.top, words, timeout=_GIT_TIMEOUT_SECONDS)
        return tuple(output.decode("utf-8", "replace").splitlines())
    except CortexError:  # a repository without commits
        return ()


def due_rows(vault: Vault, rows: list[NoteRow], now: str) -> list[NoteRow]:
    """The sessions of this machine that went on within two days and that have ended, or that were
    quiet for ten minutes."""
    found = []
    for row in rows:
        age = epoch_seconds(now) - epoch_seconds(last_event_time(row) or row.created)
        if age <= _RECENT_SECONDS and is_of_this_machine(vault, session_name(row)):
            note = read_note(vault, row.path)
            if age >= _QUIET_SECONDS or (note and note.get("ended")):
                found.append(row)
    return found


def is_within_limits(settings: DistillSettings, part: SessionPart, row: NoteRow, now: str) -> bool:
    """Whether a part of a session may be asked about by itself: it says enough, and runs and costs
    of this day are within the limits."""
    today = [run for run in distill_log.read_runs() if run.at[:10] == now[:10] and run.auto]
    failures = sum(run.session == session_name(row) and bool(run.problem) for run in today)
    return (
        failures < _MAX_FAILURES
        and len(today) < settings.runs_per_day
        and sum(run.dollars for run in today) < settings.dollars_per_day
        and count_tokens(part.text) >= _MIN_TOKENS
    )
