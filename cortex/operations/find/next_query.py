"""What to ask next, where a search found nothing."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.record import RECORD_TYPES
from cortex.core.ranking.query import Query
from cortex.core.text.strings import close_matches, format_time
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.vault.locate import Vault

_STATUSES = ("active", "open", "done", "archived", "superseded", "pruned", "deleted")
_LEAST_WORD_LIKENESS = 0.75  # of a mistyped word to one of a title, as difflib has it


def next_query_hint(
    vaults: list[Vault], caller: Caller, query: Query, *, has_notes: bool, has_terms: bool
) -> str:
    """What to ask next, of an answer without hits. `has_terms`: words of the query were looked for."""
    if not has_notes:
        return 'there is nothing to search yet: cortex capture "What we found out"'
    overview = "cortex status shows which types and projects there are"
    if cause := _empty_filters(vaults, caller, query):
        return f"{cause}{' ' if cause.endswith('?') else ': '}try it without, or {overview}"
    if query.terms and not has_terms:
        return "its words are too common to be looked for; add one that is not"
    if _list_filters(query):
        return f"try it without the filters, or {overview}"
    begin = next((one.text[:4] for one in query.terms if one.text[:4].isalnum()), "merg")
    return f"try other words, or the beginning of one: cortex search '{begin}*'"


def _list_filters(query: Query) -> list[tuple[str, Query]]:
    """Each filter of a query, as it is shown and as a query of its own."""
    listed = []
    for one in query.filters:
        shown = f"{'-' * one.negated}{one.key}:{','.join(one.values)}"
        listed.append((shown, Query((), (one,))))
    if query.after is not None:
        listed.append((f"after:{_utc_time(query.after)}", Query((), (), after=query.after)))
    if query.before is not None:
        listed.append((f"before:{_utc_time(query.before)}", Query((), (), before=query.before)))
    return listed


def _utc_time(seconds: int) -> str:
    return format_time(seconds).removesuffix("T00:00:00Z") or "a time before the year 1"


def _empty_filters(vaults: list[Vault], caller: Caller, query: Query) -> str:
    """Which filter no note passes, or that none passes all of them; empty when one does."""
    listed = _list_filters(query)
    if not listed:
        return ""
    asked_for = [query._replace(terms=()), *(one for _, one in listed)]

    def count(index: IndexSession) -> list[int]:
        return [index.catalogue.count(NoteFilter(query=one)) for one in asked_for]

    counts = [query_index(vault, caller.progress, count) for vault in vaults]
    all_together, *each = map(sum, zip(*counts, strict=True))
    for (shown, _), passing in zip(listed, each, strict=True):
        if not passing:
            return f"no note passes {shown}{_near_values(vaults, caller, shown)}"
    return "" if all_together else "no note passes all of its filters"


def _near_values(vaults: list[Vault], caller: Caller, shown: str) -> str:
    """What a filter that no note passes may have meant, by the values that notes have."""
    key, _, value = shown.lstrip("-").partition(":")
    if key not in ("type", "project", "branch", "status", "scope", "topic"):
        return ""
    known = {
        word
        for vault in vaults
        for word in query_index(vault, caller.progress, lambda index: index.catalogue.count_by(key))
    }
    known.update({"type": RECORD_TYPES, "status": _STATUSES}.get(key, ()))
    near = close_matches(value.lower(), filter(None, known), 1, _LEAST_WORD_LIKENESS)
    return f": did you mean {near[0]}?" if near else ""
