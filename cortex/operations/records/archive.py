"""Put a record into the archive, one that is named or one that is described."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES, TIER_CURRENT
from cortex.core.model.parameters import NoteQuery
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes.edit import set_inactive_status
from cortex.core.notes.note import Note
from cortex.core.ranking import query as queries
from cortex.core.ranking.text_similarity import DUPLICATE_THRESHOLD, jaccard, token_set
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.shell_command import cortex_command, option_words
from cortex.core.text.strings import one_line
from cortex.index import full_text
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.resolve_note import Named, command, command_name
from cortex.operations.records.change_record import (
    Edited,
    RecordChange,
    change_record,
    check_editable,
    is_editable,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault

_MAX_CANDIDATES = 10


class ForgetResult(NamedTuple):
    """The record that was archived, or those that may be meant."""

    id: str = ""  # empty when none was archived
    path: str = ""
    outcome: str = "none"  # archived, unclear or none
    undo: str = ""
    hits: tuple[Hit, ...] = ()  # the candidates, best first
    total: int = 0
    hint: str = ""
    problems: tuple[Problem, ...] = ()
    file: str = ""  # absolute path


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
) -> RecordChange | ForgetResult:
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
    if not words:
        if yes:
            hint = "cortex archive --words WORDS --yes"
            raise InvalidInputError("--yes belongs to --words", hint)
        return archive_record(vault, caller, id, reason)
    return archive_by_words(vault, caller, id, reason=reason, yes=yes)


def archive_record(vault: Vault, caller: Caller, name: str, reason: str = "") -> RecordChange:
    why = one_line(sanitize_text(reason))

    def edit(note: Note, row: NoteRow) -> Edited:
        status, undo = note.get("status").lower(), command("restore", row)
        if status == "superseded":
            hint = f"{undo}, then archive it"
            raise InvalidInputError(f"{row.id} is superseded, and so set aside already", hint)
        if status == "archived" and why in ("", note.get("archived_because")):
            return Edited(note)
        said = {
            "archived_at": note.get("archived_at") or caller.now,
            "archived_because": why or note.get("archived_because"),
        }
        return Edited(set_inactive_status(note, "archived", said), undo)

    return change_record(vault, caller, name, "archived", edit)


def set_aside_command(status: str, row: Named, by: str, reason: str) -> str:
    """The command that sets this status again; empty for a status that is not set aside."""
    because = option_words("reason", reason)
    if status == "superseded":
        return command("supersede", row, *option_words("by", by), *because)
    if status == "archived":
        return command("archive", row, *because)
    return command("delete", row) if status == "deleted" else ""


def find_replacement(index: IndexSession, row: NoteRow) -> tuple[str, NoteRow | None, str]:
    """What replaces a superseded record: the name that it gives, the note of that name, and the
    name for `cortex supersede --by`, empty where that would be refused."""
    edges = LinkGraph(index.catalogue).outgoing(row.number)
    ways = ((target, number) for kind, target, number, _ in edges if kind == "superseded_by")
    said, number = next(ways, ("", None))
    by = index.catalogue.rows_by_number([number]).get(number) if number else None
    if by is None or by.number == row.number or by.status in HIDDEN_STATUSES:
        return said, by, ""
    return said, by, command_name(by) if is_editable(by) else ""


def archive_by_words(
    vault: Vault, caller: Caller, query: str, *, reason: str = "", yes: bool = False
) -> ForgetResult:
    """Archive the one record that `query`, an id or words, clearly means; with `yes` the best."""
    if not query.strip():
        raise InvalidInputError("there is nothing to look for", "cortex archive --words WORDS")
    found, problems = query_fresh(
        vault, caller, lambda index: _candidates(index, query, caller.now)
    )
    if not found:
        again = cortex_command("search", *query.split()[:8])
        hint = f"no current record holds these words: {again}"
        return ForgetResult(hint=hint, problems=tuple(problems))
    best = found[0] if yes else _unambiguous_candidate(found)
    if best is None:
        hits = tuple(build_hit(vault, one.row, one.score) for one in found)
        hint = f"{command('archive', found[0].row)}, or archive --words … --yes for the first"
        return ForgetResult(
            outcome="unclear", hits=hits, total=len(hits), hint=hint, problems=tuple(problems)
        )
    done = archive_record(vault, caller, best.row.path, reason)
    answer = ForgetResult(done.id, done.path, done.outcome, done.undo, file=done.file)
    return answer._replace(problems=(*problems, *done.problems))


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
    allowed = index.catalogue.numbers(NoteFilter(tiers=(TIER_CURRENT,), has_id=True))
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
