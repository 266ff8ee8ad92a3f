"""Find notes by their words, always in the notes as they are now: in the project's vault, and in
the person's own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from cortex.core.markdown import snippet as snippets
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES, TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.model.parameters import Between, NoteName, QueryText, Since
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.ranking import query as queries, word_forms
from cortex.core.ranking.fusion import MEANING_SHARE, Fusion
from cortex.core.ranking.query import Query, QueryFilter, QueryTerm
from cortex.core.text import shell_command
from cortex.core.text.strings import close_matches, format_time
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.filters import KNOWLEDGE_TIERS, NoteFilter
from cortex.index.note_search import search_notes
from cortex.index.queries import notes_called
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import named_branches
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit, NoteRef, build_hit, read_text
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault, find_personal_vault, personal_vault_problem
from cortex.vault.state import access_log

MAX_HITS = 1000
EVERY_NOTE = "*"
Whose = Literal["", "project", "personal", "both"]
_CANDIDATES = 200  # notes that are ranked, among which events are compared with their records
_STATUSES = ("active", "open", "done", "archived", "superseded", "pruned", "deleted")
_SET_ASIDE_GROUP, _LAST_GROUP = 1, 2
_CALLED_GROUPS = 3  # before all others: called so by title, file name, alias
_LEAST_WORD_LIKENESS = 0.75  # of a mistyped word to one of a title, as difflib has it
_MAX_OTHERS = 3  # of one matter that are named beneath the best
_MAX_COMMAND_QUERY_CHARS = 80  # signs of a query that are put into a command to be copied


class SearchResult(NamedTuple):
    """The answer to a query. `problems` are the vault's: a note with a problem is still
    searched."""

    query: str
    hits: tuple[Hit, ...]
    total: int  # that were found; with words at least, as the index stops where it has enough
    problems: tuple[Problem, ...]
    hint: str = ""  # what to ask next: when there is no hit, or some were set aside
    set_aside: int = (
        0  # superseded, pruned and deleted notes that would be among the hits with --all
    )
    personal: str = ""  # the root of the person's own vault when it was searched
    # Words of the query that no note holds -> what was searched for in their place.
    corrected: dict[str, str] = {}  # noqa: RUF012  nothing changes it


class _RankedRow(NamedTuple):
    """A note of an answer. A lower group comes first, whatever the score: what is called like the
    query (below zero), then what is current, what is set aside, pages that Cortex writes."""

    group: int
    row: NoteRow
    score: float
    part: int = -1  # the passage that answers
    is_whole: bool = True  # holds every word of the query
    why: Mapping[str, float] = {}
    others: tuple[NoteRow, ...] = ()  # that tell the same matter, and answer less well


class _SearchRequest(NamedTuple):
    """The arguments of a search, parsed."""

    query: Query
    text: str  # the query as it was written
    limit: int
    every: bool  # superseded, pruned and deleted notes too
    fusion: Fusion
    similar_to: str  # a note, or empty
    explain: bool


class _Ranked(NamedTuple):
    """The best notes of a vault's index."""

    rows: list[_RankedRow]
    total: int  # how many were found
    terms: dict[str, float] = {}  # noqa: RUF012  that were looked for, with what each weighs
    corrected: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  words -> terms in their place
    dropped_count: int = 0  # of the best, superseded, pruned or deleted ones
    problems: Sequence[Problem] = ()  # why meaning was not asked


class _VaultHits(NamedTuple):
    """What one vault answers."""

    vault: Vault
    whose: Whose
    ranked: _Ranked
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
    branch: status: scope: topic: session: path: after: before: (a date, or 7d, 2w, 3m).

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
    chosen = {"type": type, "tag": tag, "project": project, "status": status}
    chosen["branch"] = named_branches(caller, branch)
    asked = _parse_query(query, caller.now, chosen, after, before)
    every = all or any(one.key == "status" and not one.negated for one in asked.filters)
    how = Fusion(0.0 if words_only else alpha, k)
    request = _SearchRequest(asked, query, number, every, how, similar_to, explain)
    parts, problems = _search_vaults(vault, whose, caller, request)
    return _build_result(caller, request, _merge_hits(request, parts), parts, problems)


