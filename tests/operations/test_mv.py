"""`mv`: a note gets another name, every link follows, and one command brings every byte back. `backlinks`, `tags`."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

NOTES = """=== Weekly.md
# Weekly
See [[Weekly#Notes]] and [the plan](plans/Plan.md).
=== plans/Plan.md
---
related: "[[Weekly]]"
tags: [garden/herbs, home]
---
From [[weekly]], [last](../Weekly.md), `[[Weekly]]`.
=== plans/Note.md
Nothing. #garden/roses #garden
=== other/Note.md
[[Weekly|w]] and again [[Weekly]]
and [[Weekly]]
=== records/decision/use-sqlite-abcdef.md
---
id: use-sqlite-abcdef
type: decision
title: Use SQLite
updated: 2026-01-01T00:00:00Z
supersedes: ["[[use-files-abcdeg]]"]
---
After [[Weekly]].
=== records/decision/use-files-abcdeg.md
---
id: use-files-abcdeg
type: decision
title: Use files
updated: 2026-01-01T00:00:00Z
---
Then [[use-sqlite-abcdef]].
=== events/2026/11/20261120t164512z-k3f7q2abcd.md
---
id: 20261120t164512z-k3f7q2abcd
type: manual
at: 2026-11-20T16:45:12Z
---

## Raw Content

[[Weekly]]
"""


@pytest.fixture
def notes(vault_from):
    vault = vault_from(NOTES)
    Path(vault.root, "other/Odd.md").write_bytes(b"\xef\xbb\xbf\xe9\r\n[[Weekly]]\r\nno end")
    return vault


def answer(cortex, *words: str) -> dict:
    done = cortex(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def people(vault) -> dict[str, bytes]:
    """Every note but generated pages."""
    found = (path for path in Path(vault.root).rglob("*.md") if "briefings" not in path.parts)
    return {str(path.relative_to(vault.root)): path.read_bytes() for path in found}


def undo(cortex, moved: dict) -> None:
    assert cortex(*shlex.split(moved["undo"])[1:]).returncode == 0


def test_every_link_follows_and_one_command_restores_every_byte(notes, cortex):
    before = people(notes)
    planned = answer(cortex, "mv", "Weekly", "archive/Our week", "--dry-run")
    assert people(notes) == before
    moved = answer(cortex, "mv", "Weekly", "archive/Our week")
    assert (planned["outcome"], moved["outcome"]) == ("would be renamed", "renamed")
    assert [planned[key] for key in ("path", "total", "links")] == [
        moved[key] for key in ("path", "total", "links")
    ]
    assert (moved["path"], moved["total"], len(moved["links"])) == ("archive/Our week.md", 10, 5)
    after = people(notes)
    assert "Weekly.md" not in after
    assert after["archive/Our week.md"] == (
        b"# Weekly\nSee [[Our week#Notes]] and [the plan](../plans/Plan.md).\n"
    )
    assert b'related: "[[Our week]]"' in after["plans/Plan.md"]
    assert (
        b"From [[Our week]], [last](../archive/Our%20week.md), `[[Weekly]]`"
        in (after["plans/Plan.md"])
    )
    assert after["other/Odd.md"] == b"\xef\xbb\xbf\xe9\r\n[[Our week]]\r\nno end"
    event = "events/2026/11/20261120t164512z-k3f7q2abcd.md"
    assert after[event] == before[event]
    undo(cortex, moved)
    assert people(notes) == before


def test_the_way_back_keeps_what_was_written_since(notes, cortex):
    before = people(notes)
    moved = answer(cortex, "mv", "Weekly", "Note")  # which two others are called: links get paths
    assert "[[/Note|w]]" in Path(notes.root, "other/Note.md").read_text()
    later = Path(notes.root, "plans/Plan.md")
    later.write_text(later.read_text() + "Later.\n")
    undo(cortex, moved)
    after = people(notes)
    assert after.pop("plans/Plan.md").endswith(b"Later.\n")
    before.pop("plans/Plan.md")
    assert after == before


def test_a_record_keeps_its_id_and_is_found_by_it(notes, cortex):
    answer(cortex, "mv", "use-sqlite-abcdef", "Use SQLite")
    assert answer(cortex, "show", "use-sqlite-abcdef")["path"] == "records/decision/Use SQLite.md"
    assert b"Then [[Use SQLite]]." in people(notes)["records/decision/use-files-abcdeg.md"]
    answer(cortex, "mv", "use-files-abcdeg", "records/decision/old/")
    assert b'"[[use-files-abcdeg]]"' in people(notes)["records/decision/Use SQLite.md"]
    assert "no such note" not in cortex("doctor").stdout


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("plans/Note", "plans/Note.md is there already"), ("plans/NOTE.md", "is there already"), ("Weekly", "is there already"),
        ("../x", "not a path inside the vault"), ("/../x", "not a path"), (".git/x", "not a path"), (".hidden/x", "begins with a dot"),
        ("events/x", "only Cortex writes"), ("inbox/x", "only Cortex writes"), ("briefings/x", "only Cortex writes"),
        ("CON", "reserved name"), ("a: b", "Windows refuses"), ("a#b", "no link can hold"), ("a[1]", "no link can hold"), ("x" * 250, "characters"),
    ],
)  # fmt: skip
def test_a_name_that_no_note_can_have_is_refused_and_nothing_changes(notes, cortex, new, said):
    cortex("status")
    before = people(notes)
    done = cortex("mv", "Weekly", new)
    assert done.returncode == 2 or said == "is there already" or done.returncode == 1
    assert said in done.stderr
    assert "cortex" in done.stderr.splitlines()[-1]  # what to run next
    assert people(notes) == before


@pytest.mark.parametrize("old", ["cortex.toml", "20261120t164512z-k3f7q2abcd", "nothing", ".gitattributes"])  # fmt: skip
def test_what_is_no_note_of_a_person_is_not_renamed(notes, cortex, old):
    done = cortex("mv", old, "new name")
    assert done.returncode in (1, 2)
    assert not Path(notes.root, "new name").exists()
    assert Path(notes.root, "cortex.toml").exists()


def test_a_name_that_differs_in_case_alone_goes_by_a_third(notes, cortex):
    before = people(notes)
    moved = answer(cortex, "mv", "Weekly", "WEEKLY")
    assert "WEEKLY.md" in os.listdir(notes.root)
    assert "Weekly.md" not in os.listdir(notes.root)
    assert "[[WEEKLY|w]]" in Path(notes.root, "other/Note.md").read_text()
    undo(cortex, moved)
    assert people(notes) == before


def test_links_to_a_note_that_was_renamed_by_hand_can_be_mended(notes, cortex):
    os.rename(f"{notes.root}/Weekly.md", f"{notes.root}/Week.md")
    mended = answer(cortex, "mv", "Weekly", "Week")
    assert (mended["outcome"], mended["total"], mended["undo"]) == ("mended", 9, "")
    assert "[[Week|w]]" in Path(notes.root, "other/Note.md").read_text()
    again = cortex("mv", "Weekly", "Week")
    assert (again.returncode, "no link to it" in again.stderr) == (2, True)


def test_an_attachment_moves_with_its_links(notes, cortex):
    Path(notes.root, "p 1.png").write_bytes(b"\x89PNG")
    Path(notes.root, "plans/Note.md").write_text("![[p 1.png|100]] ![](../p%201.png)\n")
    answer(cortex, "mv", "p 1.png", "img/photo")
    text = Path(notes.root, "plans/Note.md").read_text()
    assert text == "![[photo.png|100]] ![](../img/photo.png)\n"
    assert Path(notes.root, "img/photo.png").read_bytes() == b"\x89PNG"


def test_a_note_out_of_search_is_read_and_a_link_out_of_the_vault_is_not(notes, cortex, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("[[Weekly]]")
    Path(notes.root, "linked.md").symlink_to(outside)
    Path(notes.root, "templates").mkdir()
    Path(notes.root, "templates/t.md").write_text("created: {{date}}\n[[Weekly]]\n")
    settings = Path(notes.root, "cortex.toml")
    settings.write_text(settings.read_text().replace("exclude = []", 'exclude = ["templates"]'))
    answer(cortex, "mv", "Weekly", "Week")
    assert outside.read_text() == "[[Weekly]]"
    assert Path(notes.root, "templates/t.md").read_text().endswith("[[Week]]\n")


def test_what_is_printed(notes, cortex):
    lines = cortex("mv", "Weekly", "Week").stdout.splitlines()
    assert lines[:2] == ["renamed: Week.md", "  9 links in 5 files"]
    assert "  links to it: other/Note.md" in lines
    assert lines[-1] == "  undo: cortex mv ./Week.md ./Weekly.md"


def test_backlinks_are_the_notes_that_link_there_with_the_lines(notes, cortex):
    found = answer(cortex, "backlinks", "Weekly")
    listed = [(hit["path"], hit["line"], hit["snippet"]) for hit in found["hits"]]
    assert found["total"] == len(listed) == 6
    assert ("other/Note.md", 1, "[[Weekly|w]] and again [[Weekly]]") in listed
    assert ("other/Note.md", 2, "and [[Weekly]]") in listed
    assert listed[-1][0] == "records/decision/use-sqlite-abcdef.md"  # changed last of all
    assert not any("events/" in path or path == "Weekly.md" for path, *_ in listed)
    few = answer(cortex, "backlinks", "Weekly", "--number", "1")
    assert (len(few["hits"]), few["total"]) == (1, 6)
    assert "no such link" in cortex("backlinks", "plans/Note.md").stdout


def test_tags_are_counted_with_those_below_them(notes, cortex):
    def tags(*words: str) -> dict[str, int]:
        return {one["name"]: one["notes"] for one in answer(cortex, "tags", *words)["entities"]}

    assert tags() == {"garden": 2, "garden/herbs": 1, "garden/roses": 1, "home": 1}
    assert tags("#Garden/", "--number", "2") == {"garden": 2, "garden/herbs": 1}
    assert tags("--note", "plans/Note.md") == {"garden": 1, "garden/roses": 1}
    assert cortex("tags", "garden/roses").stdout == "tag      garden/roses  1 note\n"
    none = cortex("tags", "gard")
    assert (none.returncode, none.stdout) == (1, "nothing named gard\n  cortex tags lists them\n")


BOARD = r"""{
	"nodes":[
		{"id":"a","type":"file","file":"plans/Plan.md","subpath":"#Beds","x":0},
		{"type":"text", "text":"\"file\":\"plans/Plan.md\" [[Weekly]]"},
		{"type" : "file", "file" : "plans/Plan.md"},{"type":"file","file":"other/Plan.md"}
	],"edges":[]}"""


def test_cards_on_a_canvas_follow_and_every_other_byte_stays(notes, cortex):
    board = Path(notes.root, "b/Garden.Canvas")
    board.parent.mkdir()
    board.write_bytes(old := BOARD.replace("\n", "\r\n").encode() + b"\xff")
    planned = answer(cortex, "mv", "plans/Plan.md", "plans/Pläne 27.md", "--dry-run")
    assert board.read_bytes() == old
    moved = answer(cortex, "mv", "plans/Plan.md", "plans/Pläne 27.md")
    assert (planned["links"], planned["total"]) == (moved["links"], moved["total"])
    assert (moved["links"], moved["total"]) == (["Weekly.md", "b/Garden.Canvas"], 3)
    new = '"plans/Pläne 27.md"'.encode()
    assert board.read_bytes() == old.replace(b'"plans/Plan.md"', new)
    undo(cortex, moved)
    assert board.read_bytes() == old
    os.rename(Path(notes.root, "plans/Plan.md"), Path(notes.root, "plans/Later.md"))
    assert answer(cortex, "mv", "plans/Plan.md", "plans/Later.md")["total"] == 3
    assert board.read_bytes().count(b'"plans/Later.md"') == 2


def test_a_folder_is_refused_and_all_that_a_name_may_mean_is_counted(notes, cortex):
    before = people(notes)
    ran = cortex("mv", "plans", "Beds")
    assert (ran.returncode, "plans is a folder, which cannot be moved" in ran.stderr) == (2, True)
    for number in range(30):
        Path(notes.root, f"plans/item {number}.md").write_text("x")
    assert "names 30 notes: " in (said := cortex("show", "plans/item").stderr)
    assert "and 25 more" in said
    assert before.items() <= people(notes).items()
