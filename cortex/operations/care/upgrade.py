"""The verbs `upgrade` and `reset`: what a vault has beside its notes, made the newest or made anew."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.notes.erasure import make_eraser
from cortex.core.text.strings import cortex_command, option_words, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import open_index
from cortex.index.state_file import load_valid_state, state_path
from cortex.index.vectors.vector_file import newest_vector_file
from cortex.operations.capture.capture import new_event_id
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.care.embed import embed, rebuild
from cortex.operations.care.status import is_asked
from cortex.operations.share.erase import apply, drop_derived, find_files
from cortex.operations.share.erase_history import ErasePlace, EraseResult
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import erased, extra, files, private, settings
from cortex.vault.git import page_branch, rewrite
from cortex.vault.locate import Vault
from cortex.vault.state.change_memory import write_backup


class UpgradeResult(NamedTuple):
    """What an upgrade found, and did unless `dry_run`."""

    tier: int  # as found: 0 notes alone, 1 index, 2 vectors, 3 MCP
    dry_run: bool
    due: dict[str, int]  # format, index, vectors, pages -> how many records, notes, passages, pages
    missing: dict[str, str]  # what a person may add -> the command
    undo: str  # the command that puts the records back that changed
    problems: tuple[Problem, ...]


def upgrade(
    vault: Vault, caller: Caller, *, dry_run: bool = False, force: bool = False
) -> UpgradeResult:
    """Bring a vault's format and index to the newest.

    It names the tier of the vault: 0 notes alone, 1 an index and pages, 2 vectors, 3 an agent's host
    that asks over MCP. Records of earlier versions get the form of new ones, an index of another
    version is built anew, passages get vectors of a model on this machine, pages are healed. What
    needs a package, or a remote model, is named with its command; nothing is installed or sent.
    Records that change are kept in a dated archive in the vault's folder of state, below
    ~/.local/state/cortex; the answer has the command that puts them back.

    dry_run: change nothing, and say the same
    force: build index and vectors anew, though they are the newest

    Example: cortex upgrade --dry-run
    Example: cortex upgrade
    """
    settings.check_writable(vault.root)
    refuse_during_git_operation(vault)
    is_due = load_valid_state(vault.cache_folder()) is None
    if force and not dry_run:
        rebuild(vault, caller)
    # A newer format of the vault itself would be switched on here, before the form of its notes.
    listed, checked = heal(vault, caller, format=True), heal(vault, caller, check=True)
    paths, stale = listed.reformat.paths if listed.reformat else (), checked.stale
    missing = dict[str, str]()
    try:
        found = embed(vault, caller, dry_run=True)
        passages = found.embedded + found.present * (force and not found.is_remote)
        if passages and found.is_remote:  # a person decides what is sent
            passages, missing["vectors"] = 0, "cortex embed"
    except CortexError as error:
        passages, missing["vectors"] = 0, error.hint
    with open_index(vault, caller.progress) as index:
        count = index.catalogue.count_notes() * (force or is_due)
    file, has_mcp = newest_vector_file(vault.cache_folder()), is_asked(caller.cwd)
    tier = 0 if is_due else 1 + bool(file) + bool(file and has_mcp)
    for what, packages in (("mcp over HTTP", extra.MCP), ("web", extra.WEB)):
        try:
            extra.require(what, packages)
        except InvalidInputError as error:
            missing[what] = error.hint
    missing |= {} if has_mcp else {"mcp": "cortex mcp install claude"}
    due = {"format": len(paths), "index": count, "vectors": passages, "pages": len(stale)}
    problems, undo = [*listed.problems, *checked.problems], ""
    if is_due and dry_run:
        private.remove(state_path(vault))  # the index is as good as none again
    if paths and not dry_run:
        undo = write_backup(vault, f"{new_event_id(caller)}-upgrade", paths)
        problems += heal(vault, caller, format=True, apply=True).problems
    if stale and not dry_run:
        problems += heal(vault, caller).problems
    if passages and not dry_run:
        if force and file:
            private.remove(file.path)
        problems += embed(vault, caller).problems
    return UpgradeResult(tier, dry_run, due, missing, undo, tuple(dict.fromkeys(problems)))


def reset(
    vault: Vault, caller: Caller, *, memory: bool = False, project: str = "", yes: bool = False
) -> EraseResult:
    """Make everything anew that is derived from the notes.

    That is index, pages, cached briefings and vectors, which wait for cortex embed. No note, event or
    setting is touched. With --memory it erases, after a question, what Cortex holds of one project,
    as cortex erase does: records and sessions go, of events only time and place stay, links to them
    are cut, and sync takes that to every clone. All is kept before in a dated archive in the vault's
    folder of state; the answer has the command that brings it back. Git's history and the transcripts
    of your agents keep what they have.

    memory: erase a project's records, sessions and events
    project: whose, with --memory; by default that of the working directory
    yes: with --memory, do not ask

    Example: cortex reset
    Example: cortex reset --memory --project shop
    """
    if not memory and (project or yes):
        hint = cortex_command("reset", "--memory", *option_words("project", project))
        raise InvalidInputError("--project and --yes go with --memory", hint)
    settings.check_writable(vault.root)
    refuse_during_git_operation(vault)
    if memory:
        return _erase_memory(vault, caller, project, yes=yes)
    hint = "cortex embed" if newest_vector_file(vault.cache_folder()) else ""
    drop_derived(vault, make_eraser(()))
    rebuild(vault, caller)
    prunes = page_branch.find_page_branch(vault.root).is_default
    problems = heal(vault, caller, prune_pages=prunes).problems
    return EraseResult((), True, False, 0, hint=hint, problems=problems)


def _erase_memory(vault: Vault, caller: Caller, project: str, *, yes: bool) -> EraseResult:
    if not (name := resolve_project(vault, caller, project)):
        hint = "cortex reset --memory --project NAME; cortex project lists them"
        raise InvalidInputError("the working directory is in no project", hint)
    wanted = NoteFilter(projects=project_names(vault, name), has_id=True)
    rows, problems = query_fresh(vault, caller, lambda index: index.catalogue.find(wanted))
    layout, root = vault.layout(), vault.root
    events = [row.id for row in rows if layout.is_in(row.path, "events", "inbox")]
    records = [row.id for row in rows if layout.is_in(row.path, "records", "sessions")]
    eraser = make_eraser((), records, events)
    if not (held := find_files(vault, eraser)):
        raise NotFoundError(f"there is no memory of the project {name}", "cortex project")
    kind_of = (layout.own_folder(path).removesuffix("s") or "file" for path in held)
    places = tuple(map(ErasePlace, kind_of, held))
    if not yes:
        hint = cortex_command("reset", "--memory", *option_words("project", name), "--yes")
        return EraseResult(places, False, True, len(held), hint=hint, problems=tuple(problems))
    undo = write_backup(vault, f"{new_event_id(caller)}-{name}", held)
    folder = erased.folder_of(root)
    before = files.list_names(root, folder)
    objects = rewrite.find_objects(root, eraser.holds)
    problems += apply(vault, caller, eraser, held, objects, history=False, names_stay=True)
    for one in {*files.list_names(root, folder)}.difference(before):
        undo += f" && rm {shell_quote(f'{root}/{folder}/{one}')}"
    left = (f"a backup; this puts it back: {undo}",)
    return EraseResult(places, True, False, len(held), left=left, problems=tuple(problems))
