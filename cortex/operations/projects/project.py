"""Projects: which there are, how one stands, two that a person says are one, and what says of a folder
which project it is."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Literal

from cortex.core.model.caller import Caller
from cortex.core.model.event import project_slug
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.parameters import Time
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import cortex_command, format_time, shell_quote, short_hash, slugify
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.hits import Hits
from cortex.operations.projects.merge_projects import (
    ProjectMerge,
    merge_project,
    no_such_project,
    unmerge_project,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.checkout import PROJECT_FILE
from cortex.vault.locate import Vault
from cortex.vault.state.known_vaults import KnownVault, list_vaults

_MAX_LISTED, _MAX_SIMILAR, _MAX_SHOWN = 200, 20, 10
# The end of a name that `checkout.project_of` made of a folder: four signs of base32. Nearly half
# of all have no digit, and then a word like `docs` looks the same; so without a digit it must have
# no vowel either, which tells three of four.
_FOLDER_RE = lazy_re(r"(.+)-(?=[a-z2-7]{4}$)(?:[a-z]*[2-7][a-z2-7]*|[b-df-hj-np-tv-xz]{4})$")
_PATH_NAME_RE = lazy_re(r".{1,64}-[a-z2-7]{4}")  # a name that was made of a path


class ProjectSummary(NamedTuple):
    """A project in figures."""

    name: str
    notes: int
    open_actions: int
    sessions: int
    changed: Time  # of its latest note
    merged_into: str = ""  # when its name is an alias, and some notes have it all the same


class SimilarProjects(NamedTuple):
    """Two names that may mean one project, and what would make them one."""

    a: str
    b: str
    command: str


class ProjectBranch(NamedTuple):
    """A branch that notes of a project name."""

    name: str
    notes: int
    changed: Time


class ProjectNote(NamedTuple):
    """One note of a project. `date` is when a decision was made, or the day on which an action is due."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path
    title: str
    date: str  # a due is as it stands in the note


class ProjectIdentity(NamedTuple):
    """What a folder says about its project, and where it says so."""

    name: str
    source: str  # file, remote, folder, or none
    why: str
    project: str  # the one that the name stands for: another one when it was merged


class ProjectResult(NamedTuple):
    """The projects of a vault; one as it stands, every list bounded; or what a merge did."""

    here: ProjectIdentity = ProjectIdentity("", "none", "", "")  # the working directory's
    projects: tuple[ProjectSummary, ...] = ()  # of a list, the one changed last first
    total: int = 0
    alike: tuple[SimilarProjects, ...] = ()
    vaults: tuple[KnownVault, ...] = ()  # of this machine, this one among them
    name: str = ""  # of the one that is shown, as are those that follow
    notes: int = 0
    open_actions: int = 0
    sessions: int = 0
    changed: Time = ""
    aliases: tuple[str, ...] = ()
    branches: tuple[ProjectBranch, ...] = ()
    decisions: Hits[ProjectNote] = Hits([], 0)
    actions: Hits[ProjectNote] = Hits([], 0)
    merge: ProjectMerge | None = None  # of merge and unmerge
    problems: tuple[Problem, ...] = ()


def project(
    vault: Vault,
    caller: Caller,
    action: Literal["list", "show", "merge", "unmerge"] = "list",
    a: str = "",
    b: str = "",
    *,
    yes: bool = False,
) -> ProjectResult:
    """List projects, show one, or make two of them one.

    The list also names the vaults that were used on this machine. A project has the name that .cortex-project says, else the remote's, else the folder's with a
    hash of its path: so one project may end up with two names. Merge changes the project: line of
    A's records and sessions to B, and writes into cortex.toml that A means B from now on. Events
    stay as they were captured; each changed note says merged_from:, by which unmerge finds those
    that go back.

    action: list, show NAME, merge A B, or unmerge A B
    a: a project; with show by default the working directory's
    b: the project that A becomes part of
    yes: do it; without it merge and unmerge only say what would change

    Example: cortex project list
    Example: cortex project show shop
    Example: cortex project merge shop-k3f7 shop
    Example: cortex project merge shop-k3f7 shop --yes
    """
    if action == "unmerge":  # by the names that the merge said
        return ProjectResult(merge=unmerge_project(vault, caller, a, b, yes=yes))
    if action == "merge":
        known = query_index(
            vault, caller.progress, lambda index: [load_summaries(index.catalogue, name) for name in (a, b)]
        )  # fmt: skip
        a, b = (
            name if found else project_slug(name) or name
            for name, found in zip((a, b), known, strict=True)
        )
        return ProjectResult(merge=merge_project(vault, caller, a, b, yes=yes))
    if action == "list" and (a or b):
        message = f"project list takes no words: {' '.join(filter(None, (a, b)))!r}"
        raise InvalidInputError(message, "cortex project show NAME shows one")
    if action == "list":
        return _list_projects(vault, caller)
    return _show_project(vault, caller, " ".join(part for part in (a, b) if part))


