"""What is wrong with a vault, each with the next thing to do."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Annotated, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.parameters import PERSON_SETTING
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.model.record import RECORD_TYPES
from cortex.core.model.relation import LinkCandidate, NameResolver, basename_key
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import cortex_command, shell_quote
from cortex.core.text.strings import format_time, shorten
from cortex.hosts import mcp_settings
from cortex.index import briefing_pages, file_scan, missing_targets
from cortex.index.catalogue import Catalogue
from cortex.index.file_scan import Snapshot
from cortex.index.filters import KNOWLEDGE
from cortex.index.links import LinkGraph
from cortex.index.missing_targets import MissingTargetReport
from cortex.index.queries import all_ids, duplicate_ids, duplicate_topics, misdated_notes
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.care import hook_status
from cortex.operations.care.doctor_fix import apply_fixes
from cortex.operations.care.repo_checks import repository_problems
from cortex.operations.find.note_ranks import timestamp_of
from cortex.operations.projects import project_file
from cortex.operations.records.supersede import find_supersede_problems
from cortex.operations.upkeep.ensure_fresh import state_problems
from cortex.operations.upkeep.restore_lost import find_missing_records
from cortex.operations.upkeep.settle import find_replaceable, plan_settlement
from cortex.vault import files, layout, private, user_settings
from cortex.vault.foreign_settings import list_agent_settings
from cortex.vault.git import checkout, git_cli
from cortex.vault.git.publish_check import NOT_PUBLISHED
from cortex.vault.locate import Vault, default_vault_fault, default_vault_file, is_own
from cortex.vault.repair import group_access
from cortex.vault.state import distill_log, session_state

_MAX_CLOCK_SKEW_SECONDS = 24 * 3600  # that a clock may be ahead, or a zone
_SHARED_TRANSCRIPT_SECONDS = 14 * 24 * 3600  # for which a transcript of two sessions is named
_MAX_LISTED = 100  # notes with one kind of problem
_TIMEOUT_SECONDS = 2.0  # seconds for one walk over the history
_MAX_NAMES = 50  # names that git is asked about
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


class DoctorResult(NamedTuple):
    """What was looked at, and every problem found."""

    vault: str
    notes: int
    found: str  # how the search index was found: current, updated, built
    problems: tuple[Problem, ...]
    fixed: tuple[str, ...] = ()  # what was done, in words
    agent_settings: tuple[str, ...] = ()  # at the top of the vault, as `.claude`; nothing is used


def doctor(
    vault: Vault, caller: Caller, *, fix: Annotated[bool, PERSON_SETTING] = False
) -> DoctorResult:
    """Name what is wrong with the vault, and what to do about it.

    No file is changed without --fix. Checked are notes, clashing ids and names, links to no note,
    briefings, hooks and the repository. --fix registers the merge drivers, heals briefings, merges what
    git could not, brings back notes and events that git took for others, joins files that have one id,
    repairs what a power cut left of the repository, and gives the token's line to hosts that ask
    over HTTP.

    fix: do what is safe first, and say what was done

    Example: cortex doctor --json
    Example: cortex doctor --fix
    """
    if (foreign := group_access.foreign_owner_problem(vault.root)) and not os.access(
        os.path.join(vault.root, vault.layout().pending()), os.R_OK | os.X_OK
    ):
        raise CortexError(f"{vault.root} {foreign.message}", foreign.hint)
    done: list[str] = []
    failed: list[Problem] = []
    if fix:
        done, failed = apply_fixes(vault, caller)
    around = [
        *repository_problems(vault.root),
        *group_access.problems(vault.root),
        *hook_status.all_problems(vault, caller.cwd),
        *_tokenless_problems(caller.cwd),
        *user_settings.load_distill()[1],
        *user_settings.load_semantic(os.environ)[1],
        *distill_log.problems(vault.root),
        *_unread_file_problems(vault, caller.cwd),
        *_shared_transcript_problems(vault, epoch_seconds(caller.now)),
    ]

    def examine(
        index: IndexSession,
    ) -> tuple[DoctorResult, MissingTargetReport, list[Problem], set[str]]:
        renamed = project_file.name_mismatch_problems(vault, index.catalogue, caller.cwd)
        held = {one.where for one in around if one.message.startswith(NOT_PUBLISHED)}
        examined = _examine_notes(vault, index, caller.now, held)
        return examined, find_broken_links(vault.root, index), renamed, all_ids(index.catalogue)

    examined, missing, renamed, ids = query_index(vault, caller.progress, examine)
    # Runs git, which nobody need wait for who holds the index.
    gone: list[Problem] = []
    # Where git would wait, cannot read or is at work, this would only repeat it.
    is_told = any(f"{one.where}/".startswith(".git/") for one in around)
    if not is_told and not checkout.find_fault(vault.root)[0]:
        gone = find_missing_records(vault.root, ids)[:_MAX_LISTED]
    deleted = _deleting_commits(vault.root, missing.keys)
    links = missing_targets.problems_of_report(missing, deleted)
    return examined._replace(
        problems=(*failed, *around, *renamed, *examined.problems, *gone, *links),
        fixed=tuple(done),
        agent_settings=list_agent_settings(vault.root),
    )


def find_broken_links(root: str, index: IndexSession) -> MissingTargetReport:
    """Every relation, and every link of a record or session, whose target is no note."""
    missing = LinkGraph(index.catalogue).list_missing_targets()
    if missing:
        # What the settings leave out of search is a note all the same.
        candidates: dict[str, list[LinkCandidate]] = {one.key: [] for one in missing}
        for path in file_scan.scan_vault(root, (), (), time.time_ns()).stamps:
            if (key := basename_key(path)) in candidates:
                candidates[key].append(LinkCandidate(0, path, path))
        resolvers = {key: NameResolver(named) for key, named in candidates.items() if named}
        missing = [
            one
            for one in missing
            if one.key not in resolvers
            or not resolvers[one.key].resolve(one.target, os.path.dirname(one.path))
        ]
    return missing_targets.report_missing_targets(index.catalogue, missing)


def _deleting_commits(root: str, names: Sequence[str]) -> dict[str, str]:
    """Name -> the commit that deleted its file, and its day; empty if git takes too long."""
    keys = [key for key in names if set(key) <= _ID_CHARACTERS][:_MAX_NAMES]
    if not keys or checkout.find_repository(root) is None:
        return {}
    arguments = [
        "log", "--diff-filter=D", "--name-only", "--no-renames", "--relative", "-z",
        "--format=%x01%h %cs", "--end-of-options", "HEAD", "--",
        *(f":(glob)**/{key}.md" for key in keys),
    ]  # fmt: skip
    output = b""
    with suppress(CortexError):  # no git, or a long history: the answer goes without it
        output = git_cli.run_unchecked(
            root, arguments, timeout=_TIMEOUT_SECONDS, extra={"GIT_LITERAL_PATHSPECS": "0"}
        ).stdout
    found: dict[str, str] = {}
    for commit in output.decode("utf-8", "replace").split("\x01")[1:]:
        head, *paths = (part for field in commit.split("\0") if (part := field.strip("\n")))
        short, _, day = head.partition(" ")
        for path in paths:
            found.setdefault(basename_key(os.fsdecode(path)), f"in {short} on {day}")
    return found


def _unread_file_problems(vault: Vault, cwd: str) -> Iterator[Problem]:
    """Files around the vault that are not read, since they are links, pipes or a stranger's."""
    for path, fault in checkout.unreadable_project_files(cwd):
        hint = f"put a file in its place, or rm {shell_quote(path)}"
        yield Problem(path, f"{fault}; it is not read", hint)
    if fault := default_vault_fault():
        hint = "cortex init DIR --default writes it anew"
        yield Problem(default_vault_file(), f"{fault}; it is not read", hint)
    if unusable := state_problems(vault):
        yield from unusable
    else:
        yield from private.problems(vault.state_folder())
    yield from private.problems(vault.cache_folder())


