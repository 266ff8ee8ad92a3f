"""Ask the watcher of a vault to answer a command line for a command or a hook.

Commands and hooks import this on every start, so it imports no verb, parser or `socket`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.text.strings import truncate_prompt
from cortex.vault.locate import default_vault_root
from cortex.watcher import protocol
from cortex.watcher.protocol import CommandReply, CommandRequest

CONNECT_SECONDS = 1.0
# Timeouts for the answer; then the asker answers by itself.
COMMAND_SECONDS, PROMPT_SECONDS, SESSION_START_SECONDS = 10.0, 1.5, 2.5


def send_command(
    root: str,
    words: Sequence[str],
    cwd: str,
    *,
    terminal: str = "",
    timeout: float = COMMAND_SECONDS,
) -> CommandReply | None:
    """Return the answer of the watcher of the vault at `root` to a command line. None if no watcher
    of this version runs or the answer is late or incomplete. Raises `InvalidInputError` if its
    folder is not private.

    The asker's default vault is sent too: the watcher may run in another environment.
    """
    try:
        request = CommandRequest(root, cwd, terminal, default_vault_root(), tuple(words)).encode()
    except UnicodeEncodeError:  # halves of surrogate pairs, which no command line can hold
        return None
    fields = protocol.exchange(root, request, CONNECT_SECONDS, timeout)
    if fields is None or len(fields) != 4 or fields[0] != protocol.DONE:
        return None
    return CommandReply(fields[1], fields[2], int.from_bytes(fields[3], "big"))


def request_reminder(
    root: str, prompt: str, cwd: str, *, session: str = "", project: str = "", branch: str = ""
) -> str | None:
    """Return the reminder of the watcher of the vault at `root` for a prompt of any size: text for
    the agent, empty if nothing is relevant. None if no watcher answers."""
    text = truncate_prompt(prompt)
    if text == "-":
        return ""
    options = _options(session=session, project=project, branch=branch)
    return _request_text(root, ["remind", *options, "--", text], cwd, PROMPT_SECONDS)


def request_briefing(root: str, cwd: str, *, project: str = "", branch: str = "") -> str | None:
    """Return the briefing for a session in `cwd`, frame included; as `request_reminder`."""
    words = ["brief", "--print", *_options(project=project, branch=branch)]
    return _request_text(root, words, cwd, SESSION_START_SECONDS)


def _options(**values: str) -> list[str]:
    return [f"--{name}={truncate_prompt(value)}" for name, value in values.items() if value]


def _request_text(root: str, words: list[str], cwd: str, timeout: float) -> str | None:
    reply = send_command(root, words, cwd, timeout=timeout)
    if reply is None or reply.exit_code not in (0, 1):
        return None
    return reply.stdout.decode("utf-8", "replace").removesuffix("\n")
