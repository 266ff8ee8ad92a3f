"""Put a record away: into the archive, one that is named or one that is described, or delete it."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.parameters import NoteName, NoteQuery
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_inactive_status
from cortex.core.notes.note import Note
from cortex.core.ranking import query as queries
from cortex.core.ranking.text_similarity import DUPLICATE_THRESHOLD, jaccard, token_set
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, format_count, one_line
from cortex.core.text.value import NamedTuple
from cortex.index import full_text
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.history import made_by
from cortex.operations.find.hits import build_hit
from cortex.operations.find.resolve_note import command
from cortex.operations.records.change_record import (
    UNCHANGED,
    Edited,
    RecordChange,
    RecordEdit,
    change_record,
    check_editable,
    edit_record,
    find_editable,
    remove_unchanged,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.preserve_text import (
    find_removal_event,
    is_text_in_latest_event,
    preserve_removed_record,
)
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, objects
from cortex.vault.locate import Vault

_MAX_CANDIDATES = 10  # records that a description may mean
_MAX_LINKS_NAMED = 20  # notes that are named when what they link to goes
_WORD_WITH_DIGIT_RE = lazy_re(r"\b[^\W\d]*\d\w*")


class _ForgetCandidate(NamedTuple):
    row: NoteRow
    score: float  # of the search
    similarity: float  # of query and title
    has_all_words: bool  # the title holds all words


def archive(
    vault: Vault,
    caller: Caller,
    id: NoteQuery,
    *,
    reason: str = "",
    words: bool = False,
    yes: bool = False,
) -> RecordChange:
    """Archive a record, by its name or by words that describe it.

    It is out of the briefings then, and behind the others in search; every link to it still works.
    `cortex restore ID` brings it back with the status it had.

    With --words only a record that is clearly meant: the only one whose title holds all words, or
    whose title is much like them and no other's is half as much. Otherwise the candidates are
    listed, with exit code 1.

    id: the record: its id, the beginning of it, or a path; with --words words of its title or text
    reason: why, in a few words
    words: find the record by words
    yes: with --words, archive the best candidate though others may be meant

    Example: cortex archive --words "the old deploy script"
    Example: cortex archive use-sqlite-k3f7q2 --reason "the project has ended"
    """
    if words:
        return _archive_by_words(vault, caller, id, reason, yes=yes)
    if yes:
        hint = "cortex archive --words WORDS --yes"
        raise InvalidInputError("--yes belongs to --words", hint)
    edit = _aside("archived", one_line(sanitize_text(reason)), caller.now)
    return change_record(vault, caller, id, "archived", edit)


def _aside(status: str, why: str, now: str) -> RecordEdit:
    """The edit that sets a record aside."""
    return lambda note, row: Edited(set_aside(note, row, status, why, now), command("restore", row))


def set_aside(note: Note, row: NoteRow, status: str, why: str, now: str) -> Note:
    """The note with a status that sets it aside, when and why; itself if it says so already. Raises
    `InvalidInputError` for one to be archived that is superseded."""
    before = note.get("status").lower()
    if (before, status) == ("superseded", "archived"):
        hint = f"{command('restore', row)}, then archive it"
        raise InvalidInputError(f"{row.id} is superseded, and so set aside already", hint)
    because = note.get(f"{status}_because")
    if before == status and why in ("", because):
        return note
    when = note.get(f"{status}_at") or now
    said = {f"{status}_at": when, f"{status}_because": why or because}
    return set_inactive_status(note, status, said)


def delete(
    vault: Vault, caller: Caller, id: NoteName, *, hard: bool = False, yes: bool = False
) -> RecordChange:
    """Delete a record; its file stays, with the status `deleted`.

    It drops out of most answers. `cortex restore ID` brings it back, `cortex show ID` still shows it.
    Notes that link to it are named. With --hard the file itself goes, if --yes is given too. The
    events that it came from stay, and git's history: cortex erase ID takes them away for good.

    id: the record: its id, the beginning of it, or a path
    hard: remove the file
    yes: remove it without asking back

    Example: cortex delete use-sqlite-k3f7q2
    Example: cortex delete use-sqlite-k3f7q2 --hard --yes
    """
    (row, links, kept), problems = query_fresh(vault, caller, _with_backlinks, id)
    if hard:
        change = _delete(vault, caller, row, kept, sure=yes)
    else:
        change = edit_record(vault, caller, row, "deleted", _aside("deleted", "", caller.now))
    problems += try_heal(vault, caller) if change.outcome != UNCHANGED else []
    hint = "; ".join(filter(None, (change.hint, _what_stays(vault, row))))
    return change._replace(links=links, problems=tuple(problems), hint=hint)


def _what_stays(vault: Vault, row: NoteRow) -> str:
    """Where the text of a deleted record still stands, and what takes it away."""
    places = [format_count(len(row.events), "event")] if row.events else []
    if repository := checkout.find_repository(vault.root):
        paths = [row.path, *map(vault.layout().event, row.events)]
        commits = git_cli.line(vault.root, ["rev-list", "--all", "--count", "--", *paths])
        if commits not in ("", "0"):
            places.append(f"git's history ({format_count(int(commits), 'commit')})")
            places += ["its remote"] if checkout.has_remote(repository) else []
    erase = command("erase", row, *(["--history"] if len(places) > 1 else []))
    return f"its text stays in {', '.join(places)}: {erase} takes it away" if places else ""


def _with_backlinks(index: IndexSession, name: str) -> tuple[NoteRow, tuple[str, ...], str]:
    """The record, paths of current notes that link to it, the last event that kept its text."""
    row = find_editable(index, name)
    numbers = {number for _, number, _ in LinkGraph(index.catalogue).incoming(row.number)}
    sources = index.catalogue.rows_by_number(numbers - {row.number}).values()
    links = sorted(one.path for one in sources if one.tier == 0)[:_MAX_LINKS_NAMED]
    return row, tuple(links), (find_removal_event(index, row.id) or ("", ""))[1]


def _delete(vault: Vault, caller: Caller, row: NoteRow, kept: str, *, sure: bool) -> RecordChange:
    """Remove the file; keep its text as an event if nothing else would bring it back."""
    refuse_during_git_operation(vault)
    data = files.read(vault.root, row.path)
    in_git = objects.read_committed(vault.root, [row.path]).get(row.path)
    note = notes.read(data, row.path)
    named = note.provenance()[0]
    is_session = note.get("type") == "session"  # what its events say together is its text
    has_topic = note.get("topic") != ""
    is_made_of_events = is_session or has_topic or any(made_by(one, row.id) for one in named)
    comes_back = (
        in_git == data
        or (
            is_made_of_events
            and (in_git is None or note.get("topic") != "")
            and is_text_in_latest_event(vault, note)
        )
    ) and kept <= max(named, default="")  # else restore would take that one for the latest
    keeps = not (comes_back or is_session or note.problems)
    sources = ["git's last commit of it"] if in_git is not None else []
    if named and (sources or is_made_of_events):
        sources.append(f"its {format_count(len(named), 'event')}")
    undo = command("restore", row)
    again = f"git does not have these bytes; {undo} makes it again from {' and '.join(sources)}"
    if in_git == data and not keeps:
        where = "git's last commit has exactly these bytes"
    elif keeps and sources:
        where = f"{again}, with this text, which is kept as an event"
    elif sources and (comes_back or is_session):
        where = f"{again}, and no later edit"
    else:
        undo, where = "", "git does not have these bytes, and nothing makes the record again"
    if not sure:
        hint = command("delete", row, "--hard", "--yes")
        raise InvalidInputError(f"--hard removes {row.path}: {where}", hint)
    if keeps:
        event = preserve_removed_record(vault, caller, note)
        if not undo:
            where = f"nothing makes the record again; what it said stays in an event: {command('show', event)}"
    remove_unchanged(vault, row.path, data)
    return RecordChange(row.id, row.path, "removed", undo, where, file=vault.file(row.path))


def _archive_by_words(
    vault: Vault, caller: Caller, query: str, reason: str, *, yes: bool
) -> RecordChange:
    """Archive the one record that `query`, an id or words, clearly means; with `yes` the best."""
    if not query.strip():
        raise InvalidInputError("there is nothing to look for", "cortex archive --words WORDS")
    found, problems = query_fresh(vault, caller, _candidates, query, caller.now, words=True)
    if not found:
        again = cortex_command("search", *query.split()[:8])
        hint = f"no current record holds these words: {again}"
        return RecordChange("", "", "none", hint=hint, problems=tuple(problems))
    best = found[0] if yes else _unambiguous_candidate(found)
    if best is None:
        hits = tuple(build_hit(vault, one.row, one.score) for one in found)
        hint = f"{command('archive', found[0].row)}, or archive --words … --yes for the first"
        change = RecordChange("", "", "unclear", hint=hint, problems=tuple(problems))
        return change._replace(hits=hits, total=len(hits))
    done = archive(vault, caller, best.row.path, reason=reason)
    return done._replace(problems=(*problems, *done.problems))


def _candidates(index: IndexSession, query: str, at: str) -> list[_ForgetCandidate]:
    """The current record of that id, or those with most of the words, likest titles first."""
    named = [
        row
        for row in resolve_note.find_all(index.catalogue, query.strip())
        if row.tier == TIER_CURRENT and row.id != row.path
    ]
    if len(named) == 1:
        return [_ForgetCandidate(check_editable(named[0]), 0.0, 1.0, has_all_words=True)]
    parsed = queries.parse(query, at)
    if not parsed.terms:
        return []
    allowed = index.catalogue.numbers(CURRENT._replace(has_id=True))
    scored, *_ = full_text.search(
        index.fulltext_folder,
        parsed,
        _MAX_CANDIDATES,
        (TIER_CURRENT,),
        allowed=allowed,
        without=set(),
    )
    rows = index.catalogue.rows_by_number(one.number for one in scored)
    words, all_words = token_set(query), _words_of_title(query)
    found = []
    for one in scored:
        row = rows[one.number]
        alike = jaccard(words, token_set(row.title))
        has_all = bool(all_words) and all_words <= _words_of_title(row.title)
        found.append(_ForgetCandidate(row, one.score, alike, has_all))
    found.sort(key=lambda one: (-one.has_all_words, -one.similarity, -one.score, one.row.path))
    return found


def _words_of_title(text: str) -> set[str]:
    """The tokens of a text, and its shorter words with a digit: K9, v2."""
    return {*token_set(text), *_WORD_WITH_DIGIT_RE.findall(text.casefold())}


def _unambiguous_candidate(found: list[_ForgetCandidate]) -> _ForgetCandidate | None:
    """The one candidate that is meant beyond doubt."""
    if [one.has_all_words for one in found].count(True) == 1:
        return found[0]
    best, second = found[0].similarity, found[1].similarity if found[1:] else 0.0
    return found[0] if best >= DUPLICATE_THRESHOLD and second < best / 2 else None
