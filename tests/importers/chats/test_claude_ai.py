"""Files in the form of an export of Claude.ai; the words are made up."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.importers.chats import chatgpt, claude_ai
from cortex.importers.item import ForeignItem, ForeignRecord, ForeignSession

AT = "2026-02-01T12:00:00.123456Z"


def said(id_: str, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    at = f"2026-02-01T12:00:{int(id_[1:]):02}.000000Z"
    return {"uuid": id_, "sender": sender, "text": "", "content": blocks, "created_at": at, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "citations": []}


FILE = {"file_name": "tax.csv", "file_size": 9, "extracted_content": "a long table"}
CHAT = {
    "uuid": "chat-1", "name": "Tax per line", "summary": "", "created_at": AT, "updated_at": AT,
    "account": {"uuid": "acct"},
    "chat_messages": [
        said("m1", "human", text("How is tax computed?"), attachments=[FILE],
             files=[{"file_name": "photo.png"}]),
        said("m2", "assistant", {"type": "thinking", "thinking": "hm"}, text("I look."),
             {"type": "tool_use", "name": "search", "input": {}},
             {"type": "tool_result", "content": []}, text("Per line.")),
        said("m3", "human", text="Thanks.", content=[]),
    ],
}  # fmt: skip
PROJECT = {
    "uuid": "p-1", "name": "Shop", "description": "d", "is_private": True,
    "prompt_template": "Answer in Dutch.", "created_at": AT,
    "docs": [{"uuid": "d-1", "filename": "rules.md", "content": "# Rules", "created_at": AT}],
}  # fmt: skip
STARTER = {"uuid": "p-0", "name": "How to use Claude", "is_starter_project": True, "docs": [{"uuid": "d-0", "content": "x"}]}  # fmt: skip
MEMORY = {
    "conversations_memory": "Ana builds a shop.",
    "project_memories": {"p-1": "Tax is per line.", "p-9": ""},
    "account_uuid": "acct",
}


def read(path: Path) -> list[ForeignItem]:
    assert claude_ai.accepts(str(path))
    assert not chatgpt.accepts(str(path))
    items = list(claude_ai.read(str(path)))
    assert items == list(claude_ai.read(str(path)))
    return items


def check(items: list[ForeignItem]) -> None:
    assert not [one for one in items if isinstance(one, Problem)]
    [chat] = [one for one in items if isinstance(one, ForeignSession)]
    assert (chat.key, chat.title, chat.at) == ("chat-1", "Tax per line", AT)
    first, second = chat.turns
    assert first.said == (
        Utterance(USER, "How is tax computed?\n\n[file: tax.csv]\n\n[file: photo.png]"),
        Utterance(AGENT, "I look.\n\nPer line."),
    )
    assert first.given == ("[file: tax.csv]\n\n~~~\na long table\n~~~",)
    assert second.said == (Utterance(USER, "Thanks."),)
    records = {one.key: one for one in items if isinstance(one, ForeignRecord)}
    assert set(records) == {"p-1", "d-1", "claude-ai/memory", "claude-ai/memory-p-1"}
    assert records["d-1"] == ForeignRecord(
        "d-1", "rules.md", "# Rules", "reference", AT, project="Shop"
    )
    assert records["p-1"].title == "Instructions of Shop"
    assert records["claude-ai/memory"].body == "Ana builds a shop."
    assert records["claude-ai/memory-p-1"].project == "Shop"
    assert records["claude-ai/memory-p-1"].topic == "claude-ai/memory-p-1"


def test_a_zip_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "data.dms"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("users.json", "[]")
        packed.writestr("memories.json", json.dumps([MEMORY]))
        packed.writestr("conversations.json", json.dumps([CHAT]))
        packed.writestr("projects.json", json.dumps([STARTER, PROJECT]))
    check(read(path))


def test_a_folder_in_which_each_project_is_a_file(tmp_path: Path) -> None:
    for name, value in {
        "conversations.json": [CHAT],
        "memories/acct.json": MEMORY,
        "projects/p-1.json": PROJECT,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(value))
    check(read(tmp_path))


def test_of_branches_the_latest_is_taken(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        said("m1", "human", text("one"), parent_message_uuid=root),
        said("m2", "assistant", text("dropped"), parent_message_uuid="m1"),
        said("m4", "assistant", text("shown"), parent_message_uuid="m1"),
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{**CHAT, "chat_messages": messages}]))
    [chat] = read(path)
    assert isinstance(chat, ForeignSession)
    assert [one.text for one in chat.turns[0].said] == ["one", "shown"]


def test_an_odd_message_alone_is_left_out_and_named(tmp_path: Path) -> None:
    nameless = said("m3", "human", text("And here?"))
    del nameless["uuid"]
    odd = {"uuid": "m2", "sender": "human", "content": [None]}
    messages = [said("m1", "human", text("one")), odd, None, nameless]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{**CHAT, "chat_messages": messages}]))
    *problems, chat = read(path)
    assert [(one.where, one.message) for one in problems if isinstance(one, Problem)] == [
        (
            "Tax per line: message m2",
            "cannot be read: a field holds something else than it should",
        ),
        ("Tax per line: message 3", "cannot be read: a field is missing: sender"),
    ]
    assert isinstance(chat, ForeignSession)
    assert [(one.key, one.said[0].text) for one in chat.turns] == [
        ("m1", "one"), ("4", "And here?")
    ]  # fmt: skip


@pytest.mark.parametrize(("prompts", "is_kept"), [("short", True), ("none", False)])
def test_the_text_of_a_file_is_kept_as_far_as_prompts_are(
    tmp_path: Path, vault, import_twice, prompts, is_kept
) -> None:
    settings = Path(vault.root, "cortex.toml")
    settings.write_text(settings.read_text() + f'\n[hooks]\nprompts = "{prompts}"\n')
    file = {"file_name": "paste.txt", "extracted_content": "a ~~~ table\n" + "x" * 30_000}
    asked = said("m1", "human", text("Read it."), attachments=[file])
    chat = {**CHAT, "chat_messages": [asked, said("m2", "assistant", text("Read."))]}
    path = tmp_path / "in" / "conversations.json"
    path.parent.mkdir()
    path.write_text(json.dumps([chat, {**CHAT, "uuid": "chat-2"}]))
    import_twice("claude-ai", path)
    whole = "".join(one.read_text() for one in Path(vault.root, "events").rglob("*.md"))
    told = "[file: paste.txt] (its first 20,000 of 30,012 characters)"
    assert (told in whole, "> a ~~~ table" in whole) == (is_kept, is_kept)
    assert "x" * 20_000 not in whole


def test_a_form_that_is_not_known_is_said(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "chat-9", "turns": []}, {**CHAT, "chat_messages": [1]}]))
    first, second = claude_ai.read(str(path))
    assert isinstance(first, Problem)
    assert first.where == "conversations.json chat-9"
    assert "turns" in first.message
    assert isinstance(second, Problem)
    path.write_text("[]")
    with pytest.raises(InvalidInputError, match="holds nothing"):
        list(claude_ai.read(str(path)))
    path.write_text("no JSON")
    [problem] = claude_ai.read(str(path))
    assert isinstance(problem, Problem)


def test_the_verb_makes_sessions_and_records(tmp_path: Path, vault, import_twice) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "conversations.json").write_text(json.dumps([CHAT]))
    (folder / "projects.json").write_text(json.dumps([PROJECT]))
    (folder / "memories.json").write_text(json.dumps([MEMORY]))
    done = import_twice("claude-ai", folder)
    found = {one.kind: one.found for one in done.items}
    assert found == {"session": 1, "record": 4}
    [note] = Path(vault.root).glob("sessions/2026/02/*.md")
    assert "Tax per line" in note.read_text()
    [rules] = Path(vault.root, "records").rglob("rules-md-*.md")
    assert "project: shop" in rules.read_text()
