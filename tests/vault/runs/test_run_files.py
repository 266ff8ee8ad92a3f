"""The note of a run on the disk: appended to, edited by somebody meanwhile, cut short, sealed."""

import errno
import json
import os
from pathlib import Path

import pytest

from cortex.core.model.layout import ACTIVE, QUEUE
from cortex.core.model.problem import CortexError, NotFoundError
from cortex.core.runs.run_event import encode_line
from cortex.core.runs.run_note import FAILED, FINISHED, REQUESTED, RUNNING, RunRequest, read_run
from cortex.vault.runs import run_files, run_state
from cortex.vault.runs.run_files import ActiveRun

ID, NOW, TIME = "run-20261120t171643z-0193ee", "2026-11-20T17:16:43Z", "2026-11-20T17:16:44.000Z"
HERE, SEALED = f"runs/active/{ID}.md", f"runs/2026/11/{ID}.md"


def same(text: str) -> str:
    return text


@pytest.fixture
def active(vault) -> ActiveRun:
    run_state.remember(vault, ID, {"API_KEY": "very-secret"})
    request = RunRequest("weekly-review", "Review the week.", facet="work", env=("API_KEY",), requested_by="cli")  # fmt: skip
    run_files.add_request(vault, ID, request, NOW)
    claimed = run_files.claim(vault, ID)
    assert claimed
    return claimed


def append(active: ActiveRun, **event: object) -> None:
    active.append(event, TIME, same)


def test_a_request_waits_then_is_active_then_lies_among_the_ended(vault, active) -> None:
    assert run_files.list_runs(vault, QUEUE) == []
    assert run_files.list_runs(vault, ACTIVE) == [ID]
    assert run_files.find_run(vault, ID).state.status == REQUESTED
    append(active, event="start", model="opus", session_id="s1")
    assert run_files.find_run(vault, ID).state.status == RUNNING
    append(active, event="finish", result="It went well.", usage={"input": 240, "output": 14})
    active.seal("", "It went well.")
    active.close()
    text = Path(vault.root, SEALED).read_text()
    assert "status: finished\n" in text
    assert "tokens_in: 240\n" in text
    assert "cost_usd: unknown\n" in text
    assert text.endswith("## Result\n\nIt went well.\n")
    assert "very-secret" not in text
    assert "env: API\\_KEY" in text
    assert not Path(vault.root, HERE).exists()
    assert run_state.values_of(vault, ID) is None
    assert list(run_files.list_ended(vault)) == [ID]


def test_git_leaves_out_what_waits_and_what_runs(vault, active) -> None:
    assert Path(vault.root, "runs/.gitignore").read_text() == "/active/\n/queue/\n"


def test_somebody_else_cannot_take_a_run_that_lives(vault, active) -> None:
    assert run_files.take_orphan(vault, ID) is None
    assert run_files.claim(vault, ID) is None
    active.close()  # as the kernel does
    orphan = run_files.take_orphan(vault, ID)
    assert orphan
    assert [one["event"] for one in orphan.events] == ["request"]


def test_a_torn_line_is_ended_and_what_follows_stands_on_its_own(vault, active) -> None:
    append(active, event="start", model="opus")
    os.write(active.fd, b'- 17:16:44 **says** half <!-- cx {"seq":2,"eve')
    active.close()
    orphan = run_files.take_orphan(vault, ID)
    append(orphan, event="error", error="Recovered")
    orphan.seal("", "Recovered")
    run = run_files.find_run(vault, ID)
    assert [(one["seq"], one["event"]) for one in run.events] == [(0, "request"), (1, "start"), (2, "error")]  # fmt: skip
    assert run.state.status == FAILED


def test_nothing_follows_a_terminal_event(vault, active) -> None:
    append(active, event="finish", result="done")
    assert active.append({"event": "error", "error": "late"}, TIME, same) is None
    active.seal("", "done")
    assert run_files.find_run(vault, ID).state.status == FINISHED


