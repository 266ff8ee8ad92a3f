"""What a session is given: a briefing when it starts, and what a prompt calls to mind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from cortex.core.model.caller import Caller
from cortex.core.redact.secrets import clean
from cortex.interfaces.hook.payloads import DIALECTS, PROMPT
from cortex.operations.capture.hook_capture import Place, Told, first_time
from cortex.operations.capture.sanitize import one_word
from cortex.vault.locate import Vault

_AFRESH = (
    "startup",
    "clear",
    "compact",
)  # sources of a start before which the agent's context was emptied


def speak(vault: Vault, caller: Caller, told: Told, place: Place) -> str:
    """The text for the agent; empty for none."""
    if sys.flags.no_site:
        sys.meta_path.append(_Installed())
    if told.event == PROMPT:
        return _reminder(vault, caller, told, place)
    if told.source in _AFRESH:
        from cortex.vault.state.reminder_log import forget  # noqa: PLC0415  of all events this one needs it

        forget(vault, one_word(told.session))
    if clean(place.cwd) != place.cwd:
        return ""  # a briefing is kept with the name of its folder, and in that is a secret
    from cortex.operations.sessions.brief import text_for_hook  # noqa: PLC0415

    text = text_for_hook(
        vault, caller, place.project, place.branch, lambda: _briefing(vault, place)
    )
    if text and DIALECTS[told.host].once and not first_time(vault, told, text):
        return ""
    return text


def _briefing(vault: Vault, place: Place) -> str | None:
    """By the watcher, as a reminder is; None where none runs."""
    from cortex.interfaces.cli import daemon_client  # noqa: PLC0415  a briefing that was kept needs nobody

    return daemon_client.briefing(vault.root, place.cwd, project=place.project, branch=place.branch)


def _reminder(vault: Vault, caller: Caller, told: Told, place: Place) -> str:
    """By the watcher, which has the index open; by ourselves where none runs."""
    from cortex.interfaces.cli import daemon_client  # noqa: PLC0415  only prompts ask

    session = one_word(told.session)
    text = daemon_client.remind(
        vault.root,
        told.prompt,
        place.cwd,
        session=session,
        project=place.project,
        branch=place.branch,
    )
    if text is not None:
        return text
    from cortex.operations.find.remind import remind  # noqa: PLC0415  as above

    return remind(
        vault, caller, told.prompt, session=session, project=place.project, branch=place.branch
    ).text


class _Installed:
    """Finds what is not in Python's own library. Started with -S, Python has not looked where packages are installed:
    that costs a tenth of a hook, and most hooks need none."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or name in sys.stdlib_module_names:
            return None  # a part of a package that was found, or one of those that Python may come without, as `subprocess` tries
        sys.meta_path.remove(self)
        import site  # noqa: PLC0415
        from importlib.machinery import PathFinder  # noqa: PLC0415

        site.main()
        return PathFinder.find_spec(name, path, target)
