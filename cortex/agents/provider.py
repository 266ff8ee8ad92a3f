"""What is started for a run: the words of its command, its environment, what it reads, and who reads it.

Claude Code and Gemini CLI keep a session by the folder where it began: to go on with one, the program is
started in the same folder.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from cortex.agents.claude import ClaudeEvents
from cortex.agents.codex import CodexEvents
from cortex.agents.gemini import GeminiEvents
from cortex.agents.ndjson import NdjsonEvents
from cortex.agents.reader import EventReader, Usage
from cortex.core.model.problem import InvalidInputError
from cortex.core.runs.run_config import RunConfig
from cortex.core.text.lazy_re import lazy_re
from cortex.vault.agent_settings import NDJSON, OPENAI_COMPATIBLE, ProviderSettings as Provider

# By protocol, as the user's settings name it.
READERS: dict[str, type[EventReader]] = {
    "claude": ClaudeEvents, "codex": CodexEvents, "gemini": GeminiEvents,
    "ndjson": NdjsonEvents, "openai-compatible": NdjsonEvents,
}  # fmt: skip
_HERE = Path(__file__).parent
_PROGRAMS = tomllib.loads((_HERE / "programs.toml").read_text("utf-8"))
_PLACE_RE = lazy_re(r"\{([a-z_]+)\}")
_SESSION_RE = lazy_re(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")  # never an option of a program


def command_of(provider: Provider, config: RunConfig, root: str) -> list[str]:
    """The program and its arguments, for the vault at `root`; no shell reads them. Raises
    `InvalidInputError` where a session cannot be continued."""
    program = _PROGRAMS[provider.protocol]
    words = provider.command or program["command"]
    if config.session_id:
        resume = provider.resume or (() if provider.command else program.get("resume", ()))
        # An ndjson program is told the session in its configuration.
        is_told = provider.protocol == NDJSON or "{session}" in "".join(words)
        words = resume or (words if is_told else ())
        if not words or not _SESSION_RE.fullmatch(config.session_id):
            message = f"{provider.name} cannot continue the session {config.session_id[:80]!r}"
            hint = f"start a new run, or write resume below [providers.{provider.name}]"
            raise InvalidInputError(message, hint)
    tools = program.get("tools", {}).get(config.tools, ["{tools}"])
    whole = [part for word in words for part in (tools if word == "{tools}" else [word])]
    return [word for part in whole for word in _filled(part, provider, config, root)]


def environment_of(
    provider: Provider, config: RunConfig, user: Mapping[str, str]
) -> dict[str, str]:
    """The variables that the program is given, of the user's and set, beside those of every process."""
    program = _PROGRAMS[provider.protocol]
    names = (*_PROGRAMS["env"], *program.get("env", ()), *provider.env, provider.key_variable)
    given = {name: user[name] for name in names if name in user}
    fixed = program.get("fixed_env", {}).items()
    given |= {name: text for name, value in fixed for text in _filled(value, provider, config)}
    return given | config.env


def stdin_of(provider: Provider, config: RunConfig) -> bytes:
    """What the program reads: the prompt, or the whole configuration as one line of JSON."""
    if provider.protocol in (NDJSON, OPENAI_COMPATIBLE):
        return json.dumps(config._asdict()).encode() + b"\n"
    texts = config.system_instruction, config.extra_context, config.user_instruction, config.prompt
    text = "\n\n".join(text for text in texts if text.strip())
    # What begins with a slash would be a command of the program's, not a prompt.
    return ("Prompt: " * text.lstrip().startswith("/") + text).encode("utf-8", "replace")


def new_reader(provider: Provider, before: Usage) -> EventReader:
    """Who reads what the program prints; `before` is the usage of all the runs that it continues."""
    return READERS[provider.protocol](before)


def _filled(word: str, provider: Provider, config: RunConfig, root: str = "") -> Iterator[str]:
    """The word with values in its places; nothing if one has no value."""
    values = {
        "model": config.model, "vault": root, "session": config.session_id, "tools": config.tools,
        "max_tokens": str(config.max_output_tokens or ""), "thinking": str(config.thinking_budget or ""),
        "budget": "" if config.max_cost_usd is None else f"{config.max_cost_usd:.4f}", "here": str(_HERE),
        "python": sys.executable, "url": provider.url, "key_variable": provider.key_variable,
    }  # fmt: skip
    if all(values.get(name, "-") for name in _PLACE_RE.findall(word)):
        yield _PLACE_RE.sub(lambda place: values.get(place[1], place[0]), word)
