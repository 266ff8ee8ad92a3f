"""Transcript and origin: the turns of a session to read, and the sentence from which a note came."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.problem import NotFoundError
from cortex.hosts.transcript_turns import MAX_TOOL_CHARS, find_turns, read_turns, shown_turn
from cortex.operations.capture.hook_capture import HookEvent, capture_hook_event
from cortex.operations.capture.workspace import find_workspace
from cortex.operations.exchange.import_ import import_
from cortex.operations.records.capture import capture
from cortex.operations.records.save import save
from cortex.operations.sessions.origin import origin
from cortex.operations.sessions.transcript import Transcript, transcript
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.state import session_state

SESSION, LATER = (f"{digit * 8}-2222-4333-8444-555555555555" for digit in "13")
CHOICE = "we keep the index in SQLite, because people know it"
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
Line = dict[str, Any]


@pytest.fixture
def repo(vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the vault's project, and an empty folder of transcripts."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    Path(vault.root, ".cortex-project").write_text("cache\n")
    return Path(vault.root)


@pytest.fixture
def here(caller: Caller, repo: Path) -> Caller:
    return caller._replace(cwd=str(repo))


def lines_of(
    cwd: Path, session: str = SESSION, day: str = "2026-10-01", mark: str = "m"
) -> list[Line]:
    """A prompt, an answer with two tools, a choice of the person's, a commit."""
    said = [
        ("user", f"Where do we keep the index? My token is {TOKEN}."),
        ("assistant", [
            {"type": "text", "text": "I look at how it is done now."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/index.py"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": f"curl -H 'Authorization: Bearer {TOKEN}' x"}},
        ]),
        ("user", [
            {"type": "tool_result", "tool_use_id": "t1", "content": "class Index:\n" + "    pass\n" * 1000},
            {"type": "tool_result", "tool_use_id": "t2", "content": "Exit code 7", "is_error": True},
        ]),
        ("assistant", "It is a file now; a database would be faster."),
        ("user", "Then SQLite, if people know it."),
        ("assistant", f"Decision: {CHOICE}. I write it down."),
    ]  # fmt: skip
    return [
        {
            "type": role, "uuid": f"{mark}{session[0]}{number}", "cwd": str(cwd), "sessionId": session,
            "timestamp": f"{day}T10:0{number}:00Z", "gitBranch": "main", "isSidechain": False,
            "message": {"role": role, "id": f"{mark}{session[0]}{number}", "content": content},
        }
        for number, (role, content) in enumerate(said)
    ]  # fmt: skip


def write(lines: list[Line], name: str = SESSION, folder: str = "projects/-any") -> Path:
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], folder, f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def imported(vault, here, **sessions: str) -> Path:
    """A vault with the session, and the transcript of it."""
    path = write(lines_of(Path(here.cwd)))
    assert import_(vault, here, ["claude"], all=True).events == 2
    return path


def shape(answer: Transcript) -> list[tuple[int, str, str]]:
    return [(turn.number, turn.who, turn.text[:20]) for turn in answer.turns]


TURNS = [
    (1, "user", "Where do we keep the"), (2, "assistant", "I look at how it is "),
    (3, "assistant", "It is a file now; a "), (4, "user", "Then SQLite, if peop"),
    (5, "assistant", "Decision: we keep th"),
]  # fmt: skip


def test_a_transcript_is_read_turn_by_turn_with_its_tools_and_without_secrets(vault, here):
    imported(vault, here)
    answer = transcript(vault, here, SESSION[:8])
    assert shape(answer) == TURNS
    assert (answer.session, answer.host, answer.project) == (SESSION, "claude", "cache")
    assert (answer.total, answer.transcript, answer.problems) == (5, "here", ())
    assert answer.resume == f"claude --resume {SESSION}"
    read, ran = answer.turns[1].tools
    assert read[:3] == ("Read", "src/index.py", "file_path: src/index.py")
    assert (len(read.output), read.output_cut, read.input_cut) == (MAX_TOOL_CHARS, True, False)
    assert (ran.output, ran.failed) == ("Exit code 7", True)
    assert TOKEN not in str(answer)
    assert "[REDACTED:github-token]" in ran.input
    assert [one.at for one in answer.turns][:2] == [
        "2026-10-01T10:00:00.000Z", "2026-10-01T10:01:00.000Z",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("INDEX", (1, 2, 5)), ("exit code 7", (2,)), ("sqlite people", (4, 5)), ("", ()), ("zebra", ()),
        (TOKEN, ()), (TOKEN[:7], ()), ("\0", ()), ("\ud800", ()), ("token is", (1,)),
    ],
)  # fmt: skip
def test_words_are_found_in_what_was_said_and_in_tools_but_not_in_secrets(
    vault, here, words, found
):
    imported(vault, here)
    assert transcript(vault, here, SESSION, find=words).matches == found


