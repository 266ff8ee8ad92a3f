"""Find notes by their words, always in the notes as they are now: in the project's vault, and in
the person's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from cortex.core.markdown import snippet as snippets
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between, NoteName, QueryText, Since
from cortex.core.model.problem import CortexError, NotFoundError, Problem
from cortex.core.model.record import RECORD_TYPES
from cortex.core.ranking import query as queries, word_forms
from cortex.core.ranking.note_score import MEANING_SHARE, Fusion
from cortex.core.ranking.query import Query
from cortex.core.text import strings
from cortex.core.text.days import clock
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import named_branches, with_project_names
from cortex.operations.find.best_notes import RankedNote, RankedNotes, SearchRequest, find_best
from cortex.operations.find.hits import MAX_ECHOED_CHARS, Hit, NoteRef, build_hit, expand, read_text
from cortex.operations.find.verify_claims import find_doubts
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault, find_personal_vault, personal_vault_problem
from cortex.vault.state import access_log

MAX_HITS = 1000
EVERY_NOTE = "*"
Whose = Literal["", "project", "personal", "both"]
_MAX_OTHERS = 3  # of one matter that are named beneath the best
_MAX_COMMAND_QUERY_CHARS = 80  # signs of a query that are put into a command to be copied
_STATUSES = ("active", "open", "done", "archived", "superseded", "pruned", "deleted")
_LEAST_WORD_LIKENESS = 0.75  # of a mistyped word to one of a title, as difflib has it


class SearchResult(NamedTuple):
    """The answer to a query. `problems` are the vault's: a note with a problem is still
    searched."""

    query: str
    hits: tuple[Hit, ...]
    total: int  # that were found; with words at least, as the index stops where it has enough
    problems: tuple[Problem, ...]
    hint: str = ""  # what to ask next: when there is no hit, or some were set aside
    set_aside: int = 0  # superseded, pruned and deleted notes, which --all would bring
    personal: str = ""  # the root of the person's own vault when it was searched
    # Words of the query that no note holds -> what was searched for in their place.
    corrected: dict[str, str] = {}  # noqa: RUF012  nothing changes it


class _VaultHits(NamedTuple):
    """What one vault answers."""

    vault: Vault
    whose: Whose
    ranked: RankedNotes
    problems: list[Problem]
    note_count: int  # in all


def search(
    vault: Vault,
    caller: Caller,
    query: QueryText = EVERY_NOTE,
    *,
    type: tuple[str, ...] = (),
    tag: tuple[str, ...] = (),
    project: tuple[str, ...] = (),
    branch: tuple[str, ...] = (),
    status: tuple[str, ...] = (),
    after: Since | None = None,
    before: Since | None = None,
    number: Annotated[int, Between(1, MAX_HITS)] = 10,
    all: bool = False,
    whose: Whose = "",
    words_only: bool = False,
    similar_to: NoteName = "",
    explain: bool = False,
    alpha: Annotated[float, Between(0, 1)] = MEANING_SHARE,
    k: Annotated[int, Between(0, 1000)] = 0,
) -> SearchResult:
    """Find notes by words and meaning; without any the newest.

    Beside words a query may hold "a phrase", pre*, ~like, -not, and the filters type: tag: project:
    branch: status: scope: topic: session: path: after: before: on: (a date, or 7d, 2w, 3m).

    The note whose title, file name or alias is the query comes first; of up to three words, a note
    that lacks one comes behind those that hold all; a question is answered by what says most of it,
    and by meaning, where notes have vectors (cortex embed). A word that no note holds is corrected.
    Of an event, its record and its session the best is shown, the others beneath. Archived records
    come last, what is superseded, pruned or deleted is counted. Your own vault is searched too.

    query: what to look for; by default every note; a single - reads standard input
    type: only notes of these types
    tag: only notes with one of these tags
    project: only of these projects
    branch: only of these branches; `.` is the one checked out, with what belongs to none, `*` all
    status: only with one of these statuses
    after: only what was changed since then
    before: only what was changed before
    number: how many hits at the most
    all: superseded, pruned and deleted notes too; a status: filter brings them as well
    whose: project, personal or both vaults; without it both, unless --vault names one
    words_only: by words alone, though there are vectors
    similar_to: notes that mean the same as this one, instead of a query
    explain: say of each hit what it was found by
    alpha: what meaning counts beside words, 0 to 1
    k: above 0, words and meaning are fused by reciprocal ranks with this constant

    Example: cortex search how do we merge briefings
    Example: cortex search 'type:decision,gotcha after:3m "power cut" -windows'
    """
    chosen = {"type": type, "tag": tag, "project": project, "status": status, "branch": named_branches(caller, branch)}  # fmt: skip
    is_all, now, zone = query.strip() == EVERY_NOTE, caller.now, caller.zone
    parsed = Query((), (), zone=zone) if is_all else queries.parse(query, now, zone)
    narrowed = with_project_names(vault, parsed.narrowed(chosen, after, before))
    every = all or any(one.key == "status" and not one.negated for one in narrowed.filters)
    how = Fusion(0.0 if words_only else alpha, k)
    request = SearchRequest(narrowed, query, number, every, how, similar_to, explain)
    return _build_result(caller, request, *_search_vaults(vault, whose, caller, request))


def _build_result(
    caller: Caller,
    request: SearchRequest,
    parts: list[_VaultHits],
    problems: list[Problem],
) -> SearchResult:
    query = request.query
    ranked = _merge_hits(request, parts)
    terms = next((part.ranked.terms for part in parts if part.ranked.terms), {})
    hits = _build_hits(caller, ranked, request, terms)
    dropped = sum(part.ranked.dropped_count for part in parts)
    known = (problem for part in parts for problem in part.problems)
    problems = [*_query_problems(query), *known, *problems]
    for part in parts:
        ids = [one.row.id for of_part, one in ranked if of_part is part]
        access_log.append(part.vault, caller, "search", ids)
    hint = f"{dropped} superseded, pruned or deleted {'note' if dropped == 1 else 'notes'} left out"
    hint = f"{hint}: {_search_all_command(request.text)}" if dropped else ""
    if not (dropped or hits):
        hint = _next_query_hint(
            [part.vault for part in parts],
            caller,
            query,
            has_notes=any(part.note_count for part in parts),
            has_terms=bool(terms),
        )
    return SearchResult(
        query=shorten(request.text, MAX_ECHOED_CHARS),
        hits=hits[: request.limit],
        total=max(len(hits), sum(part.ranked.total for part in parts)),
        problems=tuple(problems),
        hint=hint,
        set_aside=dropped,
        personal=next((part.vault.root for part in parts if part.whose == "personal"), ""),
        corrected={
            word: shown
            for part in parts
            for word, instead in part.ranked.corrected.items()
            if instead
            and all(word in other.ranked.corrected or not other.ranked.terms for other in parts)
            if (shown := _show_terms(instead, hits)) != word
        },
    )


def _show_terms(terms: tuple[str, ...], hits: tuple[Hit, ...]) -> str:
    """Terms, which are stems, as words that the hits show."""
    texts = [text for hit in hits for text in (hit.title, hit.snippet)]
    return " ".join(word_forms.shown_word(term, texts) for term in terms)


def _query_problems(query: Query) -> Iterator[Problem]:
    if query.is_truncated:
        message = f"only its first {queries.MAX_TERMS} words are searched"
        yield Problem("query", message, "ask with fewer words")
    if query.unknown:
        message = f"{' '.join(query.unknown)} is no filter: it was searched as a word"
        filters = " ".join(f"{key}:" for key in queries.FILTER_KEYS)
        yield Problem("query", message, f"filters: {filters}")


def _build_hits(
    caller: Caller, ranked: list[tuple[_VaultHits, RankedNote]], request: SearchRequest, terms: dict[str, float]
) -> tuple[Hit, ...]:  # fmt: skip
    wanted = snippets.looked_for(terms, request.query.phrases)
    hits: list[Hit] = []
    doubts: dict[str, str] = {}
    for vault in {part.vault for part, _ in ranked}:
        rows = [one.row for part, one in ranked if part.vault == vault]
        doubts |= find_doubts(vault, caller, rows)
    for part, one in ranked:
        hit = build_hit(part.vault, one.row, one.score, wanted, whose=part.whose, part=one.part)
        others = one.others[:_MAX_OTHERS]
        refs = tuple(NoteRef(row.id, row.type, row.title, row.path) for row in others)
        why = _explain(part.vault, one, wanted) if request.explain else {}
        hits.append(hit._replace(others=refs, why=why, doubt=doubts.get(one.row.id, "")))
    for vault in {part.vault for part, _ in ranked}:
        hits = expand(vault, caller, request.query, hits, wanted)
    return tuple(hits)


def _explain(
    vault: Vault, one: RankedNote, wanted: snippets.Wanted | None
) -> dict[str, float | dict[str, float]]:
    """What a hit was found by: its name, its words with their weights, meaning."""
    text = f"{one.row.title}\n{read_text(vault, one.row)}"
    weights = wanted.found_in(text) if wanted else {}
    why: dict[str, float | dict[str, float]] = {"name": 1.0} if one.group < 0 else {}
    why |= {part: round(value, 4) for part, value in one.why.items()}
    return why | {"terms": {term: round(weight, 3) for term, weight in weights.items()}}


def _search_vaults(
    vault: Vault, whose: Whose, caller: Caller, request: SearchRequest
) -> tuple[list[_VaultHits], list[Problem]]:
    """What each of the vaults that are meant answers, and why the person's own does not."""
    vaults, problems = _select_vaults(vault, whose)
    parts: list[_VaultHits] = []
    missing: NotFoundError | None = None
    for one, owner in vaults:
        try:
            if parts and _is_enough(parts[0], one, caller, request):
                break
            parts.append(_search_vault(one, owner, caller, request))
        except NotFoundError as error:  # the note to compare with is in another vault
            if not request.similar_to or len(vaults) == 1:
                raise
            missing = error
        except (CortexError, OSError) as error:
            if one.root == vault.root or whose == "personal":
                raise
            hint = strings.cortex_command("--vault", one.root, "doctor")
            problems.append(Problem(one.root, f"your own vault was not searched: {error}", hint))
    if missing and not parts:
        raise missing
    return parts, problems


