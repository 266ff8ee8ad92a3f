"""Build a reminder: find what bears on a prompt, read it, check its claims, cut to the budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from cortex.core.briefing.excerpt import body_excerpt, sanitize_line
from cortex.core.briefing.injected import MAX_REMINDER_CHARS, Reminder, ReminderLine
from cortex.core.markdown import snippet as snippets
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import (
    DONE_STATUSES,
    MATCH_END,
    MATCH_START,
    MAX_NOTE_BYTES,
    SET_ASIDE_STATUSES,
    TIER_CURRENT,
    WITHDRAWN_STATUSES,
    decode_text,
)
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.session_asks import is_own_prompt
from cortex.core.notes.note import read
from cortex.core.ranking import relevance
from cortex.core.ranking.relevance import RelevantNote
from cortex.core.text import context_markers
from cortex.core.text.days import Zone, clock
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.index import full_text
from cortex.index.catalogue import Catalogue, IndexDamaged, NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, SET_ASIDE, TRAIL
from cortex.index.links import LinkGraph
from cortex.index.refresh import last_index, query_index
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.find.verify_claims import find_doubts
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.vault import files, settings
from cortex.vault.git import branches, checkout
from cortex.vault.locate import Vault, find_personal_vault
from cortex.vault.state import access_log, reminder_log
from cortex.vault.state.briefing_cache import briefing_key, read_cached_briefing, read_last_briefing

_MAX_TITLE_CHARS, _MAX_EXCERPT_CHARS = 160, 200  # characters
_MAX_CANDIDATES = 400  # notes that bear on a prompt, of which it is asked whether they may be told
_MAX_SUPERSEDED_STEPS = 20  # from what was superseded to what holds in its place
_SURE_CONFIDENCE = 0.75  # a lower confidence is said
_INDEX_LOCK_SECONDS = 0.2  # that a hook waits for somebody who is refreshing the index
_HEADING = "Records that bear on the prompt; cortex show ID gives one whole:"
_MAX_TURN_CHARS = 280  # of what a turn says
_SAME_ANSWER = 0.8  # share of what a turn covers, from which on its record is enough
_MAX_UNINDEXED_NOTES = 1_000  # notes whose words a hook waits for: about a second
_SCOPES_OF_EVERY_PROJECT = ("personal", "global")


# A fault that its session may have mended since.
_FAULT_RE = lazy_re(
    r"(?i)\b(?:the|this) (?:real |actual |main |root )?(?:bug|cause|culprit|issue|problem) is\b"
    r"|\b(?:still|currently) (?:contains?|fails?|shows?|returns?|missing|broken)\b"
)


class _ReminderRequest(NamedTuple):
    """A prompt, and which records may be shown."""

    prompt: str
    projects: Sequence[str]
    excluded_ids: frozenset[str]  # ids that need no telling
    number: int
    branch: str
    least_share: float
    session: str
    # Of notes the numbers of those that hold on another branch alone.
    find_others: Callable[[Collection[NoteRow]], frozenset[int]]
    is_personal_vault: bool = False  # only what is theirs everywhere


class _Relevant(NamedTuple):
    """A record that may be shown."""

    score: float
    vault: Vault
    row: NoteRow
    is_personal: bool  # in the person's own vault
    share: float  # of the prompt that it covers
    part: int = -1  # of a turn: its passage that does, and by which words
    wanted: snippets.Wanted | None = None


def build_reminder(
    vault: Vault,
    caller: Caller,
    prompt: str,
    *,
    session: str,
    project: str,
    branch: str,
    number: int | None,
) -> Reminder:
    """Find the records that bear on `prompt`, and log which are shown."""
    loaded = settings.load(vault.root)
    number = loaded.reminder_lines if number is None else number
    if not number or not is_own_prompt(prompt):
        return Reminder((), 0, "", ())
    project = project or checkout.project_of(caller.cwd)
    branch = branch.strip() or checkout.branch_of(caller.cwd)
    told_ids = (
        _already_told_ids(vault, caller, session, project, branch) if session else frozenset()
    )
    names = project_names(vault, resolve_project(vault, caller, project))
    request = _ReminderRequest(
        prompt, names, told_ids, number, branch, loaded.reminder_threshold, session,
        lambda rows: _numbers_of_others(vault, caller.cwd, branch, rows),
    )  # fmt: skip
    problems: list[Problem] = []
    found = _find_relevant(vault, caller, request, problems)
    if own := None if vault.is_explicit else find_personal_vault(vault):
        try:
            found += _find_relevant(own, caller, request._replace(is_personal_vault=True), problems)
        except (CortexError, OSError) as error:
            message = f"your own vault was not looked in: {error}"
            problems.append(Problem(own.root, message, "cortex doctor"))
    found.sort(key=lambda one: (one.part >= 0, -one.score, one.row.path))
    excerpts = _excerpt_records(found, number, caller.zone)
    shared = [source.row for _, source in excerpts if not source.is_personal]
    doubts = find_doubts(vault, caller, shared)
    lines, text = _fit_to_budget(
        line._replace(doubt=sanitize_line(doubts.get(line.id, ""), _MAX_TITLE_CHARS))
        for line, _ in excerpts
    )
    if session:
        reminder_log.append(vault, session, [line.id for line in lines])
    access_log.append(vault, caller, "remind", [line.id for line in lines])
    return Reminder(lines, len(found), text, tuple(problems))


def _already_told_ids(
    vault: Vault, caller: Caller, session: str, project: str, branch: str
) -> frozenset[str]:
    """Ids in the session's briefing and in its earlier reminders. The briefing is looked up
    once, since the cached one may change later. A session with a logged start was given the last
    briefing; another may have been given the cached one."""
    heard = reminder_log.read_ids(vault, session)
    if said := heard - {reminder_log.SESSION_BEGUN}:
        return said
    known = (read_last_briefing if reminder_log.SESSION_BEGUN in heard else read_cached_briefing)(
        vault, briefing_key(caller, project, branch)
    )
    if known is not None:
        reminder_log.append(vault, session, known.ids)
    return frozenset(known.ids if known else ())


def _find_relevant(
    vault: Vault, caller: Caller, request: _ReminderRequest, problems: list[Problem]
) -> list[_Relevant]:
    """The records of a vault that bear on the prompt and may be shown, best first."""

    def select(catalogue: Catalogue, words: str) -> list[_Relevant]:
        relevant = full_text.search_relevant(words, request.prompt, request.least_share)

        def record(one: RelevantNote, row: NoteRow) -> _Relevant:
            return _Relevant(one.score, vault, row, request.is_personal_vault, one.prompt_share)

        chosen = [record(*pair) for pair in _select_eligible(catalogue, relevant.notes, request)]
        if len(chosen) < request.number and not request.is_personal_vault:
            wanted = snippets.looked_for(relevant.weights)
            chosen += [
                record(one, row)._replace(part=one.part, wanted=wanted)
                for one, row in _select_turns(catalogue, relevant.events, request)
                if not _is_told_by(row.id, one.prompt_share, chosen)
            ]
        return chosen

    if caller.source == "hook" and (found := _find_in_last_index(vault, select)) is not None:
        return found
    if caller.source != "hook":
        problems += bring_up_to_date(vault, caller)
    return query_index(
        vault,
        caller.progress,
        lambda index: select(index.catalogue, index.fulltext_folder),
        words=True,
    )


def _find_in_last_index(
    vault: Vault, select: Callable[[Catalogue, str], list[_Relevant]]
) -> list[_Relevant] | None:
    """Search the index as of its last refresh, since a hook may not read later notes; excerpts
    are compared with the files. Empty without an index, or while one is refreshed; None when a
    few notes wait for the full-text index, so that a refresh is quick."""
    try:
        with last_index(vault, _INDEX_LOCK_SECONDS) as index:
            if index is None:
                return []
            catalogue, words = index
            gone, come = catalogue.read_backlog()
            if 0 < len(gone) + len(come) <= _MAX_UNINDEXED_NOTES:
                return None
            return select(catalogue, words)
    except (CortexError, IndexDamaged):
        return []  # the next command, or the watcher, builds it anew


def _select_eligible(
    catalogue: Catalogue, found: Sequence[RelevantNote], request: _ReminderRequest
) -> list[tuple[RelevantNote, NoteRow]]:
    """The notes that may be shown, each once, with their final scores."""
    some = found[:_MAX_CANDIDATES]
    rows = _load_records(catalogue, [one.number for one in some])
    others = request.find_others(rows.values())
    best: dict[str, tuple[RelevantNote, NoteRow]] = {}
    for one in some:
        row = rows.get(one.number)
        if row is not None and row.status == "superseded":
            row = _current_replacement(catalogue, row)
        if row is None or row.number in others or not _is_eligible(row, request):
            continue
        if row.type == "action" and one.prompt_share < relevance.MIN_ACTION_SHARE:
            continue
        score = _score_for_branch(one, row, request.branch)
        best.setdefault(row.id, (one._replace(score=score), row))
    least = relevance.score_cutoff(one.score for one, _ in best.values())
    ranked = sorted(best.values(), key=lambda pair: (-pair[0].score, pair[1].path))
    return [
        pair for pair in ranked if pair[0].score >= least and pair[1].id not in request.excluded_ids
    ][: request.number]


def _select_turns(
    catalogue: Catalogue, found: Sequence[RelevantNote], request: _ReminderRequest
) -> list[tuple[RelevantNote, NoteRow]]:
    """The turns of the project's other sessions that may be told, best first."""
    some = {one.number: one for one in found[:_MAX_CANDIDATES]}
    wanted = TRAIL._replace(types=events.TURN_TYPES, numbers=some, projects=("", *request.projects))
    rows = catalogue.find(wanted)
    others = request.find_others(rows)
    deleted = SET_ASIDE._replace(statuses=WITHDRAWN_STATUSES)
    withdrawn = {event for row in catalogue.find(deleted) for event in row.events}
    pairs = [
        (one._replace(score=_score_for_branch(one, row, request.branch)), row)
        for row in rows
        if row.number not in others
        and row.id not in withdrawn
        and row.id not in request.excluded_ids
        and not (request.session and row.session == request.session)
        and (one := some[row.number])
    ]
    pairs.sort(key=lambda pair: (-pair[0].score, pair[1].path))
    least = relevance.score_cutoff(one.score for one, _ in pairs)
    return [pair for pair in pairs if pair[0].score >= least][: request.number]


