"""What an answer says about a new record: similar records, and those that it contradicts."""

from __future__ import annotations

from contextlib import suppress

from cortex.core.model.record import MadeRecord, SimilarRecord
from cortex.core.notes.note import Note
from cortex.core.ranking.contradiction import contradicts, directive_words, says_same
from cortex.core.ranking.text_similarity import DUPLICATE_THRESHOLD, SIMILAR_THRESHOLD, similarity
from cortex.index.catalogue import IndexDamaged, NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.refresh import last_index
from cortex.vault import settings
from cortex.vault.locate import Vault

_MAX_CANDIDATES = 300  # records whose titles are compared with the new one
_MAX_SIMILAR = 3
_MIN_WORD_CHARS = 4  # of a word that candidates share
_MAX_WORDS = 4


def made_record(vault: Vault, note: Note, path: str, outcome: str) -> MadeRecord:
    """Describe a record that a capture or save made. Similar and contradicted records are left out for a
    duplicate."""
    id_ = note.get("id") or path
    said = id_, note.title, note.get_in("project", settings.load(vault.root).form)
    similar, against = _find_similar(vault, *said) if outcome != "duplicate" else ((), ())
    return MadeRecord(
        id_, path, vault.file(path), note.title, note.get("type"), note.get("topic"), outcome,
        note.get("owner"), note.get("due"), similar, against, note.get("status"),
    )  # fmt: skip


def _find_similar(
    vault: Vault, id_: str, title: str, project: str
) -> tuple[tuple[SimilarRecord, ...], tuple[SimilarRecord, ...]]:
    """Current records of the project with a title like that of the record with this id, and those
    whose title says the opposite; the index is not refreshed for it."""
    long_words = {word for word in title.casefold().split() if len(word) >= _MIN_WORD_CHARS}
    words = sorted({*sorted(long_words, key=len)[-_MAX_WORDS:], *directive_words(title)})
    wanted = CURRENT._replace(projects=(project,), has_id=True, title_words=words)
    rows: list[NoteRow] = []
    # It is only a suggestion: whoever builds or mends the index goes first.
    with suppress(IndexDamaged), last_index(vault, 1.0) as found:
        if words and found:
            rows = found[0].find(wanted, "-date", _MAX_CANDIDATES)
    others = [
        SimilarRecord(row.id, row.title, round(_likeness(title, row.title), 3))
        for row in rows
        if row.id != id_ and row.type != "session"
    ]
    others.sort(key=lambda one: (-one.similarity, one.id))
    against = [one for one in others if contradicts(title, one.title)]
    alike = [one for one in others if one.similarity >= SIMILAR_THRESHOLD and one not in against]
    return tuple(alike[:_MAX_SIMILAR]), tuple(against[:_MAX_SIMILAR])


def _likeness(one: str, other: str) -> float:
    return max(similarity(one, other), says_same(one, other) * DUPLICATE_THRESHOLD)