def _build_result(
    caller: Caller,
    request: _SearchRequest,
    ranked: list[tuple[_VaultHits, _RankedRow]],
    parts: list[_VaultHits],
    problems: list[Problem],
) -> SearchResult:
    asked, query = request.query, request.text
    terms = next((part.ranked.terms for part in parts if part.ranked.terms), {})
    hits = _build_hits(ranked, request, terms)
    dropped = sum(part.ranked.dropped_count for part in parts)
    known = (problem for part in parts for problem in part.problems)
    problems = [*_query_problems(asked), *known, *problems]
    for part in parts:
        ids = [one.row.id for of_part, one in ranked if of_part is part]
        access_log.append(part.vault, caller, "search", ids)
    hint = f"{dropped} superseded, pruned or deleted {'note' if dropped == 1 else 'notes'} left out"
    hint = f"{hint}: {_search_all_command(query)}" if dropped else ""
    if not (dropped or hits):
        hint = _next_query_hint(parts, caller, asked, terms)
    return SearchResult(
        query=query,
        hits=hits,
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


def _parse_query(
    query: str, now: str, chosen: dict[str, tuple[str, ...]], after: int | None, before: int | None
) -> Query:
    """The query with the filters that options name."""
    asked = Query((), ()) if query.strip() == EVERY_NOTE else queries.parse(query, now)
    named = tuple(QueryFilter(key, values) for key, values in chosen.items() if values)
    return asked._replace(
        filters=asked.filters + named,
        after=max((one for one in (after, asked.after) if one is not None), default=None),
        before=min((one for one in (before, asked.before) if one is not None), default=None),
    )


def _query_problems(asked: Query) -> Iterator[Problem]:
    if asked.is_truncated:
        message = f"only its first {queries.MAX_TERMS} words are searched"
        yield Problem("query", message, "ask with fewer words")
    if asked.unknown:
        message = f"{' '.join(asked.unknown)} is no filter: it was searched as a word"
        filters = " ".join(f"{key}:" for key in queries.FILTER_KEYS)
        yield Problem("query", message, f"filters: {filters}")


def _build_hits(
    ranked: list[tuple[_VaultHits, _RankedRow]], request: _SearchRequest, terms: dict[str, float]
) -> tuple[Hit, ...]:
    named = request.query.terms
    phrases = [one.text for one in named if one.kind == "phrase" and not one.negated]
    wanted = snippets.looked_for(terms, phrases)
    hits = []
    for part, one in ranked:
        hit = build_hit(part.vault, one.row, one.score, wanted, whose=part.whose, part=one.part)
        others = one.others[:_MAX_OTHERS]
        refs = tuple(NoteRef(row.id, row.type, row.title, row.path) for row in others)
        why = _explain(part.vault, one, wanted) if request.explain else {}
        hits.append(hit._replace(others=refs, why=why))
    return tuple(hits)


def _explain(
    vault: Vault, one: _RankedRow, wanted: snippets.Wanted | None
) -> dict[str, float | dict[str, float]]:
    """What a hit was found by: its name, its words with their weights, meaning."""
    text = f"{one.row.title}\n{read_text(vault, one.row)}"
    held = wanted.found_in(text) if wanted else {}
    why: dict[str, float | dict[str, float]] = {"name": 1.0} if one.group < 0 else {}
    why |= {part: round(value, 4) for part, value in one.why.items()}
    return why | {"terms": {term: round(rare, 3) for term, rare in held.items()}}


def _search_vaults(
    vault: Vault, whose: Whose, caller: Caller, request: _SearchRequest
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
            hint = shell_command.cortex_command("--vault", one.root, "doctor")
            problems.append(Problem(one.root, f"your own vault was not searched: {error}", hint))
    if missing and not parts:
        raise missing
    return parts, problems


def _search_all_command(query: str) -> str:
    """The command that asks the same of superseded, pruned and deleted notes too."""
    if len(query) > _MAX_COMMAND_QUERY_CHARS:
        return "cortex search --all …"
    words = query.split()
    is_plain = all(shell_command.shell_quote(word) == word for word in words)
    return shell_command.cortex_command("search", "--all", *(words if is_plain else [query]))


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


def _search_vault(
    vault: Vault, whose: Whose, caller: Caller, request: _SearchRequest
) -> _VaultHits:

    def find(index: IndexSession) -> tuple[_Ranked, Iterable[Problem], int]:
        return _find_best(vault, index, request), index.problems, index.catalogue.count_notes()

    (ranked, known, note_count), problems = query_fresh(vault, caller, find)
    problems += [*known, *ranked.problems]
    if whose == "personal" and len(problems) > 1:
        message = f"{len(problems)} problems in your own vault"
        hint = shell_command.cortex_command("--vault", vault.root, "doctor")
        problems = [Problem(vault.root, message, hint)]
    elif whose == "personal":
        problems = [one._replace(where=f"{vault.root}/{one.where}") for one in problems]
    return _VaultHits(vault, whose, ranked, problems, note_count)


def _is_enough(part: _VaultHits, other: Vault, caller: Caller, request: _SearchRequest) -> bool:
    """Whether nothing of another vault could come before the last of the hits."""
    is_full = sum(one.group <= 0 and one.is_whole for one in part.ranked.rows) >= request.limit
    return (
        is_full
        and not request.query.is_question
        and not query_index(
            other,
            caller.progress,
            lambda index: notes_called(index.catalogue, request.query.text),
            words=False,
        )
    )


def _merge_hits(
    request: _SearchRequest, parts: list[_VaultHits]
) -> list[tuple[_VaultHits, _RankedRow]]:
    """The hits of all vaults: by group, of a question by score, else those with all words first,
    then by vault. What one vault has word for word from another, a promoted record, is shown once, where
    it ranks first."""
    ordered = [(part, one) for part in parts for one in part.ranked.rows]
    if len(parts) < 2:
        return ordered[: request.limit]
    if request.query.is_question:
        ordered.sort(key=lambda pair: (pair[1].group, -pair[1].score))
    else:
        ordered.sort(key=lambda pair: (pair[1].group, not pair[1].is_whole))
    kept: dict[object, tuple[_VaultHits, _RankedRow]] = {}
    for part, one in ordered:
        row = one.row
        is_record = row.id != row.path and row.digest
        # One's own vault may hold the project's.
        same = (row.id, row.digest) if is_record else f"{part.vault.root}/{row.path}"
        kept.setdefault(same, (part, one))
    return list(kept.values())[: request.limit]


def _find_best(vault: Vault, index: IndexSession, asked: _SearchRequest) -> _Ranked:
    """The best notes, without superseded, pruned and deleted ones unless they are asked for."""
    limit = asked.limit
    if asked.similar_to:
        ranked = _rank_similar(vault, index, asked)
    else:
        ranked = _rank_notes(vault, index, asked, set())
    rows = ranked.rows
    dropped = 0 if asked.every else sum(map(_is_dropped, rows[:limit]))
    if not dropped:
        return ranked._replace(rows=rows[:limit])
    kept = [one for one in rows if not _is_dropped(one)]
    total = ranked.total - len(rows) + len(kept)
    is_cut = not asked.query.terms or len(rows) >= _CANDIDATES
    if len(kept) < limit and is_cut and not asked.similar_to:
        # They may have kept others out: asked again without them.
        gone = index.catalogue.find(NoteFilter(tiers=(TIER_SET_ASIDE,), statuses=HIDDEN_STATUSES))
        events_of_gone = [event for row in gone for event in row.events]
        told = index.catalogue.numbers(NoteFilter(tiers=(TIER_TRAIL,), ids=events_of_gone))
        again = _rank_notes(vault, index, asked, {row.number for row in gone} | told)
        kept, total = again.rows, again.total
    return ranked._replace(rows=kept[:limit], total=total, dropped_count=dropped)


def _group_matters(ranked: list[_RankedRow]) -> list[_RankedRow]:
    """The best note of each matter, with the others of it that were found.

    An event goes beneath the best record made of it, without one beneath the note of its session. A
    turn that answers better than its records stands by itself; they and the session go beneath it.
    """
    holders: dict[str, _RankedRow] = {}
    for one in ranked:
        for event in one.row.events:
            known = holders.get(event)
            if not known or (known.row.type == "session" != one.row.type):
                holders[event] = one
    turns: dict[str, int] = {}  # that stand by themselves -> their numbers
    above: dict[int, int] = {}  # number of a note -> of the one that it goes beneath
    for one in ranked:
        row, holder = one.row, holders.get(one.row.id)
        if row.tier == TIER_TRAIL and holder:
            is_better = holder.row.type == "session" or one.score > holder.score
            if row.type in events.TURN_TYPES and is_better:
                turns[row.id] = row.number
            else:
                above[row.number] = holder.row.number
        elif turn := next((turns[event] for event in row.events if event in turns), None):
            above[row.number] = turn
    beneath: defaultdict[int, list[NoteRow]] = defaultdict(list)
    for one in ranked:
        if (number := above.get(one.row.number)) is not None:
            beneath[above.get(number, number)].append(one.row)
    return [
        one._replace(others=tuple(beneath[one.row.number]))
        for one in ranked
        if one.row.number not in above
    ]


def _is_dropped(one: _RankedRow) -> bool:
    return one.row.tier == TIER_SET_ASIDE and one.row.status in HIDDEN_STATUSES


def _rank_notes(
    vault: Vault, index: IndexSession, request: _SearchRequest, without: set[int]
) -> _Ranked:
    """At least the `limit` best notes, or newest without words."""
    asked, limit = request.query, request.limit
    wanted = NoteFilter(query=asked)
    filters_nothing = not asked.filters and asked.after is None and asked.before is None
    if not asked.terms:
        newest: list[NoteRow] = []
        # Events and pages are listed when a filter asks for them.
        tiers = KNOWLEDGE_TIERS if filters_nothing else (*KNOWLEDGE_TIERS, TIER_TRAIL)
        wanted = wanted._replace(tiers=tiers)
        for tier in tiers:
            most = limit - len(newest) + len(without)
            of_tier = index.catalogue.find(wanted._replace(tiers=(tier,)), "-date", most)
            newest += [row for row in of_tier if row.number not in without]
        total = len(index.catalogue.numbers(wanted) - without)
        ranked = [_RankedRow(row.tier, row, 0.0) for row in newest]
        left = _group_matters(ranked)
        return _Ranked(left, total - len(ranked) + len(left))
    fused = search_notes(
        vault,
        index,
        asked,
        max(_CANDIDATES, 2 * limit),
        (TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL),
        allowed=None if filters_nothing else index.catalogue.numbers(wanted),
        without=without,
        fusion=request.fusion,
    )
    rows = index.catalogue.rows_by_number(one.number for one in fused.found.notes)
    ranked = []
    for one in fused.found.notes:
        row = rows[one.number]
        # Pages that Cortex writes itself, and what is no event, come last.
        is_last = row.tier == TIER_TRAIL and (row.type == "briefing" or row.status == "failed")
        group = _LAST_GROUP if is_last else _SET_ASIDE_GROUP * one.is_set_aside
        why = {"words": fused.words.get(one.number, 0.0)}
        if fused.cosines:
            why["meaning"] = fused.cosines[one.number]
        ranked.append(_RankedRow(group, row, one.score, one.part, one.is_whole, why))
    ranked = _called_first(index, asked, ranked, without)
    ranked.sort(key=lambda one: (one.group, -one.score, one.row.path))
    left = _group_matters(ranked)
    return _Ranked(
        left, len(left), fused.found.terms, fused.found.corrected, problems=fused.problems
    )


def _rank_similar(vault: Vault, index: IndexSession, request: _SearchRequest) -> _Ranked:
    """The notes nearest in meaning to one; without vectors, those with the words of its title."""
    from cortex.index import semantic  # noqa: PLC0415  as above

    if request.query.terms:
        hint = "cortex search --similar-to NOTE; filters may stand beside it"
        raise InvalidInputError("a note to compare with takes no words beside it", hint)
    asked, like = request.query, resolve_note.find_one(index.catalogue, request.similar_to)
    wanted = NoteFilter(query=asked, tiers=KNOWLEDGE_TIERS)
    allowed = index.catalogue.numbers(wanted) - {like.number}
    near = semantic.similar_to(index, like.number, max(_CANDIDATES, 2 * request.limit), allowed)
    if near.found:
        rows = index.catalogue.rows_by_number(one.number for one in near.found)
        ranked = []
        for one in near.found:
            group = _SET_ASIDE_GROUP * (rows[one.number].tier == TIER_SET_ASIDE)
            why = {"meaning": one.cosine}
            ranked.append(_RankedRow(group, rows[one.number], one.cosine, one.part, why=why))
        ranked.sort(key=lambda one: (one.group, -one.score, one.row.path))
        return _Ranked(ranked, len(ranked))
    words = tuple(QueryTerm("word", word) for word in like.title.split()[: queries.MAX_TERMS])
    by_words = request._replace(query=asked._replace(terms=words, text=like.title))
    told = index.catalogue.numbers(NoteFilter(tiers=(TIER_TRAIL,), ids=like.events))
    answer = _rank_notes(vault, index, by_words, {like.number} | told)
    message = f"no vectors to compare {like.id} with: compared by the words of its title"
    problem = near.problem or Problem("semantic", message, "cortex embed")
    return answer._replace(problems=[problem])


def _called_first(
    index: IndexSession, asked: Query, ranked: list[_RankedRow], without: set[int]
) -> list[_RankedRow]:
    """The notes, those called like the query first: by title, then file name, then alias."""
    if any(one.negated for one in asked.terms):
        return ranked
    called = notes_called(index.catalogue, asked.text)
    numbers = called.keys() - without
    if not numbers:
        return ranked
    found = {one.row.number: one for one in ranked}
    wanted = NoteFilter(query=asked, numbers=numbers, tiers=KNOWLEDGE_TIERS)
    for row in index.catalogue.find(wanted):
        one = found.get(row.number, _RankedRow(0, row, 0.0))
        if row.status not in HIDDEN_STATUSES:
            found[row.number] = one._replace(group=called[row.number] - _CALLED_GROUPS)
    return [*found.values()]


def _next_query_hint(
    parts: list[_VaultHits], caller: Caller, asked: Query, terms: dict[str, float]
) -> str:
    """What to ask next, of an answer without hits."""
    if not any(part.note_count for part in parts):
        return 'there is nothing to search yet: cortex capture "What we found out"'
    overview = "cortex status shows which types and projects there are"
    if cause := _empty_filters([part.vault for part in parts], caller, asked):
        return f"{cause}{' ' if cause.endswith('?') else ': '}try it without, or {overview}"
    if asked.terms and not terms:
        return "its words are too common to be looked for; add one that is not"
    if _list_filters(asked):
        return f"try it without the filters, or {overview}"
    begin = next((one.text[:4] for one in asked.terms if one.text[:4].isalnum()), "merg")
    return f"try other words, or the beginning of one: cortex search '{begin}*'"


def _list_filters(asked: Query) -> list[tuple[str, Query]]:
    """Each filter of a query, as it is shown and as a query of its own."""
    listed = []
    for one in asked.filters:
        shown = f"{'-' * one.negated}{one.key}:{','.join(one.values)}"
        listed.append((shown, Query((), (one,))))
    if asked.after is not None:
        listed.append((f"after:{_utc_time(asked.after)}", Query((), (), after=asked.after)))
    if asked.before is not None:
        listed.append((f"before:{_utc_time(asked.before)}", Query((), (), before=asked.before)))
    return listed


def _utc_time(seconds: int) -> str:
    return format_time(seconds).removesuffix("T00:00:00Z") or "a time before the year 1"


def _empty_filters(vaults: list[Vault], caller: Caller, asked: Query) -> str:
    """Which filter no note passes, or that none passes all of them; empty when one does."""
    listed = _list_filters(asked)
    if not listed:
        return ""
    asked_for = [asked._replace(terms=()), *(one for _, one in listed)]

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
    from cortex.core.model.record import RECORD_TYPES  # noqa: PLC0415  1 ms, for a mistake alone

    known.update({"type": RECORD_TYPES, "status": _STATUSES}.get(key, ()))
    near = close_matches(value.lower(), filter(None, known), 1, _LEAST_WORD_LIKENESS)
    return f": did you mean {near[0]}?" if near else ""
