"""What the vault knows that bears on a prompt: at most a few lines, and none when nothing bears on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import CURRENT, DONE, MAX_NOTE_BYTES, decoded
from cortex.core.ranking import relevance
from cortex.core.ranking.relevance import Bearing
from cortex.core.text import context_markers
from cortex.core.text.prompt import bounded
from cortex.index.catalogue import Catalogue, Damaged, Standing
from cortex.operations.find.spans import checked
from cortex.vault import files
from cortex.vault.locate import Vault, personal_vault
from cortex.vault.state import access_log, reminder_log

MOST = 20
MOST_CHARACTERS = 2_000  # of the text with its frame, whatever the number of lines
_LONGEST_TITLE, _LONGEST_GIST = 160, 200  # characters
_LOOKED_AT = 400  # notes that bear on a prompt, of which it is asked whether they may be told
_MOST_STEPS = 20  # from what was superseded to what holds in its place
_UNSURE = 0.75  # a lower confidence is said
_LAST_LOOK_WAIT = 0.2  # seconds that a hook waits for somebody who is bringing the index up to date
_HEAD = "Records that bear on the prompt; cortex show ID gives one whole:"
_RECORD = "tier < 2 AND id != CAST(path AS TEXT) AND type NOT IN ('session', 'briefing', '')"
_MOST_OWED = 1_000  # notes whose words a hook waits for: about a second
_MOST_CLAIMS = 5  # that are compared with the project's files
_UNCLAIMED = ("action", "plan")  # types that tell what is to come
_EVERYWHERE = ("personal", "global")


class Line(NamedTuple):
    """A record that bears on the prompt. `text` is one line, the title not in it."""

    id: str
    title: str
    text: str
    type: str
    date: str
    doubt: str = ""  # what reality says against it


class Reminded(NamedTuple):
    """What bears on a prompt, and the same as the text that an agent is given; both empty when nothing does."""

    lines: tuple[Line, ...]
    text: str
    problems: tuple[Problem, ...]


class _Ask(NamedTuple):
    """A prompt, and what may be told."""

    prompt: str
    projects: Sequence[str]
    said: frozenset[str]  # ids that need no telling
    number: int
    branch: str
    own: bool = False  # asked of the person's own vault: only what is theirs everywhere


class _Match(NamedTuple):
    """A record to be told."""

    score: float
    vault: Vault
    standing: Standing
    digest: bytes  # of its file, when the catalogue read it
    owned: bool  # by the person, not the project


class _Sentence(NamedTuple):
    """A record as its file has it now."""

    line: Line
    match: _Match
    body: str
    created: str


def remind(
    vault: Vault,
    caller: Caller,
    prompt: str,
    *,
    session: str = "",
    project: str = "",
    branch: str = "",
    number: int = 5,
) -> Reminded:
    """Say what the vault knows that bears on a prompt, and nothing when nothing does.

    Current records of the project, of no project, and those that are yours everywhere (scope personal or global, also of your own
    vault); in the place of what was superseded, what holds now. At most 2,000 characters, framed as reference
    data for an agent. With a session, nothing that its briefing says, and nothing twice.

    prompt: what somebody asks an agent; a single - reads standard input
    session: the session in which it is asked
    project: by default the one of the working directory
    branch: by default the one that is checked out there; what was said on another one comes behind
    number: how many lines at the most

    Example: cortex remind why do we not use os.replace
    Example: cortex remind --session 5f1c --json 'the search misses the second change of a note'
    """
    checked(number, MOST, "cortex remind -n 5 …")
    text = bounded(context_markers.without(bounded(prompt)))
    if relevance.is_idle(text):
        return Reminded((), "", ())
    project, branch = _place(caller, project, branch)
    said = _told_before(vault, caller, session, project, branch) if session else frozenset[str]()
    asked = _Ask(text, _names(vault, caller, project), said, number, branch)
    problems: list[Problem] = []
    found = _matches(vault, caller, asked, problems)
    if own := None if vault.named else personal_vault(vault):
        try:
            found += _matches(own, caller, asked._replace(own=True), problems)
        except (CortexError, OSError) as error:
            problems.append(
                Problem(own.root, f"your own vault was not looked in: {error}", "cortex doctor")
            )
    found.sort(key=lambda one: (-one.score, one.standing.path))
    sentences = _sentences(found, number)
    lines, text = _fitted(_doubted(caller, project, sentences, problems))
    if session:
        reminder_log.remember(vault, session, [line.id for line in lines])
    access_log.mark(vault, caller, "remind", [line.id for line in lines])
    return Reminded(lines, text, tuple(problems))


def _place(caller: Caller, project: str, branch: str) -> tuple[str, str]:
    """Project and branch that are meant; a hook names both."""
    from cortex.vault.git import checkout  # noqa: PLC0415

    return project or checkout.project_of(caller.cwd), branch.strip() or checkout.branch_of(
        caller.cwd
    )


def _names(vault: Vault, caller: Caller, project: str) -> list[str]:
    """Every name under which the project's records may be kept."""
    from cortex.operations.find.project_context import names_of, project_here  # noqa: PLC0415  reading settings takes 6 ms

    return names_of(vault, project_here(vault, caller, project))


