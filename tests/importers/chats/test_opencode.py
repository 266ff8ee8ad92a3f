"""Tables and files as opencode 1.2 and 1.18 write them (MIT, anomalyco/opencode); the words are made up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import AGENT, USER, CommandRun, Utterance
from cortex.importers.chats import opencode
from cortex.importers.item import ForeignSession

SESSION, TIME = "ses_3357475cfffeopEj3XQHD5LXqo", 1_772_924_668_464
TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL,
  revert text, time_created integer NOT NULL, time_updated integer NOT NULL,
  time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
  seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL);
"""


def tool(name: str, given: dict[str, Any], status: str = "completed", **metadata: Any) -> Any:
    state = {"status": status, "input": given, "output": "", "metadata": metadata}
    return {"type": "tool", "callID": "c", "tool": name, "state": state}


PATCH = "*** Begin Patch\n*** Update File: /home/ana/shop/src/tax.ts\n@@\n-a\n+b\n*** End Patch"
PARTS: list[tuple[str, list[Any]]] = [
    (
        "user",
        [
            {"type": "text", "text": "Compute the tax per line."},
            {"type": "text", "text": "Called the Read tool", "synthetic": True},
            {"type": "subtask", "prompt": "You are a reviewer.", "agent": "build"},
        ],
    ),
    (
        "assistant",
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "thinking"},
            {"type": "text", "text": "I change the tax."},
            tool("apply_patch", {"patchText": PATCH}),
            tool("edit", {"filePath": "/home/ana/shop/README.md"}),
            tool("write", {"filePath": "/home/ana/shop/no.md"}, status="error"),
            tool("bash", {"command": "npm test", "description": "Tests"}, exit=1),
            tool("bash", {"command": "npm run build"}, exit=0),
            tool("bash", {"command": "sleep 99"}, status="error"),
        ],
    ),
    ("assistant", [{"type": "text", "text": "Tax is per line now."}]),
    ("user", [{"type": "text", "text": "Thanks."}]),
]


def document(
    parts: list[tuple[str, list[Any]]] = PARTS, updated: int = TIME, **info: Any
) -> dict[str, Any]:
    times = {"created": TIME, "updated": updated}
    head = {"id": SESSION, "projectID": "global", "title": "Tax per line", "time": times}
    messages = [
        {
            "info": {"id": f"msg_{number}", "role": role, "time": {"created": TIME + number}},
            "parts": some,
        }
        for number, (role, some) in enumerate(parts)
    ]
    return {"info": {**head, "directory": "/home/ana/shop", **info}, "messages": messages}


def exported(folder: Path, name: str = "session.json", **changes: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(**changes), indent=2))
    return path


def rows(session: str = SESSION, **info: Any) -> str:
    whole = document(**info)
    revert = f"'{json.dumps(info['revert'])}'" if "revert" in info else "NULL"
    values = (
        f"('{session}', 'global', NULL, 's', '/home/ana/shop', 'Tax per line', '1.18.33', "
        f"{revert}, {TIME}, {TIME}, NULL)"
    )
    sql = f"INSERT INTO session VALUES {values};\n"
    for one in whole["messages"]:
        id_ = one["info"].pop("id")
        at = one["info"]["time"]["created"]
        data = json.dumps(one["info"])
        sql += f"INSERT INTO message VALUES ('{id_}', '{session}', {at}, {at}, '{data}');\n"
        for number, part in enumerate(one["parts"]):
            name, data = f"{id_}-{number}", json.dumps(part)
            sql += (
                f"INSERT INTO part VALUES ('{name}', '{id_}', '{session}', {at}, {at}, '{data}');\n"
            )
    return sql


def stored(folder: Path, session: str = SESSION) -> Path:
    whole = document(id=session)
    files = {f"session/global/{session}": whole["info"]}
    for one in whole["messages"]:
        message = one["info"]["id"]
        files[f"message/{session}/{message}"] = one["info"]
        for number, part in enumerate(one["parts"]):
            files[f"part/{message}/prt_{number}"] = part
    for name, value in files.items():
        path = folder / "storage" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def read(path: Path | str) -> list[ForeignSession]:
    assert opencode.accepts(str(path))
    items = list(opencode.read(str(path)))
    assert items == list(opencode.read(str(path)))
    assert all(isinstance(one, ForeignSession) for one in items), items
    return [one for one in items if isinstance(one, ForeignSession)]


