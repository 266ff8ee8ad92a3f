"""What a session is given: a briefing when it starts, and what a prompt calls to mind."""

from __future__ import annotations

import sys

from cortex.core.model.caller import Caller
from cortex.core.redact.secrets import sanitize_text
from cortex.hosts import load_host
from cortex.hosts.host import PROMPT
from cortex.operations.capture.hook_capture import HookEvent, Workspace, mark_injected
from cortex.operations.capture.sanitize import sanitize_name
from cortex.vault.locate import Vault
from cortex.vault.state.reminder_log import reset_reminders
from cortex.watcher import client

# Sources of a start before which the agent's context was emptied.
_SOURCES_WITH_EMPTY_CONTEXT = ("startup", "clear", "compact")


def context_for_agent(vault: Vault, caller: Caller, told: HookEvent, place: Workspace) -> str:
    """The text for the agent; empty for none."""
    if sys.flags.no_site:  # started with -S: Python has not looked where packages are installed
        import site  # noqa: PLC0415  a tenth of a hook

        site.main()
    if told.name == PROMPT:
        return _reminder(vault, caller, told, place)
    if told.source in _SOURCES_WITH_EMPTY_CONTEXT:
        reset_reminders(vault, sanitize_name(told.session))
    if sanitize_text(place.cwd) != place.cwd:
        return ""  # a briefing is kept with the name of its folder, and in that is a secret
    # 7 ms that prompts need not spend.
    from cortex.operations.sessions.brief import briefing_for_hook  # noqa: PLC0415

    text = briefing_for_hook(
        vault, caller, place.project, place.branch, lambda: _briefing_from_watcher(vault, place)
    )
    if text and load_host(told.host).is_briefed_once and not mark_injected(vault, told, text):
        return ""
    return text


def _briefing_from_watcher(vault: Vault, place: Workspace) -> str | None:
    """By the watcher, as a reminder is; None where none runs."""
    return client.request_briefing(
        vault.root, place.cwd, project=place.project, branch=place.branch
    )


def _reminder(vault: Vault, caller: Caller, told: HookEvent, place: Workspace) -> str:
    """By the watcher, which has the index open; by ourselves where none runs."""
    session = sanitize_name(told.session)
    text = client.request_reminder(
        vault.root,
        told.prompt,
        place.cwd,
        session=session,
        project=place.project,
        branch=place.branch,
    )
    if text is not None:
        return text
    # 15 ms, where no watcher answers.
    from cortex.operations.find.remind import remind  # noqa: PLC0415

    return remind(
        vault, caller, told.prompt, session=session, project=place.project, branch=place.branch
    ).text
