"""Records that may say the same: found by their words, merged only by those who name them."""

from __future__ import annotations

import re
from heapq import nlargest
from typing import NamedTuple

from cortex.core.model import topic as topics
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Invalid, Problem
from cortex.core.model.record import scope_of
from cortex.core.model.relation import target_in
from cortex.core.model.status import ASIDE, MAX_NOTE_BYTES, decoded
from cortex.core.notes.edit import body_of
from cortex.core.notes.note import BOM, Note, parse
from cortex.core.ranking.text_similarity import STRONG, SUGGESTED, pairs, tokens
from cortex.core.redact.secrets import clean
from cortex.core.text.shell_command import line, option
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Standing
from cortex.index.links import Links
from cortex.index.refresh import Views, look
from cortex.operations.capture.save import Saved, save
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Edit
from cortex.operations.records.supersede import replacing, retiring
from cortex.vault import files
from cortex.vault.locate import Vault

MOST = 1000
_MOST_MERGED = 50
_WORDS = 10  # of each side that are shown as the difference
_TAG = re.compile(r"[^\s,#\[\]{}\"']{1,100}")  # that a save takes, as in core/model/event.py
_SPARE = 500  # pairs beyond those asked for, should some be related already
# They are about one day or one stretch of work; what they say alike is their form.
_NOT_COMPARED = ("session", "meeting", "briefing")


class Alike(NamedTuple):
    """Two records that may say the same."""

    similarity: float
    strong: bool
    records: tuple[Hit, Hit]
    only: tuple[
        tuple[str, ...], tuple[str, ...]
    ]  # words of one that the other does not have, the first ones
    merge: str  # the command that merges them


class Consolidated(NamedTuple):
    """Candidates, or with ids the record that was made of them."""

    id: str
    path: str
    outcome: str  # candidates, or of the new record created, updated, duplicate; finished where an earlier merge had been cut short
    undo: str
    originals: tuple[str, ...]  # ids
    pairs: tuple[Alike, ...]
    compared: int  # records
    more: int  # pairs that were left out
    problems: tuple[Problem, ...]


class _Original(NamedTuple):
    standing: Standing
    title: str
    body: str
    tags: tuple[str, ...]
    by: str = ""  # what holds in its place, when something does

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
    least: str = str(SUGGESTED),
    number: int = 20,
) -> Consolidated:
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
        return _merged(
            vault, caller, names, title=title, body=body, type_=type, topic=topic, keep=keep
        )
    if title or body or type or topic or keep:
        raise Invalid(
            "which records are to be merged?",
            "cortex consolidate ID ID --title TEXT; without options it shows candidates",
        )
    if not 1 <= number <= MOST:
        raise Invalid(f"-n {number} is not between 1 and {MOST}", "cortex consolidate -n 20")
    return _candidates(vault, caller, project.strip().lower(), _bound(least), number)


