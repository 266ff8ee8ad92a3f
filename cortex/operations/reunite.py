"""One record again where a topic came to have two: begun on two clones, and moved on one before they heard of each other."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core import note as notes
from cortex.core.caller import Caller
from cortex.core.problem import CortexError
from cortex.core.record import scope_of
from cortex.core.settle import Settled
from cortex.core.topic import path as path_of, record_id
from cortex.operations import edits
from cortex.operations.settling import merge_notes
from cortex.projections.catalogue import Catalogue
from cortex.projections.refresh import look
from cortex.vault import files
from cortex.vault.find import Vault
from cortex.vault.moved import forget

_MOST = 200  # records in one pass; more are left to the next


def reunite(vault: Vault, caller: Caller) -> list[Settled]:
    """Merge the notes of one topic of which each names an event that the other does not know. A copy that somebody has made
    names none, and stays: `cortex doctor` tells of two notes with one id. The path that a person chose stands."""
    done = []
    for first, second in look(vault, caller.progress, lambda now: list(_pairs(now.catalogue))):
        try:
            with edits.alone(vault):
                kept, gone = _joined(vault, first, second)
        except (CortexError, OSError):
            continue  # somebody is at work on one of them; doctor names what stays
        if kept:
            done.append(Settled(kept, f"and {gone} were begun apart for one topic; one note is kept, with the events of both"))
    return done


def _pairs(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """The paths of two notes that one topic has, by the catalogue."""
    twice = "SELECT id FROM note WHERE tier < 2 AND topic != '' GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT ?"
    for (id_,) in list(catalogue.asked(twice, (_MOST,))):
        rows = list(catalogue.rows("id = ? AND tier < 2 ORDER BY path", (id_,)))
        for place, row in enumerate(rows):
            other = next((one for one in rows[place + 1 :] if {*row.events} - {*one.events} and {*one.events} - {*row.events}), None)
            if other:
                yield row.path, other.path
                break  # a third waits for the next pass


def _joined(vault: Vault, first: str, second: str) -> tuple[str, str]:
    """The path that stands and the one that goes; two empty texts when nothing was done."""
    held = {path: files.read(vault.root, path) for path in (first, second)}
    note = notes.parse(held[first], first)
    of = (note.get("project"), note.get("scope") or scope_of(note.get("project")), note.get("topic"))
    if any(notes.parse(data, path).get("id") != record_id(*of) for path, data in held.items()):
        return "", ""
    kept, gone = sorted(held, key=lambda path: (path == path_of(*of), path))
    data, clean = merge_notes(b"", held[kept], held[gone])
    if not clean or notes.read(data, kept).problems:
        return "", ""
    forget(vault)  # a run that ends here leaves briefings to heal
    files.replace(vault.root, kept, data, held[kept])
    edits.removed(vault, gone, held[gone])
    return kept, gone
