"""Records that may say the same: found by their words, merged only by those who name them."""

from __future__ import annotations

import re
from heapq import nlargest
from typing import NamedTuple

from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import MAX_NOTE_BYTES, SET_ASIDE_STATUSES, decode_text
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.core.model.record import default_scope
from cortex.core.model.relation import parse_link_target
from cortex.core.notes.edit import normalized_body
from cortex.core.notes.note import BOM, read_strict
from cortex.core.ranking.text_similarity import (
    DUPLICATE_THRESHOLD,
    SIMILAR_THRESHOLD,
    similar_pairs,
    token_set,
)
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.shell_command import option_words
from cortex.core.text.strings import one_line
from cortex.index.catalogue import NoteMetadata
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.save import SaveResult, save
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.records.change_record import (
    NoteEdit,
    command,
    command_name,
    edit_notes_and_heal,
    find_editable,
    is_editable,
)
from cortex.operations.records.supersede import replacement_edit, superseded_edit
from cortex.vault import files
from cortex.vault.locate import Vault

MAX_PAIRS = 1000
_MAX_MERGED = 50
_MAX_DIFFERENT_WORDS = 10  # of each side that are shown as the difference
_TAG_RE = re.compile(r"[^\s,#\[\]{}\"']{1,100}")  # that a save takes, as in core/model/event.py
_SPARE_PAIRS = 500  # pairs beyond those asked for, should some be related already
# They are about one day or one stretch of work; what they say alike is their form.
_TYPES_NOT_COMPARED = ("session", "meeting", "briefing")


class SimilarPair(NamedTuple):
    """Two records that may say the same."""

    similarity: float
    strong: bool
    records: tuple[Hit, Hit]
    only: tuple[
        tuple[str, ...], tuple[str, ...]
    ]  # words of one that the other does not have, the first ones
    merge: str  # the command that merges them


class ConsolidateResult(NamedTuple):
    """Candidates, or with ids the record that was made of them."""

    id: str
    path: str
    outcome: str  # candidates, or of the new record created, updated, duplicate; finished where an earlier merge had been cut short
    undo: str
    originals: tuple[str, ...]  # ids
    pairs: tuple[SimilarPair, ...]
    compared: int  # records
    more: int  # pairs that were left out
    problems: tuple[Problem, ...]


class _MergeSource(NamedTuple):
    note_row: NoteMetadata
    title: str
    body: str
    tags: tuple[str, ...]
    superseded_by: str = ""  # what holds in its place, when something does

    @property
    def section(self) -> str:
        """Its part of a text that is made of all."""
        return f"## {self.title}\n\n{self.body}".rstrip()


def consolidate(
    vault: Vault,
    caller: Caller,
    ids: str = "",
    *,
    title: str = "",
    body: str = "",
    type: str = "",
    topic: str = "",
    keep: bool = False,
    project: str = "",
    least: str = str(SIMILAR_THRESHOLD),
    number: int = 20,
) -> ConsolidateResult:
    """Find records that may say the same, or make one of those that are named.

    Without ids nothing changes: current records of one project are compared by their words, the likest pairs first, and from 0.6 on
    called strong. With two ids or more, one new record takes their place; the originals are superseded and stay in their
    files. Only records that are named are ever merged. Run again after a crash, the command finishes what is left.

    ids: the records to merge, with blanks between
    title: the new record's title; by default that of the first
    body: its text; by default the texts of all below their titles; a single - reads standard input
    type: its type; by default theirs when they have one in common, else note
    topic: its topic
    keep: the originals stay current, and the new record is made from them
    project: compare only records of this project
    least: how alike two records must be to be shown, above 0 and up to 1
    number: how many pairs at the most

    Example: cortex consolidate --project cortex
    Example: cortex consolidate use-sqlite-k3f7q2 keep-one-file-m5d2xa --title "One SQLite file" --body - < merged.md
    """
    names = list(dict.fromkeys(ids.split()))
    if names:
        return _merge_records(
            vault, caller, names, title=title, body=body, type_=type, topic=topic, keep=keep
        )
    if title or body or type or topic or keep:
        raise InvalidInputError(
            "which records are to be merged?",
            "cortex consolidate ID ID --title TEXT; without options it shows candidates",
        )
    if not 1 <= number <= MAX_PAIRS:
        raise InvalidInputError(
            f"-n {number} is not between 1 and {MAX_PAIRS}", "cortex consolidate -n 20"
        )
    return _find_similar_pairs(
        vault, caller, project.strip().lower(), _parse_threshold(least), number
    )