def _search_all_command(query: str) -> str:
    """The command that asks the same of superseded, pruned and deleted notes too."""
    if len(query) > _MAX_COMMAND_QUERY_CHARS:
        return "cortex search --all …"
    words = query.split()
    is_plain = all(strings.shell_quote(word) == word for word in words)
    return strings.cortex_command("search", "--all", *(words if is_plain else [query]))


def _select_vaults(vault: Vault, whose: Whose) -> tuple[list[tuple[Vault, Whose]], list[Problem]]:
    """The vaults that are meant, in the order of their hits, and what is wrong with one's own."""
    if whose == "project" or (vault.is_explicit and not whose):
        return [(vault, "project")], []
    own, problem = find_personal_vault(vault), personal_vault_problem(vault)
    if whose == "personal":
        if own is None:
            message = "you have no vault of your own beside this one"
            message = f"{problem.where} {problem.message}" if problem else message
            raise NotFoundError(message, "cortex init DIR --default makes DIR your own vault")
        return [(own, "personal")], []
    vaults: list[tuple[Vault, Whose]] = [(vault, "project")]
    if own:
        vaults.append((own, "personal"))
    return vaults, [problem] if problem else []


def _search_vault(vault: Vault, whose: Whose, caller: Caller, request: SearchRequest) -> _VaultHits:

    def find(index: IndexSession) -> tuple[RankedNotes, Iterable[Problem], int]:
        return find_best(vault, index, request), index.problems, index.catalogue.count_notes()

    (ranked, known, note_count), problems = query_fresh(vault, caller, find, words=True)
    problems += [*known, *ranked.problems]
    if whose == "personal" and len(problems) > 1:
        message = f"{len(problems)} problems in your own vault"
        hint = strings.cortex_command("--vault", vault.root, "doctor")
        problems = [Problem(vault.root, message, hint)]
    elif whose == "personal":
        problems = [one._replace(where=vault.file(one.where)) for one in problems]
    return _VaultHits(vault, whose, ranked, problems, note_count)


