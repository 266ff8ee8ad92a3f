"""Notes of agents: what each key says, and that a wrong one names its line and stops the agent."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.runs import agent_note
from cortex.core.runs.agent_note import Agent, env_fault, parse_load, read_agent
from cortex.core.runs.run_config import NO_TOOLS, READ_TOOLS

WHOLE = b"""---
type: agent
title: Weekly review
provider: anthropic
tier: pro
max_tokens: 4000
schedule: weekly
priority: 45
facets: active
always: true
muted: [personal]
timeout: 300
env:
  - CORTEX_STYLE=short=yes
load: type:decision since:7d number:30 merge
max_cost_usd: 0.50
catch_up: all
keep: 20
disabled: false
record: reflection
---
Review the week.
"""


def read(*lines: str, body: str = "Review.", name: str = "a") -> tuple[Agent, list[Problem]]:
    text = "\n".join(("---", *lines, "---", body))
    return read_agent(text.encode(), f"agents/{name}.md")


def test_every_key_is_read() -> None:
    agent, problems = read_agent(
        WHOLE.replace(b"reflection", b"context"), "agents/weekly-review.md"
    )
    assert problems == []
    assert agent == Agent(
        "weekly-review", "Weekly review", "Review the week.", "anthropic", "pro", 4000, "weekly", 45,
        "active", True, ("personal",), 300.0, "", READ_TOOLS, (("CORTEX_STYLE", "short=yes"),),
        "type:decision since:7d number:30 merge", 0.5, "all", 20, False, "context",
    )  # fmt: skip


def test_a_note_without_frontmatter_is_an_agent() -> None:
    agent, problems = read_agent(b"# Say hello\n\nSay hello to whoever asks.\n", "agents/hello.md")
    assert problems == []
    assert (agent.title, agent.schedule, agent.tools) == ("Say hello", "", READ_TOOLS)
    assert not agent.is_generator


def test_output_without_tools_makes_a_generator() -> None:
    assert read("output: md")[0].tools == NO_TOOLS
    assert read("output: json")[0].is_generator
    assert read("output: md", "tools: read")[0].tools == READ_TOOLS


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("provder: claude", "did you mean provider?"),
        ("model: opus", "use one of:"),
        ("command: [sh, -c, id]", "use one of:"),
        ("url: http://evil.example", "use one of:"),
        ("cwd: /", "use one of:"),
        ("tier: big", "pro, flash, lite"),
        ("tier: [pro]", "pro, flash, lite"),
        ("timeout: 0", "seconds, at most a day"),
        ("timeout: -5", "seconds, at most a day"),
        ("timeout: NaN", "seconds, at most a day"),
        ("timeout: .nan", "seconds, at most a day"),
        ("timeout: .inf", "seconds, at most a day"),
        ("timeout: inf", "seconds, at most a day"),
        ("timeout: 1e3", "seconds, at most a day"),
        ("timeout: 86401", "seconds, at most a day"),
        ("timeout: ten", "seconds, at most a day"),
        ("timeout: true", "seconds, at most a day"),
        ("timeout: [600]", "seconds, at most a day"),
        ("max_tokens: 0", "a number of tokens"),
        ("max_tokens: 1.5", "a number of tokens"),
        ("max_tokens: ²", "a number of tokens"),
        ("priority: -1", "from 1 to 99"),
        ("priority: 100", "from 1 to 99"),
        ("facets: some", "all, active, none"),
        ("facets: [work]", "all, active, none"),
        ("always: yes", "write always: true"),
        ("muted: [../work]", "write muted: [personal]"),
        ("output: html", "md, json"),
        ("tools: all", "read, none"),
        ("catch_up: 3", "none, one, all"),
        ("keep: 0", "a number of runs"),
        ("disabled: 1", "write disabled: true"),
        ("record: poem", "decision"),
        ("schedule: fortnightly", "daily, weekly"),
        ('schedule: "cron: 30 2 * *"', "five fields"),
        ('schedule: "cron: 30 2 * * * rm"', "five fields"),
        ("schedule: 0m before meeting", "from 1m to 7d"),
        ("max_cost_usd: free", "dollars"),
        ("max_cost_usd: -1", "dollars"),
        ("env: [FOO]", "write env: a list"),
        ("env: [PATH=/tmp]", "PATH changes what is run"),
        ("env: {PATH: x}", "write env"),
        ("env: [A B=1]", "no name of a variable"),
        ("load: tpye:decision", "did you mean type"),
        ("load: since:soon", "not a date"),
        ("load: foo:bar", "as in cortex search"),
        ("load: merge number:0", "at most 100"),
        ("load: merge number:101", "at most 100"),
        ("title: [a, b]", "write title: a text"),
        ("tier: true", "write tier: one of pro"),
    ],
)
def test_a_wrong_key_is_named_with_its_line_and_what_to_write(line, hint) -> None:
    _, (problem,) = read("aliases: [b]", "created: 2026-11-20", line)
    assert problem.where == "agents/a.md:4"
    assert hint in problem.hint


def test_what_is_wrong_together() -> None:
    def said(*lines: str, body: str = "Do.") -> list[str]:
        return [one.message for one in read(*lines, body=body)[1]]

    assert said("schedule: daily") == ["is scheduled and has no priority"]
    assert said("schedule: segment", "priority: 40", "always: true") == [
        "always is not for agents of segments"
    ]
    assert said("title: A", body=" \n\t\n") == ["has no prompt"]


@pytest.mark.parametrize(
    "name",
    ["../up", "Upper", "a b", "", "-a", "a-", "a.b", "journal", "default", "con", "ä", "a" * 65, "a\n"],
)  # fmt: skip
def test_a_name_is_lower_case_and_not_reserved(name) -> None:
    assert not agent_note.is_agent_name(name)
    _, problems = read(name=name.rpartition("/")[2] if name != "../up" else "..")
    assert problems or name == "../up"


def test_names_are_made_of_words() -> None:
    assert all(map(agent_note.is_agent_name, ("a", "weekly-review", "7am", "a" * 64)))


def test_a_note_that_cannot_be_read_does_not_run() -> None:
    for data in (b"---\ntitle: [\n---\nDo.", b"---\ntitle: a\nDo.", b"\xff\xfeD\0", b"Do \xff"):
        assert read_agent(data, "agents/a.md")[1]
    assert read_agent(b"x" * 300_000, "agents/a.md")[1][0].message == "is larger than 256 kB"
    assert (
        read("tier: pro", "tier: lite")[1][0].message == "a key stands twice; the last one counts"
    )


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "Path", "HOME", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP",
        "NODE_OPTIONS", "GIT_SSH_COMMAND", "ANTHROPIC_BASE_URL", "HTTPS_PROXY", "http_proxy", "ALL_PROXY",
        "SSL_CERT_FILE", "XDG_CONFIG_HOME", "BASH_ENV", "CORTEX_VAULT", "CORTEX_HOOK", "CORTEX_RUN",
        "CORTEX_RUN_ID", "CORTEX_OFF", "CORTEX_MCP_TOKEN", "CORTEX_EMBEDDER_URL", "CORTEX_DAY",
        "A=B", "", "1A", "A\n", "A" * 101,
    ],
)  # fmt: skip
def test_no_note_sets_what_steers_a_program(name) -> None:
    assert env_fault(name)
    assert env_fault(name, (name,))


def test_other_names_are_the_users_to_list() -> None:
    assert env_fault("CORTEX_STYLE", ()) == ""
    assert env_fault("DEBUG") == ""
    assert env_fault("DEBUG", ("DEBUG",)) == ""
    assert "not among env" in env_fault("DEBUG", ())


def test_load_is_a_query_and_a_number() -> None:
    assert parse_load("type:decision number:5 since:7d merge") == (
        "type:decision  since:7d merge",
        5,
    )
    assert parse_load("merge") == ("merge", 20)


@given(st.binary(max_size=300), st.text(max_size=40))
def test_whatever_stands_in_a_note_nothing_is_raised(data, name) -> None:
    agent, _ = read_agent(b"---\n" + data, f"agents/{name}.md")
    assert agent.name == name.rpartition("/")[2].removesuffix(".md")


@given(
    st.sampled_from(sorted(agent_note._FORMS)),
    st.one_of(st.text(max_size=30), st.booleans(), st.lists(st.text(max_size=9), max_size=3)),
)
def test_a_value_is_of_its_fields_type_or_refused(key, value) -> None:
    try:
        read_value = agent_note._read_value(key, value)
    except (ValueError, InvalidInputError):
        return
    wanted = type(getattr(Agent("a"), key)) if key != "max_cost_usd" else float
    assert isinstance(read_value, wanted)
