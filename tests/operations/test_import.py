"""Import: what agents' sessions on this disk told becomes events and records, once, each in its own project."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model import turn_summary
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_event_id
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.turn_summary import CommandRun, PlannedStep
from cortex.core.notes import note as notes
from cortex.hosts import transcript_files
from cortex.hosts.transcript_item import TranscriptItem
from cortex.operations.capture import capture
from cortex.operations.capture.hook_capture import HookEvent, capture_hook_event
from cortex.operations.capture.workspace import find_workspace
from cortex.operations.exchange.import_ import import_
from cortex.operations.exchange.transcript_events import _as_in_earlier_ids
from cortex.operations.upkeep.drain_spool import has_spooled_work
from cortex.vault.locate import Vault
from cortex.vault.state import session_state as cursors

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
Lines = list[dict[str, Any]]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository named cache, and an empty folder of transcripts."""
    root = tmp_path / "cache"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".cortex-project").write_text("cache\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return root


@pytest.fixture
def here(caller: Caller, repo: Path) -> Caller:
    return caller._replace(cwd=str(repo))


def turns(
    cwd: Path,
    count: int = 1,
    *,
    session: str = SESSION,
    begin: int = 0,
    said: str = "Decision: use SQLite for option {}",
    gap: int = 1,
) -> Lines:
    """Turns of a prompt, an edit, and what was said; a minute each."""
    found: Lines = []
    for number in range(begin, begin + count):
        at = f"2026-10-{1 + number * gap // 1440:02}T{number * gap // 60 % 24:02}:{number * gap % 60:02}"
        base = {"cwd": str(cwd), "sessionId": session, "gitBranch": "main", "isSidechain": False}
        parts = [
            {"type": "text", "text": said.format(number)},
            {"type": "tool_use", "id": f"t{number}", "name": "Write", "input": {"file_path": f"f{number}.py"}},
        ]  # fmt: skip
        found += [
            {**base, "type": "user", "uuid": f"u{session[0]}{number}", "timestamp": f"{at}:00Z", "message": {"content": f"Do {number}\n[MEMORY: gotcha] port {number}"}},
            {**base, "type": "assistant", "uuid": f"a{session[0]}{number}", "timestamp": f"{at}:30Z", "message": {"id": f"m{session[0]}{number}", "content": parts}},
        ]  # fmt: skip
    return found


def write(lines: Lines, *, name: str = SESSION, mode: str = "a") -> Path:
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-any", f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def rollout(path: str, *lines: tuple[str, dict[str, Any]], at: str = "2026-10-01") -> Path:
    """A transcript of Codex, of types and payloads."""
    file = Path(os.environ["CODEX_HOME"], path)
    file.parent.mkdir(parents=True, exist_ok=True)
    about = {"timestamp": f"{at}T10:00:00.000Z"}
    file.write_text(
        "".join(
            json.dumps({**about, "type": type_, "payload": held}) + "\n" for type_, held in lines
        )
    )
    return file


def codex_says(text: str, role: str = "assistant") -> tuple[str, dict[str, Any]]:
    content = [{"type": "output_text", "text": text}]
    return "response_item", {"type": "message", "role": role, "content": content}


def another(tmp_path: Path, name: str = "shop") -> Path:
    """Another repository, of the project shop."""
    root = tmp_path / name
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".cortex-project").write_text(f"{name}\n")
    return root


def events(vault: Vault) -> dict[str, notes.Note]:
    """The events that there are, by id."""
    found = [*Path(vault.root, "events").rglob("*.md"), *Path(vault.root, "inbox").rglob("*.md")]
    return {path.stem: notes.read(path.read_bytes()) for path in sorted(found)}


def texts(vault: Vault) -> str:
    return "\n".join(note.text for note in events(vault).values())


