"""What is wrong with a vault, each with the next thing to do. Changes no file unless it is asked to."""

from __future__ import annotations

import os
import unicodedata
from typing import NamedTuple

from cortex.core.briefing.pages import BRIEFINGS_FOLDER
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.record import RECORD_TYPES
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import cortex_command, shell_quote
from cortex.core.text.strings import shorten
from cortex.index import briefing_pages
from cortex.index.catalogue import Catalogue, NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.care import hook_status
from cortex.operations.care.broken_links import broken_link_problems, find_broken_links
from cortex.operations.care.repo_checks import repository_problems
from cortex.operations.find.note_ranks import timestamp_of
from cortex.operations.projects import project_file
from cortex.operations.records.supersede import find_supersede_problems
from cortex.operations.share.misnamed_events import find_misnamed_events
from cortex.vault import files, group_access, layout
from cortex.vault.agent_settings import list_agent_settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault, default_vault_fault, default_vault_file
from cortex.vault.state import store

_MAX_CLOCK_SKEW_SECONDS = 24 * 3600  # seconds that a clock may be ahead, or a zone
_MAX_MISDATED = 100
_DATE_GLOB = "[0-9][0-9][0-9][0-9]-*"  # how a date begins, for SQL


class DoctorResult(NamedTuple):
    """What was looked at, and every problem found."""

    vault: str
    notes: int
    found: str  # how the search index was found: current, updated, built
    problems: tuple[Problem, ...]
    fixed: tuple[str, ...] = ()  # what was done, in words
    agent_settings: tuple[
        str, ...
    ] = ()  # at the top of the vault, such as `.claude`; nothing of them is used


def doctor(vault: Vault, caller: Caller, *, fix: bool = False) -> DoctorResult:
    """Name what is wrong: notes with a problem, clashing ids and names, links to no note, stale briefings, a repository that would not merge.

    fix: do what is safe first, and say what was done: register the merge drivers, heal briefings, merge what git could not, bring back notes and events that git took for others, make one file of two with one id, repair what a power cut left of the repository

    Example: cortex doctor --json
    Example: cortex doctor --fix
    """
    if (foreign := group_access.foreign_owner_problem(vault.root)) and not os.access(
        os.path.join(vault.root, layout.PENDING_FOLDER), os.R_OK | os.X_OK
    ):
        raise CortexError(f"{vault.root} {foreign.message}", foreign.hint)
    done: list[str] = []
    failed: list[Problem] = []
    if fix:
        from cortex.operations.care.doctor_fix import apply_fixes  # noqa: PLC0415  what doctor only says costs less

        done, failed = apply_fixes(vault, caller)
    around = [
        *repository_problems(vault.root),
        *group_access.problems(vault.root),
        *hook_status.all_problems(vault, caller.cwd),
        *_unread_file_problems(vault, caller.cwd),
    ]
    examined, missing, renamed = query_index(
        vault,
        caller.progress,
        lambda now: (
            _examine_notes(vault, now, caller.now),
            find_broken_links(vault.root, now),
            project_file.name_mismatch_problems(vault, now.catalogue, caller.cwd),
        ),
    )
    problems = (
        *failed,
        *around,
        *renamed,
        *examined.problems,
        *broken_link_problems(vault.root, missing),
    )
    return examined._replace(
        problems=problems, fixed=tuple(done), agent_settings=list_agent_settings(vault.root)
    )


def _unread_file_problems(vault: Vault, cwd: str) -> list[Problem]:
    """Files around the vault that are not read, since they are links, pipes or a stranger's."""
    found = [
        Problem(
            path, f"{fault}; it is not read", f"put a file in its place, or rm {shell_quote(path)}"
        )
        for path, fault in checkout.unreadable_project_files(cwd)
    ]
    if fault := default_vault_fault():
        found.append(
            Problem(
                default_vault_file(),
                f"{fault}; it is not read",
                "cortex init DIR --default writes it anew",
            )
        )
    return found + [
        problem
        for folder in (vault.state_folder(), vault.cache_folder())
        for problem in store.problems(folder)
    ]


def _examine_notes(vault: Vault, now: IndexSession, at: str) -> DoctorResult:
    now.catalogue.check_integrity()
    problems = [
        *_stale_briefing_problems(vault, now),
        *now.problems,
        *_duplicate_id_problems(now.catalogue),
        *(
            Problem(
                one.path,
                f"holds the event {one.actual_id}",
                "cortex doctor --fix brings back its own text from git's history",
            )
            for one in find_misnamed_events(now.catalogue)
        ),
        *_duplicate_topic_problems(now.catalogue),
        *find_supersede_problems(now.catalogue),
        *_invalid_date_problems(now.catalogue, epoch_seconds(at)),
        *_file_name_problems(list(now.snapshot.stamps)),
        *_failed_event_problems(vault),
        *(
            Problem(path, "was left by a process that was killed", "delete it")
            for path in now.snapshot.temp_files
        ),
        *(
            Problem(
                path,
                "is a search index inside the vault; it is never opened",
                "delete it, and git rm it if it is tracked",
            )
            for path in now.snapshot.stray_index_files
        ),
    ]
    return DoctorResult(vault.root, now.catalogue.count_notes(), now.outcome, tuple(problems))


