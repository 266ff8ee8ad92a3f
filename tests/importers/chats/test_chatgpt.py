"""Conversations in the form of an export of ChatGPT; the words are made up."""

from __future__ import annotations

import copy
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.importers.chats import chatgpt, claude_ai
from cortex.importers.item import ForeignSession


def node(
    id_: str, parent: str | None, role: str = "user", *parts: Any, **more: Any
) -> dict[str, Any]:
    kind = "multimodal_text" if any(isinstance(part, dict) for part in parts) else "text"
    message = {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": kind, "parts": list(parts)},
        "metadata": {},
        "recipient": "all",
        **more,
    }
    return {"id": id_, "parent": parent, "children": [], "message": message if parent else None}


def conversation(*nodes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    mapping = {one["id"]: dict(one, children=[]) for one in (node("root", None), *nodes)}
    for one in nodes:
        mapping[one["parent"]]["children"].append(one["id"])
    return {
        "title": "Tax",
        "create_time": 1_700_000_000.5,
        "update_time": 1_700_000_100.0,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": nodes[-1]["id"],
        "conversation_id": "c-1",
        "id": "c-1",
        **changes,
    }


HIDDEN = {"metadata": {"is_visually_hidden_from_conversation": True}}
PHOTO = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
NODES = (
    node("sys", "root", "system", "", **HIDDEN),
    node("profile", "sys", "user", "I am Ana.", **HIDDEN),
    node("q1", "profile", "user", "How is tax computed?"),
    node("old", "q1", "assistant", "Per order."),
    node("a1", "q1", "assistant", "Per line \ue200cite\ue202turn0search0\ue201."),
    node("call", "a1", "assistant", "import x", recipient="python"),
    node("out", "call", "tool", "42"),
    node("thought", "out", "assistant", "hm", content={"content_type": "thoughts", "thoughts": []}),
    node(
        "q2", "thought", "user", PHOTO, "And here?", metadata={"attachments": [{"name": "a.png"}]}
    ),
    node("a2", "q2", "assistant", PHOTO, create_time=None),
)


def read(path: Path) -> list[ForeignSession]:
    assert chatgpt.accepts(str(path))
    assert not claude_ai.accepts(str(path))
    items = list(chatgpt.read(str(path)))
    assert items == list(chatgpt.read(str(path)))
    assert all(isinstance(one, ForeignSession) for one in items), items
    return [one for one in items if isinstance(one, ForeignSession)]


def exported(path: Path, *conversations: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(conversations))
    return path


def check(one: ForeignSession) -> None:
    assert (one.key, one.title, one.at) == ("c-1", "Tax", 1_700_000_000.5)
    first, second = one.turns
    assert (first.key, first.at) == ("q1", 1_700_000_000.5)
    assert first.said == (Utterance(USER, "How is tax computed?"), Utterance(AGENT, "Per line ."))
    assert second.said == (
        Utterance(USER, "And here?\n\n[file: a.png]"),
        Utterance(AGENT, "[file: file-service://file-1]"),
    )


def test_the_branch_that_is_shown_without_what_is_hidden(tmp_path: Path) -> None:
    [one] = read(exported(tmp_path / "conversations.json", conversation(*NODES)))
    check(one)
    [same] = read(tmp_path)
    assert same == one


def test_a_zip_with_split_files(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("user.json", "{}")
        packed.writestr("conversations-000.json", json.dumps([conversation(*NODES)]))
        other = conversation(*NODES[:4], conversation_id="c-2", title=None, create_time=None)
        packed.writestr("conversations-001.json", json.dumps([other]))
        packed.writestr("../conversations-002.json", "[]")
    other_, one = read(path)
    check(one)
    assert (other_.key, other_.title, other_.at) == ("c-2", "", "")


def test_without_a_current_node_the_last_leaf_is_shown_and_a_circle_ends(tmp_path: Path) -> None:
    nodes = (*NODES[:3], node("a1", "q1", "assistant", "Per line."))
    circle = conversation(*nodes, conversation_id="c-2")
    circle["mapping"]["q1"]["parent"] = "a1"
    none = conversation(*nodes, current_node=None)
    one, two = read(exported(tmp_path / "conversations.json", none, circle))
    assert [said.text for said in one.turns[0].said] == ["How is tax computed?", "Per line."]
    assert len(two.turns) == 1


def test_a_conversation_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    good = conversation(*NODES)
    path = exported(tmp_path / "conversations.json", {"id": "c-9", "turns": []}, 7, good)
    first, second, one = chatgpt.read(str(path))
    assert isinstance(first, Problem)
    assert first.where == "conversations.json c-9"
    assert "mapping" in first.message
    assert isinstance(second, Problem)
    assert isinstance(one, ForeignSession)
    path.write_text(path.read_text()[:-20])
    *_, problem = chatgpt.read(str(path))
    assert isinstance(problem, Problem)
    assert "broken off" in problem.message


def test_an_odd_message_alone_is_left_out_and_named(tmp_path: Path) -> None:
    odd = copy.deepcopy(conversation(*NODES))
    del odd["mapping"]["q1"]["message"]["id"]
    odd["mapping"]["a1"]["message"]["author"] = None
    odd["mapping"]["call"] = 7
    path = exported(tmp_path / "conversations.json", odd)
    *problems, one = chatgpt.read(str(path))
    assert [(one.where, one.message) for one in problems if isinstance(one, Problem)] == [
        ("Tax: message a1", "cannot be read: a field holds something else than it should"),
        ("Tax: message call", "cannot be read: a field is missing: author"),
    ]
    assert isinstance(one, ForeignSession)
    assert [(turn.key, turn.said[0].text) for turn in one.turns] == [
        ("q1", "How is tax computed?"),
        ("q2", "And here?\n\n[file: a.png]"),
    ]


def test_what_is_no_export_is_said(tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json")
    assert not chatgpt.accepts(str(path))
    with pytest.raises(InvalidInputError, match="holds nothing"):
        list(chatgpt.read(str(path)))


def test_a_long_export_is_read_in_bounded_memory(tmp_path: Path) -> None:
    text = json.dumps(conversation(*NODES, node("q3", "a2", "user", "word " * 20_000)))
    path = tmp_path / "conversations.json"
    with path.open("w") as file:
        file.write("[" + text)
        for _ in range(50_000_000 // len(text)):
            file.write("," + text)
        file.write("]")
    tracemalloc.start()
    count = sum(1 for _ in chatgpt.read(str(path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 400
    assert peak < 30_000_000


def test_the_verb_keeps_titles(tmp_path: Path, vault, import_twice) -> None:
    path = exported(tmp_path / "in" / "conversations.json", conversation(*NODES))
    done = import_twice("chatgpt", path)
    assert [(one.kind, one.found) for one in done.items] == [("session", 1)]
    [note] = Path(vault.root).glob("sessions/2023/**/*.md")
    assert 'title: "Tax' in note.read_text() or "title: Tax" in note.read_text()


def test_where_a_conversation_went_on_its_note_is_said_to_be_brought_up_to_date(
    cortex, tmp_path
) -> None:
    path = exported(tmp_path / "conversations.json", conversation(*NODES))
    assert "captured 1 session; 1 new note" in cortex("import", "chatgpt", str(path)).stdout
    more = node("q3", "a2", "user", "And abroad?"), node("a3", "q3", "assistant", "Not at all.")
    exported(path, conversation(*NODES, *more))
    told = cortex("import", "chatgpt", str(path)).stdout
    assert "captured 1 session; notes were brought up to date" in told
    assert "nothing new" in cortex("import", "chatgpt", str(path)).stdout