def test_a_session_becomes_events_a_session_note_and_records(vault, here, repo):
    write(turns(repo, 3))
    done = import_(vault, here, ["claude"])
    assert [
        (one.id, one.project, one.messages, one.events, one.outcome) for one in done.sessions
    ] == [(SESSION, "cache", 6, 3, "imported")]
    assert (done.events, done.unread, done.left_alone, done.problems) == (3, [], 0, [])
    (id_, event), *others = events(vault).items()
    assert len(others) == 2
    assert is_event_id(id_)
    assert id_.startswith("20261001t0000")  # when it was said, not when it was imported
    assert [
        event.get(key) for key in ("type", "session", "project", "branch", "host", "source")
    ] == ["stop", SESSION, "cache", "main", "claude", "import"]
    first, _, last = (
        turn_summary.parse_turn_summary(one.text.partition("## Raw Content\n\n")[2])
        for one in (event, *(note for _, note in others))
    )
    assert first.tagged_lines == ("[MEMORY: gotcha] port 0",)
    assert last.changed_files == ("f0.py", "f1.py", "f2.py")  # nobody has answered these calls
    assert len(list(Path(vault.root, "sessions").rglob("*.md"))) == 1
    assert done.records >= 3
    assert (
        "use sqlite for option 2"
        in "".join(path.read_text() for path in Path(vault.root, "records").rglob("*.md")).lower()
    )


def test_twice_is_once_and_what_came_since_is_added(vault, here, repo):
    write(turns(repo, 2))
    import_(vault, here, ["claude"])
    before = events(vault)
    again = import_(vault, here, ["claude"])
    assert (again.events, [one.outcome for one in again.sessions], events(vault)) == (
        0,
        ["nothing new"],
        before,
    )
    write(turns(repo, 1, begin=2))
    more = import_(vault, here, ["claude"])
    assert (more.events, more.sessions[0].messages) == (1, 2)
    assert texts(vault).count("option 2") == texts(vault).count("option 1") == 1