def _duplicate_id_problems(catalogue: Catalogue) -> list[Problem]:
    """Two notes with one id: whoever names the id means either."""
    found = []
    clashing = "id IN (SELECT id FROM note WHERE tier < 2 GROUP BY id HAVING count(*) > 1) AND tier < 2 ORDER BY id, path"
    by_id: dict[str, list[NoteMetadata]] = {}
    for one in catalogue.metadata_rows(clashing):
        by_id.setdefault(one.id, []).append(one)
    for id_, (first, *others) in by_id.items():
        ours = all(
            one.path.startswith(("records/", "sessions/"))
            or (one.type in (*RECORD_TYPES, "session") and one.created)
            for one in (first, *others)
        )
        hint = (
            "cortex doctor --fix keeps one file, with what both say"
            if ours
            else "give one of the two another id"
        )
        if ours and not first.topic:  # a topic has one record: of it there can be no second note
            hint += "; for two notes, delete the id: line of the copy first"
        found += [Problem(one.path, f"has the id {id_!r} of {first.path}", hint) for one in others]
    return found


def _duplicate_topic_problems(catalogue: Catalogue) -> list[Problem]:
    """Two current records of one topic, as a hand or a merge of projects may leave them: the next save changes but one."""
    query = (
        "SELECT path, id, first, topic FROM note JOIN (SELECT project, scope, topic, min(id) AS first FROM note WHERE topic != '' AND tier = 0"
        " AND id != CAST(path AS TEXT) GROUP BY 1, 2, 3 HAVING count(DISTINCT id) > 1) USING (project, scope, topic)"
        " WHERE tier = 0 AND id NOT IN (first, CAST(path AS TEXT)) ORDER BY path LIMIT 100"
    )
    return [
        Problem(
            os.fsdecode(path),
            f"has the topic {topic} of {first}",
            cortex_command("supersede", first, "--by", id_) + ", or the other way round",
        )
        for path, id_, first, topic in catalogue.select(query)
    ]


def _invalid_date_problems(catalogue: Catalogue, now: int) -> list[Problem]:
    """Notes that say a day that is to come, and records that say a time that is none; the first hundred by path."""
    clauses = [
        f"(CASE WHEN {field} GLOB '{_DATE_GLOB}' THEN CAST(strftime('%s', {field}) AS INTEGER) END > ?)"
        for field in ("created", "updated")
    ]
    clauses += [
        f"(id != CAST(path AS TEXT) AND {field} != '' AND {field} NOT GLOB '{_DATE_GLOB}')"
        for field in ("created", "updated")
    ]
    late = now + _MAX_CLOCK_SKEW_SECONDS
    found = []
    for one in catalogue.metadata_rows(
        f"tier < 2 AND ({' OR '.join(clauses)}) ORDER BY path LIMIT ?", (late, late, _MAX_MISDATED)
    ):
        said = {"created": one.created, "updated": one.updated}
        key = next((key for key, text in said.items() if text and not timestamp_of(text)), "")
        wrong = (
            f"says {key}: {shorten(said[key], 40)}, which is no date"
            if key
            else "is dated in the future"
        )
        found.append(Problem(one.path, wrong, "mend its created or updated: 2026-11-20T16:45:12Z"))
    return found


def _file_name_problems(paths: list[str]) -> list[Problem]:
    """Names that a checkout on another system would refuse, or fold into one."""
    problems = [
        Problem(path, why, "rename it")
        for path in paths
        if (why := layout.portability_problem(path))
    ]
    folded: dict[str, str] = {}
    for path in sorted(paths):
        key = unicodedata.normalize("NFC", path).casefold()
        if key in folded:
            problems.append(
                Problem(
                    path,
                    f"is the same name as {folded[key]} on macOS and Windows",
                    "rename one of the two",
                )
            )
        folded.setdefault(key, path)
    return problems


def _failed_event_problems(vault: Vault) -> list[Problem]:
    names = [
        name.removesuffix(".md") for name in files.list_notes(vault.root, layout.FAILED_FOLDER)
    ]
    return [
        Problem(
            layout.failed_path(name),
            "could not be normalized; its first lines say why",
            cortex_command("retry", name),
        )
        for name in names
    ]


def _stale_briefing_problems(vault: Vault, now: IndexSession) -> list[Problem]:
    """Briefings that are not as the notes give them; none where there are none yet, nor in the middle of a merge."""
    if not files.exists(vault.root, BRIEFINGS_FOLDER) or checkout.operation_in_progress(vault.root):
        return []
    there = list(now.snapshot.stamps)
    try:
        wrong = briefing_pages.compare_pages(
            vault.root, briefing_pages.render_pages(vault.root, now.catalogue, there), there
        )
    except (
        CortexError
    ) as error:  # a link where the folder should be, as a stranger's vault may bring
        return [Problem(BRIEFINGS_FOLDER, error.message, error.hint)]
    newer, stale = (
        ("was made by a newer cortex and is left alone", "update cortex"),
        ("is not as the notes give it", "cortex heal"),
    )
    return [one.problem or Problem(one.path, *(newer if one.is_newer else stale)) for one in wrong]
