"""Records that may say the same: found by their words, merged only by those who name them."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Annotated, Any, cast

from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_tag
from cortex.core.model.note_status import (
    MAX_NOTE_BYTES,
    SET_ASIDE_STATUSES,
    WITHDRAWN_STATUSES,
    decode_text,
)
from cortex.core.model.parameters import Between, NoteName
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.model.record import ONE_PERSONS_SCOPES, default_scope
from cortex.core.notes.edit import normalized_body
from cortex.core.notes.note import read_strict
from cortex.core.notes.relations import parse_link_target
from cortex.core.notes.yaml_lines import BOM, split_note
from cortex.core.ranking import text_similarity
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import one_line, option_words
from cortex.core.text.value import NamedTuple
from cortex.index import semantic
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT, SET_ASIDE
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.find.actions import notes_from
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.resolve_note import command, command_name
from cortex.operations.records.change_record import edit_notes_and_heal, find_editable, is_editable
from cortex.operations.records.save import SaveResult, save
from cortex.operations.records.supersede import replacement_edit, superseded_edit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import files
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault, is_own

MAX_PAIRS = 1000
_MIN_LIKENESS = 0.01
_MAX_MERGED = 50
_MAX_DIFFERENT_WORDS = 10  # of each side that are shown as the difference
# A cosine of 0.85 is as alike as half of the words, 0.88 is strong.
_UNRELATED_COSINE, _LEAST_COSINE = 0.7, 0.85
_SPARE_PAIRS = 500  # pairs beyond those asked for, should some be related already
# They are about one day or one stretch of work; what they say alike is their form.
_TYPES_NOT_COMPARED = ("session", "meeting", "briefing")


class SimilarPair(NamedTuple):
    """Two records that may say the same."""

    similarity: float
    strong: bool
    hits: tuple[Hit, Hit]
    only: tuple[tuple[str, ...], tuple[str, ...]]  # the first words of each that the other lacks
    merge: str  # the command that merges them


class ConsolidateResult(NamedTuple):
    """Candidates, or with ids the record that was made of them."""

    id: str = ""
    path: str = ""
    # Candidates; of the new record created, updated, duplicate; or finished, where an earlier merge
    # had been cut short.
    outcome: str = "candidates"
    undo: str = ""
    originals: tuple[str, ...] = ()  # ids
    pairs: tuple[SimilarPair, ...] = ()
    total: int = 0  # pairs that are alike and not related
    compared: int = 0  # records
    problems: tuple[Problem, ...] = ()
    file: str = ""  # absolute path


class _MergeRequest(NamedTuple):
    """What the new record is to be; empty for what its originals are."""

    title: str
    text: str
    type: str
    topic: str
    keep: bool  # the originals as they are


class _MergeSource(NamedTuple):
    row: NoteRow
    body: str
    tags: tuple[str, ...]
    superseded_by: str = ""  # what holds in its place, when something does

    @property
    def section(self) -> str:
        """Its part of a text that is made of all."""
        return f"## {self.row.title}\n\n{self.body}".rstrip()


def consolidate(
    vault: Vault,
    caller: Caller,
    ids: list[NoteName] | None = None,
    *,
    title: str = "",
    body: str = "",
    type: str = "",
    topic: str = "",
    keep: bool = False,
    project: str = "",
    least: Annotated[float, Between(_MIN_LIKENESS, 1)] = text_similarity.SIMILAR_THRESHOLD,
    number: Annotated[int, Between(1, MAX_PAIRS)] = 20,
) -> ConsolidateResult:
    """Find records that may say the same, or make them one.

    Without ids nothing changes: current records of one project are compared by their words
    and, where there are vectors (cortex embed), by meaning, the likest pairs first, and from 0.6 on
    called strong unless their numbers differ. With two ids or more, one new record takes
    their place; the originals are superseded and stay in their files. Only records that are named
    are ever merged. Run again after a crash, the command finishes what is left.

    ids: the records to merge
    title: the new record's title; by default that of the first
    body: its text; by default the texts of all below their titles; a single - reads standard input
    type: its type; by default theirs when they have one in common, else note
    topic: its topic
    keep: the originals stay current, and the new record is made from them
    project: compare only records of this project
    least: how alike two records must be to be shown, up to 1
    number: how many pairs at the most

    Example: cortex consolidate --project cortex
    Example: cortex consolidate use-sqlite-k3f7q2 keep-one-file-m5d2xa --body - < merged.md
    """
    if ids:
        asked = _MergeRequest(one_line(title), body, type, topic, keep)
        return _merge_records(vault, caller, ids, asked)
    if title or body or type or topic or keep:
        hint = "cortex consolidate ID ID --title TEXT; without options it shows candidates"
        raise InvalidInputError("which records are to be merged?", hint)
    return _find_similar_pairs(vault, caller, canonical_project(vault, project), least, number)


def _find_similar_pairs(
    vault: Vault, caller: Caller, project: str, least: float, number: int
) -> ConsolidateResult:
    # The texts are read after the refresh: other processes need not wait meanwhile.
    rows, problems = query_fresh(vault, caller, lambda index: _comparable(index.catalogue, project))
    groups: dict[str, list[int]] = {}  # places in `rows`, by project
    texts = []
    for place, row in enumerate(caller.each(rows, "reading records")):
        texts.append(f"{row.title}\n{_read_body(vault, row.path)}")
        groups.setdefault(row.project, []).append(place)
    most, total = number + _SPARE_PAIRS, 0

    def pairs_by_words() -> Iterator[tuple[float, int, int]]:
        nonlocal total
        for group in groups.values():
            group_texts = [texts[place] for place in group]
            for i, j, alike in text_similarity.similar_pairs(group_texts, least, caller.progress):
                total += 1
                yield alike, -group[i], -group[j]

    best = nlargest(most, pairs_by_words())
    known = {(i, j) for _, i, j in best}
    by_meaning = _pairs_by_meaning(vault, caller, rows, least)
    fresh = [one for one in by_meaning if one[1:] not in known]
    best, total = nlargest(most, [*best, *fresh]), total + len(fresh)
    caller.progress("comparing", len(rows), len(rows))
    numbers = {rows[-place].number for _, *places in best for place in places}
    related = query_index(vault, caller.progress, related_pairs, numbers)
    pairs = [
        (alike, (rows[-i], rows[-j]), (texts[-i], texts[-j]))
        for alike, i, j in best
        if frozenset((rows[-i].number, rows[-j].number)) not in related
    ]
    return ConsolidateResult(
        pairs=tuple(_build_pair(vault, *pair) for pair in pairs[:number]),
        total=total - (len(best) - len(pairs)),
        compared=len(rows),
        problems=tuple(problems),
    )


def _pairs_by_meaning(
    vault: Vault, caller: Caller, rows: list[NoteRow], least: float
) -> list[tuple[float, int, int]]:
    """The pairs of one project that mean the same, where there are vectors: how alike, and the
    places as above."""
    places = {row.number: place for place, row in enumerate(rows)}
    found = query_index(vault, caller.progress, semantic.alike_pairs, set(places), _LEAST_COSINE)
    pairs = []
    for one, other, cosine in found:
        i, j = sorted((places[one], places[other]))
        alike = (cosine - _UNRELATED_COSINE) / (1 - _UNRELATED_COSINE)
        if alike >= least and rows[i].project == rows[j].project:
            pairs.append((alike, -i, -j))
    return pairs


def _comparable(catalogue: Catalogue, project: str) -> list[NoteRow]:
    projects = (project,) if project else None
    wanted = CURRENT._replace(has_id=True, not_types=_TYPES_NOT_COMPARED, projects=projects)
    ambiguous = catalogue.duplicate_ids()
    rows = [row for row in catalogue.find(wanted, "path") if row.id not in ambiguous]
    return sorted(rows, key=lambda row: row.project)


def related_pairs(index: IndexSession, numbers: set[int]) -> set[frozenset[int]]:
    """The pairs of which one is said to come from the other, or to take its place."""
    kinds = ("derived_from", "source_of", "supersedes")
    edges = LinkGraph(index.catalogue).edges_touching(sorted(numbers), kinds)
    return {frozenset((edge.source, edge.target)) for edge in edges}


def _read_body(vault: Vault, path: str) -> str:
    """A record's text, empty if it is gone; its frontmatter is not parsed, which would take a
    millisecond each."""
    data = read_if_there(vault.root, path, MAX_NOTE_BYTES) or b""
    return decode_text(split_note(data.removeprefix(BOM)).body)


def _build_pair(
    vault: Vault, alike: float, pair: tuple[NoteRow, NoteRow], texts: tuple[str, str]
) -> SimilarPair:
    (one, other), (words, others) = pair, map(text_similarity.token_set, texts)
    return SimilarPair(
        similarity=round(alike, 3),
        strong=alike >= text_similarity.DUPLICATE_THRESHOLD
        and text_similarity.has_same_numbers(words, others),
        hits=(build_hit(vault, one), build_hit(vault, other)),
        only=(_first_words(texts[0], words - others), _first_words(texts[1], others - words)),
        merge=command("consolidate", one, other, *option_words("title", one.title)),
    )


def _first_words(text: str, words: frozenset[str]) -> tuple[str, ...]:
    """Some of these words, those first that stand first in the text."""
    lowered = text.casefold()
    ordered = sorted(words, key=lambda word: (lowered.find(word) % (len(lowered) + 1), word))
    return tuple(ordered[:_MAX_DIFFERENT_WORDS])


def _merge_records(
    vault: Vault, caller: Caller, names: list[str], asked: _MergeRequest
) -> ConsolidateResult:
    rows, problems = query_fresh(
        vault, caller, lambda index: [find_editable(index, name) for name in names]
    )
    originals = [_load_source(vault, row) for row in {row.number: row for row in rows}.values()]
    if not 2 <= len(originals) <= _MAX_MERGED:
        message = f"a merge takes 2 to {_MAX_MERGED} different records, not {len(originals)}"
        raise InvalidInputError(message, "cortex consolidate shows candidates")
    asked = asked._replace(title=asked.title or originals[0].row.title)

    def find_earlier(index: IndexSession) -> NoteRow | None:
        return _find_interrupted_merge(index, vault, originals, asked)

    new: NoteRow | SaveResult | None = query_index(vault, caller.progress, find_earlier)
    if new is not None:
        outcome, was_made = "finished", new.id not in {one.row.id for one in originals}
    else:
        new = _save_merged(vault, caller, originals, asked)
        problems += new.problems
        outcome, was_made = new.outcome, new.outcome == "created"
    old = [one.row for one in originals if one.row.id != new.id]
    if not asked.keep:
        because, now = f"merged into {new.id}", caller.now
        edits = [(row.path, superseded_edit(row, new.id, because, now)) for row in old]
        edits.append((new.path, replacement_edit(now, *(row.id for row in old))))
        problems += edit_notes_and_heal(vault, caller, edits)[1]
    undo = [command("restore", *old)] if old and not asked.keep else []
    return ConsolidateResult(
        id=new.id,
        path=new.path,
        outcome=outcome,
        undo=" && ".join([*undo, command("delete", new)] if was_made else undo),
        originals=tuple(one.row.id for one in originals),
        problems=tuple(problems),
        file=vault.file(new.path),
    )


def _load_source(vault: Vault, row: NoteRow) -> _MergeSource:
    if row.status in WITHDRAWN_STATUSES:
        raise _set_aside_error(row)
    note = read_strict(files.read(vault.root, row.path), row.path)
    tags = tuple(tag for tag in (one.lstrip("#") for one in note.get_list("tags")) if is_tag(tag))
    replacement = parse_link_target(note.get("superseded_by"))
    return _MergeSource(row, normalized_body(note), tags, replacement)


def _save_merged(
    vault: Vault, caller: Caller, originals: list[_MergeSource], asked: _MergeRequest
) -> SaveResult:
    """Save the new record. `ConflictError` where it, or an original, does not hold itself, or where
    it would lie in another vault."""
    for one in originals:
        if one.row.status == "superseded":
            raise _set_aside_error(one.row)
    first, types = originals[0].row, {one.row.type for one in originals}
    scope, target = first.scope or default_scope(first.project), ""
    said = "" if scope == default_scope(first.project) else scope
    if said in ONE_PERSONS_SCOPES and not is_own(vault):
        hint = f"{command('promote', first)}, and the others; then consolidate them there"
        raise ConflictError(f"{first.id} says scope: {said}, and belongs in your own vault", hint)
    if asked.topic:
        topic = topics.normalize_topic(asked.topic)
        target = topics.topic_record_id(first.project, scope, topic)
        query_index(vault, caller.progress, _refuse_superseded_target, target)
    priorities = [one.row.priority for one in originals if one.row.priority is not None]
    saved = save(
        vault,
        # What belongs to no project must not become that of the folder somebody works in.
        caller if first.project else caller._replace(cwd="/"),
        asked.title,
        type=asked.type or (first.type if len(types) == 1 else "note"),
        body=asked.text if asked.text.strip() else "\n\n".join(one.section for one in originals),
        topic=asked.topic,
        project=first.project,
        scope=cast("Any", said),  # `save` refuses a word that is no scope
        tags=tuple(dict.fromkeys(tag for one in originals for tag in one.tags)),
        priority=max(priorities, default=None),
        derived_from=tuple(command_name(one.row) for one in originals if one.row.id != target),
    )
    status = read_strict(files.read(vault.root, saved.path), saved.path).get("status").lower()
    if status in SET_ASIDE_STATUSES and not asked.keep:
        message = f"{saved.id} has this text, and is {status}; the originals are as they were"
        raise ConflictError(message, f"{command('restore', saved)}, then consolidate them again")
    return saved


def _find_interrupted_merge(
    index: IndexSession, vault: Vault, originals: list[_MergeSource], asked: _MergeRequest
) -> NoteRow | None:
    """The record that an earlier run of the same merge made before it was cut short: it has the
    title, is made from all of them, has their texts or the one that is asked for, and holds in the
    place of those that are superseded."""
    links = LinkGraph(index.catalogue)
    numbers = {one.row.number for one in originals}
    made = notes_from(index.catalogue, sorted(numbers))
    of_all = set[int].intersection(*(some | {number} for number, some in made.items()))
    candidates = index.catalogue.find(CURRENT._replace(numbers=of_all), "path")
    for new in candidates:
        if new.title != one_line(sanitize_text(asked.title)) or not is_editable(new):
            continue
        others = [one for one in originals if one.row.number != new.number]
        note = read_strict(files.read(vault.root, new.path), new.path)
        said = _normalize_text(normalized_body(note))
        if asked.text.strip():
            is_whole = said == _normalize_text(asked.text)
        else:
            is_whole = all(_normalize_text(one.section) in said for one in others)
        replaced = (one for one in others if one.row.status == "superseded")
        if is_whole and all(
            links.resolve(one.superseded_by, one.row.number) == new.number for one in replaced
        ):
            return new
    return None


def _normalize_text(text: str) -> str:
    return " ".join(sanitize_text(text).split())


def _set_aside_error(row: NoteRow) -> ConflictError:
    return ConflictError(f"{row.id} is {row.status}", f"{command('restore', row)}, or leave it out")


def _refuse_superseded_target(index: IndexSession, id_: str) -> None:
    """`ConflictError` if the target is superseded itself: no save makes it current."""
    wanted = SET_ASIDE._replace(ids=(id_,), statuses=("superseded",))
    for row in index.catalogue.find(wanted):
        hint = f"{command('restore', row)}, or give another --topic"
        raise ConflictError(f"{id_} is superseded itself", hint)