@pytest.mark.parametrize("forgotten", [True, False])
def test_killed_anywhere_and_repeated_it_makes_everything_once(
    vault, here, repo, monkeypatch, forgotten
):
    lines = turns(repo, 6, gap=300)  # two sittings and more: several events
    write([*lines[:2], *asides(repo, "b1", "Decision: aside {}"), *lines[2:]])
    real = capture.publish_event
    for deaths in range(1, 5):
        count = 0

        def dies(*args: Any, at: int = deaths, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == at and at % 2:
                raise KeyboardInterrupt
            answer = real(*args, **named)
            if count == at:
                raise KeyboardInterrupt
            return answer

        monkeypatch.setattr("cortex.operations.exchange.import_transcripts.publish_event", dies)
        try:
            import_(vault, here, ["claude"])
        except KeyboardInterrupt:
            pass
        if forgotten:
            for path in Path(vault.state_folder(), cursors.STATE_FOLDER).glob("*.json"):
                path.unlink()
    monkeypatch.setattr("cortex.operations.exchange.import_transcripts.publish_event", real)
    import_(vault, here, ["claude"])
    assert len(events(vault)) > 1
    for number in range(6):
        assert texts(vault).count(f"use SQLite for option {number}") == 1
    assert texts(vault).count("Decision: aside 0") == 1


def test_only_the_project_that_one_is_in_unless_all_are_wanted(vault, here, repo, tmp_path):
    other = another(tmp_path)
    write(turns(repo))
    write(turns(other, session="2other"), name="2other", mode="w")
    alone = import_(vault, here, ["claude"])
    assert ([one.project for one in alone.sessions], alone.left_alone) == (["cache"], 1)
    both = import_(vault, here, ["claude"], all=True)
    assert {one.project for one in both.sessions} == {"cache", "shop"}
    assert sorted(note.get("project") for note in events(vault).values()) == ["cache", "shop"]
    assert [one.project for one in import_(vault, here, ["claude"], project="shop").sessions] == [
        "shop"
    ]


def test_an_agent_that_went_to_another_repository_stays_in_the_project_where_it_began(
    vault, here, repo, tmp_path
):
    other = another(tmp_path)
    write([*turns(repo), *turns(other, begin=1), *turns(tmp_path, begin=2)])
    import_(vault, here, ["claude"])
    found = sorted(
        (note.get("project"), *re.findall(r"option (\d)", note.text))
        for note in events(vault).values()
    )
    assert found == [("cache", "0"), ("cache", "1"), ("cache", "2")]


def test_sessions_of_another_vault_are_left_alone_unless_one_vault_or_one_transcript_is_named(
    vault, here, repo, tmp_path, cortex
):
    other = another(tmp_path)
    assert cortex("init", "vault", cwd=str(other)).returncode == 0
    write(turns(repo))
    path = write(turns(other, session=OTHER), name=OTHER)
    done = import_(vault, here, ["claude"], all=True)
    assert [one.id for one in done.sessions] == [SESSION]
    assert done.left_alone == 1
    named = import_(vault, here, ["claude"], path=str(path))
    assert [one.id for one in named.sessions] == [OTHER]
    # Its first capture was made in the vault that was named, which keeps it.
    theirs = import_(Vault(str(other / "vault")), here, ["claude"], all=True)
    assert (theirs.events, theirs.left_alone) == (0, 2)
    explicit = Vault(str(other / "vault"), is_explicit=True)
    assert import_(explicit, here, ["claude"], all=True, dry_run=True).left_alone == 0


def test_a_folder_that_is_switched_off_is_left_alone(vault, here, repo):
    write(turns(repo))
    (repo / ".cortex-off").touch()
    done = import_(vault, here, ["claude"])
    assert (done.sessions, done.left_alone, events(vault)) == ([], 1, {})


def test_a_dry_run_says_what_would_come_and_leaves_nothing(vault, here, repo):
    write(turns(repo, 2))
    before = sorted(path for path in Path(vault.root).rglob("*"))
    done = import_(vault, here, ["claude"], dry_run=True)
    assert [
        (one.messages, one.events, one.outcome, one.first, one.last) for one in done.sessions
    ] == [(4, 2, "would import", "2026-10-01T00:00:00.000Z", "2026-10-01T00:01:30.000Z")]
    assert sorted(path for path in Path(vault.root).rglob("*")) == before
    assert not os.path.exists(os.path.join(vault.state_folder(), cursors.STATE_FOLDER))
    assert import_(vault, here, ["claude"]).events == done.events


def test_since_takes_sessions_that_went_on_after_it(vault, here, repo):
    write(turns(repo))
    day = 1_790_812_800  # 2026-10-01
    assert import_(vault, here, ["claude"], since=day + 86_400).sessions == []
    assert len(import_(vault, here, ["claude"], since=day).sessions) == 1


def asides(repo: Path, agent: str, said: str, **more: Any) -> Lines:
    """What a subagent did: the same turn, its lines and messages with names of their own."""
    found = turns(repo, said=said)
    for line in found:
        if "id" in line["message"]:
            line["message"]["id"] = f"m{agent}"
        line |= {"isSidechain": True, "agentId": agent, "uuid": f"{agent}{line['uuid']}", **more}
    return found


def write_agent(lines: Lines, agent: str, *, below: str = "subagents") -> Path:
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-any", SESSION, below)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{agent}.jsonl"
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def kinds(vault: Vault) -> list[tuple[str, str, str]]:
    """Type, session and what was decided, of each event."""
    found = events(vault).values()
    return sorted(
        (
            note.get("type"),
            note.get("session"),
            " ".join(re.findall(r"Decision: ([^\n]+)", note.text)),
        )
        for note in found
    )


def test_what_subagents_decided_belongs_to_their_session(vault, here, repo):
    write(turns(repo))
    write_agent(
        asides(repo, "a1", "Decision: of an agent {}", sessionId="resumed-from"), "agent-a1"
    )
    write_agent(
        asides(repo, "a2", "Decision: of a workflow {}"),
        "agent-a2",
        below="subagents/workflows/wf_1",
    )
    # Beside the session, as it was once.
    write(asides(repo, "a3", "Decision: of an old one {}"), name="agent-a3")
    write_agent(turns(repo, session="3journal", said="Decision: no {}"), "journal")
    done = import_(vault, here, ["claude"])
    assert [(one.id, one.agents, one.messages, one.events) for one in done.sessions] == [
        (SESSION, 3, 8, 4)
    ]
    assert kinds(vault) == [
        ("stop", SESSION, "use SQLite for option 0"),
        ("subagent_stop", SESSION, "of a workflow 0"),
        ("subagent_stop", SESSION, "of an agent 0"),
        ("subagent_stop", SESSION, "of an old one 0"),
    ]
    before = events(vault)
    assert (import_(vault, here, ["claude"]).events, events(vault)) == (0, before)
    write_agent(asides(repo, "a9", "Decision: later {}", agentId="a1"), "agent-a1")
    assert import_(vault, here, ["claude"]).events == 1
    assert "later 0" in texts(vault)


def test_side_chains_in_a_session_s_own_file_are_events_of_their_own(vault, here, repo):
    first, *rest = turns(repo, 2)
    named, other = (
        asides(repo, "b1", "Decision: of b1 {}"),
        asides(repo, "b2", "Decision: of b2 {}"),
    )
    # An old version: no name, only parents.
    for line, parent in zip(other, (None, "b2u10"), strict=True):
        del line["agentId"]
        line["parentUuid"] = parent
    write([first, named[0], other[0], named[1], rest[0], other[1], *rest[1:]])
    done = import_(vault, here, ["claude"])
    # Edits that nobody answered come last: of b1 and b2 they are events of their own.
    assert [(one.agents, one.events) for one in done.sessions] == [(2, 6)]
    assert [one for one in kinds(vault) if one[2]] == [
        ("stop", SESSION, "use SQLite for option 0"),
        ("stop", SESSION, "use SQLite for option 1"),
        ("subagent_stop", SESSION, "of b1 0"),
        ("subagent_stop", SESSION, "of b2 0"),
    ]
    assert import_(vault, here, ["claude"]).events == 0


def test_killed_between_a_session_and_its_side_chain_neither_is_lost(
    vault, here, repo, monkeypatch
):
    write([*turns(repo), *asides(repo, "b1", "Decision: aside {}")])
    real, published = capture.publish_event, []

    def dies(*args: Any, **named: Any) -> Any:
        published.append(args)
        if len(published) == 2:
            raise KeyboardInterrupt
        return real(*args, **named)

    monkeypatch.setattr("cortex.operations.exchange.import_transcripts.publish_event", dies)
    assert (import_(vault, here, ["claude"]).stopped, len(events(vault))) == (True, 1)
    monkeypatch.setattr("cortex.operations.exchange.import_transcripts.publish_event", real)
    import_(vault, here, ["claude"])
    assert kinds(vault) == [
        ("stop", SESSION, "use SQLite for option 0"),
        ("subagent_stop", SESSION, "aside 0"),
    ]


def test_an_agent_s_transcript_by_its_path(vault, here, repo):
    path = write_agent(asides(repo, "a1", "Decision: of an agent {}"), "agent-a1")
    assert [
        (one.id, one.agents) for one in import_(vault, here, ["claude"], path=str(path)).sessions
    ] == [(SESSION, 1)]
    assert kinds(vault) == [("subagent_stop", SESSION, "of an agent 0")]


def test_what_a_hook_captured_of_a_subagent_is_not_imported(vault, here, repo):
    write(turns(repo))
    path = write_agent(asides(repo, "a1", "Decision: of an agent {}"), "agent-a1")
    told = HookEvent(
        "subagent-stop", "claude", SESSION, str(repo), agent="a1", agent_transcript=str(path)
    )
    assert capture_hook_event(
        vault, here, told, find_workspace("claude", "", "", str(repo), {})[1], 1
    )
    import_(vault, here, ["claude"])
    assert texts(vault).count("of an agent 0") == 1
    write_agent(asides(repo, "a9", "Decision: later {}", agentId="a1"), "agent-a1")
    import_(vault, here, ["claude"])
    assert not capture_hook_event(
        vault, here, told, find_workspace("claude", "", "", str(repo), {})[1], 1
    )
    assert texts(vault).count("later 0") == 1


def test_a_subagent_in_no_project_is_of_its_session_s(vault, here, repo, tmp_path):
    write(turns(repo))
    write_agent(
        asides(repo, "a1", "Decision: of an agent {}", cwd=str(tmp_path / "gone")), "agent-a1"
    )
    assert import_(vault, here, ["claude"]).left_alone == 0
    assert {note.get("project") for note in events(vault).values()} == {"cache"}


def test_of_other_projects_sessions_are_counted_not_files(vault, here, repo, tmp_path):
    other = another(tmp_path)
    write(turns(other))
    for agent in ("a1", "a2"):
        write_agent(asides(other, agent, "Decision: {}"), f"agent-{agent}")
    Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-any", "empty.jsonl").touch()
    Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "-any", "noise.jsonl").write_bytes(
        b"\0\1\n\2\n"
    )
    done = import_(vault, here, ["claude"])
    assert (done.sessions, done.left_alone, done.transcripts) == ([], 1, 5)