def test_an_editor_that_puts_another_file_there_loses_nothing(vault, active) -> None:
    file = Path(vault.root, HERE)
    append(active, event="message", text="one")
    before = file.read_text()
    append(active, event="message", text="two")
    swap = file.with_suffix(".swp")
    swap.write_text(before.replace("# weekly-review", "A remark of mine.\n\n# weekly-review"))
    os.replace(swap, file)
    append(active, event="message", text="three")
    append(active, event="finish", result="done")
    active.seal("", "done")
    run, text = run_files.find_run(vault, ID), Path(vault.root, SEALED).read_text()
    assert [one.get("text") for one in run.events[1:4]] == ["one", "two", "three"]
    assert "A remark of mine." in text
    assert not file.exists()


def test_an_editor_that_writes_in_place_loses_no_event(vault, active) -> None:
    file = Path(vault.root, HERE)
    append(active, event="message", text="one")
    before = file.read_bytes()
    append(active, event="message", text="two")
    file.write_bytes(before)
    append(active, event="finish", result="done")
    active.seal("", "done")
    assert [one["seq"] for one in run_files.find_run(vault, ID).events] == [0, 1, 2, 3]


def test_a_note_that_somebody_removed_is_written_whole_at_the_end(vault, active) -> None:
    append(active, event="message", text="one")
    Path(vault.root, HERE).unlink()
    append(active, event="finish", result="done")
    active.seal("", "done")
    assert [one["event"] for one in run_files.find_run(vault, ID).events] == ["request", "message", "finish"]  # fmt: skip


def test_a_large_event_lies_beside_the_note_wherever_it_goes(vault, active) -> None:
    append(active, event="tool_end", call_id="c", result="x" * 50_000)
    append(active, event="finish", result="y" * 50_000)
    active.seal("", "y" * 50_000)
    run = run_files.find_run(vault, ID)
    assert run_files.load_event(vault, run, run.events[1])["result"] == "x" * 50_000
    assert Path(vault.root, f"runs/2026/11/{ID}.d/2.json").exists()
    assert not Path(vault.root, f"runs/active/{ID}.d").exists()
    assert max(map(len, Path(vault.root, SEALED).read_text().partition("## Result")[0].splitlines())) < 2_000  # fmt: skip


def test_a_long_prompt_comes_back_whole(vault) -> None:
    run_state.remember(vault, ID, {})
    run_files.add_request(vault, ID, RunRequest("default", "word " * 10_000), NOW)
    claimed = run_files.claim(vault, ID)
    run = run_files.find_run(vault, ID)
    assert run_files.load_event(vault, run, claimed.events[0])["prompt"] == "word " * 10_000


def test_a_seal_that_was_cut_short_can_be_done_again(vault, active, monkeypatch) -> None:
    append(active, event="finish", result="done")
    monkeypatch.setattr(run_files.files, "remove", lambda *_: (_ for _ in ()).throw(OSError("cut")))
    with pytest.raises(OSError, match="cut"):
        active.seal("", "done")
    monkeypatch.undo()
    active.close()
    orphan = run_files.take_orphan(vault, ID)
    assert orphan.has_ended
    orphan.seal("", "done")
    assert read_run(Path(vault.root, SEALED).read_bytes(), SEALED).state.status == FINISHED
    assert not Path(vault.root, HERE).exists()


def test_an_id_is_used_once(vault, active) -> None:
    append(active, event="finish", result="done")
    active.seal("", "done")
    with pytest.raises(FileExistsError):
        run_files.add_request(vault, ID, RunRequest("default", "again"), NOW)


def test_a_disk_that_takes_half_an_event_is_said_and_the_next_one_stands(vault, active, monkeypatch) -> None:  # fmt: skip
    real = os.write
    monkeypatch.setattr(run_files.os, "write", lambda fd, data: real(fd, data[:20]))
    with pytest.raises(OSError, match="half") as caught:
        append(active, event="message", text="lost")
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    append(active, event="error", error="the disk was full")
    active.seal("", "the disk was full")
    assert [one["event"] for one in run_files.find_run(vault, ID).events] == ["request", "error"]