def _parse_threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:  # nor is `nan`
        raise InvalidInputError(
            f"{text[:50]!r} is no likeness", "give a number above 0 and up to 1: --least 0.4"
        )
    return value


def _find_similar_pairs(
    vault: Vault, caller: Caller, project: str, least: float, number: int
) -> ConsolidateResult:
    problems = ensure_fresh(vault, caller)
    where = f"tier = 0 AND id != CAST(path AS TEXT) AND type NOT IN ({','.join('?' * len(_TYPES_NOT_COMPARED))})"
    values: list[object] = [*_TYPES_NOT_COMPARED]
    if project:
        where, values = f"{where} AND project = ?", [*values, project]
    # The texts are read after the look: other processes need not wait meanwhile.
    where += " AND NOT EXISTS (SELECT 1 FROM note AS other WHERE other.id = note.id AND other.number != note.number)"  # no id names these
    standings = query_index(
        vault,
        caller.progress,
        lambda now: list(now.catalogue.metadata_rows(f"{where} ORDER BY project, path", values)),
    )
    groups: dict[str, list[NoteMetadata]] = {}
    texts: dict[int, str] = {}
    for place, one in enumerate(standings):
        if not place % 100:
            caller.progress("reading records", place, len(standings))
        texts[one.number] = f"{one.title}\n{_read_body(vault, one.path)}"
        groups.setdefault(one.project, []).append(one)
    best: list[tuple[float, int, int]] = []
    total = 0
    for group in groups.values():
        found = 0
        counted = []
        for i, j, alike in similar_pairs(
            [texts[one.number] for one in group], least, caller.progress
        ):
            found += 1
            counted.append((alike, -group[i].number, -group[j].number))
            if len(counted) > 100_000:
                counted = nlargest(number + _SPARE_PAIRS, counted)
        total += found
        best = nlargest(number + _SPARE_PAIRS, [*best, *counted])
    caller.progress("comparing", len(standings), len(standings))
    by_number = {one.number: one for one in standings}
    related = query_index(
        vault,
        caller.progress,
        lambda now: _related_pairs(now, {-n for _, i, j in best for n in (i, j)}),
    )
    chosen = [
        (alike, by_number[-i], by_number[-j])
        for alike, i, j in best
        if frozenset((-i, -j)) not in related
    ]
    shown = tuple(
        _build_pair(vault, alike, one, other, texts) for alike, one, other in chosen[:number]
    )
    more = total - (len(best) - len(chosen)) - len(shown)
    return ConsolidateResult(
        "", "", "candidates", "", (), shown, len(standings), more, tuple(problems)
    )


def _related_pairs(now: IndexSession, numbers: set[int]) -> set[frozenset[int]]:
    """The pairs of which one is said to come from the other, or to take its place."""
    edges = LinkGraph(now.catalogue).edges_touching(
        sorted(numbers), ("derived_from", "source_of", "supersedes")
    )
    return {frozenset((edge.source, edge.target)) for edge in edges}


def _read_body(vault: Vault, path: str) -> str:
    """A record's text without its frontmatter, which is not read: YAML would take a millisecond each."""
    try:
        data = files.read(vault.root, path, MAX_NOTE_BYTES).removeprefix(BOM)
    except (CortexError, OSError):
        return ""  # gone meanwhile
    if data.startswith((b"---\n", b"---\r")):
        _, _, rest = data[3:].partition(b"\n---")
        data = rest.partition(b"\n")[2] if rest else data
    return decode_text(data)