def test_a_prompt_that_was_rewound_stays_out_with_what_followed(vault, here, repo):
    lines = turns(repo, 3)
    for line, parent in zip(lines, (None, "u10", "a10", "u11", "a10", "u12"), strict=True):
        line["parentUuid"] = parent
    write(lines)
    import_(vault, here, ["claude"])
    assert re.findall(r"use SQLite for option (\d)", texts(vault)) == ["0", "2"]


def test_a_summary_is_an_event_of_its_own_and_prompts_are_kept_where_the_team_wants_them(
    vault, here, repo
):
    summary = {**turns(repo, begin=1)[0], "uuid": "c1", "isCompactSummary": True, "message": {"content": "So far: SQLite."}}  # fmt: skip
    write([*turns(repo), summary, *turns(repo, begin=2)])
    Path(vault.root, "cortex.toml").write_text("format = 1\n[hooks]\nprompts = true\n")
    import_(vault, here, ["claude"])
    found = [
        (note.get("type"), note.text.partition("## Raw Content\n\n")[2][:15])
        for _, note in sorted(events(vault).items())
    ]
    assert sorted(type_ for type_, _ in found) == ["post_compact", "stop", "stop"]
    assert ("post_compact", "So far: SQLite.") in found


def test_an_event_holds_a_bounded_part_of_what_was_said(vault, here, repo):
    write(turns(repo, 40, said="words " * 1_000 + "{}"))
    write(turns(repo, 1, begin=40, said="long\n" * 300_000 + "{}"))
    # In one turn.
    write(
        [
            line
            for line in turns(repo, 60, begin=41, said="many " * 1_000 + "{}")
            if line["type"] == "assistant"
        ]
    )
    done = import_(vault, here, ["claude"])
    sizes = sorted(
        len(turn_summary.parse_turn_summary(note.text).message) for note in events(vault).values()
    )
    assert done.problems == []
    # The parts of the one message.
    assert sum(size > transcript_files.MAX_SEGMENT_CHARS + 5_000 for size in sizes) == 3
    assert sum(sizes) > 100 * 5_000 + 1_500_000
    assert texts(vault).count("words 39") == 1


