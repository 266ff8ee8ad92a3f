"""What a session is given: briefing and contract at its start, reminders with a prompt."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.redact.secrets import sanitize_text
from cortex.hosts import load_host
from cortex.hosts.host import PROMPT
from cortex.operations.capture.hook_capture import HookEvent, Workspace, mark_injected
from cortex.operations.capture.sanitize import sanitize_name
from cortex.operations.sessions.hook_briefing import briefing_for_hook, contract_for
from cortex.vault.locate import Vault
from cortex.vault.state.reminder_log import reset_reminders

# Sources of a start before which the agent's context was emptied.
_SOURCES_WITH_EMPTY_CONTEXT = ("startup", "clear", "compact")


def context_for_agent(vault: Vault, caller: Caller, told: HookEvent, place: Workspace) -> str:
    """The text for the agent; empty for none."""
    if told.name == PROMPT:
        # Sockets and the search for packages: a cached briefing needs neither.
        from cortex.interfaces.hook.watcher_answers import reminder  # noqa: PLC0415

        return reminder(vault, caller, told, place)
    if told.source in _SOURCES_WITH_EMPTY_CONTEXT:
        reset_reminders(vault, sanitize_name(told.session))
    briefing = ""
    # A briefing is kept with the name of its folder: there is none if in that is a secret.
    if sanitize_text(place.cwd) == place.cwd:

        def ask_watcher() -> str | None:
            from cortex.interfaces.hook import watcher_answers  # noqa: PLC0415  as above

            return watcher_answers.briefing_from_watcher(vault, place)

        briefing = briefing_for_hook(vault, caller, place.project, place.branch, ask_watcher)
    text = "\n\n".join(filter(None, (briefing, contract_for(vault))))
    if text and load_host(told.host).is_briefed_once and not mark_injected(vault, told, text):
        return ""
    return text
