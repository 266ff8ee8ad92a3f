"""The words of a command, its environment and its input."""

import sys

import pytest
from hypothesis import given, strategies as st

from cortex.agents.openai_compatible import CompletionEvents
from cortex.agents.provider import READERS, command_of, environment_of, stdin_of
from cortex.core.model.problem import InvalidInputError
from cortex.core.runs.run_event import KINDS, TERMINAL
from cortex.vault.agent_settings import PROTOCOLS, ProviderSettings
from tests.agents.real_programs import CONFIG, PROVIDERS

VAULT = "/home/u/My notes"


def test_every_protocol_of_the_settings_has_a_reader():
    assert set(READERS) == set(PROTOCOLS)


KNOWN = st.sampled_from(
    ["type", "subtype", "event", "message", "content", "role", "item", "id", "text", "usage", "error", "delta", "status",
     "system", "init", "assistant", "user", "result", "success", "item.completed", "turn.completed", "turn.failed",
     "command_execution", "agent_message", "tool_use", "tool_result", "finish", "api_retry", "choices", "chunks", "x"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | KNOWN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KNOWN, inner, max_size=6),
    max_leaves=30,
)


@pytest.mark.parametrize("reader", [*set(READERS.values()), CompletionEvents])
@given(lines=st.lists(VALUES, max_size=8))
def test_whatever_a_program_prints_is_read_and_the_end_comes_once(reader, lines):
    reading = reader({})
    events = [event for line in lines for event in reading.read(line)]
    assert {event["event"] for event in events} <= set(KINDS)
    end = reading.end(0, "")
    last = [*events, *([end] if end else [])]
    assert [event["event"] in TERMINAL for event in last] == [False] * (len(last) - 1) + [True]


def test_a_command_is_filled_in_and_what_is_not_said_falls_away():
    words = command_of(PROVIDERS["claude"], CONFIG._replace(model="opus"), VAULT)
    assert words[:2] == ["claude", "-p"]
    assert {"--model=opus", f"--add-dir={VAULT}", "--tools=Read,Grep,Glob"} <= set(words)
    assert not [
        word for word in words if "{" in word or word.startswith(("--resume", "--max-budget"))
    ]
    words = command_of(PROVIDERS["claude"], CONFIG._replace(tools="none", max_cost_usd=0.5), VAULT)
    assert {"--tools=", "--max-budget-usd=0.5000"} <= set(words)
    assert VAULT not in " ".join(words)


@pytest.mark.parametrize("protocol", ["claude", "codex", "gemini"])
def test_a_session_is_gone_on_with(protocol):
    words = command_of(PROVIDERS[protocol], CONFIG._replace(session_id="0193ee-a"), VAULT)
    assert words[-2:] == ["0193ee-a", "-"] if protocol == "codex" else "--resume=0193ee-a" in words


@pytest.mark.parametrize(
    "session", ["--dangerously-bypass-approvals-and-sandbox", "a b", "a\n", "é", "x" * 201]
)
def test_a_session_is_never_an_option(session):
    with pytest.raises(InvalidInputError, match="cannot continue the session"):
        command_of(PROVIDERS["codex"], CONFIG._replace(session_id=session), VAULT)


def test_a_program_of_the_users_own():
    mine = ProviderSettings(
        "mine", "ndjson", ("my-agent", "{model}", "{tools}", "{unknown}", "--at={vault}")
    )
    config = CONFIG._replace(model="{vault}")
    assert command_of(mine, config, "/v") == ["my-agent", "{vault}", "read", "{unknown}", "--at=/v"]
    told = command_of(mine, config._replace(session_id="1"), "/v")  # in its configuration
    assert told == command_of(mine, config, "/v")
    like_claude = mine._replace(protocol="claude")
    with pytest.raises(InvalidInputError, match="mine cannot continue") as caught:
        command_of(like_claude, config._replace(session_id="1"), "/v")
    assert "write resume below [providers.mine]" in caught.value.hint
    other = mine._replace(resume=("my-agent", "--more={session}"))
    assert command_of(other, config._replace(session_id="1"), "/v") == ["my-agent", "--more=1"]


def test_our_own_client_is_run_by_this_python():
    local = ProviderSettings(
        "local", "openai-compatible", url="http://127.0.0.1:11434/v1", key_variable="LOCAL_KEY"
    )
    words = command_of(local, CONFIG, VAULT)
    assert words[0] == sys.executable
    assert words[-3:] == [
        "cortex.agents.openai_compatible",
        "http://127.0.0.1:11434/v1",
        "LOCAL_KEY",
    ]
    assert environment_of(local, CONFIG, {"LOCAL_KEY": "k", "OTHER": "o"}) == {"LOCAL_KEY": "k"}
    with pytest.raises(InvalidInputError):
        command_of(local, CONFIG._replace(session_id="1"), VAULT)


def test_the_environment_is_what_the_program_needs():
    user = {
        "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "o", "GITHUB_TOKEN": "g", "HTTPS_PROXY": "p", "EXTRA": "e",
        "CORTEX_FACET": "other",
    }  # fmt: skip
    provider = PROVIDERS["claude"]._replace(env=("EXTRA",))
    config = CONFIG._replace(max_output_tokens=8192, env={"CORTEX_FACET": "work"})
    assert environment_of(provider, config, user) == {
        "ANTHROPIC_API_KEY": "k", "HTTPS_PROXY": "p", "EXTRA": "e", "CORTEX_FACET": "work",
        "CLAUDE_CODE_MAX_RETRIES": "2", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8192",
    }  # fmt: skip


def test_the_prompt_is_its_parts_in_order():
    config = CONFIG._replace(user_instruction="Do this.", extra_context=" ")
    assert stdin_of(PROVIDERS["gemini"], config) == b"You are brief.\n\nDo this.\n\nSay hello."
    lone = CONFIG._replace(system_instruction="", extra_context="", prompt="/clear \ud800")
    assert stdin_of(PROVIDERS["claude"], lone) == b"Prompt: /clear ?"