def test_what_hooks_have_captured_is_not_imported_and_what_is_imported_is_theirs_no_more(
    vault, here, repo
):
    path = write([*turns(repo, 2), {"type": "ai-title", "aiTitle": "Cache"}])
    assert import_(vault, here, ["claude"]).sessions[0].title == "Cache"
    cursor = cursors.load_cursor(vault, cursors.session_key("claude", SESSION))
    assert (cursor.offset, cursor.transcript, cursor.begun, cursor.behind) == (
        path.stat().st_size, str(path), True, False,
    )  # fmt: skip
    assert not has_spooled_work(vault, at_once=True)
    write(turns(repo, 2, begin=2))
    ahead = cursors.add_expected_texts(
        cursor, cursors.text_fingerprint("Decision: use SQLite for option 3")
    )
    with cursors.lock_session(vault, cursors.session_key("claude", SESSION)) as held:
        held.save(ahead)
    import_(vault, here, ["claude"])
    assert "option 2" in texts(vault)
    assert "option 3" not in texts(vault)
    assert cursors.load_cursor(vault, cursors.session_key("claude", SESSION)).ahead == ()


def test_a_line_without_its_end_is_read_when_it_is_whole_and_waited_for_when_it_is_not(
    vault, here, repo
):
    path = write(turns(repo, 2))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    import_(vault, here, ["claude"])
    assert "option 0" in texts(vault)
    assert "option 1" not in texts(vault)
    path.write_bytes(whole[:-1])
    import_(vault, here, ["claude"])
    path.write_bytes(whole)
    import_(vault, here, ["claude"])
    assert texts(vault).count("option 1") == 1


def test_a_session_that_was_resumed_into_another_file_is_told_once(vault, here, repo):
    write(turns(repo, 2))
    copied = [{**line, "sessionId": "2copy"} for line in turns(repo, 2)]
    write([*copied, *turns(repo, 1, begin=2)], name="99999999-2222-4333-8444-555555555555")
    import_(vault, here, ["claude"])
    for number in range(3):
        assert texts(vault).count(f"use SQLite for option {number}") == 1


def test_secrets_stay_out(vault, here, repo):
    key = "AKIA" + "ABCDEFGH23456789"
    write(turns(repo, said=f"Decision: the key is {key} {{}}"))
    import_(vault, here, ["claude"])
    for folder in (vault.root, vault.state_folder(), vault.cache_folder()):
        for path in Path(folder).rglob("*"):
            assert path.is_dir() or key.encode() not in path.read_bytes()


def test_lines_that_are_none_are_counted_and_stop_nothing(vault, here, repo):
    path = write(turns(repo))
    path.write_bytes(
        b"\xff\n[1]\n{half\n" + path.read_bytes() + b'{"type": "assistant", "message": "\\ud800"}\n'
    )
    done = import_(vault, here, ["claude"])
    assert (done.events, [one.lines for one in done.unread], done.problems) == (1, [4], [])


