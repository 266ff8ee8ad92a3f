"""revise, archive, delete, forget, restore, pin, unpin, done, supersede: through the command, on real files, git and processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cortex.core.model.event import session_note_id
from cortex.core.model.problem import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StaleVersionError,
)
from cortex.core.notes import note as notes
from cortex.index.refresh import query_index
from cortex.interfaces.cli.main import main
from cortex.interfaces.escape_terminal import escape
from cortex.interfaces.python_api import OpenVault
from cortex.operations.records.archive import archive, delete
from cortex.operations.records.capture import capture
from cortex.operations.records.consolidate import consolidate
from cortex.operations.records.restore import restore
from cortex.operations.records.revise import done, pin, revise
from cortex.operations.records.save import save
from cortex.operations.records.supersede import find_supersede_problems, supersede
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault
from tests.conftest import commit_all

pytestmark = pytest.mark.sampled(2)

NOW = "2026-11-20T16:45:12Z"
OLD = "2026-01-01T10:00:00Z"
RECORD = f"""---
id: use-sqlite-k3f7q2
type: decision
title: Use SQLite
status: active   # settled
scope: project
project: cortex
tags: [storage, db]
mood: "fine"
created: {OLD}
updated: {OLD}
---

One file, no server.
"""


def test_a_change_of_another_version_than_the_one_that_was_read_is_refused(one):
    vault = OpenVault(one.root)
    read = vault.show("use-sqlite-k3f7q2").version
    vault.revise("use-sqlite-k3f7q2", body="One file.", version=read)
    with pytest.raises(StaleVersionError, match="was changed meanwhile"):
        vault.revise("use-sqlite-k3f7q2", body="No server.", version=read)
    shown = vault.show("use-sqlite-k3f7q2")
    assert "One file." in shown.text
    assert (
        vault.revise("use-sqlite-k3f7q2", title="SQLite", version=shown.version).outcome
        == "updated"
    )


@pytest.fixture
def one(vault_from) -> Vault:
    """A vault with a decision, another one, an action and a note of somebody's own."""
    return vault_from(
        f"""
=== records/decision/use-sqlite-k3f7q2.md
{RECORD}
=== records/decision/use-files-p2r6wq.md
{RECORD.replace("use-sqlite-k3f7q2", "use-files-p2r6wq").replace("Use SQLite", "Use plain files")}
=== records/decision/use-git-m5d2xa.md
{RECORD.replace("use-sqlite-k3f7q2", "use-git-m5d2xa").replace("Use SQLite", "Use git")}See [[use-sqlite-k3f7q2]].
=== records/action/order-cables-abcdef.md
---
id: order-cables-abcdef
type: action
title: Order the cables
status: open
---
=== mine.md
A page of my own.
"""
    )


def text(vault: Vault, id_: str = "use-sqlite-k3f7q2") -> str:
    return next(Path(vault.root, "records").rglob(f"{id_}.md")).read_bytes().decode()


def undated(text: str) -> str:
    return re.sub("(?m)^updated: .*", "", text)


def problems_of(vault: Vault, caller):
    return query_index(
        vault, caller.progress, lambda index: find_supersede_problems(index.catalogue)
    )


def lines_changed(before: str, after: str) -> tuple[set[str], set[str]]:
    return set(before.splitlines()) - set(after.splitlines()), set(after.splitlines()) - set(
        before.splitlines()
    )


