"""Chats in the two forms of Gemini CLI (Apache-2.0, google-gemini/gemini-cli); the words are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import AGENT, USER, CommandRun, Utterance
from cortex.importers.chats import gemini
from cortex.importers.item import ForeignSession

HEAD = {
    "sessionId": "faff42ab-6ea5-4f78-b8c4-f7dd6272af08",
    "projectHash": "7e89",
    "startTime": "2026-01-10T02:08:26.108Z",
    "lastUpdated": "2026-01-10T02:09:27.575Z",
}


def said(id_: str, type_: str, content: Any, **more: Any) -> dict[str, Any]:
    at = f"2026-01-10T02:08:{int(id_[1:]):02}.000Z"
    return {"id": id_, "timestamp": at, "type": type_, "content": content, **more}


def call(name: str, status: str = "success", result: str = "", **args: str) -> dict[str, Any]:
    return {"id": name, "name": name, "args": args, "status": status, "result": [{"text": result}]}


CALLS = [
    call("write_file", file_path="src/tax.ts", content="x"),
    call("replace", "error", file_path="no.md"),
    call("run_shell_command", result="Output: x\nExit Code: 1\nSignal: 0", command="npm test"),
    call("run_shell_command", "cancelled", command="rm -r ."),
    call("run_shell_command", result="Output: fine", command="npm run build"),
]
MESSAGES = [
    said("m0", "user", [{"text": "<session_context>\nToday is Friday."}]),
    said("m1", "user", [{"text": "Compute the tax "}, "per line."]),
    said("m2", "info", "Gemini CLI update available!"),
    said("m3", "gemini", "", toolCalls=CALLS, thoughts=[{"subject": "x"}]),
    said("m4", "gemini", "Done."),
    said("m5", "user", "the long text of @a.md", displayContent="Thanks for @a.md"),
]


def read(path: Path) -> list[ForeignSession]:
    assert gemini.accepts(str(path))
    items = list(gemini.read(str(path)))
    assert items == list(gemini.read(str(path)))
    assert all(isinstance(one, ForeignSession) for one in items), items
    return [one for one in items if isinstance(one, ForeignSession)]


def whole(path: Path, messages: list[dict[str, Any]] = MESSAGES, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**HEAD, "messages": messages, **changes}, indent=2))
    return path


def log(path: Path, *lines: dict[str, Any], end: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + end)
    return path


def check(one: ForeignSession) -> None:
    assert (one.key, one.at) == (HEAD["sessionId"], HEAD["startTime"])
    first, last = one.turns
    assert first.key == "m1"
    assert first.said == (
        Utterance(USER, "Compute the tax \n\nper line."),
        Utterance(AGENT, "Done."),
    )
    assert first.files == ("src/tax.ts",)
    assert first.commands == (
        CommandRun("npm test", "failed: exit code 1"),
        CommandRun("npm run build"),
    )
    assert last.said == (Utterance(USER, "Thanks for @a.md"),)


def test_a_whole_file(tmp_path: Path) -> None:
    [one] = read(whole(tmp_path / "session-2026-01-10T02-08-faff42ab.json", summary="Tax per line"))
    check(one)
    assert one.title == "Tax per line"


def test_a_log_with_what_was_said_anew_taken_back_and_half_written(tmp_path: Path) -> None:
    chats = tmp_path / "tmp" / "shop" / "chats"
    log(
        chats / "session-2026-01-10T02-08-faff42ab.jsonl",
        {**HEAD, "kind": "main"},
        *MESSAGES[:3],
        {**MESSAGES[3], "toolCalls": CALLS[:1]},
        MESSAGES[3],
        MESSAGES[4],
        said("m7", "user", "Wrong."),
        said("m8", "gemini", "Sorry."),
        {"$rewindTo": "m7"},
        {"$rewindTo": "unknown"},
        {"$set": {"messages": [said("m9", "user", "<state_snapshot>…")]}},
        MESSAGES[5],
        {"$set": {"summary": "Tax per line", "lastUpdated": "2026-01-11T00:00:00Z"}},
        end='{"id": "m10", "type": "us',
    )
    (tmp_path / "tmp" / "shop" / ".project_root").write_text("/home/ana/shop\n")
    [one] = read(tmp_path)
    check(one)
    assert (one.title, one.folder) == ("Tax per line", "/home/ana/shop")


def test_of_several_states_the_newest_counts_and_others_files_do_not(tmp_path: Path) -> None:
    whole(tmp_path / "a" / "full.jsonl", MESSAGES[:3], lastUpdated="2026-01-10T02:08:30Z")
    whole(tmp_path / "b" / "full.jsonl")
    whole(tmp_path / "c" / "full.jsonl", MESSAGES[:2], lastUpdated="2026-01-10T02:08:29Z")
    (tmp_path / "logs.json").write_text('[{"sessionId": "x", "type": "user"}]')
    (tmp_path / "d.jsonl").write_text('{"type": "user", "sessionId": "claude"}\n')
    [one] = read(tmp_path)
    check(one)


def test_what_a_subagent_is_asked_is_no_persons_word(tmp_path: Path) -> None:
    [one] = read(whole(tmp_path / "session-a.json", kind="subagent", directories=["/home/ana/web"]))
    assert [words.role for turn in one.turns for words in turn.said] == [AGENT]
    assert one.folder == "/home/ana/web"


def test_a_damaged_chat_is_named(tmp_path: Path) -> None:
    text = whole(tmp_path / "good.json").read_text()
    (tmp_path / "torn.json").write_text(text[:900])
    log(tmp_path / "bad.jsonl", HEAD, end="x\n{}\n")
    problems = [one.where for one in gemini.read(str(tmp_path)) if isinstance(one, Problem)]
    assert problems == ["torn.json", "bad.jsonl"]
    (tmp_path / "other.json").write_text("{}")
    assert not gemini.accepts(str(tmp_path / "other.json"))
    with pytest.raises(InvalidInputError, match="holds nothing"):
        list(gemini.read(str(tmp_path / "other.json")))


def test_the_verb_keeps_the_title(tmp_path: Path, vault, import_twice) -> None:
    done = import_twice("gemini", whole(tmp_path / "in" / "session-a.json", summary="Tax per line"))
    assert [(one.kind, one.found) for one in done.items] == [("session", 1)]
    [note] = Path(vault.root).glob("sessions/**/*.md")
    assert "Tax per line" in note.read_text()