def test_what_cannot_be_read_is_named_and_an_empty_one_leaves_nothing(vault, here, repo):
    path = write(turns(repo))
    os.mkfifo(path.with_name("pipe.jsonl"))
    path.with_name("empty.jsonl").touch()
    done = import_(vault, here, ["claude"], all=True)
    assert [(os.path.basename(one.where), one.message) for one in done.problems] == [
        ("pipe.jsonl", "cannot be read: unreadable")
    ]
    assert [one.id for one in done.sessions] == [SESSION]
    assert len(list(Path(vault.state_folder(), cursors.STATE_FOLDER).glob("*.json"))) == 1


def test_a_codex_rollout(vault, here, repo):
    decision = "Decision: use WAL mode, because readers must not wait."
    rollout(
        "sessions/2026/10/01/rollout-x.jsonl",
        ("session_meta", {"id": "c0de", "cwd": str(repo), "git": {"branch": "dev"}}),
        ("event_msg", {"type": "user_message", "message": "Go"}),
        codex_says("Go", "user"),
        ("event_msg", {"type": "agent_message", "message": decision}),
        codex_says(decision),
    )
    aside = {"id": "sub", "cwd": str(repo), "source": {"subagent": "x"}}
    rollout("sessions/2026/10/01/rollout-y.jsonl", ("session_meta", aside))
    done = import_(vault, here, ["codex"])
    assert [(one.id, one.branch, one.messages) for one in done.sessions] == [("c0de", "dev", 2)]
    assert texts(vault).count("use WAL mode") == 1
    assert import_(vault, here, ["codex"]).events == 0


def test_codex_archives_sessions(vault, here, repo):
    meta = {"id": "archived", "cwd": str(repo)}
    said = codex_says("Decision: of an archive")
    rollout("archived_sessions/rollout-1.jsonl", ("session_meta", meta), said)
    thread = {"subagent": {"thread_spawn": {"parent_thread_id": "archived", "depth": 1}}}
    child = ("session_meta", {"id": "child", "cwd": str(repo), "source": thread})
    aside = rollout("sessions/2026/rollout-2.jsonl", child, codex_says("Decision: of a child"))
    done = import_(vault, here, ["codex"])
    assert [(one.id, one.first[:10], one.agents) for one in done.sessions] == [
        ("archived", "2026-10-01", 1)
    ]
    assert done.unread == []
    assert kinds(vault) == [
        ("stop", "archived", "of an archive"),
        ("subagent_stop", "archived", "of a child"),
    ]
    aside.rename(Path(os.environ["CODEX_HOME"], "archived_sessions/rollout-2.jsonl"))
    assert import_(vault, here, ["codex"]).events == 0


def test_several_hosts_at_once(vault, here, repo, monkeypatch, tmp_path):
    write(turns(repo))
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    meta = ("session_meta", {"id": "c1", "cwd": str(repo)})
    rollout("sessions/rollout-1.jsonl", meta, codex_says("Decision: codex"), at="2026-10-02")
    folder = tmp_path / "copilot/session-state/c0ffee"
    folder.mkdir(parents=True)
    about = {"timestamp": "2026-10-03T05:04:05.000Z"}
    lines = [
        {**about, "type": "session.start", "data": {"sessionId": "c0ffee", "context": {"cwd": str(repo), "branch": "main"}}},
        {**about, "type": "assistant.message", "id": "1", "data": {"messageId": "1", "content": "Decision: copilot"}},
    ]  # fmt: skip
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = import_(vault, here, ["claude", "codex", "copilot"])
    assert [(one.host, one.id) for one in done.sessions] == [("claude", SESSION), ("codex", "c1"), ("copilot", "c0ffee")]  # fmt: skip
    assert {note.get("host") for note in events(vault).values()} == {"claude", "codex", "copilot"}
    with pytest.raises(InvalidInputError):
        import_(vault, here, ["claude", "codex"], path=str(folder))


def test_one_transcript_by_its_path_whichever_project_it_is_of(vault, here, repo, tmp_path):
    path = tmp_path / "saved.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in turns(Path("/gone/elsewhere"))))
    assert [one.id for one in import_(vault, here, ["claude"], path=str(path)).sessions] == [
        SESSION
    ]
    assert {note.get("project")[:10] for note in events(vault).values()} == {"elsewhere-"}