def test_turns_come_in_pages(vault, here):
    imported(vault, here)
    page = transcript(vault, here, SESSION, from_=2, number=2)
    assert (shape(page), page.total) == (TURNS[1:3], 5)
    assert transcript(vault, here, SESSION, from_=99).turns == ()


def test_a_session_is_named_as_in_session_show_and_has_neighbours(vault, here):
    imported(vault, here)
    write(lines_of(Path(here.cwd), LATER, "2026-10-02"), LATER)
    import_(vault, here, ["claude"], all=True)
    first, later = (transcript(vault, here, name) for name in (SESSION, LATER))
    assert (first.earlier, first.later and first.later.id) == (None, later.id)
    assert (later.earlier and later.earlier.id, later.later) == (first.id, None)
    for name in (first.id, first.path, SESSION[:8]):
        assert transcript(vault, here, name).session == SESSION
    for name in (
        "nothing",
        f"{SESSION}/nobody",
        "a\0b",
        "\ud800\ud800\ud800\ud800",
        "/etc/passwd",
        "../..",
    ):
        with pytest.raises(NotFoundError):
            transcript(vault, here, name)


def test_subagents_are_read_the_same_way(vault, here):
    def lines(agent: str) -> list[Line]:
        said = lines_of(Path(here.cwd), mark=agent)
        return [{**one, "isSidechain": True, "agentId": agent} for one in said]

    write(lines("a77"), "agent-a77", f"projects/-any/{SESSION}/subagents")
    write([*lines_of(Path(here.cwd)), *lines("b88")[:2]])
    import_(vault, here, ["claude"], all=True)
    answer = transcript(vault, here, SESSION)
    assert answer.subagents == (f"{SESSION}/b88", f"{SESSION}/a77")
    assert shape(answer) == TURNS
    assert [turn.who for turn in transcript(vault, here, f"{SESSION}/a77").turns] == [
        "agent", "assistant", "assistant", "agent", "assistant",
    ]  # fmt: skip
    assert transcript(vault, here, f"{SESSION}/b88").total == 2


def test_without_its_transcript_a_session_is_shown_as_it_was_captured(vault, here):
    path = imported(vault, here)
    path.unlink()
    answer = transcript(vault, here, SESSION, find="sqlite")
    assert (answer.transcript, answer.resume) == ("gone", "")
    assert [turn.who for turn in answer.turns] == [who for _, who, _ in TURNS]
    assert answer.matches == (4, 5)
    assert "captured" in answer.problems[0].message
    assert TOKEN not in str(answer)


def test_a_link_or_a_pipe_in_the_place_of_a_transcript_is_not_opened(vault, here, tmp_path):
    path = imported(vault, here)
    moved = path.rename(tmp_path / "elsewhere.jsonl")
    path.symlink_to(moved)
    assert transcript(vault, here, SESSION).transcript == "gone"
    path.unlink()
    os.mkfifo(path)
    assert transcript(vault, here, SESSION).transcript == "gone"


def test_a_torn_or_strange_line_takes_nothing_with_it(vault, here):
    path = imported(vault, here)
    with path.open("a") as file:
        file.write('[]\nnull\n{"type": "user", "message": 7}\n{"type": "assist')
    answer = transcript(vault, here, SESSION)
    assert shape(answer) == TURNS
    assert "3 lines were not read" in answer.problems[0].message
    whole = lines_of(Path(here.cwd), mark="z")[3]
    path.write_text(path.read_text().rpartition("\n")[0] + "\n" + json.dumps(whole))
    assert transcript(vault, here, SESSION).total == 6  # complete, but for its line end


def test_a_transcript_that_changes_meanwhile_is_read_as_it_is_then(vault, here):
    path = imported(vault, here)
    more = lines_of(Path(here.cwd), mark="z")[3]
    more["message"] = {"content": "One more \ud800\0 \x1b[31mword."}
    with path.open("a") as file:
        file.write(json.dumps(more) + "\n")
    last = transcript(vault, here, SESSION).turns[-1].text
    assert last.startswith("One more")
    assert "\x1b" not in last
    last.encode()
    write(lines_of(Path(here.cwd))[:1])
    assert shape(transcript(vault, here, SESSION)) == TURNS[:1]


