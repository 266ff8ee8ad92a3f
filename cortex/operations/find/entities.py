"""Named things that notes mention: what a note names, who names a thing, and what is named most."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Invalid
from cortex.core.model.status import DROPPED
from cortex.index.catalogue import Catalogue
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.vault.locate import Vault

# As `core/extract/entities.py` has them, whose patterns a question does not need.
KINDS = ("file", "url", "package", "symbol", "person", "env_var", "cli_flag", "version", "error")
_ALIKE = 400  # names that begin alike and are compared


class Named(NamedTuple):
    """A thing with a name."""

    kind: str
    name: str
    notes: int  # how many current notes mention it
    line: int = 0  # where the note that was asked about mentions it first


class Mentions(NamedTuple):
    """Things that are named, or the notes that name one."""

    records: tuple[Hit, ...]
    entities: tuple[Named, ...]
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
) -> Mentions:
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
    if kind and kind not in KINDS:
        raise Invalid(f"there is no kind {kind!r} of named things", f"kinds: {', '.join(KINDS)}")
    if name and note:
        raise Invalid(
            "either a name or --note, not both",
            "cortex entities NAME, or cortex entities --note ID",
        )
    freshen(vault, caller)

    def answer(now: Views) -> Mentions:
        if name:
            return _mentioning(vault, now.catalogue, name.strip(), kind, max(number, 1))
        return (
            _of_note(now.catalogue, note, kind, max(number, 1))
            if note
            else _most(now.catalogue, kind, max(number, 1))
        )

    return look(vault, caller.progress, answer)


def _mentioning(vault: Vault, catalogue: Catalogue, name: str, kind: str, number: int) -> Mentions:
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
        catalogue.asked(f"SELECT number, kind, name, key FROM entity WHERE {condition}", values)
    )
    rows = {
        row.number: row
        for row in catalogue.numbered({number_ for number_, *_ in found}).values()
        if row.status not in DROPPED
    }
    things: dict[tuple[str, str], list[str]] = {}
    for at, kind_, spelled, key in found:
        if at in rows:
            things.setdefault((kind_, key), []).append(spelled)
    listed = sorted(rows.values(), key=lambda row: (row.tier, -row.date, row.path))
    # Matched as a whole where it stands so: `app.py` is not shown where a line has `myapp.py`.
    pattern = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
    hits = tuple(hit(vault, row, 0.0, pattern) for row in listed[:number])
    names = tuple(
        Named(kind_, spelled[0], len(spelled)) for (kind_, _), spelled in sorted(things.items())
    )
    return Mentions(
        hits, names, max(0, len(listed) - number), name, "" if hits else _hint(catalogue, folded)
    )


def _hint(catalogue: Catalogue, folded: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only where nothing was found

    begin = folded[:2]
    asked = catalogue.asked(
        "SELECT DISTINCT key FROM entity WHERE key >= ? AND key < ? LIMIT ?",
        (begin, f"{begin}\U0010ffff", _ALIKE),
    )
    near = get_close_matches(folded[:120], [key for (key,) in asked], 3)
    return f"did you mean {', '.join(near)}?" if near else "cortex search finds any word of a note"


def _of_note(catalogue: Catalogue, note: str, kind: str, number: int) -> Mentions:
    row = resolve_note.one(catalogue, note)
    held = list(
        catalogue.asked(
            "SELECT kind, name, line, key FROM entity WHERE number = ? AND (? = '' OR kind = ?) ORDER BY line, rowid",
            (row.number, kind, kind),
        )
    )
    shown = held[:number]
    counts = _counts(catalogue, [key for *_, key in shown])
    return Mentions(
        (),
        tuple(Named(of, name, counts.get((of, key), 0), line) for of, name, line, key in shown),
        len(held) - len(shown),
        row.id,
    )


def _counts(catalogue: Catalogue, keys: list[str]) -> dict[tuple[str, str], int]:
    marks = ",".join("?" * len(keys[:900]))
    query = f"SELECT kind, entity.key, count(*) FROM entity JOIN note USING (number) WHERE entity.key IN ({marks}) AND tier = 0 GROUP BY 1, 2"
    return {(kind, key): count for kind, key, count in catalogue.asked(query, keys[:900])}


def _most(catalogue: Catalogue, kind: str, number: int) -> Mentions:
    found = list(
        catalogue.asked(
            "SELECT kind, min(name), count(*) AS notes FROM entity JOIN note USING (number) WHERE tier = 0 AND (? = '' OR kind = ?)"
            " GROUP BY kind, entity.key ORDER BY notes DESC, kind, entity.key",
            (kind, kind),
        )
    )
    return Mentions((), tuple(Named(*one) for one in found[:number]), max(0, len(found) - number))