def _told_before(
    vault: Vault, caller: Caller, session: str, project: str, branch: str
) -> frozenset[str]:
    """What the session's briefing said, and what it was reminded of. The briefing is asked for once: what is kept later may be
    another one. A session that is known to have begun was given the last one, whatever has changed since; another one may have
    been given what still holds."""
    heard = reminder_log.reminded(vault, session)
    if said := heard - {reminder_log.BEGUN}:
        return said
    from cortex.operations.sessions.brief import key_of  # noqa: PLC0415  once in a session
    from cortex.vault.state.briefing_cache import kept, last  # noqa: PLC0415

    known = (last if reminder_log.BEGUN in heard else kept)(
        vault, key_of(caller.cwd, project, branch)
    )
    if known is not None:
        reminder_log.remember(vault, session, known.ids)
    return frozenset(known.ids if known else ())


def _matches(vault: Vault, caller: Caller, asked: _Ask, problems: list[Problem]) -> list[_Match]:
    """The records of a vault that bear on the prompt, best first, those that may not be told left out."""

    def at(catalogue: Catalogue, words: str) -> list[_Match]:
        from cortex.index.engines.whoosh.relevance_search import bearing_on  # noqa: PLC0415  Whoosh costs 22 ms, and most prompts ask nothing

        chosen = _told_of(catalogue, bearing_on(words, asked.prompt), asked)
        return [
            _Match(one.score, vault, standing, _digest_of(catalogue, standing), asked.own)
            for one, standing in chosen
        ]

    if caller.source == "hook" and (seen := _as_last_seen(vault, at)) is not None:
        return seen
    from cortex.index.refresh import look  # noqa: PLC0415  seldom in a hook

    if caller.source != "hook":
        from cortex.operations.find.ensure_fresh import freshen  # noqa: PLC0415  a hook does not

        problems += freshen(vault, caller)
    return look(vault, caller.progress, lambda now: at(now.catalogue, now.words))


def _as_last_seen(
    vault: Vault, at: Callable[[Catalogue, str], list[_Match]]
) -> list[_Match] | None:
    """As of the last look, however old: a hook may not read what has come since. Each note that is told is compared with its
    file. Nothing when there was no look, or somebody is at it; None when that look left to the next one the words of some notes, few
    enough to wait for."""
    import sqlite3  # noqa: PLC0415

    from cortex.index.refresh import INDEX, sealed_state  # noqa: PLC0415
    from cortex.vault.lock import lock  # noqa: PLC0415

    folder = vault.cache()
    try:
        with lock(
            os.path.join(folder, "index.lock"), "search index", shared=True, wait=_LAST_LOOK_WAIT
        ):
            if sealed_state(folder) is None:
                return []
            with Catalogue(folder, writable=False) as catalogue:
                if catalogue.is_untold():
                    gone, come = catalogue.untold()
                    if len(gone) + len(come) <= _MOST_OWED:
                        return None
                return at(catalogue, os.path.join(folder, INDEX))
    except (CortexError, Damaged, sqlite3.DatabaseError):
        return []  # the next command, or the watcher, builds it anew