def test_five_megabytes_are_searched_at_once(tmp_path):
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        for number in range(450):
            for line in lines_of(tmp_path, mark=f"m{number}-"):
                call = json.dumps(line).replace('"t1"', f'"t1-{number}"')
                file.write(call.replace('"t2"', f'"t2-{number}"') + "\n")
    assert path.stat().st_size > 5_000_000
    turns = read_turns("claude", str(path))[0][""]
    begun = time.process_time()
    assert len(find_turns(turns, "exit code")) == 450
    assert time.process_time() - begun < 1.0  # 0.03 s where nothing else runs
    assert shown_turn(turns[-1]).number == len(turns)


def codex_says(role: str, text: str) -> Line:
    content = [{"type": "output_text", "text": text}]
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": content},
    }


def test_other_hosts_tell_their_tools_too(tmp_path):
    call = {"call_id": "c1", "name": "exec_command", "arguments": '{"cmd": "make test"}'}
    answer = {"call_id": "c1", "output": "Exit code: 2\nOutput:\nno rule"}
    shell = {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls", "-l"]}}
    codex = [
        codex_says("user", "Run it"), codex_says("assistant", "I do."),
        {"type": "response_item", "payload": {"type": "function_call", **call}},
        {"type": "response_item", "payload": {"type": "function_call_output", **answer}},
        {"type": "response_item", "payload": shell},
    ]  # fmt: skip
    about = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "make test"}}
    result = {
        "toolCallId": "c1",
        "success": True,
        "result": {"content": "no rule <exited with exit code 2>"},
    }
    copilot = [
        {"type": "user.message", "data": {"content": "Run it"}},
        {"type": "assistant.message", "data": {"content": "I do."}},
        {"type": "tool.execution_start", "data": about},
        {"type": "tool.execution_complete", "data": result},
    ]  # fmt: skip
    use = {"type": "tool_use", "name": "Shell", "input": {"command": "make test"}}
    cursor = [
        {"role": "user", "message": {"content": "Run it"}},
        {
            "role": "assistant",
            "message": {"content": [{"type": "text", "text": "I do."}, use, use]},
        },
    ]
    told = {"codex": (codex, 2, True), "copilot": (copilot, 1, True), "cursor": (cursor, 2, False)}
    for host, (lines, count, failed) in told.items():
        path = tmp_path / f"{host}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        asked, did = map(shown_turn, read_turns(host, str(path))[0][""])
        assert (asked.text, did.text, len(did.tools)) == ("Run it", "I do.", count), host
        assert (did.tools[0].summary, did.tools[0].failed) == ("make test", failed), host


def test_a_record_leads_to_its_sentence_in_the_transcript(vault, here):
    imported(vault, here)
    (id_,) = (path.stem for path in Path(vault.root, "records", "decision").iterdir())
    answer = origin(vault, here, id_)
    assert answer.file == f"{vault.root}/{answer.path}"
    (source,) = answer.sources
    assert (source.turn, source.who, source.transcript) == (5, "assistant", "here")
    assert source.sentence == f"Decision: {CHOICE}."
    assert (source.before, source.after) == ("", " I write it down.")
    assert (source.session, source.host, source.type) == (SESSION, "claude", "stop")
    assert Path(vault.root, source.path).stem == source.event
    turn = transcript(vault, here, source.session, from_=source.turn, number=1).turns[0]
    assert source.sentence in turn.text


def test_the_note_of_a_session_leads_to_what_was_asked_in_each_event(vault, here):
    imported(vault, here)
    sources = origin(vault, here, transcript(vault, here, SESSION).id).sources
    assert [(one.turn, one.who) for one in sources] == [(1, "user"), (4, "user")]
    assert TOKEN not in str(sources)


def test_without_its_transcript_the_sentence_of_the_event_is_shown(vault, here):
    path = imported(vault, here)
    path.unlink()
    (id_,) = (path.stem for path in Path(vault.root, "records", "decision").iterdir())
    (source,) = origin(vault, here, id_).sources
    assert (source.turn, source.transcript, source.who) == (-1, "gone", "assistant")
    assert source.sentence == f"Decision: {CHOICE}."


def test_what_was_captured_by_hand_says_so(vault, here):
    made = save(vault, here, "Pears", body="Use pears. They keep well.")
    (source,) = origin(vault, here, made.id).sources
    assert (source.who, source.turn, source.transcript) == ("capture", -1, "none")
    assert source.sentence == "Use pears. They keep well."