def _is_told_by(event: str, share: float, records: Iterable[_Relevant]) -> bool:
    """Whether a record of an event covers nearly as much of the prompt."""
    return any(event in one.row.events and one.share >= _SAME_ANSWER * share for one in records)


def _score_for_branch(one: RelevantNote, row: NoteRow, branch: str) -> float:
    """The score, lowered for a record of another branch."""
    return one.score * (0.9 if branch and row.branch not in ("", branch) else 1.0)


def _numbers_of_others(
    vault: Vault, directory: str, branch: str, rows: Collection[NoteRow]
) -> frozenset[int]:
    """The numbers of the notes that hold on another branch alone, which this one has not merged. Of
    a branch without a trace in the repository that is not known."""
    named = {row.branch for row in rows} - {"", branch, *branches.DEFAULT_BRANCHES}
    if not named or not branch:
        return frozenset()
    known = branches.find_included(directory, branch, named)
    outside = named - known.names - known.unknown
    others = {row.path: row.number for row in rows if row.branch in outside}
    merged = branches.find_in_head(vault.root, directory, others)
    return frozenset(number for path, number in others.items() if path not in merged)


def _is_eligible(one: NoteRow, request: _ReminderRequest) -> bool:
    if one.tier != TIER_CURRENT or (one.type == "action" and one.status in DONE_STATUSES):
        return False
    if request.is_personal_vault:
        return one.scope in _SCOPES_OF_EVERY_PROJECT or one.type == "preference"
    return one.scope in _SCOPES_OF_EVERY_PROJECT or one.project in ("", *request.projects)