def _bound(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:  # nor is `nan`
        raise Invalid(
            f"{text[:50]!r} is no likeness", "give a number above 0 and up to 1: --least 0.4"
        )
    return value


def _candidates(
    vault: Vault, caller: Caller, project: str, least: float, number: int
) -> Consolidated:
    problems = freshen(vault, caller)
    where = f"tier = 0 AND id != CAST(path AS TEXT) AND type NOT IN ({','.join('?' * len(_NOT_COMPARED))})"
    values: list[object] = [*_NOT_COMPARED]
    if project:
        where, values = f"{where} AND project = ?", [*values, project]
    # The texts are read after the look: other processes need not wait meanwhile.
    where += " AND NOT EXISTS (SELECT 1 FROM note AS other WHERE other.id = note.id AND other.number != note.number)"  # no id names these
    standings = look(
        vault,
        caller.progress,
        lambda now: list(now.catalogue.standings(f"{where} ORDER BY project, path", values)),
    )
    groups: dict[str, list[Standing]] = {}
    texts: dict[int, str] = {}
    for place, one in enumerate(standings):
        if not place % 100:
            caller.progress("reading records", place, len(standings))
        texts[one.number] = f"{one.title}\n{_text(vault, one.path)}"
        groups.setdefault(one.project, []).append(one)
    best: list[tuple[float, int, int]] = []
    total = 0
    for group in groups.values():
        found = 0
        counted = []
        for i, j, alike in pairs([texts[one.number] for one in group], least, caller.progress):
            found += 1
            counted.append((alike, -group[i].number, -group[j].number))
            if len(counted) > 100_000:
                counted = nlargest(number + _SPARE, counted)
        total += found
        best = nlargest(number + _SPARE, [*best, *counted])
    caller.progress("comparing", len(standings), len(standings))
    by_number = {one.number: one for one in standings}
    related = look(
        vault, caller.progress, lambda now: _related(now, {-n for _, i, j in best for n in (i, j)})
    )
    chosen = [
        (alike, by_number[-i], by_number[-j])
        for alike, i, j in best
        if frozenset((-i, -j)) not in related
    ]
    shown = tuple(_alike(vault, alike, one, other, texts) for alike, one, other in chosen[:number])
    more = total - (len(best) - len(chosen)) - len(shown)
    return Consolidated("", "", "candidates", "", (), shown, len(standings), more, tuple(problems))


def _related(now: Views, numbers: set[int]) -> set[frozenset[int]]:
    """The pairs of which one is said to come from the other, or to take its place."""
    edges = Links(now.catalogue).edges(sorted(numbers), ("derived_from", "source_of", "supersedes"))
    return {frozenset((edge.source, edge.target)) for edge in edges}


def _text(vault: Vault, path: str) -> str:
    """A record's text without its frontmatter, which is not read: YAML would take a millisecond each."""
    try:
        data = files.read(vault.root, path, MAX_NOTE_BYTES).removeprefix(BOM)
    except (CortexError, OSError):
        return ""  # gone meanwhile
    if data.startswith((b"---\n", b"---\r")):
        _, _, rest = data[3:].partition(b"\n---")
        data = rest.partition(b"\n")[2] if rest else data
    return decoded(data)


def _alike(
    vault: Vault, alike: float, one: Standing, other: Standing, texts: dict[int, str]
) -> Alike:
    words, others = tokens(texts[one.number]), tokens(texts[other.number])
    only = (_first(texts[one.number], words - others), _first(texts[other.number], others - words))
    merge = line(
        "consolidate",
        change_record.word(one.id, one.path),
        change_record.word(other.id, other.path),
        *option("title", one.title),
    )
    return Alike(
        round(alike, 3), alike >= STRONG, (hit(vault, one), hit(vault, other)), only, merge
    )


def _first(text: str, words: frozenset[str]) -> tuple[str, ...]:
    """Some of these words, those first that stand first in the text."""
    lowered = text.casefold()
    return tuple(
        sorted(words, key=lambda word: (lowered.find(word) % (len(lowered) + 1), word))[:_WORDS]
    )


def _merged(
    vault: Vault,
    caller: Caller,
    names: list[str],
    *,
    title: str,
    body: str,
    type_: str,
    topic: str,
    keep: bool,
) -> Consolidated:
    problems = freshen(vault, caller)
    originals = look(
        vault, caller.progress, lambda now: [_original(now, vault, name) for name in names]
    )
    originals = list({one.standing.number: one for one in originals}.values())
    if not 2 <= len(originals) <= _MOST_MERGED:
        raise Invalid(
            f"a merge takes 2 to {_MOST_MERGED} different records, not {len(originals)}",
            "cortex consolidate shows candidates",
        )
    ids = [one.standing.id for one in originals]
    first = originals[0].standing
    types = {one.standing.type for one in originals}
    priorities = [one.standing.priority for one in originals if one.standing.priority is not None]
    scope = first.scope or scope_of(first.project)
    text = body if body.strip() else "\n\n".join(one.section for one in originals)
    heading = one_line(title) or originals[0].title
    if begun := look(
        vault, caller.progress, lambda now: _begun(now, vault, originals, heading, body)
    ):
        old = [one for one in originals if one.standing.number != begun.number]
        problems += [] if keep else _superseded(vault, caller, old, begun.id, begun.path)
        made = begun.number not in {one.standing.number for one in originals}
        return Consolidated(
            begun.id,
            begun.path,
            "finished",
            _undo(old, begun, made=made, keep=keep),
            tuple(ids),
            (),
            0,
            0,
            tuple(problems),
        )
    if held := next((one for one in originals if one.standing.status == "superseded"), None):
        raise _set_aside(held.standing)
    target = topics.record_id(first.project, scope, topics.normal(topic)) if topic else ""
    if target:
        look(vault, caller.progress, lambda now: _refuse_aside(now, target))
    # What belongs to no project must not become that of the folder somebody works in.
    saver = caller if first.project else caller._replace(cwd="/")
    saved = save(
        vault, saver, heading, type=type_ or (first.type if len(types) == 1 else "note"), body=text, topic=topic,
        project=first.project, scope=scope, tags=",".join(dict.fromkeys(tag for one in originals for tag in one.tags)),
        priority=str(max(priorities)) if priorities else "",
        derived_from=" ".join(change_record.word(one.standing.id, one.standing.path) for one in originals if one.standing.id != target),
    )  # fmt: skip
    problems += saved.problems
    status = parse(files.read(vault.root, saved.path), saved.path).get("status").lower()
    if status in ASIDE and not keep:
        raise Conflict(
            f"{saved.id} has this text, and is {status}; the originals are as they were",
            f"{line('restore', change_record.word(saved.id, saved.path))}, then consolidate them again",
        )
    old = [one for one in originals if one.standing.id != saved.id]
    problems += [] if keep else _superseded(vault, caller, old, saved.id, saved.path)
    undo = _undo(old, saved, made=saved.outcome == "created", keep=keep)
    return Consolidated(
        saved.id, saved.path, saved.outcome, undo, tuple(ids), (), 0, 0, tuple(problems)
    )


def _superseded(
    vault: Vault, caller: Caller, old: list[_Original], id_: str, path: str
) -> tuple[Problem, ...]:
    """Say of all that one holds in their place, and of that one too."""
    steps: list[tuple[str, Edit]] = [
        (one.standing.path, retiring(one.standing.id, id_, f"merged into {id_}", caller.now))
        for one in old
    ]
    steps += [(path, _replacing_all([one.standing.id for one in old], caller.now))]
    return change_record.apply_all(vault, caller, steps)[1]


def _undo(old: list[_Original], new: Standing | Saved, *, made: bool, keep: bool) -> str:
    back = line("delete", change_record.word(new.id, new.path)) if made else ""
    restore = (
        ""
        if keep or not old
        else line(
            "restore", *(change_record.word(one.standing.id, one.standing.path) for one in old)
        )
    )
    return " && ".join(filter(None, (restore, back)))


def _begun(
    now: Views, vault: Vault, originals: list[_Original], title: str, body: str
) -> Standing | None:
    """The record that an earlier run of the same merge made before it was cut short: it has the title, is made from all of them, has
    their texts or the one that is asked for, and holds in the place of those that are superseded."""
    links = Links(now.catalogue)
    numbers = {one.standing.number for one in originals}
    made: dict[int, set[int]] = {}
    for edge in links.edges(sorted(numbers), ("derived_from",)):
        if edge.target in numbers:
            made.setdefault(edge.source, set()).add(edge.target)
    for number, sources in made.items():
        if numbers - sources - {number}:
            continue
        new = next(now.catalogue.standings("number = ? AND tier = 0", (number,)), None)
        if (
            new is None
            or new.title != one_line(clean(title))
            or not change_record.is_record(now.catalogue.numbered([number])[number])
        ):
            continue
        others = [one for one in originals if one.standing.number != number]
        said = _words(body_of(parse(files.read(vault.root, new.path), new.path)))
        whole = (
            said == _words(body)
            if body.strip()
            else all(_words(one.section) in said for one in others)
        )
        if whole and all(
            links.resolve(one.by, one.standing.number) == number
            for one in others
            if one.standing.status == "superseded"
        ):
            return new
    return None


def _words(text: str) -> str:
    return " ".join(clean(text).split())


def _set_aside(one: Standing) -> Conflict:
    return Conflict(
        f"{one.id} is {one.status}",
        f"{line('restore', change_record.word(one.id, one.path))}, or leave it out",
    )


def _refuse_aside(now: Views, id_: str) -> None:
    """`Conflict` when the record that others are to be merged into does not hold itself: no save makes it current."""
    for row in now.catalogue.rows("id = ? AND tier = 1 AND status = 'superseded'", (id_,)):
        raise Conflict(
            f"{id_} is superseded itself",
            f"{line('restore', change_record.word(row.id, row.path))}, or give another --topic",
        )


def _original(now: Views, vault: Vault, name: str) -> _Original:
    row = change_record.record(resolve_note.one(now.catalogue, name))
    standing = next(now.catalogue.standings("number = ?", (row.number,)))
    if row.status == "deleted":
        raise _set_aside(standing)
    note = parse(files.read(vault.root, row.path), row.path)
    tags = tuple(
        tag for tag in (one.lstrip("#") for one in note.texts("tags")) if _TAG.fullmatch(tag)
    )
    return _Original(standing, row.title, body_of(note), tags, target_in(note.get("superseded_by")))


def _replacing_all(ids: list[str], now: str) -> Edit:
    def edit(note: Note) -> Note:
        for id_ in ids:
            note = replacing(id_, now)(note)
        return note

    return edit