def test_a_name_that_came_with_a_note_opens_no_transcript_of_another_vault(
    vault, here, tmp_path_factory
):
    """Somebody else's event names a session that ran on this machine, elsewhere."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret"
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True)
    write(lines_of(elsewhere))
    capture(vault, here, f"Decision: {CHOICE}", session=SESSION, type="stop")
    normalize(vault, here)
    answer = transcript(vault, here, SESSION)
    assert (answer.transcript, answer.resume, answer.total) == ("none", "", 1)
    for name in ("../../../etc/passwd", "--dangerously-skip-permissions", "*"):
        capture(vault, here, f"Decision: use {name} for it", session=name, type="stop")
        normalize(vault, here)
        answer = transcript(vault, here, name)
        assert (answer.transcript, answer.resume) == ("none", "")


def test_a_session_that_ran_in_a_folder_of_this_vault_is_found_by_its_name(vault, here):
    """Its state is gone: it was another clone's, or very old."""
    imported(vault, here)
    for path in Path(vault.state_folder(), session_state.STATE_FOLDER).iterdir():
        path.unlink()
    assert transcript(vault, here, SESSION).transcript == "here"


def test_hooks_say_where_a_transcript_lies(vault, here):
    path = write(lines_of(Path(here.cwd)), folder="of-its-own")
    event = HookEvent("stop", "claude", SESSION, here.cwd, str(path))
    place = find_workspace("claude", SESSION, str(path), here.cwd, {})[1]
    assert capture_hook_event(vault, here, event, place, 1.0)
    normalize(vault, here)
    assert shape(transcript(vault, here, SESSION)) == TURNS


def test_an_event_that_is_gone_is_told(vault, here):
    made = save(vault, here, "Use pears", type="decision")
    for path in Path(vault.root, "events").rglob("*.md"):
        path.unlink()
    answer = origin(vault, here, made.id)
    assert answer.sources[0][3:9] == ("", "", "", "", -1, "")
    assert answer.problems[0].message == "the event is not in the vault"


def test_a_person_reads_both_in_a_terminal(vault, here, cortex):
    imported(vault, here)
    shown = cortex("transcript", SESSION, "--find", "sqlite", "--from", "2", "--number", "4").stdout
    assert "2  assistant  2026-10-01 10:01" in shown
    assert "  Read  src/index.py" in shown
    assert "failed" in shown
    assert "found in: 4, 5" in shown
    assert "1 more of 5 turns" in shown
    (path,) = Path(vault.root, "records", "decision").iterdir()
    shown = cortex("origin", path.stem).stdout.splitlines()
    assert shown[1].startswith("  2026-10-01 10:05  stop  ") or shown[1].startswith("  2026-10-01")
    assert shown[2] == "    assistant, turn 5"
    assert shown[3] == f"      Decision: {CHOICE}."
    assert json.loads(cortex("origin", path.stem, "--json").stdout)["sources"][0]["turn"] == 5
    assert cortex("transcript", "nobody").returncode == 2


def test_of_equal_sentences_the_nearest_in_time_is_meant(vault, here):
    lines = lines_of(Path(here.cwd))
    again = lines_of(Path(here.cwd), day="2026-09-01", mark="e")[5]
    write([again, *lines])
    import_(vault, here, ["claude"], all=True)
    (id_,) = (path.stem for path in Path(vault.root, "records", "decision").iterdir())
    assert [one.turn for one in origin(vault, here, id_).sources] == [1, 6]


def test_a_secret_beside_the_sentence_is_not_shown(vault, here):
    lines = lines_of(Path(here.cwd))
    said = lines[5]["message"]
    said["content"] = f"password: {TOKEN}\n{said['content']}\nexport GITHUB_TOKEN={TOKEN}"
    write(lines)
    import_(vault, here, ["claude"], all=True)
    (id_,) = (path.stem for path in Path(vault.root, "records", "decision").iterdir())
    (source,) = origin(vault, here, id_).sources
    assert (source.turn, source.sentence) == (5, f"Decision: {CHOICE}.")
    assert "[REDACTED:" in source.before
    assert "[REDACTED:" in source.after
    assert TOKEN not in str(source)


def test_no_call_of_any_shape_is_an_error_and_many_are_several_turns(tmp_path):
    given: list[Any] = [
        {},
        {"command": None},
        {"command": 7},
        {"a": {"b": ["\ud800"]}},
        {"": "x" * 9000},
    ]
    parts = [
        {"type": "tool_use", "id": f"t{number}", "name": "Any", "input": one}
        for number, one in enumerate(given * 100)
    ]
    line = {**lines_of(tmp_path)[1], "message": {"content": parts}}
    deep = '{"a":' * 900 + "1" + "}" * 900
    nested = json.dumps({**line, "uuid": "z", "message": {"content": [{**parts[0], "id": "z"}]}})
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(line)}\n{nested.replace('{}', deep)}\n")
    turns = [*map(shown_turn, read_turns("claude", str(path))[0][""])]
    assert [len(one.tools) for one in turns] == [200, 200, 101]
    assert [one.summary[:12] for one in turns[0].tools[:4]] == ["", "", "7", 'b: ["?"]']
    json.dumps([one._asdict() for one in turns]).encode()
