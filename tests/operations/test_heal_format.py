"""`cortex heal --format`: records of an earlier version get the form of new ones, and it is taken back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.note_form import NoteForm
from cortex.core.model.record import Record, compose_record, compose_untitled_record
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import note as notes
from cortex.operations.upkeep.heal import heal
from cortex.vault.locate import Vault

Write = Callable[[str], Vault]
Command = Callable[..., subprocess.CompletedProcess[str]]

FORM = NoteForm(True, "shop")
EVENT = "20261120t164512z-aaaaaaaaaa"
PLAIN = Record(
    id="keep-carts-aaaaaa", type="decision", title="Keep carts for a day", body="Decision: keep carts for a day.\n\n**Why.** The table stays small.",
    created="2026-11-20T16:45:12Z", events=(EVENT,), project="shop", branch="main", tags=("carts",),
    relations=(("derived_from", "review-bbbbbb"), ("supersedes", "old-cccccc")), supersedes=("old-cccccc",),
)  # fmt: skip
EDITED = """=== records/gotcha/ping-dddddd.md
---
id: ping-dddddd
type: gotcha
title: "Ping: every 20 s"
status: active
scope: project
project: shop
reviewed: Ada # on Monday
tags:
- db
# the old one
aliases: [Ping]
created: 2026-11-20T16:45:12Z
updated: 2026-11-20T16:45:12Z
relations:
  - {kind: refines, to: "[[keep-carts-aaaaaa]]"}
provenance:
  events:
    - 20261120t164512z-bbbbbbbbbb
    - 20261121t164512z-cccccccccc
  session: s1
---

It drops idle connections.

By hand: also after a restart.
=== records/decision/old-cccccc.md
---
id: old-cccccc
type: decision
title: Keep carts for a week
status: superseded
superseded_by: keep-carts-aaaaaa
scope: global
created: 2026-11-01T16:45:12Z
---
Text.
=== records/note/odd-eeeeee.md
---
id: odd-eeeeee
title: Odd
relations:
  - why: nobody knows
    to: "[[old-cccccc]]"
---
Text.
=== Mine.md
---
title: A note of my own
status: active
---
Text.
"""


@pytest.fixture
def old(vault_from: Write) -> Vault:
    """A vault as an earlier version left it."""
    vault = vault_from(EDITED)
    settings = Path(vault.root, "cortex.toml")
    text = re.sub(r"(?m)^project = .*\n", "", settings.read_text())
    settings.write_text(text.replace("format = 2", "format = 1"))
    Path(vault.root, f"records/decision/{PLAIN.id}.md").write_text(compose_untitled_record(PLAIN))
    return vault


def texts(vault: Vault, *folders: str) -> dict[str, bytes]:
    """The notes by their path; without folders those of people and of records."""
    paths = sorted(Path(vault.root).rglob("*.md"))
    found = {str(path.relative_to(vault.root)): path.read_bytes() for path in paths}
    wanted = folders or ("records", "Mine")
    return {path: data for path, data in found.items() if path.startswith(wanted)}


def test_it_is_shown_first_and_nothing_is_written(old, cortex):
    before = texts(old)
    shown = cortex("heal", "--format").stdout
    assert "5 records would be rewritten: cortex heal --format --apply" in shown
    assert "Mine.md" not in shown
    assert texts(old) == before


def test_a_record_that_nobody_edited_becomes_what_a_new_one_is(old, caller):
    heal(old, caller, format=True, apply=True)
    path = f"records/decision/{PLAIN.id}.md"
    body = "**Why.** The table stays small."
    assert texts(old)[path].decode() == compose_record(PLAIN._replace(body=body), FORM)


def test_what_a_person_wrote_stays_and_each_record_says_the_same(old, caller):
    before = {
        path: record_from_note(notes.read(data)) for path, data in texts(old, "records").items()
    }
    mine = texts(old, "Mine")
    assert heal(old, caller, format=True, apply=True).problems == ()
    after = texts(old, "records")
    for path, data in after.items():
        note = notes.read_strict(data, path)
        record = record_from_note(note, FORM)
        assert record == before[path]._replace(relations=record.relations, branch=record.branch)
        assert set(record.relations) == set(before[path].relations)
        assert note.title not in note.get_list("aliases")
    ping = after["records/gotcha/ping-dddddd.md"].decode()
    assert ping.startswith("---\ntype: gotcha\nreviewed: Ada # on Monday\n")
    assert "# the old one\naliases: [Ping]\n" in ping
    assert 'refines: ["[[keep-carts-aaaaaa]]"]\n' in ping
    assert "\n# Ping: every 20 s\n\nIt drops idle connections.\n\nBy hand: also" in ping
    assert (
        'superseded_by: "[[keep-carts-aaaaaa]]"' in after["records/decision/old-cccccc.md"].decode()
    )
    # A relation of no kind that is known could not be said in a list.
    assert "why: nobody knows" in after["records/note/odd-eeeeee.md"].decode()
    assert texts(old, "Mine") == mine


def test_again_it_changes_nothing_and_undone_every_byte_is_back(old, caller, cortex):
    before = texts(old)
    assert "cortex heal --format --undo" in cortex("heal", "--format", "--apply").stdout
    assert "every record has the form of new ones" in cortex("heal", "--format").stdout
    edited = Path(old.root, "records/note/odd-eeeeee.md")
    edited.write_text(edited.read_text() + "\nBy hand.\n")
    answer = heal(old, caller, format=True, undo=True)
    assert [problem.where for problem in answer.problems] == ["records/note/odd-eeeeee.md"]
    assert "By hand." in edited.read_text()
    left = texts(old)
    left["records/note/odd-eeeeee.md"] = before["records/note/odd-eeeeee.md"]
    assert left == before
    assert cortex("heal", "--format", "--undo").returncode == 2
    assert cortex("heal", "--apply").returncode == 2


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_line_ends_stay(vault, caller, eol):
    file = Path(vault.root, "records/decision/x-aaaaaa.md")
    file.parent.mkdir(parents=True)
    text = "---\nid: x-aaaaaa\ntype: decision\ntitle: X\nmood: fine\nstatus: active\n---\n\nOne.\n\nTwo.\n"
    file.write_bytes(text.replace("\n", eol).encode())
    heal(vault, caller, format=True, apply=True)
    new = "---\ntype: decision\nmood: fine\nid: x-aaaaaa\n---\n\n# X\n\nOne.\n\nTwo.\n"
    assert file.read_bytes() == new.replace("\n", eol).encode()