def test_the_command_says_what_it_did(cortex, repo):
    write([*turns(repo, 2), {"type": "ai-title", "aiTitle": "Make the cache faster"}])
    write_agent(asides(repo, "a1", "Decision: aside {}"), "agent-a1")
    preview = cortex("import", "claude", "--all", "--dry-run")
    assert preview.stdout.splitlines() == [
        "2026-10-01 00:00 – 00:01  cache  Make the cache faster",
        f"  6 messages, 1 subagent, 3 events  {SESSION}",
        "",
        "would capture 6 messages of 1 session in 3 events; without --dry-run it does",
    ]
    done = cortex("import", "claude", "--all", "--json")
    assert (done.returncode, json.loads(done.stdout)["events"]) == (0, 3)
    again = cortex("import", "claude", "codex", "--all")
    assert "1 session had nothing new" in again.stdout
    assert again.returncode == 0


def test_where_there_is_nothing_it_says_where_it_looked_and_what_it_left_alone(
    cortex, repo, tmp_path
):
    assert (
        cortex("import", "codex", "--all").stdout
        == f"nothing to import: nothing in {tmp_path}/codex/sessions, {tmp_path}/codex/archived_sessions\n"
    )
    path = write([*turns(repo), *turns(repo, session="2off")])
    with path.open("a") as file:
        file.write("{half\n[1]\n")
    told = cortex("import", "claude", "--since", "2026-11-01", "--project", "cache").stdout
    alone = "of other projects (--all takes them, each as its own), ended before --since, or in folders with a .cortex-off file"
    assert told.splitlines() == [
        f"nothing to import in {tmp_path}/claude/projects",
        f"1 session left alone: {alone}",
    ]
    assert cortex("import", "claude", "--since", "3m", "--json").returncode == 0  # months
    for wrong in (["winamp"], ["claude", "--since", "soon"]):
        assert cortex("import", *wrong).returncode == 2
    assert f"2 lines could not be read in {path}" in cortex("import", "claude", "--all").stdout


def test_interrupted_it_says_what_is_kept_and_goes_on_later(vault, repo):
    sessions = 40
    for number in range(1, sessions + 1):
        write(
            turns(repo, 8, session=f"{chr(0x4E00 + number)}", gap=300),
            name=f"{number:08}-2222-4333-8444-555555555555",
        )
    command = [sys.executable, "-m", "cortex", "import", "claude", "--all"]
    # A shell that runs us in the background has it ignored, by children too.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, cwd=vault.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        signal.signal(signal.SIGINT, heard)
        pending = Path(vault.root, "inbox/pending")
        while run.poll() is None and len(list(pending.glob("*.md"))) < 3:
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "")
    (kept,) = re.findall(
        r"stopped: (\d+) events? captured, and kept; the same command goes on from here", out
    )
    there = len(events(vault))
    assert int(kept) <= there <= int(kept) + 1  # the one that was being written may be there
    assert there >= 3
    subprocess.run([*command, "--json"], cwd=vault.root, check=True, capture_output=True)
    assert texts(vault).count("use SQLite for option 7") == sessions


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory as Linux tells it")
def test_a_long_transcript_needs_little_memory(vault, repo):
    line = json.dumps(
        {
            **turns(repo)[0],
            "uuid": "big",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 400_000}]
            },
        }
    )
    path = write(turns(repo))
    with path.open("a") as file:
        for _ in range(200):
            file.write(line + "\n")
    code = (
        "import resource, sys; from cortex.hosts import new_reader; from cortex.hosts.transcript_files import iter_segments;"
        "from cortex.hosts.tail import FILE_START;"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "list(iter_segments(sys.argv[1], new_reader('claude'), FILE_START, lambda piece: ('', '')));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert path.stat().st_size > 80_000_000
    assert int(run.stdout) < 40_000  # kB


def test_a_command_and_a_plan_stand_in_ids_as_they_did_in_the_first_version():
    piece = TranscriptItem("ran", command=CommandRun("make 'x'"), plan=(PlannedStep("Try", True),))
    assert _as_in_earlier_ids(piece) == (
        "Command(line=\"make 'x'\", outcome='ok')\0(Step(text='Try', done=True),)"
    )
    assert _as_in_earlier_ids(TranscriptItem("said")) == "None\0()"