def _told_of(
    catalogue: Catalogue, found: Sequence[Bearing], asked: _Ask
) -> list[tuple[Bearing, Standing]]:
    """What may be told of notes that bear on the prompt, each once, with its score among them."""
    some = found[:_LOOKED_AT]
    standings = {one.number: one for one in _standings(catalogue, [one.number for one in some])}
    best: dict[str, tuple[Bearing, Standing]] = {}
    for one in some:
        standing = standings.get(one.number)
        if standing is not None and standing.status == "superseded":
            standing = _in_its_place(catalogue, standing)
        if standing is not None and standing.type == "action" and one.share < relevance.TO_DO:
            continue
        if standing is not None and _may_be_told(standing, asked):
            best.setdefault(
                standing.id, (one._replace(score=_weighed(one, standing, asked.branch)), standing)
            )
    least = relevance.beside(one.score for one, _ in best.values())
    ranked = sorted(best.values(), key=lambda pair: (-pair[0].score, pair[1].path))
    return [pair for pair in ranked if pair[0].score >= least and pair[1].id not in asked.said][
        : asked.number
    ]


def _weighed(one: Bearing, standing: Standing, branch: str) -> float:
    """The score; less for what was said on another branch, which may not hold here."""
    return one.score * (0.9 if branch and standing.branch not in ("", branch) else 1.0)


def _may_be_told(one: Standing, asked: _Ask) -> bool:
    if one.tier != CURRENT or (one.type == "action" and one.status in DONE):
        return False
    everywhere = one.scope in _EVERYWHERE
    return (
        everywhere or one.type == "preference"
        if asked.own
        else everywhere or one.project in ("", *asked.projects)
    )


def _in_its_place(catalogue: Catalogue, one: Standing) -> Standing | None:
    """What holds in the place of a superseded record; None when that cannot be told."""
    from cortex.index.links import Links  # noqa: PLC0415  few prompts find one

    links, seen = Links(catalogue), {one.number}
    while one.status == "superseded" and len(seen) < _MOST_STEPS:
        number = next(
            (
                number
                for kind, _, number, _ in links.out(one.number)
                if kind == "superseded_by" and number
            ),
            None,
        )
        if number is None:
            number = next(
                (source for kind, source, _ in links.back(one.number) if kind == "supersedes"), None
            )
        later = (
            next(_standings(catalogue, [number]), None)
            if number is not None and number not in seen
            else None
        )
        if later is None:
            return None
        one = later
        seen.add(one.number)
    return one


def _standings(catalogue: Catalogue, numbers: Sequence[int]) -> Iterator[Standing]:
    return catalogue.standings(f"number IN ({','.join('?' * len(numbers))}) AND {_RECORD}", numbers)


def _digest_of(catalogue: Catalogue, one: Standing) -> bytes:
    held = catalogue.hash_of(one.path)
    return held[1] if held else b""


def _sentences(matches: Iterable[_Match], number: int) -> list[_Sentence]:
    """So many of the records as lines, each once."""
    chosen: dict[str, _Sentence] = {}
    for one in matches:
        if len(chosen) == number:
            break
        sentence = _sentence(one)
        if sentence is not None:
            chosen.setdefault(sentence.line.id, sentence)
    return list(chosen.values())


