"""Run files and talents as the fourth Cortex writes them: forms of its documentation and its fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.runs import agent_note, run_note
from cortex.importers.earlier import cortex_runs
from cortex.importers.item import ForeignFile

AT = 1772737200000  # 2026-03-05T19:00:00Z
EVENTS: list[dict[str, Any]] = [
    {"event": "request", "prompt": "What is open?", "name": "facet_news", "facet": "work",
     "provider": "openai", "day": "20260305", "env": {"API_KEY": "x1"}, "output_path": "/tmp/x.md"},
    {"event": "start", "model": "gpt-4o", "session_id": "s-1"},
    {"event": "thinking", "content": "Let me look."},
    {"event": "tool_start", "tool": "search", "args": {"query": "open"}, "call_id": "c1"},
    {"event": "tool_end", "call_id": "c1", "result": "y" * 20_000},
    {"event": "finish", "result": "Two are open.", "usage": {"input_tokens": 245, "output_tokens": 15}},
    {"event": "info", "message": "after the end"},
]  # fmt: skip
TALENT = """{
  "type": "cogitate",
  "title": "Morning briefing",
  "color": "#1565c0",
  "schedule": "daily",
  "priority": 50,
  "multi_facet": true,
  "tier": 3,
  "output": "md"
}

Write the briefing of $day.
"""


def lines(events: list[dict[str, Any]]) -> str:
    stamped = ({**one, "ts": AT + 100 * at, "agent_id": str(AT)} for at, one in enumerate(events))
    return "".join(f"{json.dumps(one)}\n" for one in stamped)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    files = {
        f"agents/facet_news/{AT}.jsonl": lines(EVENTS),
        f"agents/default/{AT + 1}_active.jsonl": f"{lines(EVENTS[:2])}no json\n",
        f"agents/{AT + 2}.jsonl": lines(
            [
                {"event": "request", "persona": "Old_one", "prompt": "Hi"},
                {"event": "error", "error": "no key"},
            ]
        ),
        f"agents/default/{AT + 3}.jsonl": "",
        "agents/20260305.jsonl": '{"agent_id": 1}\n',
        "talent/morning_briefing.md": TALENT,
        "talent/odd.md": '{"title": "Odd", "schedule": "activity", "priority": 50}\n\nBe odd.\n',
        "talent/journal.md": "You are kind.\n",
    }
    for name, text in files.items():
        path = tmp_path / "journal" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "journal"


def read(journal: Path) -> dict[str, ForeignFile]:
    items = list(cortex_runs.read(str(journal)))
    assert items == list(cortex_runs.read(str(journal)))
    return {one.key: one for one in items if isinstance(one, ForeignFile)}


def test_a_run_is_the_note_of_a_run_that_has_ended(journal: Path) -> None:
    assert cortex_runs.accepts(str(journal))
    found = read(journal)
    file = found[f"facet_news/{AT}"]
    assert file.path.startswith("runs/2026/03/run-20260305t190000z-")
    run = run_note.read_run(file.text.encode(), file.path)
    assert (run.request.agent, run.request.prompt) == ("facet-news", "What is open?")
    assert (run.request.facet, run.request.env) == ("work", ("API_KEY",))
    assert (run.created, run.request.output_path) == ("2026-03-05T19:00:00Z", "")
    assert (run.state.status, run.state.result) == ("finished", "Two are open.")
    assert (run.state.tokens_in, run.state.tokens_out, run.state.model) == (245, 15, "gpt-4o")
    assert [one["event"] for one in run.events] == [one["event"] for one in EVENTS[:-1]]
    assert run.events[2]["summary"] == "Let me look."
    assert "x1" not in file.text
    aside = found[f"facet_news/{AT}/4"]
    assert aside.path == f"{file.path[:-3]}.d/4.json"
    assert run.events[4]["bytes"] == len(aside.text.encode())


def test_a_run_that_was_cut_off_has_failed_and_an_old_one_names_its_persona(journal: Path) -> None:
    found = read(journal)
    cut, old = found[f"default/{AT + 1}"], found[f"agents/{AT + 2}"]
    run = run_note.read_run(cut.text.encode(), cut.path)
    assert (run.state.status, run.events[2]["message"]) == ("failed", "no json")
    run = run_note.read_run(old.text.encode(), old.path)
    assert (run.request.agent, run.state.error) == ("old-one", "no key")


def test_a_talent_is_an_agent_and_what_is_not_understood_is_named(journal: Path) -> None:
    file = read(journal)["talent/morning-briefing"]
    agent, problems = agent_note.read_agent(file.text.encode(), file.path)
    assert (file.path, problems) == ("agents/morning-briefing.md", [])
    assert (agent.title, agent.schedule, agent.priority) == ("Morning briefing", "daily", 50)
    assert (agent.facets, agent.tier, agent.output) == ("active", "lite", "md")
    assert agent.prompt == "Write the briefing of $day."
    named = [one.where for one in cortex_runs.read(str(journal)) if isinstance(one, Problem)]
    assert named == [f"agents/default/{AT + 3}.jsonl", "agents/odd.md:3"]


def test_another_folder_holds_no_runs(tmp_path: Path) -> None:
    (tmp_path / "talent").mkdir()
    (tmp_path / "talent" / "singer.md").write_text("# A singer\n")
    assert not cortex_runs.accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="no runs"):
        list(cortex_runs.read(str(tmp_path / "talent" / "singer.md")))


def test_the_verb_files_them(journal: Path, vault, cortex, import_twice) -> None:
    done = import_twice("cortex-runs", journal)
    assert [(one.kind, one.new) for one in done.items] == [("file", 6)]
    listed = cortex("run", "list").stdout
    assert listed.count("run-20260305t1900") == 3
    assert cortex("agents", "check", "morning-briefing").returncode == 0
    assert "morning-briefing  new" in cortex("agents").stdout
    assert "5 notes, 1 problem;" in cortex("doctor").stdout  # that of the odd agent