def _list_projects(vault: Vault, caller: Caller) -> ProjectResult:
    aliases = dict(settings.load(vault.root).aliases)
    every, problems = query_fresh(vault, caller, lambda index: load_summaries(index.catalogue))
    every = [one._replace(merged_into=aliases.get(one.name, "")) for one in every]
    alike = _find_similar_names([one for one in every if not one.merged_into])
    shown = tuple(every[:_MAX_LISTED])
    return ProjectResult(
        _project_here(vault, caller), shown, len(every), tuple(alike[:_MAX_SIMILAR]),
        tuple(list_vaults()), problems=tuple(problems),
    )  # fmt: skip


def load_summaries(catalogue: Catalogue, name: str = "") -> list[ProjectSummary]:
    """The figures of every project that a note names, or of one."""
    return [
        ProjectSummary(one.name, one.notes, one.to_do, one.sessions, format_time(one.last_change))
        for one in catalogue.project_totals(name)
    ]


def _find_similar_names(projects: list[ProjectSummary]) -> list[SimilarProjects]:
    """Names that differ in case, in `-`, `_` and `.`, or by the hash of a folder's name."""
    groups: dict[str, list[ProjectSummary]] = {}
    plain = {_fold_name(one.name) for one in projects}
    for one in projects:
        found = _FOLDER_RE.fullmatch(one.name)
        stem = _fold_name(found[1]) if found else ""
        groups.setdefault(stem if stem in plain else _fold_name(one.name), []).append(one)
    pairs = []
    for key, group in sorted(groups.items()):
        # Into the name that a capture can have and no hash ends, of these the one that most notes
        # have.
        first, *others = sorted(
            (
                not settings.is_project_name(one.name),
                _fold_name(one.name) != key,
                -one.notes,
                one.name,
            )
            for one in group
        )
        for *_, name in others if settings.is_project_name(first[-1]) else ():
            merge = cortex_command("project", "merge", name, first[-1])
            pairs.append(SimilarProjects(name, first[-1], merge))
    return pairs


def _fold_name(name: str) -> str:
    return re.sub(r"[-_. ]+", "-", name.casefold())


def _project_here(vault: Vault, caller: Caller) -> ProjectIdentity:
    here = identify_project(caller.cwd)
    return here._replace(project=settings.load(vault.root).resolve_project(here.name))


def _show_project(vault: Vault, caller: Caller, name: str) -> ProjectResult:
    known = settings.load(vault.root)
    here = _project_here(vault, caller)
    if not name and not here.name:
        hint = "cortex project list names those that there are"
        raise InvalidInputError("name a project: this folder is none", hint)

    def look(index: IndexSession) -> ProjectResult:
        catalogue = index.catalogue
        one = _find_summary(catalogue, name or here.project, known, here)
        wanted = NoteFilter(projects=(one.name,))
        is_decision = wanted._replace(types=("decision",), tiers=(TIER_CURRENT,))
        is_action = wanted._replace(state="to_do")
        decisions = catalogue.find(is_decision, "-created", _MAX_SHOWN)
        made = [_project_note(vault, row, row.created or row.when) for row in decisions]
        actions = catalogue.find(is_action, "due", _MAX_SHOWN)
        due = [_project_note(vault, row, row.due) for row in actions]
        branches = (
            ProjectBranch(branch, notes, format_time(date))
            for branch, notes, date in catalogue.branch_totals(one.name, _MAX_SHOWN)
        )
        return ProjectResult(
            name=one.name, notes=one.notes, open_actions=one.open_actions, sessions=one.sessions,
            changed=one.changed, branches=tuple(branches), here=here,
            aliases=tuple(old for old, new in known.aliases if new == one.name),
            decisions=Hits(made, catalogue.count(is_decision)),
            actions=Hits(due, catalogue.count(is_action)),
        )  # fmt: skip

    details, problems = query_fresh(vault, caller, look)
    return details._replace(problems=tuple(problems))


def _find_summary(
    catalogue: Catalogue, name: str, known: settings.Settings, here: ProjectIdentity
) -> ProjectSummary:
    """The figures of the project that a name means. Raises `NotFoundError`."""
    meant = known.resolve_project(project_slug(name) or name)
    for one in (*load_summaries(catalogue, name), *load_summaries(catalogue, meant)):
        return one
    if name in (here.name, here.project):
        return ProjectSummary(name, 0, 0, 0, "")  # of which is only known why this folder is it
    raise no_such_project(name, (one.name for one in load_summaries(catalogue)))


