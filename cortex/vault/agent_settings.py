"""Who runs agents on this machine, as the user's own `config.toml` says: providers and their programs,
models by tier, prices, limits. No note of a vault can name any of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from cortex.core.model.problem import CortexError, Problem
from cortex.core.runs.run_config import TIERS
from cortex.core.text.value import NamedTuple
from cortex.vault.user_settings import FLAG, add_problem, load_table, read_forms, settings_file

NDJSON, OPENAI_COMPATIBLE = "ndjson", "openai-compatible"
PROTOCOLS = ("claude", "codex", "gemini", NDJSON, OPENAI_COMPATIBLE)
# Shipped: provider -> its protocol, and a model for each tier.
_SHIPPED = {
    "anthropic": ("claude", ("opus", "sonnet", "haiku")),
    "openai": ("codex", ("gpt-6.2-astra", "gpt-6.2-sol", "gpt-6-luna")),
    "google": ("gemini", ("pro", "flash", "flash-lite")),
}
_CONTEXTS = {"agents.*": "flash"}
# Of a key the form of its value as JSON, and what it is in words.
_TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\])*[^"\\\s\x00-\x1f]"'
_WORDS = (rf"\[{_TEXT}(?:, {_TEXT})*\]", 'a list of words: ["my-agent", "{model}"]')
_VARIABLE = '"[A-Za-z_][A-Za-z0-9_]*"'
_VARIABLES = (rf"\[(?:{_VARIABLE}(?:, {_VARIABLE})*)?\]", "a list of names of variables")
_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,9})?"
_TIER, _MODEL = (f'"(?:{"|".join(TIERS)})"', "pro, flash or lite"), (_TEXT, "the name of a model")
_PRICES = dict.fromkeys(("input", "output", "cached"), (_NUMBER, "dollars for a million tokens"))
_AGENT_FORMS = {
    "schedules": FLAG,
    "requests": (r'\[(?:"(?:mcp|http)"(?:, )?)*\]', 'a list of "mcp" and "http"'),
    "provider": (_TEXT, "the name of a provider"),
    "slots": ("[1-9]|[12][0-9]|3[0-2]", "a number from 1 to 32"),
    "idle": (r"[1-9][0-9]{0,4}(?:\.[0-9]{1,3})?", "seconds, from 1 to 99999"),
    "env": _VARIABLES,
}
_PROVIDER_FORMS = {
    "protocol": (f'"(?:{"|".join(PROTOCOLS)})"', f"one of {', '.join(PROTOCOLS)}"),
    "command": _WORDS,
    "resume": _WORDS,
    "env": _VARIABLES,
    "url": (r'"https?://[^\s@"\\]+"', 'an address: "http://127.0.0.1:11434/v1"'),
    "key_variable": (_VARIABLE, "the name of a variable"),
}


class ProviderSettings(NamedTuple):
    """A provider of models, and how it is asked."""

    name: str
    protocol: str
    command: tuple[str, ...] = ()  # empty: the shipped one of the protocol; so is `resume`
    resume: tuple[str, ...] = ()
    env: tuple[str, ...] = ()  # further variables of the user's that its program is given
    models: Mapping[str, str] = {}  # by tier
    url: str = ""
    key_variable: str = ""


class Price(NamedTuple):
    """Dollars for a million tokens of a model."""

    input: float
    output: float
    cached: float | None = None  # None: as `input`


class AgentSettings(NamedTuple):
    """What the user says of agents."""

    schedules: bool = False  # whether `cortex tick` runs schedules on this machine
    requests: tuple[str, ...] = ()  # mcp, http: which may start runs beside the command line
    provider: str = "anthropic"  # where an agent names none; empty: the settings cannot be read
    slots: int = 2  # runs at once
    idle: float = 120.0  # seconds without an event, after which a run is ended
    env: tuple[str, ...] = ()  # names of further variables that runs are given, and notes may set
    contexts: Mapping[str, str] = _CONTEXTS  # pattern of `agents.NAME` -> tier; the longest holds
    providers: Mapping[str, ProviderSettings] = {}
    prices: Mapping[str, Price] = {}  # by model


def load_agents() -> tuple[AgentSettings, list[Problem]]:
    """The settings of agents, and what is wrong with them. What is wrong is left out, a shipped
    default with it: no other provider, program or model is asked than the one that was meant."""
    problems: list[Problem] = []
    tables = [load_table(name) for name in ("agents", "tiers", "providers", "prices")]
    for _, problem in tables:
        if problem is not None:
            return AgentSettings(provider=""), [problem]
    agents, tiers, providers, prices = (table for table, _ in tables)
    said = {key: value for key, value in agents.items() if key != "contexts"}
    values = read_forms("agents", said, _AGENT_FORMS, problems)
    if "provider" in said:
        values.setdefault("provider", "")
    contexts: Any = agents.get("contexts", {})
    forms = dict.fromkeys(contexts if isinstance(contexts, dict) else (), _TIER)
    contexts = read_forms("agents.contexts", contexts, forms, problems)
    return AgentSettings(
        **values, contexts={**_CONTEXTS, **dict.fromkeys(forms, ""), **contexts},
        providers=_read_providers(providers, tiers, problems),
        prices=_read_prices(prices, problems),
    ), problems  # fmt: skip


def resolve_model(settings: AgentSettings, name: str, provider: str, tier: str, model: str) -> tuple[str, str, str]:  # fmt: skip
    """The provider, tier and model that answer for the agent `name`, of which each may be given.
    Raises `CortexError`, which names the setting, where none is said: nothing else is asked."""
    provider = provider or settings.provider
    patterns = [one for one in settings.contexts if fnmatchcase(f"agents.{name}", one)]
    tier = tier or ("" if model else settings.contexts.get(max(patterns, key=len, default=""), ""))
    known = settings.providers.get(provider)
    model = model or (known.models.get(tier, "") if known else "")
    if known and model:
        return provider, tier, model
    message, line = "no provider is named", 'provider = "anthropic" below [agents]'
    if known:
        message = f"{provider} has no model of the tier {tier!r}"
        line = f'{provider} = "MODEL" below [tiers.{tier or "flash"}]'
    elif provider:
        message = f"there is no provider {provider!r} that can be used"
        line = f"protocol, and command or url, below [providers.{provider}]"
    raise CortexError(message, f"write {line} in {settings_file()}")


def _read_providers(said: Mapping[str, Any], tiers: Any, problems: list[Problem]) -> dict[str, ProviderSettings]:  # fmt: skip
    models: dict[str, dict[str, str]] = {name: {} for name in said}
    models |= {name: dict(zip(TIERS, one, strict=True)) for name, (_, one) in _SHIPPED.items()}
    for tier, table in read_forms("tiers", tiers, dict.fromkeys(TIERS, (r"\{.*\}", "a table")), problems).items():  # fmt: skip
        chosen = read_forms(f"tiers.{tier}", table, dict.fromkeys(models, _MODEL), problems)
        for name in table.keys() & models.keys():
            models[name][tier] = chosen.get(name, "")
    found = {}
    for name, by_tier in models.items():
        place, before = f"providers.{name}", len(problems)
        values = read_forms(place, said.get(name, {}), _PROVIDER_FORMS, problems)
        protocol = values.setdefault("protocol", _SHIPPED.get(name, ("",))[0])
        needed = {NDJSON: "command", OPENAI_COMPATIBLE: "url", "": "protocol"}.get(protocol, "")
        if not re.fullmatch("[a-z0-9]+(?:-[a-z0-9]+)*", name):
            add_problem(problems, place, "is no name", "use lower-case letters, digits and `-`")
        elif needed and not values.get(needed) and len(problems) == before:
            add_problem(problems, place, f"has no {needed}", f"it is {_PROVIDER_FORMS[needed][1]}")
        if len(problems) == before:
            found[name] = ProviderSettings(name=name, models=by_tier, **values)
    return found


def _read_prices(said: Mapping[str, Any], problems: list[Problem]) -> dict[str, Price]:
    found = {}
    for model, table in said.items():
        place, before = f'prices."{model[:80]}"', len(problems)
        values = read_forms(place, table, _PRICES, problems)
        if len(problems) == before and not {"input", "output"} <= values.keys():
            hint = f"they are {_PRICES['input'][1]}"
            add_problem(problems, place, "needs input and output", hint)
        if len(problems) == before:
            found[model] = Price(**values)
    return found
