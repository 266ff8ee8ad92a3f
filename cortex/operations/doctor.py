"""What is wrong with a vault, each with the next thing to do. Changes no file unless it is asked to."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from cortex.core.briefing import FOLDER
from cortex.core.caller import Caller
from cortex.core.problem import CortexError, Problem
from cortex.operations.condition import of_repository
from cortex.projections import briefings
from cortex.projections.catalogue import Catalogue
from cortex.projections.refresh import Views, look
from cortex.vault import checkout, files, layout
from cortex.vault.find import Vault


class Examined(NamedTuple):
    """What was looked at, and every problem found."""

    vault: str
    notes: int
    found: str  # how the search index was found: current, updated, built
    problems: tuple[Problem, ...]
    fixed: tuple[str, ...] = ()  # what was done, in words


def doctor(vault: Vault, caller: Caller, *, fix: bool = False) -> Examined:
    """Name what is wrong: notes with a problem, clashing ids and names, stale briefings, a repository that would not merge.

    fix: do what is safe first, and say what was done: register the merge drivers, heal briefings, merge what git could not, repair what a power cut left of the repository

    Example: cortex doctor --json
    Example: cortex doctor --fix
    """
    done: list[str] = []
    failed: list[Problem] = []
    if fix:
        from cortex.operations.mend import mend  # noqa: PLC0415  what doctor only says costs less

        done, failed = mend(vault, caller)
    around = of_repository(vault.root)
    return look(vault, caller.progress, lambda now: _examined(vault, now, [*failed, *around]))._replace(fixed=tuple(done))


def _examined(vault: Vault, now: Views, around: list[Problem]) -> Examined:
    now.catalogue.check()
    problems = [
        *around,
        *_stale(vault, now),
        *now.problems,
        *_clashes(now.catalogue),
        *_names(list(now.snapshot.stamps)),
        *_failed(vault),
        *(Problem(path, "was left by a process that was killed", "delete it") for path in now.snapshot.leftovers),
        *(
            Problem(path, "is a search index inside the vault; it is never opened", "delete it, and git rm it if it is tracked")
            for path in now.snapshot.planted
        ),
    ]
    return Examined(vault.root, now.catalogue.count(), now.found, tuple(problems))


def _clashes(catalogue: Catalogue) -> list[Problem]:
    """Two notes with one id: whoever names the id means either."""
    found = []
    clashing = "id IN (SELECT id FROM note WHERE tier < 2 GROUP BY id HAVING count(*) > 1) AND tier < 2 ORDER BY id, path"
    by_id: dict[str, list[str]] = {}
    for row in catalogue.rows(clashing):
        by_id.setdefault(row.id, []).append(row.path)
    for id_, paths in by_id.items():
        first, *others = paths
        found += [Problem(path, f"has the id {id_!r} of {first}", "give one of the two another id") for path in others]
    return found


def _names(paths: list[str]) -> list[Problem]:
    """Names that a checkout on another system would refuse, or fold into one."""
    problems = [Problem(path, why, "rename it") for path in paths if (why := layout.name_problem(path))]
    folded: dict[str, str] = {}
    for path in sorted(paths):
        key = unicodedata.normalize("NFC", path).casefold()
        if key in folded:
            problems.append(Problem(path, f"is the same name as {folded[key]} on macOS and Windows", "rename one of the two"))
        folded.setdefault(key, path)
    return problems


def _failed(vault: Vault) -> list[Problem]:
    names = [name.removesuffix(".md") for name in files.notes_in(vault.root, layout.FAILED)]
    return [Problem(layout.failed(name), "could not be normalized; its first lines say why", f"cortex retry {name}") for name in names]


def _stale(vault: Vault, now: Views) -> list[Problem]:
    """Briefings that are not as the notes give them; none where there are none yet, nor in the middle of a merge."""
    if not files.exists(vault.root, FOLDER) or checkout.under_way(vault.root):
        return []
    there = list(now.snapshot.stamps)
    try:
        wrong = briefings.differences(vault.root, briefings.pages(vault.root, now.catalogue, there), there)
    except CortexError as error:  # a link where the folder should be, as a stranger's vault may bring
        return [Problem(FOLDER, error.message, error.hint)]
    newer, stale = ("was made by a newer cortex and is left alone", "update cortex"), ("is not as the notes give it", "cortex heal")
    return [one.fault or Problem(one.path, *(newer if one.newer else stale)) for one in wrong]
