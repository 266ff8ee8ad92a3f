"""Which branch a team shares its pages on, and whether it is checked out."""

from __future__ import annotations

import json
import os

from cortex.core.briefing.pages import BriefingPage
from cortex.core.model.layout import BRIEFINGS_FOLDER, SETTINGS_FILE
from cortex.core.text.value import NamedTuple
from cortex.vault import files, settings
from cortex.vault.git import checkout, git_cli, objects
from cortex.vault.git.branches import RepositoryRefs, list_tips
from cortex.vault.git.checkout import Repository
from cortex.vault.layout import layout_of

_USUAL_NAMES = ("main", "master")
_MAX_CONFIG_BYTES = 1 << 20


class PageBranch(NamedTuple):
    """The branch for which pages are written."""

    name: str  # empty outside a repository and on a detached HEAD
    default: str  # empty where nobody knows it
    is_default: bool  # or there is none: all pages are written

    def writes(self, page: BriefingPage) -> bool:
        """Whether this branch writes the page as the notes give it."""
        is_own = page.kind == "branch" and page.name == self.name != ""
        return self.is_default or is_own


def find_page_branch(root: str, *, check: bool = False) -> PageBranch:
    """The branch that is checked out, or that a rebase will come back to. With `check`, which
    writes nothing, a detached HEAD at the end of the default branch stands for it."""
    repository = checkout.find_repository(root)
    if repository is None:
        return PageBranch("", "", is_default=True)
    name, default = _branch_of(repository), find_default(root, repository)
    if name == default or not default:
        return PageBranch(name, default, is_default=bool(name))
    if not name:
        is_end = check and bool(list_tips(root, default, "--points-at=HEAD"))
        return PageBranch("", default, is_default=is_end)
    # Pages that git does not know meet in no merge.
    own = (SETTINGS_FILE, layout_of(root).path(f"{BRIEFINGS_FOLDER}/index.md"))
    return PageBranch(name, default, is_default=bool(objects.filter_ignored(root, own)))


def find_default(root: str, repository: Repository | None) -> str:
    """The default branch: what the settings name, which all clones share, else what `origin/HEAD`
    names, else the only branch, else main or master; empty if none of these is there. A name in
    the settings that no branch has any more does not count where another is known."""
    if repository is None:
        return ""
    chosen = settings.load(root).briefings_branch
    names = known_branches(repository)
    named, _ = RepositoryRefs(*repository).remote_default()
    if chosen and not {chosen, named} & names and checkout.has_remote(repository):
        return chosen  # a clone of one branch, as for tests, need not know the default one
    only = names if len(names) == 1 and sees_all_branches(repository) else ()
    candidates = (chosen, named, *only, *_USUAL_NAMES)
    return next((name for name in candidates if name in names), chosen)


def known_branches(repository: Repository) -> frozenset[str]:
    """The branches that exist here, or as last seen on a remote."""
    return RepositoryRefs(*repository).branch_names() | ({_branch_of(repository)} - {""})


def undeclared_default(root: str) -> tuple[str, bool]:
    """The default branch as it is guessed where the settings name none, and whether other clones
    could guess another one: they do not while there is a single branch."""
    repository = checkout.find_repository(root)
    if repository is None or settings.load(root).briefings_branch:
        return "", False
    return find_default(root, repository), len(known_branches(repository)) > 1


def missing_default(root: str) -> str:
    """The branch that the settings name, if this clone would know of it and does not."""
    repository, chosen = checkout.find_repository(root), settings.load(root).briefings_branch
    if repository is None or not chosen or not git_cli.has_commit(root):
        return ""
    is_known = chosen in known_branches(repository) or not sees_all_branches(repository)
    return "" if is_known else chosen


def settings_lines(branch: str) -> str:
    """What names the default branch in the settings."""
    comment = "# Pages that all share are written on this branch; another one writes its own page."
    return f"\n[briefings]\n{comment}\nbranch = {json.dumps(branch, ensure_ascii=False)}\n"


def sees_all_branches(repository: Repository) -> bool:
    """Whether this clone would know of every branch of its remotes. One that was made for a single
    branch, or without the history, does not."""
    if os.path.lexists(os.path.join(repository.common_dir, "shallow")):
        return False
    config = files.read_bounded(os.path.join(repository.common_dir, "config"), _MAX_CONFIG_BYTES)
    fetched = [line for line in config.splitlines() if line.split(b"=")[0].strip() == b"fetch"]
    return not checkout.has_remote(repository) or any(b"refs/heads/*" in line for line in fetched)


def pages_at_merge_base(root: str, default: str) -> dict[str, bytes] | None:
    """The files among the briefings as they are in the newest commit that the branch has in common
    with the default one, or will have once the merge that is under way is committed; None where no
    such commit is known, or the vault is newer."""
    tips = list_tips(root, default)
    bases: list[str] = []
    for head in ("HEAD", "MERGE_HEAD"):
        if tips and git_cli.find_commit(root, head):
            found = git_cli.run_unchecked(root, ["merge-base", head, *tips]).stdout.decode()
            bases += found.split()[:1]
    if not bases:
        return None
    base = bases[-1]
    if len(bases) > 1 and git_cli.is_ancestor(root, base, bases[0]):
        base = bases[0]
    if objects.read_at_revision(root, base, SETTINGS_FILE) is None:
        return None
    return objects.read_committed(root, [layout_of(root).path(BRIEFINGS_FOLDER)], base)


def fetched_with(root: str, branch: str) -> str:
    """The default branch, if it is another one: a merge base is no newer than what is known of it."""
    default = find_default(root, checkout.find_repository(root))
    return default if default != branch and RepositoryRefs.is_branch_name(default) else ""


def _branch_of(repository: Repository) -> str:
    """The branch that is checked out, or that is being rebased."""
    for folder in ("rebase-merge", "rebase-apply"):
        place = os.path.join(repository.git_dir, folder, "head-name")
        name = checkout.read_first_line(place)
        if name.startswith("refs/heads/"):
            return name.removeprefix("refs/heads/")
    return checkout.head_branch(repository)