def _is_enough(part: _VaultHits, other: Vault, caller: Caller, request: SearchRequest) -> bool:
    """Whether nothing of another vault could come before the last of the hits."""
    is_full = sum(one.group <= 0 and one.is_whole for one in part.ranked.rows) >= request.limit
    if not is_full or request.query.is_question:
        return False
    text = request.query.text
    return not query_index(other, caller.progress, lambda index: index.catalogue.notes_called(text))


def _merge_hits(
    request: SearchRequest, parts: list[_VaultHits]
) -> list[tuple[_VaultHits, RankedNote]]:
    """The hits of all vaults: by group, of a question by score, else those with all words first,
    then by vault. What one vault has word for word from another, a promoted record, is shown once, where
    it ranks first."""
    ordered = [(part, one) for part in parts for one in part.ranked.rows]
    if len(parts) < 2:
        return ordered[: request.limit]
    by_score = request.query.is_question
    ordered.sort(
        key=lambda pair: (pair[1].group, -pair[1].score if by_score else not pair[1].is_whole)
    )
    kept: dict[object, tuple[_VaultHits, RankedNote]] = {}
    for part, one in ordered:
        row = one.row
        is_record = row.id != row.path and row.digest
        # One's own vault may hold the project's.
        same = (row.id, row.digest) if is_record else f"{part.vault.root}/{row.path}"
        kept.setdefault(same, (part, one))
    return list(kept.values())[: request.limit]


def _next_query_hint(
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
    for word, moment in (("after", query.after), ("before", query.before)):
        if moment is not None:
            shown = clock(strings.format_time(moment), query.zone).removesuffix("T00:00:00")
            bare = Query((), (), zone=query.zone)
            bound = bare._replace(after=moment) if word == "after" else bare._replace(before=moment)
            listed.append((f"{word}:{shown or 'a time before the year 1'}", bound))
    return listed


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
    near = strings.close_matches(value.lower(), filter(None, known), 1, _LEAST_WORD_LIKENESS)
    return f": did you mean {near[0]}?" if near else ""
