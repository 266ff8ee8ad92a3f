"""What the watcher answers a hook, which has the index open. Where none runs, this process has to look for itself, and
for the packages that this takes."""

from __future__ import annotations

import site
import sys

from cortex.core.model.caller import Caller
from cortex.operations.capture.hook_capture import HookEvent, Workspace
from cortex.operations.capture.sanitize import sanitize_name
from cortex.vault.locate import Vault
from cortex.watcher import client


def briefing_from_watcher(vault: Vault, place: Workspace) -> str | None:
    """The briefing of the place; None where no watcher runs."""
    text = client.request_briefing(
        vault.root, place.cwd, project=place.project, branch=place.branch
    )
    if text is None:
        _find_packages()
    return text


def reminder(vault: Vault, caller: Caller, told: HookEvent, place: Workspace) -> str:
    """What bears on a prompt, by the watcher or by this process."""
    session, project, branch = sanitize_name(told.session), place.project, place.branch
    text = client.request_reminder(
        vault.root, told.prompt, place.cwd, session=session, project=project, branch=branch
    )
    if text is not None:
        return text
    _find_packages()
    # 15 ms, where no watcher answers.
    from cortex.operations.find.remind import remind  # noqa: PLC0415

    found = remind(vault, caller, told.prompt, session=session, project=project, branch=branch)
    return found.text


def _find_packages() -> None:
    if sys.flags.no_site:  # started with -S: Python has not looked where packages are installed
        site.main()
