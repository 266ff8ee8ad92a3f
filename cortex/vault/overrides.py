"""Settings that the environment overrules: `CORTEX_<SECTION>_<KEY>`, in the form of TOML or plain."""

from __future__ import annotations

import os

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.tables import parse_toml
from cortex.core.text.value import Any

# Section -> its keys, without programs, folders, addresses, keys, tables, and what a vault holds.
OVERRIDES = {
    "index": ("engine",), "sync": ("autocommit", "push", "notes", "obsidian"),
    "remind": ("lines", "threshold"), "lifecycle": ("auto",), "briefings": ("branch",),
    "hooks": ("enabled", "prompts", "contract"), "notes": ("daily",),
    "distill": ("by", "auto", "timeout", "runs_per_day", "dollars_per_day"), "serve": ("hard_delete",),
    "agents": ("schedules", "requests", "provider", "slots", "idle"),
    "semantic": ("embedder", "model", "send"),
}  # fmt: skip


def said(section: str) -> dict[str, Any]:
    """What variables say of the keys of a section, by key."""
    texts = {key: os.environ.get(variable(section, key)) for key in OVERRIDES.get(section, ())}
    return {key: _parse(text) for key, text in texts.items() if text}


def wrong(section: str, key: str, form: str) -> InvalidInputError:
    """The error of a variable with a value that is not `form`."""
    name = variable(section, key)
    return InvalidInputError(f"${name} is {os.environ[name][:80]!r}, not {form}", f"unset {name}")


def variable(section: str, key: str) -> str:
    return f"CORTEX_{section}_{key}".upper()


def _parse(text: str) -> Any:
    try:
        value = parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | list) else text  # no date, no table
