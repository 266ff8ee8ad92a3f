"""What a run is given: deterministic, bounded, of trusted notes alone, and nothing that is not meant."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from cortex.core.model.event import Event, compose
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.runs.run_note import (
    RunRequest,
    compose_request,
    compose_sealed,
    make_run_id,
    sealed_path,
)
from cortex.operations.records.save import save
from cortex.operations.runs import prepare
from cortex.operations.runs.prepare import (
    get_agent,
    get_facet,
    get_talent_configs,
    list_facets,
    prepare_config,
    validate_config,
)
from cortex.vault import trust
from cortex.vault.user_settings import settings_file
from tests.conftest import caller_at

AGENTS = """
=== agents/weekly.md
---
title: Weekly review
tier: pro
load: type:decision number:2 pears
max_tokens: 500
env: [CORTEX_STYLE=short]
max_cost_usd: 0.5
---
Review the week.
=== agents/activity.md
---
title: Activity
output: md
schedule: daily
priority: 10
---
What was done?
=== agents/broken.md
---
tier: big
---
Do.
=== facets/work.md
---
title: Paid work
---
What pays.
=== facets/home.md
---
muted: true
---
"""


@pytest.fixture(autouse=True)
def _berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def agents(vault_from):
    vault = vault_from(AGENTS)
    for name in ("weekly", "activity"):
        trust.pin(vault, name, trust.read_agent_file(vault, name))
    return vault


def capture(vault, at: str, text: str, type: str = "stop", **fields) -> None:
    """An event as it lies after it was normalized."""
    id_ = f"{at.replace('-', '').replace(':', '').lower()}-{len(text) % 6 + 2}aaaaaaaaa"
    path = Path(vault.root, vault.layout().event(id_))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(compose(Event(id_, type, at, text, **fields)))


def test_agent_request_and_settings_make_the_config(agents, caller) -> None:
    save(agents, caller, "Use pears", type="decision", body="They keep.")
    request = RunRequest("weekly", "Be short.", session_id="s", chat_id="c", thinking_budget=9)
    config = prepare_config(agents, caller, request)
    assert (config.provider, config.model, config.tier) == ("anthropic", "opus", "pro")
    assert (config.user_instruction, config.prompt) == ("Review the week.", "Be short.")
    assert (config.max_output_tokens, config.thinking_budget) == (500, 9)
    assert (config.session_id, config.chat_id, config.tools, config.output) == (
        "s",
        "c",
        "read",
        "",
    )
    assert (config.timeout, config.idle, config.max_cost_usd, config.skipped) == (600, 120, 0.5, "")
    assert config.env == {"CORTEX_STYLE": "short", "CORTEX_DAY": config.day}
    assert "You work for the owner of this vault" in config.system_instruction
    assert "---" not in config.system_instruction
    assert f"Vault: {agents.root}" in config.extra_context
    assert "Facets: home (home, muted), work (Paid work)" in config.extra_context
    assert "Generators: activity (Activity)" in config.extra_context
    assert "They keep." in config.extra_context
    assert "## Note " in config.extra_context
    assert validate_config(config) == []
    assert prepare_config(agents, caller, request) == config


def test_a_request_wins(agents, caller) -> None:
    request = RunRequest(
        "weekly", provider="google", tier="lite", max_output_tokens=7, output="json"
    )
    config = prepare_config(agents, caller, request)
    assert (config.provider, config.model, config.tier) == ("google", "flash-lite", "lite")
    assert (config.max_output_tokens, config.output) == (7, "json")
    config = prepare_config(agents, caller, RunRequest("weekly", provider="openai", model="x"))
    assert (config.provider, config.model, config.tier) == ("openai", "x", "")


def test_the_default_agent_needs_no_note(agents, caller) -> None:
    config = prepare_config(agents, caller, RunRequest("default", "Say hello."))
    assert (config.name, config.user_instruction, config.skipped) == ("default", "", "")
    assert validate_config(config) == []
    empty = prepare_config(agents, caller, RunRequest("default", " "))
    assert [one.message for one in validate_config(empty)] == ["nothing is asked"]


def test_what_nobody_has_trusted_is_not_started(agents, caller) -> None:
    path = Path(agents.root, "agents/weekly.md")
    path.write_text(path.read_text() + "And send it to me.\n")
    assert prepare_config(agents, caller, RunRequest("weekly")).skipped == "not_trusted"
    Path(agents.root, "agents/journal.md").write_text("Obey.\n")
    config = prepare_config(agents, caller, RunRequest("default", "Hello."))
    assert (config.skipped, config.system_instruction) == ("not_trusted", "Obey.")
    trust.pin(agents, "journal", b"Obey.\n")
    assert prepare_config(agents, caller, RunRequest("default", "Hello.")).skipped == ""


def test_a_disabled_agent_is_skipped(agents, caller) -> None:
    path = Path(agents.root, "agents/weekly.md")
    path.write_text(path.read_text().replace("tier: pro", "tier: pro\ndisabled: true"))
    trust.pin(agents, "weekly", path.read_bytes())
    assert prepare_config(agents, caller, RunRequest("weekly")).skipped == "disabled"


def test_a_generator_is_given_the_events_of_its_local_day(agents, caller) -> None:
    assert (
        prepare_config(agents, caller, RunRequest("activity", day="20261120")).skipped == "no_input"
    )
    capture(agents, "2026-11-19T22:59:59Z", "the evening before")
    capture(agents, "2026-11-19T23:00:00Z", "at midnight", project="work")
    capture(agents, "2026-11-20T09:15:00Z", "in the morning", tags=("work",))
    capture(agents, "2026-11-20T22:59:59Z", "at the end", tags=("home",))
    capture(agents, "2026-11-20T12:00:00Z", "what a run answered", "run")
    capture(agents, "2026-11-20T23:00:00Z", "the day after")
    config = prepare_config(agents, caller, RunRequest("activity", day="20261120"))
    said = config.extra_context
    assert (config.skipped, config.output_path) == ("", "runs/output/20261120/agents/activity.md")
    assert said.index("at midnight") < said.index("in the morning") < said.index("at the end")
    assert "the evening before" not in said
    assert "what a run answered" not in said
    assert "the day after" not in said
    assert "--- 10:15 stop" in said
    assert "Vault:" not in said
    only = prepare_config(agents, caller, RunRequest("activity", day="20261120", facet="work"))
    assert "at midnight" in only.extra_context
    assert "at the end" not in only.extra_context
    assert "Facet: work (Paid work)" in only.extra_context
    assert "What pays." in only.extra_context
    assert only.output_path == "runs/output/20261120/agents/activity-work.md"
    assert only.env["CORTEX_FACET"] == "work"


def test_of_a_segment_or_a_span(agents, caller) -> None:
    for minute, text in ((0, "first"), (10, "second"), (30, "third")):
        capture(agents, f"2026-11-20T09:{minute:02}:00Z", text)
    one = RunRequest("activity", day="20261120", segment="100000_600")
    config = prepare_config(agents, caller, one)
    assert "first" in config.extra_context
    assert "second" in config.extra_context
    assert "third" not in config.extra_context
    assert config.output_path == "runs/output/20261120/100000_600/activity.md"
    assert config.env["CORTEX_SEGMENT"] == "100000_600"
    both = RunRequest("activity", day="20261120", span=("100000_0", "103000_0"))
    said = prepare_config(agents, caller, both).extra_context
    assert "first" in said
    assert "third" in said
    assert "second" not in said


def test_a_day_on_which_clocks_change_has_its_hours(agents) -> None:
    day = prepare._bounds("20261025", RunRequest("x"))
    assert day[0][1] - day[0][0] == 25 * 3600 - 1
    assert (
        prepare._bounds("20260329", RunRequest("x"))[0][1]
        - prepare._bounds("20260329", RunRequest("x"))[0][0]
        == 23 * 3600 - 1
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"day": "2026-11-20"}, {"day": "20261320"}, {"day": "../.."}, {"day": "2026112"},
        {"segment": "../../x"}, {"segment": "100000"}, {"segment": "250000_1"}, {"segment": "100000_-1"},
        {"span": ("100000_1", "x")}, {"facet": "../work"}, {"facet": "Work"}, {"facet": "gone"},
        {"agent": "../cortex"}, {"agent": "gone"}, {"agent": "broken"}, {"agent": "journal"},
        {"provider": "acme"}, {"tier": "big"}, {"segment": "20261120"},
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(agents, caller, fields) -> None:
    with pytest.raises(CortexError) as raised:
        prepare_config(agents, caller, RunRequest(**{"agent": "weekly", **fields}))
    assert raised.value.hint


def test_an_empty_note_is_no_agent(agents, caller) -> None:
    Path(agents.root, "agents/weekly.md").write_text("")
    with pytest.raises(InvalidInputError, match="has no prompt"):
        prepare_config(agents, caller, RunRequest("weekly"))


def test_a_facet_deleted_meanwhile_is_named(agents, caller) -> None:
    os.unlink(Path(agents.root, "facets/work.md"))
    with pytest.raises(NotFoundError, match=r"facets/work\.md"):
        prepare_config(agents, caller, RunRequest("weekly", facet="work"))


def test_further_variables_are_the_users_to_list(agents, caller) -> None:
    Path(agents.root, "agents/weekly.md").write_text("---\nenv: [DEBUG=1]\n---\nReview.\n")
    with pytest.raises(InvalidInputError, match="DEBUG is not among env"):
        prepare_config(agents, caller, RunRequest("weekly"))
    path = Path(settings_file())
    path.parent.mkdir(parents=True)
    path.write_text('[agents]\nenv = ["DEBUG"]\n')
    assert prepare_config(agents, caller, RunRequest("weekly")).env["DEBUG"] == "1"


@pytest.mark.parametrize(
    "path",
    [
        "records/decision/a.md", "Records/a.md", "events/a.md", "inbox/a.md", "sessions/a.md",
        "briefings/a.md", "agents/a.md", "AGENTS/a.md", ".git/a.md", "a/.git/b.md", "cortex.toml",
        "../a.md", "/etc/a.md", "a/../b.md", "a.sh", "a", "", ".claude/commands/a.md", "CLAUDE.md",
        "sub/agents.md", "GEMINI.md", ".obsidian/a.json", "opencode.json", "runs/active/a.md",
        "runs/2026/11/a.md", "a\0.md", "con.md", "CLAUDE\u200b.md", "a?.md", "x" * 300 + ".md",
    ],
)  # fmt: skip
def test_an_output_goes_nowhere_that_steers_anything(agents, caller, path) -> None:
    request = RunRequest("weekly", output="md", output_path=path or "./a.md")
    with pytest.raises(InvalidInputError):
        prepare_config(agents, caller, request)


@pytest.mark.parametrize("path", ["a.md", "Notes/Week 47.md", "runs/output/a.json", "facts/a.json"])
def test_an_output_goes_where_one_wants_it(agents, caller, path) -> None:
    request = RunRequest("weekly", output="md", output_path=path)
    assert prepare_config(agents, caller, request).output_path == path


def test_the_last_finished_run_is_shown(agents, caller) -> None:
    def ended(second: int, agent: str, facet: str, kind: str, result: str) -> None:
        at = f"2026-11-13T10:00:{second:02}Z"
        id_ = make_run_id(at, bytes([second] * 3))
        base = {"agent_id": id_, "ts": at[:-1] + ".000Z"}
        request = RunRequest(agent, facet=facet)
        asked = {"event": "request", "seq": 0, "agent": agent, "facet": facet, **base}
        end = {"event": kind, "seq": 1, "result": result, **base}
        data = compose_request(id_, request, asked, at)
        path = Path(agents.root, sealed_path(id_))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(compose_sealed(data, [asked, end], result, ""))

    ended(1, "weekly", "", "finish", "The first review.")
    ended(2, "weekly", "", "finish", "The last review.\n\n## Result\n\nof a kind")
    ended(3, "weekly", "", "error", "A failure.")
    ended(4, "weekly", "work", "finish", "Of work.")
    ended(5, "activity", "", "finish", "Of another.")
    said = prepare_config(agents, caller, RunRequest("weekly")).extra_context
    assert "## Your previous output" in said
    assert "The last review." in said
    assert "of a kind" in said
    for other in ("The first review.", "A failure.", "Of work.", "Of another."):
        assert other not in said
    assert (
        "Of work."
        in prepare_config(agents, caller, RunRequest("weekly", facet="work")).extra_context
    )


def test_a_prompt_that_no_program_takes_is_refused(agents, caller) -> None:
    config = prepare_config(agents, caller, RunRequest("default", "x" * 10_000_000))
    (problem,) = validate_config(config)
    assert "bytes are to be sent, over 9,000,000" in problem.message
    assert problem.hint


def test_each_thing_that_a_config_can_lack_is_named(agents, caller) -> None:
    config = prepare_config(agents, caller, RunRequest("weekly"))
    for fields in (
        {"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}, {"timeout": 1e9}, {"model": ""},
        {"provider": ""}, {"output": "html", "output_path": "a"}, {"output": "md"}, {"output_path": "a.md"},
        {"user_instruction": "\n"},
    ):  # fmt: skip
        assert len(validate_config(config._replace(**fields))) == 1, fields


def test_agents_by_type_and_schedule(agents) -> None:
    assert [*get_talent_configs(agents)] == ["activity", "weekly"]
    assert [*get_talent_configs(agents, "generate")] == ["activity"]
    assert [*get_talent_configs(agents, "cogitate")] == ["weekly"]
    assert [*get_talent_configs(agents, schedule="daily")] == ["activity"]
    assert [*get_talent_configs(agents, "cogitate", "daily")] == []
    assert get_agent(agents, "weekly").title == "Weekly review"
    with pytest.raises(InvalidInputError, match=r"agents/broken\.md:2: tier"):
        get_agent(agents, "broken")


def test_facets_that_cannot_be_read_stop_nothing(agents, caller) -> None:
    Path(agents.root, "facets/bad.md").symlink_to("/etc/passwd")
    Path(agents.root, "facets/Bad.md").write_text("x")
    assert [one.name for one in list_facets(agents)] == ["home", "work"]
    assert get_facet(agents, "work") == ("work", "Paid work", False, "What pays.")
    Path(agents.root, "facets/odd.md").write_bytes(b"# At home\n\nText \xff\0")
    assert get_facet(agents, "odd")[:3] == ("odd", "At home", False)
    with pytest.raises(InvalidInputError):
        get_facet(agents, "bad")
    prepare_config(agents, caller, RunRequest("weekly"))


def test_it_is_the_same_whenever_it_is_asked(agents) -> None:
    configs = {
        repr(prepare_config(agents, caller_at("2026-11-20T17:16:43Z"), RunRequest("weekly")))
        for _ in range(3)
    }
    assert len(configs) == 1
    assert "Now: Friday, 20 November 2026, 18:16 +0100" in configs.pop()
