"""What is wrong with a vault: in the repository around it, where a merge, a commit or a pull would go
wrong, and in its notes."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from itertools import islice

from cortex.core.model.layout import BRIEFINGS_FOLDER, is_among_briefings
from cortex.core.model.note_status import decode_text
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.model.record import RECORD_TYPES
from cortex.core.redact.secrets import redact
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import cortex_command, shell_quote, shorten
from cortex.index import briefing_pages
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.file_scan import Snapshot
from cortex.index.refresh import IndexSession
from cortex.operations.find.note_ranks import timestamp_of
from cortex.operations.records.supersede import find_supersede_problems
from cortex.operations.share import people_notes
from cortex.operations.share.duplicates import find_copies
from cortex.operations.upkeep.settle import find_replaceable, plan_settlement
from cortex.vault import files, layout, settings
from cortex.vault.git import (
    changes,
    checkout,
    commit,
    drivers,
    git_cli,
    git_locks,
    merging,
    objects,
    page_branch,
    publish_check,
    refusals,
    remotes,
    work_tree,
)
from cortex.vault.git.merge_versions import same_text
from cortex.vault.layout import SETTINGS_FILE, layout_of
from cortex.vault.locate import Vault, is_own
from cortex.vault.repair import diagnose

_MAX_CLOCK_SKEW_SECONDS = 24 * 3600  # that a clock may be ahead, or a zone
MAX_LISTED = 100  # notes with one kind of problem


def repository_problems(root: str) -> list[Problem]:
    """All problems of the repository; a check that fails is a problem of its own."""
    if broken := diagnose.find_problems(root):
        # Where git itself cannot read, the rest would only repeat it.
        broken += _run_check(root, git_locks.problems)
        with suppress(CortexError):  # there is no git, which is told already
            broken += drivers.config_problems(root)
        return broken
    if not checkout.is_in_repository(root):
        return []
    checks = (
        git_locks.problems,
        drivers.problems,
        _interrupted_sync,
        _unfinished_operation,
        _unmerged_files,
        _skipped_notes,
        _uncommitted_briefings,
        _leftover_autostash,
        _edited_events,
        _held_back,
        refusals.list_refused,
        _default_branch,
    )
    return [problem for check in checks for problem in _run_check(root, check)]


def secret_problems(root: str) -> list[Problem]:
    """What looks like a secret and is not published yet."""
    held = _run_check(root, _held_back) if checkout.is_in_repository(root) else []
    return [one for one in held if publish_check.SECRET_WORDS in one.message]


def _run_check(root: str, check: Callable[[str], list[Problem]]) -> list[Problem]:
    try:
        return check(root)
    except (CortexError, OSError) as error:
        return [problem_of(".git", error, "git status")]


def _interrupted_sync(root: str) -> list[Problem]:
    if not merging.is_unfinished(root):
        return []
    message = "a sync was ended half-way, unless one runs now: files may be missing or cut off"
    return [Problem(".git/cortex-sync", message, "cortex sync")]


def _unfinished_operation(root: str) -> list[Problem]:
    """A merge or the like in which nothing is left to resolve: it waits for its end."""
    if not checkout.operation_in_progress(root) or merging.load_in_progress(root):
        return []
    if diagnose.list_unmerged_paths(root):
        return []
    return [Problem(".git", *commit.find_blocker(root))]


def _unmerged_files(root: str) -> list[Problem]:
    hint = "cortex doctor --fix merges what can be; cortex sync says what to do about the rest"
    paths = diagnose.list_unmerged_paths(root)
    return [Problem(path, "git could not merge it", hint) for path in paths]


def _skipped_notes(root: str) -> list[Problem]:
    count = len(work_tree.list_skipped(root))
    notes = f"{count} note{'s' * (count != 1)}"
    message = f"a sparse checkout leaves out {notes}: briefings are made in other clones alone"
    return [Problem(".git", message, "git sparse-checkout disable")] if count else []


def _uncommitted_briefings(root: str) -> list[Problem]:
    """Briefings that differ from the last commit if nothing else of ours does: git refuses a pull
    that touches them."""
    changed = changes.list_changes(root) if git_cli.has_commit(root) else []
    if not all(is_among_briefings(one.path) for one in changed):
        return []  # they wait for a commit together with what they tell of
    message = "is not committed as it is, and a pull may refuse to touch it"
    return [Problem(one.path, message, "cortex sync") for one in changed if one.kind != "A"]


def _default_branch(root: str) -> list[Problem]:
    """Settings that name no branch for the shared pages, so that each clone guesses it, or one that
    there is not, so that nobody writes them."""
    if missing := page_branch.missing_default(root):
        message = f"[briefings] branch names {missing}, and there is no such branch"
        return [Problem(SETTINGS_FILE, message, "write the branch that you all share")]
    default, may_differ = page_branch.undeclared_default(root)
    if not may_differ:
        return []
    message = "does not name the branch on which shared pages are written"
    guess = f"{message}; {default} is taken" if default else f"{message}; each branch writes all"
    hint = "cortex doctor --fix writes it down" if default else 'write [briefings] branch = "main"'
    return [Problem(SETTINGS_FILE, guess, hint)]


def _leftover_autostash(root: str) -> list[Problem]:
    """Stashes of autostash that git could not apply, and left in the list of stashes."""
    listed = git_cli.run_unchecked(root, ["stash", "list", "--format=%gd %gs"]).stdout
    message = "an automatic stash was never put back: your changes lie there"
    stashes = (line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines())
    names = (name for name, _, subject in stashes if "autostash" in subject)
    return [Problem(f".git ({name})", message, f"git stash pop '{name}'") for name in names]


def _edited_events(root: str) -> list[Problem]:
    """Events whose text in the work tree is not that of the last commit, unless that held a secret.
    What a commit has edited is undone (`restore_lost`)."""
    if not git_cli.has_commit(root):
        return []
    events = sorted({"events", layout_of(root).path("events")})
    words = ["diff-index", *objects.RAW, "--no-renames", "--diff-filter=M", "--relative", "HEAD"]
    edited = objects.list_raw(git_cli.run(root, [*words, "--", *events]))
    texts = objects.read_blobs(root, [one.old_blob for one in edited])
    message = "an event was edited after it was captured"
    advice = "brings its text back; keep corrections in its record"
    return [
        Problem(path, message, f"git checkout HEAD -- {shell_quote(path)} {advice}")
        for path, text in ((os.fsdecode(one.path), texts[one.old_blob]) for one in edited)
        if not redact(decode_text(text))[1]
        and not same_text(changes.read_if_there(root, path), text)
    ]


def _held_back(root: str) -> list[Problem]:
    """What the next sync will not publish, in files and in commits."""
    ours = [one.path for one in changes.list_changes(root) if one.kind != "D"]
    found = publish_check.held_files(root, ours)
    if not people_notes.why_not_shared(root, settings.load(root).notes):
        found += people_notes.list_held(root, ["."])
    with suppress(CortexError):  # there is no remote, or nobody knows which
        up = remotes.find_upstream(root)
        theirs = git_cli.find_commit(root, f"refs/remotes/{up.remote}/{up.remote_branch}")
        found += publish_check.held_in_commits(root, theirs, up.push_remote)
    return list({one.where: one for one in found}.values())


def note_problems(
    vault: Vault, index: IndexSession, at: str, reported: Container[str]
) -> list[Problem]:
    """All problems of the notes; those of `reported` paths are not said to be personal again."""
    index.catalogue.check_integrity()
    return [
        *_stale_briefing_problems(vault, index),
        *index.problems,
        *islice(find_copies(vault.root, index.snapshot.stamps), MAX_LISTED),
        *islice(_duplicate_id_problems(vault, index.catalogue), MAX_LISTED),
        *_duplicate_topic_problems(index.catalogue),
        *find_supersede_problems(index.catalogue),
        *_invalid_date_problems(index.catalogue, epoch_seconds(at)),
        *(() if is_own(vault) else _personal_note_problems(index.catalogue, reported)),
        *_unsettled_problems(vault, index),
        *_file_name_problems(list(index.snapshot.stamps)),
        *_failed_event_problems(vault),
        *_leftover_problems(index.snapshot),
    ]


def _duplicate_id_problems(vault: Vault, catalogue: Catalogue) -> Iterator[Problem]:
    """Two notes with one id: whoever names the id means either."""
    layout = vault.layout()
    for id_, found in catalogue.duplicate_ids().items():
        rows = sorted(found, key=lambda row: len(row.path))  # a copy has the longer name
        is_ours = all(
            layout.is_in(row.path, "records", "sessions")
            or (row.type in (*RECORD_TYPES, "session") and row.created)
            for row in rows
        )
        hint = "then keep one, or give one of the two another id"
        if is_ours:
            hint = "cortex doctor --fix keeps one file, with what both say"
        if is_ours and not rows[0].topic:  # a topic has one record: there can be no second note
            hint += "; for two notes, delete the id: line of the copy first"
        for row in rows[1:]:
            compare = f"diff {shell_quote(row.path)} {shell_quote(rows[0].path)}, " * (not is_ours)
            yield Problem(row.path, f"has the id {id_!r} of {rows[0].path}", compare + hint)


def _duplicate_topic_problems(catalogue: Catalogue) -> Iterator[Problem]:
    """Two current records of one topic, of which the next save would change only one."""
    for path, id_, first, topic in catalogue.duplicate_topics(MAX_LISTED):
        hint = f"{cortex_command('supersede', first, '--by', id_)}, or the other way round"
        yield Problem(path, f"has the topic {topic} of {first}", hint)


def _personal_note_problems(catalogue: Catalogue, reported: Container[str]) -> Iterator[Problem]:
    """Notes of a project's vault that are somebody's alone, but for those in `reported`. In a
    record without a project `personal` is what earlier versions wrote."""
    found = catalogue.find(KNOWLEDGE._replace(has_id=False, is_cross_project=True), "path")
    said = (
        row
        for row in found
        if (row.scope == "personal" and (row.project or row.id == row.path))
        or (row.scope == "global" and row.status != "archived")
    )
    for row in islice((row for row in said if row.path not in reported), MAX_LISTED):
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
    for row in catalogue.misdated_notes(now + _MAX_CLOCK_SKEW_SECONDS, MAX_LISTED):
        wrong = "is dated in the future"
        for key, text in (("updated", row.updated), ("created", row.created)):
            if text and not timestamp_of(text):
                wrong = f"says {key}: {shorten(text, 40)}, which is no date"
        yield Problem(row.path, wrong, "mend its created or updated, as in 2026-11-20T16:45:12Z")


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
