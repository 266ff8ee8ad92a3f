"""`cortex history`: what a note said before stays reachable in its events, with git, before the first commit, and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.core.model.topics import topic_record_id
from cortex.core.notes import note as notes
from cortex.operations.find.history import History, history
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from tests.conftest import commit_all

TOPIC = "decision/storage"
ID = topic_record_id("shop", "project", TOPIC)


def said(
    vault, day: int, text: str, *, topic: str = TOPIC, waits: bool = False, salt: int = 0, **more
) -> str:
    """An observation as `cortex save` captures it, normalized unless it waits; answers its id."""
    at = f"2026-11-{day:02}T10:00:00Z"
    id_ = events.make_id(f"202611{day:02}t100000z", (day + salt).to_bytes(8, "big"))
    fields = {"type": "observation", "title": f"On day {day}", "record": "decision"}
    fields |= {"project": "shop", "topic": topic} | more
    files.create(
        vault.root,
        AT_ROOT.pending(id_),
        events.compose(Event(id=id_, at=at, text=text, **fields)).encode(),
    )
    if not waits:
        assert not normalize(
            vault, Caller("/", "2026-11-20T16:45:12Z", bytes, "test", no_progress)
        ).failed
    return id_


def told(found: History) -> list[tuple[str, str]]:
    return [(text.event, text.preview) for text in found.texts]


def test_every_text_of_a_topic_is_there_without_git_newest_first(vault, caller):
    ids = [said(vault, day, f"text {day}\n\nwith  more") for day in (1, 2, 3)]
    found = history(vault, caller, ID)
    assert told(found) == [(ids[2], "text 3 with more"), (ids[1], "text 2 with more"), (ids[0], "text 1 with more")]  # fmt: skip
    assert found.texts[0][1:4] == ("2026-11-03T10:00:00Z", "On day 3", AT_ROOT.event(ids[2]))
    assert (found.id, found.versions, found.revisions) == (ID, (), 3)
    assert "in no git repository" in found.hint
    assert "git init" in found.hint
    for day, id_ in zip((1, 2, 3), ids, strict=True):
        at = history(vault, caller, ID, at=id_)
        assert (at.text, at.at, at.id) == (f"text {day}\n\nwith  more", id_, ID)
    assert history(vault, caller, ID, at="20261102t").at == ids[1]
    said(vault, 3, "in the same second", salt=1)
    with pytest.raises(ConflictError, match="names 2 events"):
        history(vault, caller, ID, at="20261103t")
    assert len(history(vault, caller, ID, number=1).texts) == 1


def test_the_texts_stand_beside_the_commits_and_before_the_first(vault, caller, git):
    one = said(vault, 1, "first")
    git(vault.root, "init", "-q")
    assert (told(history(vault, caller, ID)), history(vault, caller, ID).hint) == (
        [(one, "first")],
        "nothing has been committed yet; cortex sync commits the vault's notes",
    )
    git(vault.root, "commit", "-q", "--allow-empty", "-m", "begin")
    assert history(vault, caller, ID).hint == "no commit holds it yet: cortex sync commits it"
    commit_all(vault.root)
    two = said(vault, 2, "second")
    found = history(vault, caller, ID)
    assert [version.subject for version in found.versions] == ["all"]
    assert told(found) == [(two, "second"), (one, "first")]
    assert (found.revisions, found.hint) == (2, "")
    assert "first" in history(vault, caller, ID, at="HEAD").text
    assert history(vault, caller, ID, at=one).text == "first"


def test_the_two_lists_are_shown_as_one_in_time_order_and_json_keeps_its_fields(
    vault, cortex, git, monkeypatch
):
    one = said(vault, 1, "first")
    git(vault.root, "init", "-q")
    git(vault.root, "add", "-A")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-02T09:00:00Z")
    git(vault.root, "commit", "-qm", "between")
    two = said(vault, 3, "second")
    lines = cortex("history", ID).stdout.splitlines()
    assert lines[0].endswith(f"{ID}.md")
    assert [line.split()[-1] for line in lines[1:]] == [two, "between", one]
    answer = json.loads(cortex("history", ID, "--json").stdout)
    assert answer["versions"][0]["subject"] == "between"
    assert {"commit", "date", "author", "subject", "path", "change", "blob", "sides"} == set(
        answer["versions"][0]
    )
    assert answer["texts"][1] == {
        "event": one, "at": "2026-11-01T10:00:00Z", "title": "On day 1", "path": AT_ROOT.event(one),
        "preview": "first",
    }  # fmt: skip
    assert answer["revisions"] == 2
    assert cortex("history", ID, "--at", one).stdout == "first\n"


UNSEEN = "\ufeffمی\u200cخواهم \U0001f469\u200d\U0001f4bb \u202eabc\u202c \x1b[1mred\x1b[0m\tend"


def test_a_text_goes_into_a_pipe_as_it_stands_and_is_made_visible_on_a_terminal(
    vault, cortex, terminal
):
    """What is kept and shown may be written back; only a terminal needs to be kept from acting on it."""
    path = Path(vault.root, "records/note/odd-abcdef.md")
    path.parent.mkdir(parents=True)
    whole = (
        f"\ufeff---\r\nid: odd-abcdef\r\ntype: note\r\n---\r\n\r\n{UNSEEN}\r\nno line end".encode()
        + b"\xff"
    )
    path.write_bytes(whole)
    commit_all(vault.root)
    event = cortex(
        "save", "Odd", "--topic", "note/odd", "--body", "-", "--json", stdin=UNSEEN
    ).stdout
    id_, event = (json.loads(event)[key] for key in ("id", "event"))
    program = f"{sys.executable} -m cortex"
    saved = UNSEEN.replace("\x1b[1m", "").replace(
        "\x1b[0m", ""
    )  # codes are taken out as they come in
    committed = whole.replace(b"\r\n", b"\n")  # by the vault's .gitattributes
    for command, wanted in (
        ("show odd-abcdef", whole), ("history odd-abcdef --at HEAD", committed), (f"history {id_} --at {event}", f"{saved}\n".encode()),
    ):  # fmt: skip
        piped = subprocess.run(
            f"{program} {command} | cat",
            shell=True,
            cwd=vault.root,
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert piped.stdout == wanted
        seen = terminal(*command.split())
        assert "می<U+200C>خواهم" in seen
        shown = "<U+001B>[1mred" if b"\x1b" in wanted else "<U+202C> red"
        assert shown in seen
        assert "\x1b[1mred" not in seen
        assert shown in terminal(*command.split(), NO_COLOR="1")


def test_what_waits_in_the_inbox_is_a_text_already(vault, caller):
    said(vault, 1, "first")
    two = said(vault, 2, "second", waits=True)
    found = history(vault, caller, ID)
    assert (told(found)[0], found.texts[0].path) == ((two, "second"), AT_ROOT.pending(two))
    assert history(vault, caller, ID, at=two).text == "second"


def test_a_text_whose_name_somebody_took_out_of_the_note_is_still_found(vault, caller):
    one, two = said(vault, 1, "first"), said(vault, 2, "second")
    path = Path(vault.root, history(vault, caller, ID).path)
    path.write_text(path.read_text().replace(f"    - {one}\n", ""))
    assert [event for event, _ in told(history(vault, caller, ID))] == [two, one]


@pytest.mark.parametrize("name", [ID, ID[:10], f"records/decision/{ID}.md"])
def test_a_record_whose_file_is_gone_is_found_by_its_topic(name, vault, caller):
    one, two = said(vault, 1, "first"), said(vault, 2, "second")
    said(vault, 3, "of another topic", topic="bug/login")
    os.unlink(Path(vault.root, history(vault, caller, ID).path))
    found = history(vault, caller, name)
    assert (found.id, found.path, told(found)) == (ID, "", [(two, "second"), (one, "first")])
    assert history(vault, caller, name, at=one).text == "first"


def test_a_record_without_a_topic_and_a_session_are_found_by_what_made_their_ids(vault, caller):
    one = said(vault, 1, "only text", topic="")
    turn = said(vault, 2, "a turn", topic="", type="stop", session="s-1", title="", record="")
    for path in [
        *Path(vault.root).glob("records/**/*.md"),
        *Path(vault.root).glob("sessions/**/*.md"),
    ]:
        id_ = notes.read(path.read_bytes()).get("id")
        path.unlink()
        found = history(vault, caller, id_)
        assert told(found) == (
            [(turn, "a turn")] if id_ == session_note_id("s-1") else [(one, "only text")]
        )
    with pytest.raises(NotFoundError, match="there is no note"):
        history(vault, caller, "on-day-1-aaaaaa")


def test_a_record_that_git_has_and_the_vault_has_not_keeps_its_texts(vault, caller):
    one = said(vault, 1, "first", topic="")
    commit_all(vault.root)
    (path,) = Path(vault.root).glob("records/**/*.md")
    path.unlink()
    for name in (path.stem, str(path.relative_to(vault.root))):
        found = history(vault, caller, name)
        assert [version.change for version in found.versions] == ["added"]
        assert told(found) == [(one, "first")]


@pytest.mark.parametrize("at", ["HEAD", "0" * 40, "20270101t000000z-aaaaaaaaaa"])
def test_what_is_not_kept_is_said(at, vault, caller):
    said(vault, 1, "first")
    with pytest.raises(NotFoundError) as raised:
        history(vault, caller, ID, at=at)
    assert raised.value.hint


def test_a_note_that_came_from_no_event_has_nothing_older_without_git(vault_from, caller):
    vault = vault_from(
        "=== mine.md\nmy own\n\n=== records/note/odd.md\n---\nid: odd-one\nprovenance: {events: [nowhere, 20261101t100000z-aaaaaaaaaa]}\n---\n"
    )
    for name in ("mine.md", "odd-one"):
        with pytest.raises(NotFoundError, match="in no git repository"):
            history(vault, caller, name)
    with pytest.raises(NotFoundError, match="there is no note 'nothing'"):
        history(vault, caller, "nothing")