def _doubted(
    caller: Caller, project: str, sentences: list[_Sentence], problems: list[Problem]
) -> list[Line]:
    """The lines, marked as a briefing would mark them where the project's files or git contradict a record of it."""
    from cortex.vault.git import checkout  # noqa: PLC0415

    lines = [one.line for one in sentences]
    asked = [
        one
        for one in sentences
        if not one.match.owned
        and one.match.standing.scope not in _EVERYWHERE
        and one.line.type not in _UNCLAIMED
    ]
    if not asked or project != checkout.project_of(caller.cwd):
        return lines
    from cortex.core.claims import claim_of  # noqa: PLC0415  10 ms, once something is told

    claims = [
        claim_of(
            one.line.id,
            one.line.title,
            one.body,
            one.match.standing.branch,
            one.created,
            rejected=one.line.type == "rejection",
        )
        for one in asked[:_MOST_CLAIMS]
    ]
    if not any(claim.files or claim.packages or claim.branch for claim in claims):
        return lines
    from cortex.operations.find.verify_claims import doubts  # noqa: PLC0415  as above

    git = checkout.git_folder(caller.cwd)
    found = doubts(git[0] if git else os.path.realpath(caller.cwd), claims)
    problems += found.problems
    from cortex.core.briefing.excerpt import harmless  # noqa: PLC0415  loaded when the lines were made

    why = {
        id_: harmless(f"was true on {one.date}: {found.doubts[id_].why}", _LONGEST_TITLE)
        for one in lines
        if (id_ := one.id) in found.doubts
    }
    return [one._replace(doubt=why.get(one.id, "")) for one in lines]


def _fitted(lines: Iterable[Line]) -> tuple[tuple[Line, ...], str]:
    """The lines and their text: fewer of them where they would take too much room."""
    fitting: list[Line] = []
    text = ""
    for line in lines:
        longer = context_markers.framed(
            context_markers.MEMORY, "\n".join([_HEAD, *map(_written, [*fitting, line])])
        )
        if len(longer) > MOST_CHARACTERS:
            break
        fitting, text = [*fitting, line], longer
    return tuple(fitting), text


def _written(line: Line) -> str:
    doubt = f"⚠ {line.doubt}. " if line.doubt else ""
    return f"- {doubt}[{line.id}] {line.type} {line.date}: {line.title}{f' | {line.text}' if line.text else ''}"


def _sentence(match: _Match) -> _Sentence | None:
    """A record in one line, as its file has it now; None when it is gone or may not be told any more."""
    from cortex.core.briefing.excerpt import harmless, parts_of, told  # noqa: PLC0415  its patterns cost 4 ms, and most prompts call nothing to mind

    one = match.standing
    try:
        data = files.read(match.vault.root, one.path, MAX_NOTE_BYTES + 1)
    except (CortexError, OSError):
        return None
    title, type_, created, confidence = one.title, one.type, one.created, one.confidence
    if _hash(data) != match.digest:  # changed since the last look
        from cortex.core.model.note_summary import card_of  # noqa: PLC0415  reading YAML costs 25 ms

        card = card_of(one.path, data[:MAX_NOTE_BYTES], one.date)
        if (
            card.tier != CURRENT
            or card.id != one.id
            or (card.type == "action" and card.status in DONE)
        ):
            return None
        title, type_, created, confidence = card.title, card.type, card.created, card.confidence
    title, body = harmless(title, _LONGEST_TITLE), parts_of(decoded(data)).body
    gist = harmless(told(title, body), _LONGEST_GIST)
    sure = (
        ""
        if confidence is None or confidence >= _UNSURE
        else f"{' ' if gist else ''}(confidence {confidence:g})"
    )
    line = Line(
        harmless(one.id),
        title,
        gist + sure,
        harmless(type_),
        harmless((created or _day(one.date))[:10]),
    )
    return _Sentence(line, match, body, created)


def _day(seconds: int) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return ""


def _hash(data: bytes) -> bytes:
    """As the catalogue has it. `hashlib` loads OpenSSL, which a hook has no time for."""
    try:
        from _blake2 import blake2b  # noqa: PLC0415
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    return blake2b(data, digest_size=16).digest()