def _build_pair(
    vault: Vault, alike: float, one: NoteMetadata, other: NoteMetadata, texts: dict[int, str]
) -> SimilarPair:
    words, others = token_set(texts[one.number]), token_set(texts[other.number])
    only = (
        _first_words(texts[one.number], words - others),
        _first_words(texts[other.number], others - words),
    )
    merge = command("consolidate", one, other, *option_words("title", one.title))
    return SimilarPair(
        round(alike, 3),
        alike >= DUPLICATE_THRESHOLD,
        (build_hit(vault, one), build_hit(vault, other)),
        only,
        merge,
    )


def _first_words(text: str, words: frozenset[str]) -> tuple[str, ...]:
    """Some of these words, those first that stand first in the text."""
    lowered = text.casefold()
    return tuple(
        sorted(words, key=lambda word: (lowered.find(word) % (len(lowered) + 1), word))[
            :_MAX_DIFFERENT_WORDS
        ]
    )


def _merge_records(
    vault: Vault,
    caller: Caller,
    names: list[str],
    *,
    title: str,
    body: str,
    type_: str,
    topic: str,
    keep: bool,
) -> ConsolidateResult:
    problems = ensure_fresh(vault, caller)
    originals = query_index(
        vault, caller.progress, lambda now: [_load_source(now, vault, name) for name in names]
    )
    originals = list({one.note_row.number: one for one in originals}.values())
    if not 2 <= len(originals) <= _MAX_MERGED:
        raise InvalidInputError(
            f"a merge takes 2 to {_MAX_MERGED} different records, not {len(originals)}",
            "cortex consolidate shows candidates",
        )
    ids = [one.note_row.id for one in originals]
    first = originals[0].note_row
    types = {one.note_row.type for one in originals}
    priorities = [one.note_row.priority for one in originals if one.note_row.priority is not None]
    scope = first.scope or default_scope(first.project)
    text = body if body.strip() else "\n\n".join(one.section for one in originals)
    heading = one_line(title) or originals[0].title
    if begun := query_index(
        vault,
        caller.progress,
        lambda now: _find_interrupted_merge(now, vault, originals, heading, body),
    ):
        old = [one for one in originals if one.note_row.number != begun.number]
        problems += [] if keep else _supersede_sources(vault, caller, old, begun.id, begun.path)
        made = begun.number not in {one.note_row.number for one in originals}
        return ConsolidateResult(
            begun.id,
            begun.path,
            "finished",
            _undo_command(old, begun, made=made, keep=keep),
            tuple(ids),
            (),
            0,
            0,
            tuple(problems),
        )
    if held := next((one for one in originals if one.note_row.status == "superseded"), None):
        raise _set_aside_error(held.note_row)
    target = (
        topics.topic_record_id(first.project, scope, topics.normalize_topic(topic)) if topic else ""
    )
    if target:
        query_index(vault, caller.progress, lambda now: _refuse_superseded_target(now, target))
    # What belongs to no project must not become that of the folder somebody works in.
    saver = caller if first.project else caller._replace(cwd="/")
    saved = save(
        vault, saver, heading, type=type_ or (first.type if len(types) == 1 else "note"), body=text, topic=topic,
        project=first.project, scope=scope, tags=",".join(dict.fromkeys(tag for one in originals for tag in one.tags)),
        priority=str(max(priorities)) if priorities else "",
        derived_from=" ".join(command_name(one.note_row) for one in originals if one.note_row.id != target),
    )  # fmt: skip
    problems += saved.problems
    status = read_strict(files.read(vault.root, saved.path), saved.path).get("status").lower()
    if status in SET_ASIDE_STATUSES and not keep:
        raise ConflictError(
            f"{saved.id} has this text, and is {status}; the originals are as they were",
            f"{command('restore', saved)}, then consolidate them again",
        )
    old = [one for one in originals if one.note_row.id != saved.id]
    problems += [] if keep else _supersede_sources(vault, caller, old, saved.id, saved.path)
    undo = _undo_command(old, saved, made=saved.outcome == "created", keep=keep)
    return ConsolidateResult(
        saved.id, saved.path, saved.outcome, undo, tuple(ids), (), 0, 0, tuple(problems)
    )