def _current_replacement(catalogue: Catalogue, row: NoteRow) -> NoteRow | None:
    """The current record in the place of a superseded one; None when there is none."""
    links, seen = LinkGraph(catalogue), {row.number}
    while row.status == "superseded" and len(seen) < _MAX_SUPERSEDED_STEPS:
        later = [
            number
            for kind, _, number, _ in links.outgoing(row.number)
            if kind == "superseded_by" and number
        ]
        later += [source for kind, source, _ in links.incoming(row.number) if kind == "supersedes"]
        rows = _load_records(catalogue, [one for one in later[:1] if one not in seen])
        if not rows:
            return None
        (row,) = rows.values()
        seen.add(row.number)
    return row


def _load_records(catalogue: Catalogue, numbers: Sequence[int]) -> dict[int, NoteRow]:
    wanted = KNOWLEDGE._replace(numbers=numbers, has_id=True, not_types=("session", "briefing", ""))
    return {row.number: row for row in catalogue.find(wanted)}


def _excerpt_records(
    matches: Iterable[_Relevant], number: int, zone: Zone
) -> list[tuple[ReminderLine, _Relevant]]:
    """At most `number` records as lines, each once."""
    chosen: dict[str, tuple[ReminderLine, _Relevant]] = {}
    for one in matches:
        if len(chosen) == number:
            break
        if line := _excerpt_record(one, zone):
            chosen.setdefault(line.id, (line, one))
    return list(chosen.values())


