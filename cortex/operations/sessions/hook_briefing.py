"""The briefing that a hook injects at the start of a session. While the cached one is valid, it
imports next to nothing, and no `typing`."""

from __future__ import annotations

from collections.abc import Callable

from cortex.core.briefing.injected import CONTRACT, DEFAULT_BUDGET_TOKENS, MAX_INJECTED_CHARS
from cortex.core.model.caller import Caller
from cortex.core.text.value import TYPE_CHECKING
from cortex.operations.capture import hooks_enabled
from cortex.vault.locate import Vault
from cortex.vault.state.briefing_cache import BriefingKey, read_cached_briefing, requested_key

if TYPE_CHECKING:
    from cortex.core.briefing.injected import BriefResult


def briefing_for_hook(
    vault: Vault,
    caller: Caller,
    project: str,
    branch: str,
    ask_watcher: Callable[[], str | None] = lambda: None,
) -> str:
    """The framed text for the start of a session, at most 9,500 characters; may be empty.

    Without a cached text, `ask_watcher` is called; where it returns None, a briefing is built here.
    """
    key = requested_key(caller, project, branch, DEFAULT_BUDGET_TOKENS, False)
    cached = read_cached_briefing(vault, key)
    text = cached.text if cached else ask_watcher()
    if text is None:
        text = build_briefing(vault, caller, key).text
    return text if len(text) <= MAX_INJECTED_CHARS else ""


def contract_for(vault: Vault) -> str:
    """What every session is asked for at its start; empty where the vault's settings end it."""
    return CONTRACT if hooks_enabled.read_settings(vault).contract else ""


def build_briefing(
    vault: Vault, caller: Caller, key: BriefingKey, *, with_edited_files: bool = False
) -> BriefResult:
    """Build a briefing, cached or not."""
    # The catalogue and all that: a cached briefing needs none of it.
    from cortex.operations.sessions.brief_build import build_brief  # noqa: PLC0415

    return build_brief(vault, caller, key, with_edited_files=with_edited_files)
