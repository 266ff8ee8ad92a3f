"""Which records bear on a prompt: a few lines for an agent, or none."""

from __future__ import annotations

from typing import Annotated

from cortex.core.briefing.injected import Reminder
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.ranking import relevance
from cortex.core.text import context_markers
from cortex.core.text.strings import truncate_prompt
from cortex.vault.locate import Vault

MAX_LINES = 20


def remind(
    vault: Vault,
    caller: Caller,
    prompt: str,
    *,
    session: str = "",
    project: str = "",
    branch: str = "",
    number: Annotated[int, Between(1, MAX_LINES)] | None = None,
) -> Reminder:
    """Print what the vault knows about a prompt, if anything.

    Current records of the project, of no project, and those that are yours everywhere (scope
    personal or global, also of your own vault); in the place of what was superseded, what holds
    now. Where records leave room, the passages of earlier sessions that bear on it, each as a turn.
    At most 2,000 characters, framed as reference data for an agent. With a session, nothing
    that its briefing says, and nothing twice.

    prompt: what somebody asks an agent; a single - reads standard input
    session: the session in which it is asked
    project: by default the one of the working directory
    branch: by default the one that is checked out there; what was said on another one comes behind
    number: how many lines at the most; by default as [remind] in cortex.toml says, else 5

    Example: cortex remind why do we not use os.replace
    Example: cortex remind --session 5f1c --json 'the search misses the second change of a note'
    """
    text = truncate_prompt(context_markers.strip_injected(truncate_prompt(prompt)))
    if relevance.is_uninformative(text):
        return Reminder((), 0, "", ())
    # Most prompts end above; SQLite and the index cost 30 ms.
    from cortex.operations.find.remind_build import build_reminder  # noqa: PLC0415

    return build_reminder(
        vault, caller, text, session=session, project=project, branch=branch, number=number
    )