def _fit_to_budget(lines: Iterable[ReminderLine]) -> tuple[tuple[ReminderLine, ...], str]:
    """As many lines as fit, and their text."""
    fitting: list[ReminderLine] = []
    text = ""
    for line in lines:
        lines_so_far = "\n".join([_HEADING, *map(_format_line, [*fitting, line])])
        longer = context_markers.wrap(context_markers.MEMORY, lines_so_far)
        if len(longer) > MAX_REMINDER_CHARS:
            break
        fitting, text = [*fitting, line], longer
    return tuple(fitting), text


def _format_line(line: ReminderLine) -> str:
    doubt = f"⚠ {line.doubt}. " if line.doubt else ""
    text = f" | {line.text}" if line.text else ""
    return f"- {doubt}[{line.id}] {line.type} {line.date}: {line.title}{text}"


def _excerpt_record(match: _Relevant, zone: Zone) -> ReminderLine | None:
    """A record as one line, with title and text as its file has them now; None when it is gone or
    no longer current."""
    row = match.row
    try:
        data = files.read(match.vault.root, row.path, MAX_NOTE_BYTES)
    except (CortexError, OSError):
        return None
    if match.wanted is not None:
        return _excerpt_turn(match, data, zone)
    note = read(data)
    status = note.get("status").lower()
    is_done = row.type == "action" and status in DONE_STATUSES
    if note.get("id") != row.id or status in SET_ASIDE_STATUSES or is_done:
        return None
    title = sanitize_line(note.title or row.title, _MAX_TITLE_CHARS)
    text = sanitize_line(body_excerpt(title, note.text_below_title), _MAX_EXCERPT_CHARS)
    if row.confidence is not None and row.confidence < _SURE_CONFIDENCE:
        text += f"{' ' if text else ''}(confidence {row.confidence:g})"
    date = sanitize_line(clock(row.created or row.when, zone)[:10])
    return _reminder_line(match, title, text, sanitize_line(row.type), date)


def _excerpt_turn(match: _Relevant, data: bytes, zone: Zone) -> ReminderLine | None:
    """A turn as one line: what was asked, and the sentences that bear on the prompt; None for a fault,
    which its session may have mended."""
    row, text = match.row, decode_text(data)
    shown = snippets.best_excerpt(text, match.wanted, match.part, _MAX_TURN_CHARS).text
    plain = shown.replace(MATCH_START, "").replace(MATCH_END, "")
    title = sanitize_line(row.title, _MAX_TITLE_CHARS)
    said = sanitize_line(plain, _MAX_TURN_CHARS + 4)
    if _FAULT_RE.search(said):
        return None
    return _reminder_line(match, title, said, "turn", clock(row.when, zone)[:10])


def _reminder_line(match: _Relevant, title: str, text: str, type_: str, date: str) -> ReminderLine:
    path, file = match.row.path, match.vault.file(match.row.path)
    return ReminderLine(sanitize_line(match.row.id), title, text, type_, date, "", path, file)