def _tokenless_problems(cwd: str) -> Iterator[Problem]:
    """Hosts that would ask over HTTP and be refused."""
    for told, _, command in mcp_settings.plan_token_lines(hook_status.project_root(cwd)):
        yield Problem(told.file, "has the address of cortex mcp --http, and no token", command)


def _shared_transcript_problems(vault: Vault, now: int) -> Iterator[Problem]:
    """Transcripts in which another session wrote behind the one that is captured from there."""
    since = format_time(now - _SHARED_TRANSCRIPT_SECONDS)
    try:
        found = sorted(session_state.passed_over(vault, since), key=lambda one: one[0].transcript)
    except OSError:  # told by others
        return
    for known, other in found[:_MAX_LISTED]:
        message = f"holds lines of session {other} among those of {known.session}; hooks took none"
        hint = cortex_command("import", known.host, "--path", known.transcript)
        yield Problem(known.transcript, message, hint)


def _examine_notes(
    vault: Vault, index: IndexSession, at: str, held: Container[str]
) -> DoctorResult:
    index.catalogue.check_integrity()
    problems = [
        *_stale_briefing_problems(vault, index),
        *index.problems,
        *_duplicate_id_problems(vault, index.catalogue),
        *_duplicate_topic_problems(index.catalogue),
        *find_supersede_problems(index.catalogue),
        *_invalid_date_problems(index.catalogue, epoch_seconds(at)),
        *(() if is_own(vault) else _personal_note_problems(index.catalogue, held)),
        *_unsettled_problems(vault, index),
        *_file_name_problems(list(index.snapshot.stamps)),
        *_failed_event_problems(vault),
        *_leftover_problems(index.snapshot),
    ]
    return DoctorResult(vault.root, index.catalogue.count_notes(), index.outcome, tuple(problems))


