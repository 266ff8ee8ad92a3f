"""Which vault and project a session of an agent belongs to, and where it works just now.

A session writes into one vault: the one in which it began. Another folder at the end of a turn
makes no other vault and no other project.
"""

from __future__ import annotations

import os
from _collections_abc import Iterator, Mapping

from cortex.core.model.problem import NotFoundError
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.light import suppress
from cortex.core.text.strings import short_hash, slugify
from cortex.core.text.value import NamedTuple
from cortex.hosts import load_host, new_reader
from cortex.hosts.tail import read_new_lines
from cortex.operations.capture.sanitize import sanitize_name, working_directory
from cortex.operations.capture.transcript_chunk import MAX_READ_BYTES, is_readable_transcript
from cortex.vault.git import checkout
from cortex.vault.locate import Vault, find_vault, is_own
from cortex.vault.state.session_homes import recall_home


class Workspace(NamedTuple):
    """Where a session is at work."""

    cwd: str  # in its project, even if the agent has gone elsewhere
    root: str  # the folder to which paths are relative
    project: str
    branch: str
    home: str  # the folder in which it began
    is_remembered: bool = False  # whether its home is written down


def find_workspace(
    host: str, session: str, transcript: str, cwd: str, environ: Mapping[str, str]
) -> tuple[Vault | None, Workspace]:
    """The vault of a session, None outside every vault, and where it works; `cwd` is where the host
    says that the agent is now.

    The vault is that of its first capture, else of the folder that the host names as its project, of
    the first folder in its transcript, or of `cwd`.
    """
    cwd = cwd if _is_absolute(cwd) else working_directory()
    if not environ.get("CORTEX_VAULT") and (home := recall_home(host, session)):
        root, began, project = home
        return Vault(root), _workspace_of(cwd, began, project)._replace(is_remembered=True)
    for folder in filter(_is_absolute, _home_candidates(host, transcript, cwd, environ)):
        with suppress(NotFoundError):
            found = find_vault("", folder, environ)
            # Of a folder that never was on this machine nothing says that the default is meant.
            if os.path.isdir(folder) or not is_own(found):
                return found, _workspace_of(cwd, folder, checkout.project_of(folder))
    return None, _workspace_of(cwd, cwd, "")


def _workspace_of(cwd: str, began: str, project: str) -> Workspace:
    """Where a session works that began in this folder, while its agent is in `cwd`."""
    repository = checkout.find_repository(began)
    here = repository if cwd == began else checkout.find_repository(cwd)
    is_same = repository and here and repository.common_dir == here.common_dir
    is_within = f"{os.path.realpath(cwd)}/".startswith(f"{os.path.realpath(began)}/")
    if not (os.path.isdir(cwd) and (is_same or is_within)):
        cwd, here = began, repository
    work_tree = here if is_same or not repository else repository
    root = work_tree.top if repository and work_tree else began
    root = began if os.path.realpath(began) == root else root  # as the person wrote it
    # The name is made of the folder's, which holds a secret.
    if project and sanitize_text(root) != root:
        project = f"{slugify(sanitize_text(os.path.basename(root)), 48)}-{short_hash(root, 4)}"
    branch = checkout.head_branch(work_tree) if work_tree else ""
    return Workspace(cwd, root, project, sanitize_name(branch), began)


def _home_candidates(
    host: str, transcript: str, cwd: str, environ: Mapping[str, str]
) -> Iterator[str]:
    """Folders in which a session may have begun, the likeliest first."""
    yield from (environ.get(name, "") for name in load_host(host).project_variables)
    if is_readable_transcript(host, transcript):
        reader = new_reader(host)
        for line in read_new_lines(transcript, most=MAX_READ_BYTES).lines:
            reader.feed([line])
            if reader.cwd:
                break
        yield reader.cwd
    yield from (cwd, working_directory())


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path) and "\0" not in path