def undone(vault: Vault, command: str) -> None:
    """Run the command that an answer names: in a shell where it needs one."""
    if "|" not in command and "&&" not in command:
        assert main(["--vault", vault.root, *shlex.split(command)[1:]]) == 0
        return
    program = f"{shlex.quote(sys.executable)} -m cortex --vault {shlex.quote(vault.root)} "
    ran = subprocess.run(
        ["sh", "-ec", re.sub("(^|[|&] )cortex ", rf"\1{program}", command)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(("asked", "gone", "come"), [
    ({"title": "Use  one SQLite\nfile"}, {"title: Use SQLite"}, {"title: Use one SQLite file"}),
    ({"add_tags": "new,db", "remove_tags": "storage"}, {"tags: [storage, db]"}, {"tags: [db, new]"}),
    ({"tags": "one"}, {"tags: [storage, db]"}, {"tags: [one]"}),
    ({"tags": "none"}, {"tags: [storage, db]"}, set()),
    ({"priority": "8", "confidence": ".50"}, set(), {"priority: 8", "confidence: 0.5"}),
    ({"owner": "Ada", "due": "2026-12-01"}, set(), {"owner: Ada", "due: 2026-12-01"}),
    ({"due": "tomorrow"}, set(), {"due: 2026-11-21"}),
    ({"project": "Other", "scope": "global"}, {"project: cortex", "scope: project"}, {"project: other", "scope: global"}),
    ({"status": "done"}, {"status: active   # settled"}, {"status: done", f"done_at: {NOW}"}),
    ({"type": "gotcha"}, {"type: decision"}, {"type: gotcha"}),
    ({"type": "todo"}, {"type: decision", "status: active   # settled"}, {"type: action", "status: open"}),
    ({"topic": "Decision/Which  store"}, set(), {"topic: decision/which-store"}),
    ({"status": "archived"}, {"status: active   # settled"}, {"status: archived", "status_before: active", f"archived_at: {NOW}"}),
    ({"status": "deleted", "reason": "twice"}, {"status: active   # settled"}, {"status: deleted", "status_before: active", f"deleted_at: {NOW}", "deleted_because: twice"}),
    ({"status": "withdrawn", "reason": "too  slow"}, {"status: active   # settled"}, {"status: superseded", "status_before: active", f"superseded_at: {NOW}", "superseded_because: too slow"}),
])  # fmt: skip
def test_an_update_changes_the_lines_it_means_and_its_undo_brings_them_back(
    asked, gone, come, one, caller, worded
):
    before = text(one)
    asked = {"id": "use-sqlite", **asked}
    answer = worded(revise, one, caller, **asked)
    assert (answer.id, answer.path, answer.outcome) == (
        "use-sqlite-k3f7q2",
        "records/decision/use-sqlite-k3f7q2.md",
        asked.get("status", "updated"),
    )
    assert lines_changed(before, text(one)) == (
        gone | {f"updated: {OLD}"},
        come | {f"updated: {NOW}"},
    )
    assert worded(revise, one, caller, **asked)._replace(outcome="") == answer._replace(
        outcome="", undo=""
    )
    undone(one, answer.undo)
    left, _ = lines_changed(before, text(one))
    assert left - {"status: active   # settled"} == {f"updated: {OLD}"}


def test_a_secret_is_not_written_by_an_update(one, caller):
    revise(
        one,
        caller,
        "use-sqlite",
        title="token ghp_0123456789abcdefghijABCDEFGHIJ012345",
        body="password: hunter2hunter2",
    )
    assert "ghp_" not in text(one)
    assert "hunter2" not in text(one)


@pytest.mark.parametrize(("asked", "message"), [
    ({}, "nothing to change"),
    ({"status": "superseded"}, "is not active, open, done, archived, withdrawn or deleted"),
    ({"status": "done", "reason": "so"}, "a reason is for setting a record aside"),
    ({"due": "someday"}, "'someday' is no due date"),
    ({"confidence": "1.2"}, "is not .*a number from 0 to 1"),
    ({"topic": "decision//x"}, "empty part"),
    ({"type": "two words"}, "is no type of record"),
    ({"type": "decison"}, "no record here is of type 'decison'"),
    ({"type": "session"}, "is no type of record"),
    ({"add_tags": "a b"}, "is not a tag"),
    ({"project": "!!"}, "is not a project name"),
    ({"title": "none"}, "always has a title"),
    ({"title": "x" * 201}, "200 are the most"),
])  # fmt: skip
def test_an_update_that_makes_no_sense_is_refused_and_writes_nothing(
    asked, message, one, caller, worded
):
    with pytest.raises(InvalidInputError, match=message):
        worded(revise, one, caller, id="use-sqlite-k3f7q2", **asked)
    assert text(one).strip() == RECORD.strip()


def test_a_text_that_no_event_holds_becomes_one_before_it_is_replaced(one, caller):
    answer = revise(one, caller, "use-sqlite", body="Another text.\n")
    assert text(one).endswith("---\n\nAnother text.\n")
    kept = list(Path(one.root, "events").rglob("*.md"))
    assert len(kept) == 1
    assert "One file, no server." in kept[0].read_text()
    assert kept[0].stem in text(one)
    undone(one, answer.undo)
    assert text(one).endswith("---\n\nOne file, no server.\n")
    assert normalize(one, caller).events == ()
    assert len(list(Path(one.root, "records").rglob("*.md"))) == 4


def test_a_text_that_an_event_holds_is_not_kept_twice(vault, caller):
    saved = save(vault, caller, "Use SQLite", type="decision", body="One file.")
    answer = revise(vault, caller, saved.id, body="Two files.")
    assert len(list(Path(vault.root, "events").rglob("*.md"))) == 1
    assert saved.event in answer.undo
    second = revise(vault, caller, saved.id, body="Three files.")
    assert len(list(Path(vault.root, "events").rglob("*.md"))) == 2
    undone(vault, second.undo)
    assert text(vault, saved.id).endswith("\nTwo files.\n")


def test_a_record_with_a_topic_keeps_project_and_scope(vault, caller):
    saved = save(vault, caller, "Use SQLite", topic="decision/storage", project="cortex")
    with pytest.raises(InvalidInputError, match="record with a topic"):
        revise(vault, caller, saved.id, project="other")
    assert revise(vault, caller, saved.id, project="cortex", title="Use it").outcome == "updated"


def test_bytes_of_windows_and_of_odd_yaml_stay(vault, caller):
    file = Path(vault.root, "records/decision/odd-abcdef.md")
    file.parent.mkdir(parents=True)
    odd = b"\xef\xbb\xbf---\r\nid: odd-abcdef\r\ntype: 'my type'\r\ntitle:   \"Odd: yes\"\r\nlist:\r\n- a\r\n# why\r\n- b\r\n---\r\n\r\ntext \r\n\r\n"
    file.write_bytes(odd)
    for answer in (archive(vault, caller, "odd-abcdef"), restore(vault, caller, ["odd-abcdef"]).hits[0], pin(vault, caller, "odd-abcdef")):  # fmt: skip
        assert answer.outcome != "unchanged"
    pin(vault, caller, "odd-abcdef", remove=True)
    assert file.read_bytes() == odd.replace(b"list:", f"updated: {NOW}\r\nlist:".encode())


@pytest.mark.parametrize("status", ["active", "open", "done", ""])
def test_archive_and_delete_keep_the_status_for_restore(status, one, caller):
    file = Path(one.root, "records/action/order-cables-abcdef.md")
    file.write_text(
        file.read_text().replace("status: open\n", f"status: {status}\n" if status else "")
    )
    answer = archive(one, caller, "order-cables", reason="it has  ended")
    assert (answer.outcome, answer.undo) == ("archived", "cortex restore order-cables-abcdef")
    assert f"archived_at: {NOW}\narchived_because: it has ended\n" in text(
        one, "order-cables-abcdef"
    )
    assert archive(one, caller, "order-cables").outcome == "unchanged"
    deleted = delete(one, caller, "order-cables")
    assert (deleted.outcome, deleted.undo) == ("deleted", "cortex restore order-cables-abcdef")
    assert delete(one, caller, "order-cables").outcome == "unchanged"
    undone(one, deleted.undo)
    assert "status: archived" in text(one, "order-cables-abcdef")
    (back,) = restore(one, caller, ["order-cables"]).hits
    assert (back.outcome, back.undo) == (
        "restored",
        "cortex archive order-cables-abcdef --reason 'it has ended'",
    )
    assert f"status: {status or 'open'}\n" in text(one, "order-cables-abcdef")
    assert "archived" not in text(one, "order-cables-abcdef")
    assert restore(one, caller, ["order-cables"]).hits[0].outcome == "unchanged"


def test_delete_names_the_notes_that_link_there(one, caller):
    assert delete(one, caller, "use-sqlite").links == ("records/decision/use-git-m5d2xa.md",)


@pytest.mark.parametrize("how", ["committed", "changed since", "never"])
def test_a_hard_delete_asks_and_restore_finds_what_git_or_the_events_hold(how, vault, caller, git):
    saved = save(vault, caller, "Use SQLite", type="decision", body="One file.")
    git(vault.root, "init", "-q")
    if how != "never":
        commit_all(vault.root)
    committed = text(vault, saved.id)
    if how != "committed":
        revise(vault, caller, saved.id, body="Two files.")
    with pytest.raises(InvalidInputError) as refused:
        delete(vault, caller, saved.id, hard=True)
    assert "--hard --yes" in refused.value.hint
    told = (
        "git's last commit has exactly these bytes"
        if how == "committed"
        else "git does not have these bytes"
    )
    assert told in refused.value.message
    answer = delete(vault, caller, saved.id, hard=True, yes=True)
    assert answer.outcome == "removed"
    assert not Path(vault.root, saved.path).exists()
    (back,) = restore(vault, caller, [saved.id]).hits
    assert (back.path, back.outcome) == (saved.path, "restored")
    assert ("as git had it" if how != "never" else "as its events say") in back.hint
    assert (text(vault, saved.id) == committed) == (how == "committed")
    assert text(vault, saved.id).endswith("One file.\n" if how == "committed" else "Two files.\n")
    undone(vault, back.undo)
    assert not Path(vault.root, saved.path).exists()


def test_what_was_saved_since_the_last_commit_comes_back_with_what_git_has(vault, caller, git):
    git(vault.root, "init", "-q")
    for body in ("Version one.", "Version two.", "Version three."):
        saved = save(
            vault, caller, "Use SQLite", topic="decision/storage", project="cortex", body=body
        )
        if body == "Version one.":
            file = Path(vault.root, saved.path)
            # Git alone has this line.
            file.write_text(file.read_text().replace("---\n\n", "mood: fine\n---\n\n", 1))
            commit_all(vault.root, "one")
    before = text(vault, saved.id)
    answer = delete(vault, caller, saved.id, hard=True, yes=True)
    assert (
        f"{answer.undo} makes it again from git's last commit of it and its 3 events, and no later edit"
        in answer.hint
    )
    (back,) = restore(vault, caller, [saved.id]).hits
    assert "and 2 later events" in back.hint
    assert text(vault, saved.id) == before
    assert "mood: fine" in before
    assert before.endswith("Version three.\n")


def test_a_session_comes_back_with_what_was_said_since_the_last_commit(vault, caller, cortex):
    for number in (1, 2):
        assert cortex("passive", f"said {number}", "--session", "a-session").returncode == 0
        if number == 1:
            commit_all(vault.root)
    (file,) = Path(vault.root, "sessions").rglob("*.md")
    before = file.read_bytes()
    assert b"said 2" in before
    id_ = session_note_id("a-session")
    assert cortex("delete", id_, "--hard", "--yes").returncode == 0
    assert cortex("restore", id_).returncode == 0
    assert file.read_bytes() == before


def test_restore_does_not_overwrite_and_names_what_is_near(vault, caller):
    saved = save(vault, caller, "Use SQLite", type="decision", body="One file.")
    delete(vault, caller, saved.id, hard=True, yes=True)
    Path(vault.root, saved.path).write_text("somebody else's\n")
    with pytest.raises(ConflictError, match="is taken"):
        restore(vault, caller, [saved.id])
    Path(vault.root, saved.path).unlink()
    with pytest.raises(NotFoundError):
        restore(vault, caller, ["nothing-like-it-abcdef"])


def test_of_several_one_that_cannot_be_restored_stops_no_other(one, caller, cortex):
    archive(one, caller, "use-sqlite")
    archive(one, caller, "use-git")
    file = Path(one.root, "records/decision/use-sqlite-k3f7q2.md")
    file.write_text(file.read_text().replace("title: Use SQLite", "title: 'Use"))
    done = cortex("restore", "records/decision/use-sqlite-k3f7q2.md", "use-git-m5d2xa")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "refused: records/decision/use-sqlite-k3f7q2.md"
    assert "restored: records/decision/use-git-m5d2xa.md" in done.stdout
    assert "status: active" in text(one, "use-git-m5d2xa")


def test_a_status_brings_back_what_was_set_aside(one, caller):
    for put_away in (archive, delete, partial(revise, status="withdrawn")):
        put_away(one, caller, "use-sqlite-k3f7q2")
        answer = revise(one, caller, "use-sqlite", status="active")
        assert answer.outcome == "updated"
        assert "status_before" not in text(one)
        undone(one, answer.undo)
        assert "status_before: active" in text(one)
        revise(one, caller, "use-sqlite", status="active")


@pytest.mark.parametrize("before", ["", "archived"])
@pytest.mark.parametrize("after", ["", "deleted"])
def test_a_status_takes_back_in_both_that_another_record_holds(before, after, one, caller):
    def both() -> list[set[str]]:
        texts = text(one), text(one, "use-files-p2r6wq")
        dated = "(?m)^(?:updated|\\w+_at): .*|   # settled"
        return [{*re.sub(dated, "", each).splitlines()} for each in texts]

    was = both()
    if before:
        archive(one, caller, "use-sqlite", reason="it has ended")
    supersede(one, caller, "use-sqlite-k3f7q2", by="use-files", reason="no")
    if after:
        delete(one, caller, "use-sqlite")
    aside = both()
    answer = revise(one, caller, "use-sqlite", status="active")
    assert (answer.outcome, answer.hint) == ("updated", "")
    assert both() == was
    for command in answer.undo.split(" && "):
        undone(one, command)
    assert both() == aside
    assert problems_of(one, caller) == []


def test_a_topic_that_is_given_later_is_where_the_next_save_goes_and_two_records_never_share_it(
    one, caller
):
    revise(one, caller, "use-sqlite", topic="decision/store")
    saved = save(one, caller, "Use two files", topic="decision/store", project="cortex")
    assert (saved.id, saved.outcome) == ("use-sqlite-k3f7q2", "updated")
    with pytest.raises(ConflictError, match="decision/store is the topic of use-sqlite-k3f7q2"):
        revise(one, caller, "use-git", topic="decision/store")
    made = save(one, caller, "Cache in memory", topic="decision/cache", project="cortex")
    with pytest.raises(InvalidInputError, match="topic of a record with a topic cannot be changed"):
        revise(one, caller, made.id, topic="decision/memory")


def test_the_name_before_means_the_same_verb(one, cortex):
    ran = cortex("update", "use-sqlite", "--title", "Another", cwd=one.root)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "# Another" in text(one) or "title: Another" in text(one)
    assert OpenVault(one.root).update("use-sqlite", priority=3).outcome == "updated"


@pytest.mark.parametrize(("written", "asked"), [
    ("status: in review", {"status": "done"}),
    ("due: next week", {"due": "2026-12-01"}),
    ("tags: [two words, db]", {"tags": "db"}),
    ("title: none", {"title": "Some"}),
    ("owner: password=hunter2hunter2", {"owner": "Ada"}),
    ("confidence: high", {"confidence": "0.5"}),
])  # fmt: skip
def test_an_undo_that_would_be_refused_is_not_offered(written, asked, vault_from, caller, worded):
    vault = vault_from(
        f"=== records/note/odd-abcdef.md\n---\nid: odd-abcdef\ntype: note\n{written}\n---\ntext"
    )
    answer = worded(revise, vault, caller, id="odd-abcdef", branch="main", **asked)
    assert written.partition(": ")[2].strip("'\"[]").replace(", ", ",") in answer.hint
    assert answer.hint.startswith("only your editor brings back: ")
    undone(vault, answer.undo)  # what it can take back it takes back
    assert "branch" not in text(vault, "odd-abcdef")


@pytest.mark.parametrize("value", ["-x", "--yes", "it's; echo $HOME `id`", "0.80", "~"])
def test_an_undo_holds_whatever_stood_there(value, vault_from, caller, worded):
    key = "confidence" if value == "0.80" else "owner"
    vault = vault_from(
        f"=== records/note/odd-abcdef.md\n---\nid: odd-abcdef\ntype: note\n{key}: {json.dumps(value) if key == 'owner' else value}\n---\ntext"
    )
    answer = worded(revise, vault, caller, id="odd-abcdef", **{key: "0.1"})
    assert answer.hint == ""
    undone(vault, answer.undo)
    assert notes.read_strict(text(vault, "odd-abcdef").encode(), "").get(key) == value.removesuffix(
        "0" if key == "confidence" else ""
    )


UNSEEN = "\ufeffمی\u200cخواهم\u00ad \U0001f469\u200d\U0001f4bb \u202eabc\u202c \x07red\x0c\tend"


def test_the_undo_of_a_text_brings_back_every_character_of_it(vault, caller):
    """Through a real pipe, where what a terminal would act on is not made visible."""
    saved = save(vault, caller, "Persian", type="note", body=f"{UNSEEN}\n\nsecond line")
    before = text(vault, saved.id)
    assert UNSEEN in before
    answer = revise(vault, caller, saved.id, body="Another.")
    undone(vault, answer.undo)
    assert text(vault, saved.id).partition("---\n\n")[2] == before.partition("---\n\n")[2]


def test_what_an_event_could_not_keep_is_said_and_an_empty_text_needs_none(vault_from, caller):
    vault = vault_from("=== records/note/odd-abcdef.md\n---\nid: odd-abcdef\ntype: note\n---\n")
    first = revise(vault, caller, "odd-abcdef", body="text")
    assert (first.undo, first.hint) == ("", "only your editor brings back: that it had no text")
    assert not list(Path(vault.root, "events").rglob("*.md"))
    file = Path(vault.root, "records/note/odd-abcdef.md")
    file.write_text(file.read_text().replace("text", "password: hunter2hunter2"))
    second = revise(vault, caller, "odd-abcdef", body="none of it")
    assert second.hint == "only your editor brings back: what looks like a secret in its text"
    undone(vault, second.undo)
    assert "[REDACTED" in text(vault, "odd-abcdef")


@pytest.mark.parametrize(
    "id_",
    ["x; touch pwned #", "-$(touch pwned)`touch pwned`", "it's-a\\b\x1b[31m", "می\u200cخواهم"],
)
def test_every_command_that_is_told_is_one_a_shell_runs_as_it_was_meant(
    id_, vault_from, caller, tmp_path
):
    vault = vault_from(
        f"=== records/action/odd.md\n---\nid: {json.dumps(id_)}\ntype: action\nstatus: open\ntitle: Odd\n---\n\ntext"
    )
    file = "records/action/odd.md"
    program = f"{sys.executable} -m cortex --vault {shlex.quote(vault.root)}"

    def ran(command: str) -> None:
        assert command == escape(command)
        script = f'set -e -o pipefail; cortex() {{ {program} "$@"; }}\n{command}'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)

    def status() -> str:
        return notes.read_strict(Path(vault.root, file).read_bytes(), file).get("status")

    ran(pin(vault, caller, file).undo)
    assert "pinned" not in Path(vault.root, file).read_text()
    for verb in (done, archive, delete, supersede):
        ran(verb(vault, caller, file).undo)
        assert status() == "open"
    ran(revise(vault, caller, file, body="another").undo)
    assert Path(vault.root, file).read_text().endswith("---\n\ntext\n")
    assert not (tmp_path / "pwned").exists()


def test_pin_unpin_and_done_say_what_they_did_once(one, caller):
    before = text(one)
    assert pin(one, caller, "use-sqlite").undo == "cortex pin use-sqlite-k3f7q2 --remove"
    assert "pinned: true\n" in text(one)
    assert pin(one, caller, "use-sqlite").outcome == "unchanged"
    assert pin(one, caller, "use-sqlite", remove=True).outcome == "unpinned"
    assert text(one) == before.replace(f"updated: {OLD}", f"updated: {NOW}")
    answer = done(one, caller, "order-cables")
    assert (answer.outcome, answer.undo) == (
        "done",
        "cortex revise order-cables-abcdef --status open",
    )
    assert f"status: done\nupdated: {NOW}\ndone_at: {NOW}\n" in text(
        one, "order-cables-abcdef"
    ).replace(f"done_at: {NOW}\nupdated: {NOW}\n", f"updated: {NOW}\ndone_at: {NOW}\n")
    assert done(one, caller, "order-cables").outcome == "unchanged"
    undone(one, answer.undo)
    assert "done_at" not in text(one, "order-cables-abcdef")


def test_done_is_for_actions(one, caller, vault_from):
    with pytest.raises(InvalidInputError, match="is a decision and no action"):
        done(one, caller, "use-sqlite")
    vault_from("=== plan.md\n---\nid: the-plan-abcdef\ntype: plan\n---\n- [ ] a step\n")
    with pytest.raises(InvalidInputError, match="a step of the plan the-plan-abcdef"):
        done(one, caller, "the-plan-abcdef.k3f7q2ab")
    archive(one, caller, "order-cables")
    with pytest.raises(InvalidInputError, match="is archived"):
        done(one, caller, "order-cables")
    with pytest.raises(NotFoundError, match="there is no note"):
        done(one, caller, "order-cabels-abcdef")


VERBS: list[Callable[..., object]] = [
    archive,
    delete,
    pin,
    lambda *given: pin(*given, remove=True),
    lambda vault, caller, name: restore(vault, caller, [name]),
    lambda *given: revise(*given, title="x"),
    supersede,
]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_nobodys_record_is_never_edited(verb, one, caller):
    saved = save(one, caller, "An event", body="text")
    for name in ("mine.md", f"events/2026/11/{saved.event}.md"):
        before = Path(one.root, name).read_bytes()
        with pytest.raises(InvalidInputError, match=r"is never edited|a note of your own"):
            verb(one, caller, name)
        assert Path(one.root, name).read_bytes() == before


def test_the_id_that_a_capture_prints_names_the_record_that_came_of_it(one, caller):
    saved = save(one, caller, "An event", body="text")
    assert pin(one, caller, saved.event).id == saved.id
    assert supersede(one, caller, "use-sqlite", by=saved.event).outcome == "superseded"
    assert f"superseded_by: {saved.id}" in text(one).replace('"[[', "").replace(']]"', "")
    many = capture(one, caller, "- [ ] Mail the offer\n- [ ] Print the plan")
    for name in (many.id, many.id[-10:]):
        with pytest.raises(InvalidInputError, match="is never edited") as refused:
            revise(one, caller, name, status="done")
        made = re.findall(r"[a-z-]+-[a-z2-7]{6}\b", refused.value.hint)
        assert {one.rpartition("-")[0] for one in made} == {"mail-the-offer", "print-the-plan"}


def test_a_title_of_which_the_new_text_says_nothing_is_named(one, caller):
    other = revise(one, caller, "use-sqlite", body="We keep plain files.")
    assert other.hint == (
        "title unchanged: Use SQLite; cortex revise use-sqlite-k3f7q2 --title TITLE changes it"
    )
    assert revise(one, caller, "use-sqlite", body="SQLite is what we use.").hint == ""
    assert revise(one, caller, "use-sqlite", body="Plain files.", title="Use files").hint == ""


def test_none_is_no_replacement(one, caller):
    answer = supersede(one, caller, "use-sqlite", by="none")
    assert (answer.outcome, answer.hint) == ("superseded", "")
    assert "superseded_by" not in text(one)


def test_supersede_links_both_and_restore_takes_it_back(one, caller):
    before = [text(one), text(one, "use-files-p2r6wq")]
    answer = supersede(one, caller, "use-sqlite", by="use-files", reason="no server,  no binary")
    assert (answer.id, answer.outcome, answer.undo) == (
        "use-sqlite-k3f7q2",
        "superseded",
        "cortex restore use-sqlite-k3f7q2",
    )
    for line in (
        "status: superseded",
        "status_before: active",
        'superseded_by: "[[use-files-p2r6wq]]"',
        f"superseded_at: {NOW}",
        'superseded_because: "no server, no binary"',
    ):
        assert f"{line}\n" in text(one)
    assert 'supersedes: ["[[use-sqlite-k3f7q2]]"]\n' in text(one, "use-files-p2r6wq")
    assert supersede(one, caller, "use-sqlite", by="use-files").outcome == "unchanged"
    assert supersede(one, caller, "use-sqlite").outcome == "unchanged"
    with pytest.raises(ConflictError, match="is superseded by use-files-p2r6wq already"):
        supersede(one, caller, "use-sqlite", by="use-git")
    with pytest.raises(
        ConflictError,
        match="circle: use-sqlite-k3f7q2 supersedes use-files-p2r6wq supersedes use-sqlite-k3f7q2",
    ):
        supersede(one, caller, "use-files", by="use-sqlite")
    undone(one, answer.undo)
    for was, now in zip(before, [text(one), text(one, "use-files-p2r6wq")], strict=True):
        _, come = lines_changed(was, now)
        assert {line.partition(":")[0] for line in come - {"status: active"}} == {"updated"}


def test_supersede_refuses_itself_a_chain_that_closes_and_what_is_set_aside(one, caller):
    with pytest.raises(InvalidInputError, match="cannot supersede itself"):
        supersede(one, caller, "use-sqlite", by="use-sqlite-k3f7q2")
    supersede(one, caller, "use-sqlite", by="use-files")
    supersede(one, caller, "use-files", by="use-git")
    with pytest.raises(
        ConflictError,
        match="circle: use-sqlite-k3f7q2 supersedes use-git-m5d2xa supersedes use-files-p2r6wq",
    ):
        supersede(one, caller, "use-git", by="use-sqlite")
    with pytest.raises(ConflictError, match="use-files-p2r6wq is superseded itself"):
        supersede(one, caller, "order-cables", by="use-files")
    with pytest.raises(NotFoundError):
        supersede(one, caller, "use-git", by="nothing-abcdef")
    assert supersede(one, caller, "use-git").outcome == "superseded"  # without a replacement


def test_a_supersede_that_cannot_be_said_on_both_sides_is_said_on_neither(one, caller):
    file = Path(one.root, "records/decision/use-files-p2r6wq.md")
    file.write_text(file.read_text().replace("mood:", "supersedes: {a: b}\nmood:"))
    with pytest.raises(InvalidInputError, match="supersedes is no list of links"):
        supersede(one, caller, "use-sqlite", by="use-files")
    assert "status: active" in text(one)


@pytest.mark.parametrize("status", ["archived", "deleted"])
def test_what_was_set_aside_before_it_was_superseded_comes_back_as_it_was(
    status, one, caller, cortex
):
    (
        archive(one, caller, "use-sqlite", reason="it has ended")
        if status == "archived"
        else delete(one, caller, "use-sqlite")
    )
    before = text(one)
    undo = supersede(one, caller, "use-sqlite", by="use-files", reason="no").undo
    assert "status: superseded" in text(one)
    ran = cortex(*shlex.split(undo)[1:])
    assert undated(text(one)) == undated(before)
    assert (
        f"it is {status}, as it was before: cortex restore use-sqlite-k3f7q2 once more"
        in ran.stdout
    )
    assert "supersedes" not in text(one, "use-files-p2r6wq")
    undone(one, ran.stdout.partition("undo: ")[2].splitlines()[0])
    assert (
        f'status_before: "{status}, active"' in text(one),
        "superseded_because: no\n" in text(one).replace('"', ""),
    ) == (True, True)
    restore(one, caller, ["use-sqlite"])
    restore(one, caller, ["use-sqlite"])
    assert not set(re.findall(r"(?m)^(\w+(?:_at|_because|_by|_before)):", text(one)))
    assert "status: active" in text(one)


def test_a_superseded_record_that_was_deleted_is_superseded_again(one, caller):
    supersede(one, caller, "use-sqlite", by="use-files", reason="no")
    before, other = text(one), text(one, "use-files-p2r6wq")
    undone(one, delete(one, caller, "use-sqlite").undo)
    assert undated(text(one)) == undated(before)
    assert text(one, "use-files-p2r6wq") == other
    delete(one, caller, "use-git")
    before = text(one, "use-git-m5d2xa")
    undone(one, archive(one, caller, "use-git", reason="old").undo)
    assert undated(text(one, "use-git-m5d2xa")) == undated(before)


@pytest.mark.parametrize(("sqlite", "files"), [
    ("status: superseded\nsuperseded_by: use-files-p2r6wq", "status: superseded\nsuperseded_by: use-sqlite-k3f7q2"),
    ("status: superseded\nsuperseded_by: use-sqlite-k3f7q2", "status: active"),
])  # fmt: skip
def test_records_of_which_none_holds_are_named_with_commands_that_end_them(
    sqlite, files, one, caller
):
    for id_, said in (("use-sqlite-k3f7q2", sqlite), ("use-files-p2r6wq", files)):
        file = Path(one.root, f"records/decision/{id_}.md")
        file.write_text(file.read_text().replace("status: active   # settled", said))
    problems = problems_of(one, caller)
    assert len(problems) == (1 if files == "status: active" else 2)
    for _ in range(3):
        if problems:
            undone(one, problems[0].hint)
            problems = problems_of(one, caller)
    assert problems == []


def test_one_that_cannot_be_read_makes_no_other_wrong(one, caller):
    supersede(one, caller, "use-sqlite", by="use-files")
    file = Path(one.root, "records/decision/use-files-p2r6wq.md")
    file.write_text(file.read_text().replace("title: Use plain", "title: 'Use plain"))
    assert problems_of(one, caller) == []


@pytest.mark.parametrize(
    ("topic", "edited", "again"),
    [("", False, False), ("decision/storage", False, True), ("", True, True), ("decision/storage", True, False)],
)  # fmt: skip
def test_what_git_does_not_have_is_an_event_before_it_is_removed(
    topic, edited, again, vault, caller
):
    saved = save(
        vault,
        caller,
        "Use SQLite",
        type="decision",
        body="One file.",
        topic=topic,
        project="cortex",
    )
    commit_all(vault.root)
    if edited:
        file = Path(vault.root, saved.path)
        file.write_text(
            file.read_text()
            .replace("One file.", "By hand.")
            .replace("type: decision", "type: gotcha")
        )
    else:
        revise(vault, caller, saved.id, title="Use it", body="Two files.")
    wanted = "By hand." if edited else "Two files."
    for _ in range(2 if again else 1):
        undone(vault, delete(vault, caller, saved.id, hard=True, yes=True).undo)
        assert text(vault, saved.id).endswith(f"\n\n{wanted}\n")
        assert ("type: gotcha" if edited else "title: Use it") in text(vault, saved.id)
    revise(vault, caller, saved.id, body="One file.")
    undone(vault, delete(vault, caller, saved.id, hard=True, yes=True).undo)
    assert text(vault, saved.id).endswith("\n\nOne file.\n")
    normalize(vault, caller)
    assert len(list(Path(vault.root, "records").rglob("*.md"))) == 1


@pytest.mark.parametrize(
    "asked", [{"tags": "none"}, {"project": "none"}, {"owner": "none", "due": "none"}]
)
def test_a_field_that_an_update_takes_out_comes_back_where_it_was(asked, one, caller, worded):
    revise(one, caller, "use-sqlite", owner="Ada", due="2026-12-01")
    before = text(one)
    answer = worded(revise, one, caller, id="use-sqlite", **asked)
    assert text(one) != before
    undone(one, answer.undo)
    assert undated(text(one)) == undated(before)


def test_an_update_cleans_a_title_as_a_save_does(one, caller):
    revise(one, caller, "use-sqlite", title="Use\x1b[31m one\x9b\x07 file")
    assert "title: Use one file\n" in text(one)
    with pytest.raises(InvalidInputError, match="always has a title"):
        revise(one, caller, "use-sqlite", title="\x1b")
    with pytest.raises(InvalidInputError, match="an empty text changes none"):
        revise(one, caller, "use-sqlite")


KILLED = """
import os, signal, sys
from cortex.vault import files
real, count = files.replace, 0
def replace(root, path, data, expected):
    global count
    if path.startswith("records/"):
        count += 1
        if count == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return real(root, path, data, expected)
files.replace = replace
from cortex.interfaces.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_supersede_that_is_killed_half_way_is_named_and_finished_by_the_same_command(one, caller):
    command = ["--vault", one.root, "supersede", "use-sqlite-k3f7q2", "--by", "use-files-p2r6wq"]
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, *command], capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == -9
    assert 'superseded_by: "[[use-files-p2r6wq]]"' in text(one)
    assert "supersedes" not in text(one, "use-files-p2r6wq")
    (problem,) = problems_of(one, caller)
    undone(one, problem.hint)
    assert 'supersedes: ["[[use-sqlite-k3f7q2]]"]' in text(one, "use-files-p2r6wq")
    assert problems_of(one, caller) == []
    command[2:] = ["restore", "use-sqlite-k3f7q2"]
    subprocess.run(
        [sys.executable, "-c", KILLED, *command], capture_output=True, timeout=60, check=False
    )
    assert "status: superseded" in text(one)
    restore(one, caller, ["use-sqlite"])
    assert "supersede" not in text(one) + text(one, "use-files-p2r6wq")


EDITING = """
import sys, time
from cortex.core.notes.edit import with_fields
from cortex.operations.records import change_record as edits
from cortex.vault.locate import Vault
root, who, start = sys.argv[1:]
time.sleep(max(0.0, float(start) - time.time()))
for number in range(25):
    edits.edit_note(Vault(root), "records/decision/use-sqlite-k3f7q2.md", lambda note: with_fields(note, {"tags": (*note.get_list("tags"), f"{who}-{number}")}))
"""


def test_processes_that_edit_one_record_at_once_lose_nothing(one):
    start = str(time.time() + 0.7)
    words = ["--vault", one.root, "supersede", "use-git", "--by", "use-sqlite"]
    running = [
        *(subprocess.Popen([sys.executable, "-c", EDITING, one.root, who, start]) for who in "abc"),
        subprocess.Popen([sys.executable, "-m", "cortex", *words], stdout=subprocess.DEVNULL),
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    tags = text(one).replace("]", ",")
    assert [f"{who}-{n}" for who in "abc" for n in range(25) if f"{who}-{n}," not in tags] == []
    assert 'supersedes: ["[[use-git-m5d2xa]]"]' in text(one)


def test_what_a_person_saves_meanwhile_is_edited_and_not_overwritten(one, caller, monkeypatch):
    from cortex.operations.records import change_record
    from cortex.vault import files

    file, real, typed = Path(one.root, "records/decision/use-sqlite-k3f7q2.md"), files.replace, []

    def typing(root, path, data, expected):
        if not typed:
            typed.append(file.write_text(file.read_text() + "A line by hand.\n"))
        return real(root, path, data, expected)

    monkeypatch.setattr(change_record.files, "replace", typing)
    revise(one, caller, "use-sqlite", owner="Ada")
    assert "A line by hand." in text(one)
    assert "owner: Ada" in text(one)


def test_an_unknown_word_names_the_closest_and_all_allowed(vault, cortex):
    done = cortex("recall", "T", "--scope", "projet")
    assert done.returncode == 2
    assert "did you mean project? use one of: project, area," in done.stderr


@pytest.mark.parametrize(("query", "outcome", "id_"), [
    ("use sqlite", "archived", "use-sqlite-k3f7q2"),
    ("SQLite", "archived", "use-sqlite-k3f7q2"),
    ("use-sqlite-k3f7q2", "archived", "use-sqlite-k3f7q2"),
    ("use the plain old files", "archived", "use-files-p2r6wq"),
    ("use plain sqlite files", "unclear", ""),
    ("plain sqlite files git", "unclear", ""),
    ("server", "unclear", ""),
    ("zebra", "none", ""),
])  # fmt: skip
def test_forget_archives_the_one_that_is_clearly_meant(query, outcome, id_, one, caller):
    answer = archive(one, caller, query, words=True)
    assert (answer.outcome, answer.id) == (outcome, id_)
    assert bool(answer.hits) == (outcome == "unclear")
    if outcome == "unclear":
        assert archive(one, caller, query, words=True, yes=True).id == answer.hits[0].id


def test_the_command_answers_in_text_and_json_and_by_its_exit_code(one, cortex):
    def asked(*words: str, code: int = 0) -> dict:
        ran = cortex(*words, "--json")
        assert ran.returncode == code, ran.stderr
        return json.loads(ran.stdout) if ran.stdout else {}

    ran = cortex("revise", "use-sqlite", "--body", "-", stdin="From a pipe.\n")
    assert ran.stdout.startswith("updated: records/decision/use-sqlite-k3f7q2.md\n")
    assert "undo: cortex restore use-sqlite-k3f7q2 --at " in ran.stdout
    answer = asked("archive", "use-sqlite", "--reason", "old")
    assert {key: answer[key] for key in ("id", "outcome", "undo")} == {
        "id": "use-sqlite-k3f7q2", "outcome": "archived", "undo": "cortex restore use-sqlite-k3f7q2",
    }  # fmt: skip
    assert [one["outcome"] for one in asked("restore", "use-sqlite", "use-files")["hits"]] == [
        "restored",
        "unchanged",
    ]
    assert asked("supersede", "use-sqlite", "--by", "use-files")["outcome"] == "superseded"
    assert [
        hit["id"]
        for hit in asked("search", "sqlite", "decision", "type:decision")["hits"]
        if hit["id"] == "use-sqlite-k3f7q2"
    ] == []
    assert asked("show", "use-sqlite")["status"] == "superseded"
    assert asked("delete", "use-git")["outcome"] == "deleted"
    assert "use-git-m5d2xa" not in str(asked("search", "git", code=1)["hits"])
    assert asked("pin", "use-files")["outcome"] == "pinned"
    assert asked("unpin", "use-files")["outcome"] == "unpinned"
    assert asked("done", "order-cables")["outcome"] == "done"
    assert asked("forget", "plain", "files")["outcome"] == "archived"
    assert asked("forget", "zebra", code=1)["outcome"] == "none"
    refused = cortex("delete", "use-files", "--hard")
    assert (refused.returncode, "--hard --yes" in refused.stderr) == (2, True)
    missing = cortex("pin", "use-flies-p2r6wq")
    assert (missing.returncode, "did you mean use-files-p2r6wq" in missing.stderr) == (2, True)


def test_a_vault_that_was_edited_stays_sound(one, caller, cortex):
    supersede(one, caller, "use-sqlite", by="use-files")
    archive(one, caller, "use-git")
    consolidate(one, caller)
    ran = cortex("doctor")
    assert ran.returncode == 0, ran.stdout
    assert os.path.exists(os.path.join(one.root, "mine.md"))