def _duplicate_id_problems(vault: Vault, catalogue: Catalogue) -> Iterator[Problem]:
    """Two notes with one id: whoever names the id means either."""
    layout = vault.layout()
    for id_, rows in duplicate_ids(catalogue).items():
        is_ours = all(
            layout.is_in(row.path, "records", "sessions")
            or (row.type in (*RECORD_TYPES, "session") and row.created)
            for row in rows
        )
        hint = "give one of the two another id"
        if is_ours:
            hint = "cortex doctor --fix keeps one file, with what both say"
        if is_ours and not rows[0].topic:  # a topic has one record: there can be no second note
            hint += "; for two notes, delete the id: line of the copy first"
        for row in rows[1:]:
            yield Problem(row.path, f"has the id {id_!r} of {rows[0].path}", hint)


def _duplicate_topic_problems(catalogue: Catalogue) -> Iterator[Problem]:
    """Two current records of one topic, of which the next save would change only one."""
    for path, id_, first, topic in duplicate_topics(catalogue, _MAX_LISTED):
        hint = f"{cortex_command('supersede', first, '--by', id_)}, or the other way round"
        yield Problem(path, f"has the topic {topic} of {first}", hint)


def _personal_note_problems(catalogue: Catalogue, held: Container[str]) -> Iterator[Problem]:
    """Notes of a project's vault that are somebody's alone, but for those in `held`. In a record
    without a project `personal` is what earlier versions wrote."""
    found = catalogue.find(KNOWLEDGE._replace(has_id=False, is_cross_project=True), "path")
    said = (
        row
        for row in found
        if (row.scope == "personal" and (row.project or row.id == row.path))
        or (row.scope == "global" and row.status != "archived")
    )
    for row in islice((row for row in said if row.path not in held), _MAX_LISTED):
        hint = f"{cortex_command('promote', row.id)} moves it to your own vault"
        yield Problem(row.path, f"says scope: {row.scope}, and this vault is a project's", hint)


def _unsettled_problems(vault: Vault, index: IndexSession) -> Iterator[Problem]:
    """Sessions whose records are not settled with distilled ones yet, as after a kill."""
    for one in find_replaceable(index):
        with suppress(CortexError, OSError):  # what cannot be read is told by itself
            if plan_settlement(vault, one):
                message = "its records are not as what a model made of it leaves them"
                yield Problem(one.row.path, message, "cortex heal")


def _invalid_date_problems(catalogue: Catalogue, now: int) -> Iterator[Problem]:
    """Notes that say a day that is to come, and records that say a time that is none."""
    for row in misdated_notes(catalogue, now + _MAX_CLOCK_SKEW_SECONDS, _MAX_LISTED):
        wrong = "is dated in the future"
        for key, text in (("updated", row.updated), ("created", row.created)):
            if text and not timestamp_of(text):
                wrong = f"says {key}: {shorten(text, 40)}, which is no date"
        yield Problem(row.path, wrong, "mend its created or updated: 2026-11-20T16:45:12Z")


def _file_name_problems(paths: list[str]) -> Iterator[Problem]:
    """Names that a checkout on another system would refuse, or fold into one."""
    for path in paths:
        if why := layout.portability_problem(path):
            yield Problem(path, why, "rename it")
    by_folded_path: dict[str, str] = {}
    for path in sorted(paths):
        other = by_folded_path.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if other != path:
            message = f"is the same name as {other} on macOS and Windows"
            yield Problem(path, message, "rename one of the two")


def _failed_event_problems(vault: Vault) -> Iterator[Problem]:
    for name in files.list_notes(vault.root, vault.layout().failed()):
        id_ = name.removesuffix(".md")
        message = "could not be normalized; its first lines say why"
        yield Problem(vault.layout().failed(id_), message, cortex_command("retry", id_))


def _leftover_problems(snapshot: Snapshot) -> Iterator[Problem]:
    for path in snapshot.temp_files:
        yield Problem(path, "was left by a process that was killed", "delete it")
    for path in snapshot.stray_index_files:
        message = "is a search index inside the vault; it is never opened"
        yield Problem(path, message, "delete it, and git rm it if it is tracked")


def _stale_briefing_problems(vault: Vault, index: IndexSession) -> list[Problem]:
    """Briefings that differ from the notes; nothing during an operation of git."""
    folder = vault.layout().path(BRIEFINGS_FOLDER)
    if not files.exists(vault.root, folder) or checkout.operation_in_progress(vault.root):
        return []
    try:
        others = briefing_pages.find_differences(
            vault.root, index.catalogue, index.snapshot.stamps, check=True
        )
    except CortexError as error:
        # A link where the folder should be, as a stranger's vault may bring.
        return [problem_of(folder, error)]
    newer = "was made by a newer cortex and is left alone", "update cortex"
    stale = "is not as the notes give it", "cortex heal"
    return [one.problem or Problem(one.path, *(newer if one.is_newer else stale)) for one in others]
