"""Named things that notes mention: what a note names, who names a thing, and what is named most."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES
from cortex.core.model.problem import InvalidInputError
from cortex.index.catalogue import Catalogue
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.vault.locate import Vault

# As `core/extract/named_entities.py` has them, whose patterns a question does not need.
ENTITY_KINDS = (
    "file",
    "url",
    "package",
    "symbol",
    "person",
    "env_var",
    "cli_flag",
    "version",
    "error",
)
_MAX_COMPARED_NAMES = 400  # names that begin alike and are compared


class MentionedEntity(NamedTuple):
    """A thing with a name."""

    kind: str
    name: str
    notes: int  # how many current notes mention it
    line: int = 0  # where the note that was asked about mentions it first


class EntityMentions(NamedTuple):
    """Things that are named, or the notes that name one."""

    records: tuple[Hit, ...]
    entities: tuple[MentionedEntity, ...]
    more: int  # that were left out
    name: str = ""
    hint: str = ""


def entities(
    vault: Vault,
    caller: Caller,
    name: str = "",
    *,
    note: str = "",
    kind: str = "",
    number: int = 20,
) -> EntityMentions:
    """Show which notes mention a file, an address, a package, a symbol, a person, a variable, a flag, a version or an error.

    A file is found by its name or the end of its path; case matters in symbols alone. Without a name: what is mentioned most.

    name: what is mentioned, as `src/app.py`, `app.py`, `useState()`, `@anna` or `ENOENT`
    note: show what this note mentions instead, with lines: an id or a path
    kind: of this kind alone: file, url, package, symbol, person, env_var, cli_flag, version or error
    number: how many are shown at most

    Example: cortex entities src/app.py
    Example: cortex entities --note publish-by-link-k3f7q2
    Example: cortex entities --kind package --number 5
    """
    kind = kind.strip().lower().replace("-", "_")
    if kind and kind not in ENTITY_KINDS:
        raise InvalidInputError(
            f"there is no kind {kind!r} of named things", f"kinds: {', '.join(ENTITY_KINDS)}"
        )
    if name and note:
        raise InvalidInputError(
            "either a name or --note, not both",
            "cortex entities NAME, or cortex entities --note ID",
        )
    ensure_fresh(vault, caller)

    def answer(now: IndexSession) -> EntityMentions:
        if name:
            return _find_mentions(vault, now.catalogue, name.strip(), kind, max(number, 1))
        return (
            _entities_of_note(now.catalogue, note, kind, max(number, 1))
            if note
            else _most_mentioned(now.catalogue, kind, max(number, 1))
        )

    return query_index(vault, caller.progress, answer)


def _find_mentions(
    vault: Vault, catalogue: Catalogue, name: str, kind: str, number: int
) -> EntityMentions:
    bare = name.removeprefix("@") if "/" not in name else name
    folded = (
        bare.casefold().rstrip("/")
        if "://" in bare
        else bare.casefold().removeprefix("./").removeprefix("$")
    )
    ending = "%/" + folded.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    condition = (
        r"((kind != 'symbol' AND (key = ? OR (kind IN ('file', 'url', 'package') AND key LIKE ? ESCAPE '\') OR (kind = 'version' AND key = ?)))"
        " OR (kind = 'symbol' AND key IN (?, ?)))"
    )
    values: list[object] = [
        folded,
        ending,
        folded.removeprefix("v"),
        bare,
        f"{bare.removesuffix('()')}()",
    ]
    if kind:
        condition += " AND kind = ?"
        values.append(kind)
    found = list(
        catalogue.select(f"SELECT number, kind, name, key FROM entity WHERE {condition}", values)
    )
    rows = {
        row.number: row
        for row in catalogue.rows_by_number({number_ for number_, *_ in found}).values()
        if row.status not in HIDDEN_STATUSES
    }
    things: dict[tuple[str, str], list[str]] = {}
    for at, kind_, spelled, key in found:
        if at in rows:
            things.setdefault((kind_, key), []).append(spelled)
    listed = sorted(rows.values(), key=lambda row: (row.tier, -row.date, row.path))
    # Matched as a whole where it stands so: `app.py` is not shown where a line has `myapp.py`.
    pattern = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
    hits = tuple(build_hit(vault, row, 0.0, pattern) for row in listed[:number])
    names = tuple(
        MentionedEntity(kind_, spelled[0], len(spelled))
        for (kind_, _), spelled in sorted(things.items())
    )
    return EntityMentions(
        hits,
        names,
        max(0, len(listed) - number),
        name,
        "" if hits else _suggest_names(catalogue, folded),
    )


def _suggest_names(catalogue: Catalogue, folded: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only where nothing was found

    begin = folded[:2]
    asked = catalogue.select(
        "SELECT DISTINCT key FROM entity WHERE key >= ? AND key < ? LIMIT ?",
        (begin, f"{begin}\U0010ffff", _MAX_COMPARED_NAMES),
    )
    near = get_close_matches(folded[:120], [key for (key,) in asked], 3)
    return f"did you mean {', '.join(near)}?" if near else "cortex search finds any word of a note"


def _entities_of_note(catalogue: Catalogue, note: str, kind: str, number: int) -> EntityMentions:
    row = resolve_note.find_one(catalogue, note)
    held = list(
        catalogue.select(
            "SELECT kind, name, line, key FROM entity WHERE number = ? AND (? = '' OR kind = ?) ORDER BY line, rowid",
            (row.number, kind, kind),
        )
    )
    shown = held[:number]
    counts = _count_notes_by_entity(catalogue, [key for *_, key in shown])
    return EntityMentions(
        (),
        tuple(
            MentionedEntity(of, name, counts.get((of, key), 0), line)
            for of, name, line, key in shown
        ),
        len(held) - len(shown),
        row.id,
    )


def _count_notes_by_entity(catalogue: Catalogue, keys: list[str]) -> dict[tuple[str, str], int]:
    marks = ",".join("?" * len(keys[:900]))
    query = f"SELECT kind, entity.key, count(*) FROM entity JOIN note USING (number) WHERE entity.key IN ({marks}) AND tier = 0 GROUP BY 1, 2"
    return {(kind, key): count for kind, key, count in catalogue.select(query, keys[:900])}


def _most_mentioned(catalogue: Catalogue, kind: str, number: int) -> EntityMentions:
    found = list(
        catalogue.select(
            "SELECT kind, min(name), count(*) AS notes FROM entity JOIN note USING (number) WHERE tier = 0 AND (? = '' OR kind = ?)"
            " GROUP BY kind, entity.key ORDER BY notes DESC, kind, entity.key",
            (kind, kind),
        )
    )
    return EntityMentions(
        (), tuple(MentionedEntity(*one) for one in found[:number]), max(0, len(found) - number)
    )