def _project_note(vault: Vault, row: NoteRow, date: str) -> ProjectNote:
    return ProjectNote(row.id, row.path, vault.file(row.path), row.title, date)


def identify_project(directory: str) -> ProjectIdentity:
    """The project of a folder as `checkout.project_of` tells it, and what told it so."""
    name = checkout.project_of(directory)
    git = checkout.find_repository(directory)
    place = os.path.realpath(directory)
    main = checkout.main_work_tree(git) if git else ""
    root = main or (git[0] if git else place)
    if not name:
        why = f"{place} is your home or the root of the system, and neither is a project"
        return ProjectIdentity("", "none", why, "")
    # The root of the system names no project.
    for folder in (*files.folder_and_parents(place)[:-1], *([main] if main else [])):
        file = os.path.join(folder, PROJECT_FILE)
        if checkout.read_project_file(file) == name:
            return ProjectIdentity(name, "file", f"{file} says so", name)
    if name == f"{slugify(os.path.basename(root), 48)}-{short_hash(root, 4)}":
        why = f"it is made of the folder {root}, which has no {PROJECT_FILE} and no remote"
        return ProjectIdentity(name, "folder", why, name)
    return ProjectIdentity(name, "remote", f"a remote of {root} has this name", name)


def write_project_file(directory: str, *, new: bool) -> str:
    """Write the file that keeps a project's name when its folder is cloned or moved, or gets a remote:
    without it and without a remote a project is named after its path.

    At the root of the repository around a vault, of a `new` one without git in it, unless one is
    there; its path, empty when none was written. With a `new` vault nothing is kept under the name
    made of the path, so the folder's own name does."""
    git = checkout.find_repository(directory)
    if not (git or new) or identify_project(directory).source == "file":
        return ""
    top = git[0] if git else directory
    said = identify_project(top)
    if said.source in ("file", "none"):
        return ""
    name = slugify(os.path.basename(top), 64) if new and said.source == "folder" else said.name
    with suppress(FileExistsError):  # an empty one, perhaps, or a link
        files.create(top, PROJECT_FILE, f"{name}\n".encode())
        return os.path.join(top, PROJECT_FILE)
    return ""


def unstable_name_hint(cwd: str) -> str:
    """How to keep a name that a clone, a move or a new remote would change; else empty."""
    git = checkout.find_repository(cwd)
    said = identify_project(cwd)
    if git is None or said.source != "folder":
        return ""
    command = _write_command(said.name, git[0], cwd)
    named = f"the project is named {said.name} after its path"
    return f"{named}; to keep that name wherever it lies: {command}"


def name_problems(vault: Vault, catalogue: Catalogue, cwd: str) -> list[Problem]:
    """A problem for each two projects whose names differ in case, `-`, `_` and `.` alone, and one
    if this folder's project differs from the one of which the vault has records."""
    merged = dict(settings.load(vault.root).aliases)
    names = [one for one in load_summaries(catalogue) if one.name and one.name not in merged]
    alike = _find_similar_names(names)[:_MAX_SIMILAR]
    pairs = (one for one in alike if _fold_name(one.a) == _fold_name(one.b))
    similar = [Problem(f"project {one.a}", f"may be {one.b}", one.command) for one in pairs]
    return similar + _name_mismatch(vault, catalogue, cwd)


def _name_mismatch(vault: Vault, catalogue: Catalogue, cwd: str) -> list[Problem]:
    """A problem if this folder's project differs from the one of which the vault has records."""
    git = checkout.find_repository(cwd)
    if git is None or os.path.commonpath([git[0], vault.root]) != git[0]:
        return []
    here = settings.load(vault.root).resolve_project(checkout.project_of(git[0]))
    names = catalogue.count_by("project", NoteFilter()).keys() - {""}
    if not here or len(names) != 1 or here in names:
        return []
    (name,) = names
    records = KNOWLEDGE._replace(projects=(name,), not_types=("session",), has_id=True)
    number = catalogue.count(records)
    if not number or (vault.root == git[0] and not _PATH_NAME_RE.fullmatch(name)):
        return []  # a vault of its own, perhaps, in which nobody works
    record = "record here is" if number == 1 else "records here are"
    message = f"{number:,} {record} of the project {name}, and this folder is {here} now"
    merge = cortex_command("project", "merge", name, here)
    hint = f"{_write_command(name, git[0], cwd)}, or {merge}"
    return [Problem(os.path.join(git[0], PROJECT_FILE), message, hint)]


def _write_command(name: str, root: str, cwd: str) -> str:
    """The command that writes the file."""
    path = os.path.relpath(os.path.join(root, PROJECT_FILE), os.path.realpath(cwd))
    return f"echo {shell_quote(name)} > {shell_quote(path)}"