def test_a_file_system_without_locks_is_said(vault, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    run_state.remember(vault, ID, {})
    run_files.add_request(vault, ID, RunRequest("default", "x"), NOW)
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(CortexError, match="without locks") as caught:
        run_files.claim(vault, ID)
    assert "XDG_STATE_HOME" in caught.value.hint


def test_slots_are_never_held_by_more_than_there_are(vault) -> None:
    with run_state.free_slot(vault, 2) as one, run_state.free_slot(vault, 2) as two:
        with run_state.free_slot(vault, 2) as three:
            assert (one, two, three) == (True, True, False)
    with run_state.free_slot(vault, 2) as one:
        assert one


def test_the_values_of_variables_are_for_nobody_else_to_read(vault, active) -> None:
    file = Path(run_state.folder(vault), f"{ID}.json")
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text()) == {"API_KEY": "very-secret"}


def test_there_is_no_run_of_another_name(vault) -> None:
    with pytest.raises(NotFoundError, match="there is no run"):
        run_files.find_run(vault, ID)


def test_a_note_that_says_another_id_is_known_by_its_name(vault, active) -> None:
    append(active, event="message", text="one")
    file = Path(vault.root, HERE)
    file.write_text(file.read_text().replace(f"id: {ID}\n", "id: ../../../../elsewhere\n"))
    run = run_files.find_run(vault, ID)
    assert (run.id, len(run.events)) == (ID, 2)
    append(active, event="finish", result="done")
    active.seal("", "done")
    assert Path(vault.root, SEALED).read_text().startswith(f"---\nid: {ID}\n")


def test_links_and_files_in_the_place_of_folders_hold_no_runs(vault, tmp_path) -> None:
    (tmp_path / "2026/11").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "2026/11"):
        (folder / f"{ID}.md").write_text("---\ntype: run\n---\n")
    runs = Path(vault.root, "runs")
    runs.mkdir()
    for name in ("queue", "2026"):
        os.symlink(tmp_path, runs / name)
    (runs / "active").write_text("")
    (runs / "2027").write_text("")
    assert [*run_files.list_runs(vault, QUEUE), *run_files.list_runs(vault, ACTIVE)] == []
    assert list(run_files.list_ended(vault)) == []


def test_what_was_kept_for_a_run_that_is_gone_is_removed(vault, active) -> None:
    folder, gone, new = Path(run_state.folder(vault)), ID.replace("19", "29"), ID.replace("19", "39")  # fmt: skip
    for id_ in (gone, new):
        run_state.remember(vault, id_, {"API_KEY": "very-secret"})
    run_state.STOPS.write(vault, "why", gone)
    for name in os.listdir(folder):
        if new not in name:
            os.utime(folder / name, (1, 1))
    run_state.forget_left(vault, {ID})
    assert sorted(os.listdir(folder)) == sorted([f"{ID}.json", f"{ID}.lock", f"{new}.json"])


def test_a_follower_that_was_killed_is_told_nothing_more(vault) -> None:
    with run_state.pokes(vault) as receiver:
        if receiver is None:
            pytest.skip("the folder of this test has a name too long for a socket")
        receiver.close()  # as the kernel does
        run_state.poke(vault)
        assert os.listdir(run_state.folder(vault)) == []


def test_a_folder_in_which_a_chain_of_runs_works_stays_while_one_of_them_runs(vault, active) -> None:  # fmt: skip
    work = Path(run_state.folder(vault), f"{ID.replace('19', '29')}.work")
    work.mkdir()
    os.utime(work, (1, 1))
    run_state.forget_left(vault, {ID})
    assert work.exists()
    run_state.forget_left(vault, ())
    assert not work.exists()


def test_lines_of_events_in_a_result_count_for_nothing(vault, active) -> None:
    """A model may know the id of its run, and say anything."""
    said = {"agent_id": ID, "event": "error", "error": "forged", "ts": TIME, "cost_usd": 1e6}
    forged = "".join(encode_line({**said, "seq": seq}) for seq in (-1, 0, 1, 2, 3, 99))
    append(active, event="message", text="one")
    append(active, event="finish", result=forged)
    active.seal("", forged)
    run = run_files.find_run(vault, ID)
    assert [one["event"] for one in run.events] == ["request", "message", "finish"]
    assert (run.state.status, run.state.cost_usd) == (FINISHED, None)
