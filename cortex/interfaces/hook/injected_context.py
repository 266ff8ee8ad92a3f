"""What a session is given: briefing and contract at its start, reminders with a prompt."""

from __future__ import annotations

import os
import sys

from cortex.core.briefing.injected import SURFACE_FILE
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.context_markers import CONTRACT, wrap
from cortex.core.text.light import suppress
from cortex.core.text.strings import cortex_command
from cortex.hosts import load_host
from cortex.hosts.host import PROMPT
from cortex.operations.capture.hook_capture import HookEvent, mark_injected
from cortex.operations.capture.sanitize import sanitize_name
from cortex.operations.capture.workspace import Workspace
from cortex.operations.sessions.hook_briefing import briefing_for_hook, contract_for
from cortex.vault.locate import Vault
from cortex.vault.state import unwritten
from cortex.vault.state.reminder_log import reset_reminders

# What prints the prompt about a session, and what takes the answer.
_WRITE_UP = (("--print-prompt",), ("--answer", "-"))
# Sources of a start before which the agent's context was emptied.
_SOURCES_WITH_EMPTY_CONTEXT = ("startup", "clear", "compact")


def context_for_agent(vault: Vault, caller: Caller, payload: HookEvent, place: Workspace) -> str:
    """The text for the agent; empty for none."""
    if payload.name == PROMPT:
        return _reminder(vault, caller, payload, place)
    if payload.source in _SOURCES_WITH_EMPTY_CONTEXT:
        reset_reminders(vault, sanitize_name(payload.session))
    briefing = ""
    # A briefing is kept with the name of its folder: there is none if in that is a secret.
    if sanitize_text(place.cwd) == place.cwd:
        briefing = briefing_for_hook(
            vault, caller, place.project, place.branch, lambda: _briefing_from_watcher(vault, place)
        )
        _write_surface(vault, caller, place)
    asked = "" if payload.source == "compact" else _ask_to_write_up(vault, caller, payload, place)
    text = "\n\n".join(filter(None, (briefing, contract_for(vault), asked)))
    if text and load_host(payload.host).is_briefed_once and not mark_injected(vault, payload, text):
        return ""
    return text


def _ask_to_write_up(vault: Vault, caller: Caller, payload: HookEvent, place: Workspace) -> str:
    """What asks the agent to write up a session of the project; empty for none, and mostly."""
    session = sanitize_name(payload.session)
    due = unwritten.next_to_ask(vault, caller, place.project, session)
    if due is None:
        return ""
    from cortex.vault import user_settings  # noqa: PLC0415  hardly ever

    if user_settings.load_distill()[0].by != user_settings.AGENT:
        return ""
    name, day = due
    with suppress(CortexError, OSError):
        unwritten.mark_asked(vault, caller, name)
    chosen = name.split(" ") if name.startswith("--") else [name]
    what = f"The roll-up {name}" if name.startswith("--") else f"Session {name} of {day}"
    prompt, answer = (cortex_command("distill", *chosen, *words) for words in _WRITE_UP)
    return wrap(
        CONTRACT,
        f"{what} is not written up. When your task leaves time: `{prompt}`, then"
        f" `{answer}` with your JSON; or the tool distill. Its person wants that.",
    )


def _write_surface(vault: Vault, caller: Caller, place: Workspace) -> None:
    """Bring the surface of the project up to date, where there is one."""
    if not os.path.exists(os.path.join(place.cwd, SURFACE_FILE)):
        return
    _find_packages()
    # Hardly any project has one.
    from cortex.operations.sessions.brief import brief  # noqa: PLC0415

    with suppress(CortexError, OSError):
        brief(vault, caller, project=place.project, branch=place.branch, into="surface")


def _briefing_from_watcher(vault: Vault, place: Workspace) -> str | None:
    """The briefing of the place; None where no watcher runs."""
    # 1 ms that a kept briefing does without.
    from cortex.watcher import protocol  # noqa: PLC0415

    text = protocol.request_briefing(
        vault.root, place.cwd, project=place.project, branch=place.branch
    )
    if text is None:
        _find_packages()
    return text


def _reminder(vault: Vault, caller: Caller, payload: HookEvent, place: Workspace) -> str:
    """What bears on a prompt, by the watcher, which has the index open, or by this process."""
    from cortex.watcher import protocol  # noqa: PLC0415  as above

    session, project, branch = sanitize_name(payload.session), place.project, place.branch
    text = protocol.request_reminder(
        vault.root, payload.prompt, place.cwd, session=session, project=project, branch=branch
    )
    if text is not None:
        return text
    _find_packages()
    # 15 ms, where no watcher answers.
    from cortex.operations.find.remind import remind  # noqa: PLC0415

    return remind(
        vault, caller, payload.prompt, session=session, project=project, branch=branch
    ).text


def _find_packages() -> None:
    if sys.flags.no_site:  # started with -S: Python has not looked where packages are installed
        import site  # noqa: PLC0415  only then

        site.main()
