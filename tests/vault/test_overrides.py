"""`CORTEX_<SECTION>_<KEY>`: which settings it overrules, which it never may, and what a wrong value says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.core.runs.agent_note import env_fault
from cortex.index.full_text import choose_engine
from cortex.index.vectors.embedders import choose_embedder
from cortex.interfaces.cli import daemon_client
from cortex.operations.capture import hooks_enabled
from cortex.vault import agent_settings, overrides, settings, user_settings

ROOT = Path(__file__).parents[2]
# Settings that no variable of this form may overrule -> why.
KEPT = {
    "format": "says what a vault is",
    "name": "says what a vault is",
    "project": "records of every clone are of the same project",
    "timezone": "every clone writes the same pages",
    "layout folder": "says where notes lie: what was written elsewhere would be lost",
    "index exclude": "says which notes are private",
    "events erased": "says what must not come back",
    "projects.aliases": "names of the vault's own",
    "extract": "types of the vault's own; every clone makes the same records",
    "distill command": "a program",
    "semantic folder": "a folder of a model, which a library may run",
    "semantic url": "an address that gets a key and texts",
    "semantic key_variable": "names a secret",
    "agents env": "variables that programs are given, secrets among them",
    "agents contexts": "names of agents",
    "person aliases": "says who a person is",
    "tiers": "names of models",
    "providers": "programs, addresses and keys",
    "prices": "names of models",
}
VALUES = {
    "engine": "whoosh", "prompts": "full", "lines": "7", "threshold": "0.25", "branch": "trunk", "by": "agent", "timeout": "12.5",
    "runs_per_day": "3", "dollars_per_day": "0.5", "requests": '["mcp"]', "provider": "openai", "slots": "4", "idle": "60",
    "embedder": "off", "model": "small", "send": "all", "daily": "diary/{date}",
}  # fmt: skip
EVERY = [(section, key) for section, keys in overrides.OVERRIDES.items() for key in keys]


def known_settings() -> set[str]:
    """Every setting, by the code that reads it and by the documentation."""
    read = {place for place, *_ in settings._FORMS.values()}
    forms = {"distill": user_settings._DISTILL_FORMS, "agents": agent_settings._AGENT_FORMS}
    forms["person"] = user_settings._PERSON_FORMS
    forms["semantic"] = dict.fromkeys(user_settings.SemanticSettings._fields)
    read |= {f"{section} {key}" for section, keys in forms.items() for key in keys}
    read |= {f"agents {key}" for key in agent_settings.AgentSettings._fields}
    read -= {"agents providers", "agents prices"}  # tables of their own
    said = re.findall(r"^\| `(\[?[a-z][^`]*)` \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)  # fmt: skip
    for one in said:
        section, _, key = one.strip("[").partition("]")
        tables = ("projects.aliases", "extract", "tiers", "providers", "prices")
        named = section if section in tables or not key.strip() else f"{section}{key}"
        read |= set() if named == "agents" else {named}
    return read


def test_each_setting_is_overruled_or_kept_for_a_reason():
    overruled = {f"{section} {key}" for section, key in EVERY}
    assert overruled & KEPT.keys() == set()
    assert known_settings() == overruled | KEPT.keys()


def test_none_that_is_overruled_names_a_program_a_folder_an_address_or_a_secret():
    steering = r"command|resume|url|key_variable|env|folder|file|path|program|protocol|token"
    assert [key for _, key in EVERY if re.fullmatch(steering, key)] == []
    providers = agent_settings._PROVIDER_FORMS
    assert not {key for _, key in EVERY} & providers.keys()


@pytest.mark.parametrize(("section", "key"), EVERY)
def test_no_note_of_a_vault_may_set_one(section, key):
    assert env_fault(overrides.variable(section, key))


def value_of(root: str, section: str, key: str) -> object:
    """What holds, as its readers are told."""
    if section == "semantic":
        return getattr(user_settings.load_semantic({})[0], key)
    if section == "distill":
        return getattr(user_settings.load_distill()[0], key)
    if section == "agents":
        return getattr(agent_settings.load_agents()[0], key)
    if section == "serve":
        return user_settings.allows_hard_delete()
    places = {place: field for field, (place, *_) in settings._FORMS.items()}
    return getattr(settings.load(root), places[f"{section} {key}"])


@pytest.mark.parametrize(("section", "key"), EVERY)
def test_each_is_overruled_alone_and_a_wrong_value_names_its_variable(vault, monkeypatch, section, key):  # fmt: skip
    before = {one: value_of(vault.root, *one) for one in EVERY}
    name, text = overrides.variable(section, key), VALUES.get(key, "")
    monkeypatch.setenv(name, text or ("false" if before[section, key] is True else "true"))
    after = {one: value_of(vault.root, *one) for one in EVERY}
    assert {one for one in EVERY if after[one] != before[one]} == {(section, key)}
    monkeypatch.setenv(name, "")
    assert value_of(vault.root, section, key) == before[section, key]
    if (section, key) in (("semantic", "embedder"), ("semantic", "model"), ("semantic", "send")):
        wrong = "[1]"  # any text is a name of one
    else:
        wrong = "[1, 2]" if key in ("provider", "branch") else "no such thing\nat all"
    monkeypatch.setenv(name, wrong)
    with pytest.raises(InvalidInputError, match=rf"\${name} is .*, not ") as told:
        value_of(vault.root, section, key)
    assert told.value.hint == f"unset {name}"


def test_a_text_that_looks_like_a_date_is_a_text(monkeypatch):
    monkeypatch.setenv("CORTEX_SEMANTIC_MODEL", "2026-05-01")
    assert user_settings.load_semantic({})[0].model == "2026-05-01"
    monkeypatch.setenv("CORTEX_SEMANTIC_MODEL", '"12"')
    assert user_settings.load_semantic({})[0].model == "12"


def test_a_file_holds_where_no_variable_is_set(vault, monkeypatch):
    file = Path(vault.root, "cortex.toml")
    file.write_text(file.read_text() + "\n[remind]\nlines = 3\nthreshold = 0.9\n")
    monkeypatch.setenv("CORTEX_REMIND_LINES", "9")
    loaded = settings.load(vault.root)
    assert (loaded.reminder_lines, loaded.reminder_threshold, loaded.problems) == (9, 0.9, ())
    file.write_text(file.read_text().replace("threshold = 0.9", "threshold = 7"))
    problems = settings.load(vault.root).problems
    assert ["threshold" in one.message for one in problems] == [True]


def test_variables_that_there_were_keep_their_meaning(vault, monkeypatch):
    monkeypatch.setenv("CORTEX_SEMANTIC_EMBEDDER", "openai")
    monkeypatch.setenv("CORTEX_EMBEDDER", "gemini")
    assert choose_embedder(vault.root)[0].embedder == "gemini"
    monkeypatch.setenv("CORTEX_INDEX_ENGINE", "whoosh")
    monkeypatch.setenv("CORTEX_ENGINE", "tantivy")
    assert choose_engine("whoosh") == choose_engine("tantivy") == choose_engine("auto")
    monkeypatch.delenv("CORTEX_ENGINE")
    assert choose_engine("tantivy") == "whoosh"


def test_what_a_vault_says_of_vectors_nobody_overrules(vault, monkeypatch):
    file = Path(vault.root, "cortex.toml")
    file.write_text(file.read_text() + '\n[semantic]\nembedder = "off"\n')
    monkeypatch.setenv("CORTEX_SEMANTIC_EMBEDDER", "openai")
    assert choose_embedder(vault.root)[0].embedder == "off"


def test_hooks_know_them_too(vault, monkeypatch):
    assert hooks_enabled.read_settings(vault).enabled
    monkeypatch.setenv("CORTEX_HOOKS_ENABLED", "false")
    assert not hooks_enabled.read_settings(vault).enabled
    monkeypatch.delenv("CORTEX_HOOKS_ENABLED")
    monkeypatch.setenv("CORTEX_HOOKS_PROMPTS", "None")
    assert hooks_enabled.read_settings(vault).prompts == "none"


def test_the_watcher_which_has_other_variables_is_not_asked(vault, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(daemon_client, "send_command", lambda root, *_, **__: asked.append(root))
    monkeypatch.chdir(vault.root)
    assert daemon_client.forward_command(["search", "x"]) is None
    assert asked == [vault.root]
    monkeypatch.setenv("CORTEX_REMIND_LINES", "3")
    assert daemon_client.forward_command(["search", "x"]) is None
    assert asked == [vault.root]


def test_a_command_says_which_variable_is_wrong(vault, monkeypatch):
    monkeypatch.setenv("CORTEX_REMIND_LINES", "many")
    done = subprocess.run(
        [sys.executable, "-m", "cortex", "search", "x"], cwd=vault.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "$CORTEX_REMIND_LINES is 'many', not a number from 0 to 20" in done.stderr
    assert "unset CORTEX_REMIND_LINES" in done.stderr