def _supersede_sources(
    vault: Vault, caller: Caller, old: list[_MergeSource], id_: str, path: str
) -> tuple[Problem, ...]:
    """Say of all that one holds in their place, and of that one too."""
    edits: list[tuple[str, NoteEdit]] = [
        (one.note_row.path, superseded_edit(one.note_row, id_, f"merged into {id_}", caller.now))
        for one in old
    ]
    edits.append((path, replacement_edit(caller.now, *(one.note_row.id for one in old))))
    return edit_notes_and_heal(vault, caller, edits)[1]


def _undo_command(
    old: list[_MergeSource], new: NoteMetadata | SaveResult, *, made: bool, keep: bool
) -> str:
    steps = [command("restore", *(one.note_row for one in old))] if old and not keep else []
    return " && ".join([*steps, command("delete", new)] if made else steps)


def _find_interrupted_merge(
    now: IndexSession, vault: Vault, originals: list[_MergeSource], title: str, body: str
) -> NoteMetadata | None:
    """The record that an earlier run of the same merge made before it was cut short: it has the title, is made from all of them, has
    their texts or the one that is asked for, and holds in the place of those that are superseded."""
    links = LinkGraph(now.catalogue)
    numbers = {one.note_row.number for one in originals}
    made: dict[int, set[int]] = {}
    for edge in links.edges_touching(sorted(numbers), ("derived_from",)):
        if edge.target in numbers:
            made.setdefault(edge.source, set()).add(edge.target)
    for number, sources in made.items():
        if numbers - sources - {number}:
            continue
        new = next(now.catalogue.metadata_rows("number = ? AND tier = 0", (number,)), None)
        if (
            new is None
            or new.title != one_line(sanitize_text(title))
            or not is_editable(now.catalogue.rows_by_number([number])[number])
        ):
            continue
        others = [one for one in originals if one.note_row.number != number]
        said = _normalize_text(
            normalized_body(read_strict(files.read(vault.root, new.path), new.path))
        )
        whole = (
            said == _normalize_text(body)
            if body.strip()
            else all(_normalize_text(one.section) in said for one in others)
        )
        if whole and all(
            links.resolve(one.superseded_by, one.note_row.number) == number
            for one in others
            if one.note_row.status == "superseded"
        ):
            return new
    return None


def _normalize_text(text: str) -> str:
    return " ".join(sanitize_text(text).split())


def _set_aside_error(one: NoteMetadata) -> ConflictError:
    return ConflictError(
        f"{one.id} is {one.status}",
        f"{command('restore', one)}, or leave it out",
    )


def _refuse_superseded_target(now: IndexSession, id_: str) -> None:
    """`ConflictError` when the record that others are to be merged into does not hold itself: no save makes it current."""
    for row in now.catalogue.rows("id = ? AND tier = 1 AND status = 'superseded'", (id_,)):
        raise ConflictError(
            f"{id_} is superseded itself",
            f"{command('restore', row)}, or give another --topic",
        )


def _load_source(now: IndexSession, vault: Vault, name: str) -> _MergeSource:
    row = find_editable(now, name)
    standing = next(now.catalogue.metadata_rows("number = ?", (row.number,)))
    if row.status == "deleted":
        raise _set_aside_error(standing)
    note = read_strict(files.read(vault.root, row.path), row.path)
    tags = tuple(
        tag for tag in (one.lstrip("#") for one in note.get_list("tags")) if _TAG_RE.fullmatch(tag)
    )
    return _MergeSource(
        standing,
        row.title,
        normalized_body(note),
        tags,
        parse_link_target(note.get("superseded_by")),
    )