def check(one: ForeignSession) -> None:
    assert (one.key, one.title, one.folder) == (SESSION, "Tax per line", "/home/ana/shop")
    assert one.at == TIME
    first, last = one.turns
    assert (first.key, first.at) == ("msg_0", TIME)
    assert first.said == (
        Utterance(USER, "Compute the tax per line."),
        Utterance(AGENT, "I change the tax."),
        Utterance(AGENT, "Tax is per line now."),
    )
    assert first.files == ("/home/ana/shop/src/tax.ts", "/home/ana/shop/README.md")
    assert first.commands == (
        CommandRun("npm test", "failed: exit code 1"),
        CommandRun("npm run build"),
        CommandRun("sleep 99", "failed"),
    )
    assert last.said == (Utterance(USER, "Thanks."),)


def test_an_exported_session(tmp_path: Path) -> None:
    [one] = read(exported(tmp_path))
    check(one)


def test_a_database_and_the_folder_it_lies_in(database, tmp_path: Path) -> None:
    path = database("share/opencode.db", TABLES + rows())
    [one] = read(path)
    check(one)
    stored(tmp_path / "share", "ses_older")  # it was taken over into the database
    assert read(tmp_path / "share") == [one]


def test_the_older_folder_of_files(tmp_path: Path) -> None:
    [one] = read(stored(tmp_path))
    check(one)
    assert read(tmp_path / "storage") == [one]
    assert read(tmp_path / "storage/session/global" / f"{SESSION}.json") == [one]


def test_what_a_subagent_is_asked_is_no_persons_word(tmp_path: Path) -> None:
    [one] = read(exported(tmp_path, parentID="ses_parent"))
    assert {said.role for turn in one.turns for said in turn.said} == {AGENT}
    assert one.turns[0].files


def test_of_several_states_of_a_session_the_newest_counts(tmp_path: Path) -> None:
    exported(tmp_path, "a/0/full.jsonl", updated=TIME + 9, title="Newest")
    exported(tmp_path, "a/1/full.jsonl", parts=PARTS[:1])
    (tmp_path / "a" / "metadata.json").write_text('{"checkpoint_id": "a"}')
    (tmp_path / "b.jsonl").write_text('{"type": "user"}\n{"type": "assistant"}\n')
    [one] = read(tmp_path)
    assert one.title == "Newest"


def test_what_was_taken_back_and_what_is_for_the_model_is_left_out(
    database, tmp_path: Path
) -> None:
    compacted = [*PARTS[:3], ("assistant", [{"type": "text", "text": "Goal: …"}]), PARTS[3]]
    whole = document(parts=compacted)
    whole["messages"][3]["info"]["summary"] = True
    (tmp_path / "session.json").write_text(json.dumps(whole))
    [session] = read(tmp_path / "session.json")
    assert len(session.turns[0].said) == 3
    [one] = read(database("opencode.db", TABLES + rows(revert={"messageID": "msg_3"})))
    assert len(one.turns) == 1


def test_what_cannot_be_read_is_named_and_stops_nothing_else(tmp_path: Path, database) -> None:
    stored(tmp_path)
    (tmp_path / "storage/session/global/ses_torn.json").write_text('{"id": "ses_t')
    problem, one = opencode.read(str(tmp_path))
    assert isinstance(one, ForeignSession)
    assert isinstance(problem, Problem)
    assert problem.where == "storage/session/global/ses_torn.json"
    exported(tmp_path / "e")
    (tmp_path / "e" / "torn.json").write_text('{"info": {"id": "ses_2"}, "mess')
    problem, one = opencode.read(str(tmp_path / "e"))
    assert isinstance(problem, Problem)
    assert problem.where == "torn.json"
    assert isinstance(one, ForeignSession)


def test_a_form_that_is_not_known_is_said(database, tmp_path: Path) -> None:
    newer = "INSERT INTO session_message VALUES ('m', 'ses_new', 'user', 0, 1, 1, '{}');"
    path = database("opencode.db", TABLES + rows("ses_new", parts=[]) + newer)
    [problem] = opencode.read(path)
    assert isinstance(problem, Problem)
    assert "opencode export" in problem.message
    old = database("old/opencode.db", TABLES.replace("data text", "content text"))
    with pytest.raises(InvalidInputError, match="unknown version"):
        list(opencode.read(old))
    (tmp_path / "other.json").write_text('{"info": "x"}')
    os.mkdir(tmp_path / "empty")
    for name in ("other.json", "empty"):
        assert not opencode.accepts(str(tmp_path / name))
        with pytest.raises(InvalidInputError, match="holds nothing"):
            list(opencode.read(str(tmp_path / name)))


def test_the_verb_keeps_titles_and_files(tmp_path: Path, vault, import_twice) -> None:
    done = import_twice("opencode", exported(tmp_path / "in"))
    assert [(one.kind, one.found) for one in done.items] == [("session", 1)]
    [note] = Path(vault.root).glob("sessions/**/*.md")
    text = note.read_text()
    assert "Tax per line" in text
    assert "src/tax.ts" in text
    assert "npm test" in text
    assert "sleep 99" in text
