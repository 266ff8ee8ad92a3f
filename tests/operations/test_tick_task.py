"""`cortex done` ticks any task, in any note: one line of its file, and nothing else."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

NOTES = """
=== Garden.md
# Garden
- [ ] #task water the ferns 🔁 every week 📅 2026-11-15
- [ ] water the roses
> [!todo] Plan
> - [ ] order seeds [due:: 2026-12-01]

| box | what |
| --- | --- |
| - [ ] in a table | x |

- outer
\t- inner
\t\t* [ ] dig the pond
1. [/] mow the lawn
- [-] cut the hedge
=== Twice.md
- [ ] sweep the path
- [ ] sweep the path
=== records/meeting/weekly-k3f9q2.md
---
id: weekly-k3f9q2
type: meeting
title: Weekly
---
- [ ] Ana: call the bank
=== records/action/paint-it-k3f9q2.md
---
id: paint-it-k3f9q2
type: action
title: Paint it
status: open
---

# Paint it

- [ ] buy a brush
"""


@pytest.fixture
def root(vault_from):
    return Path(vault_from(NOTES).root)


def tick(cortex, *words: str) -> dict:
    ran = cortex("done", *words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize(("name", "at", "before", "after"), [
    ("water the roses", "Garden.md:3", "[ ] water the r", "[x] water the r"),
    ("ROSES", "Garden.md:3", "[ ] water the r", "[x] water the r"),
    ("- [ ] order seeds [due:: 2026-12-01]", "Garden.md:5", "[ ] order seeds [due:: 2026-12-01]", "[x] order seeds [due:: 2026-12-01]  [completion:: TODAY]"),
    ("Garden.md:13", "Garden.md:13", "* [ ] dig", "* [x] dig"),
    ("Garden:14", "Garden.md:14", "[/] mow", "[x] mow"),
    ("records/meeting/weekly-k3f9q2.md:6", "records/meeting/weekly-k3f9q2.md:6", "[ ] Ana", "[x] Ana"),
    ("records/action/paint-it-k3f9q2.md:10", "records/action/paint-it-k3f9q2.md:10", "[ ] buy", "[x] buy"),
    ("buy a brush", "", "", ""),
])  # fmt: skip
def test_one_line_changes_and_its_undo_brings_it_back(name, at, before, after, root, cortex):
    if not at:  # the task of an action is told by its action
        assert "no open task says" in cortex("done", name).stderr
        return
    file = root / at.rpartition(":")[0]
    old = file.read_bytes()
    file.write_bytes(old := old.replace(b"\n", b"\r\n").rstrip())
    answer = tick(cortex, name)
    today = json.loads(cortex("capture", "x", "--json").stdout)["id"][:8]
    day = f"{today[:4]}-{today[4:6]}-{today[6:]}"
    assert (answer["id"], answer["outcome"]) == (at, "done")
    assert file.read_bytes() == old.replace(before.encode(), after.replace("TODAY", day).encode())
    assert cortex("done", at).stdout.startswith("unchanged: ")
    assert cortex(*shlex.split(answer["undo"])[1:]).returncode == 0
    assert file.read_bytes() == old or "[/]" in before


def test_one_that_recurs_gets_its_next_line_which_goes_with_the_tick(root, cortex):
    file = root / "Garden.md"
    old = file.read_bytes()
    answer = tick(cortex, "water the ferns")
    lines = file.read_text().splitlines()
    assert lines[1] == "- [ ] #task water the ferns 🔁 every week 📅 2026-11-22"
    assert lines[2].startswith("- [x] #task water the ferns 🔁 every week 📅 2026-11-15 ✅ 20")
    assert (answer["id"], len(lines)) == ("Garden.md:3", len(old.splitlines()) + 1)
    assert cortex(*shlex.split(answer["undo"])[1:]).returncode == 0
    assert file.read_bytes() == old
    file.write_bytes(old.replace(b"every week", b"every full moon"))
    assert "'every full moon' is not understood" in tick(cortex, "water the ferns")["hint"]
    assert file.read_text().count("- [x]") == 1


@pytest.mark.parametrize(("name", "said"), [
    ("water", "names 2 tasks: Garden.md:2  water the ferns; Garden.md:3  water the roses"),
    ("sweep the path", "names 2 tasks: Twice.md:1  sweep the path; Twice.md:2  sweep the path"),
    ("Twice.md", "names 2 tasks"),
    ("Garden.md:9", "Garden.md:9 has no box in a list"),
    ("Garden.md:99", "Garden.md:99 has no box in a list"),
    ("in a table", "no open task says 'in a table'"),
    ("fly to the moon", "no open task says"),
])  # fmt: skip
def test_what_is_not_clear_changes_nothing_and_says_where_to_look(name, said, root, cortex):
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    ran = cortex("done", name)
    assert (ran.returncode != 0, said in ran.stderr) == (True, True), ran.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_an_action_is_done_by_its_words_and_opened_again(root, cortex):
    file = root / "records/action/paint-it-k3f9q2.md"
    assert tick(cortex, "paint it")["id"] == "paint-it-k3f9q2"
    assert "status: done" in file.read_text()
    assert cortex("done", "paint it", "--undo").returncode == 0
    assert "status: open" in file.read_text()
    assert cortex("done", "records/action/paint-it-k3f9q2.md:8").stdout.startswith("done: ")


def test_of_two_things_with_the_same_words_none_is_ticked(root, cortex):
    (root / "Own.md").write_text("- [ ] Paint it\n")
    ran = cortex("done", "Paint it")
    assert "names 2 tasks: paint-it-k3f9q2  Paint it; Own.md:1  Paint it" in ran.stderr
    assert tick(cortex, "paint-it")["id"] == "paint-it-k3f9q2"


def test_a_task_that_was_given_up_stays_until_it_is_opened(root, cortex):
    assert cortex("done", "Garden.md:15").stdout == "unchanged: Garden.md:15\n  [-] cut the hedge\n"
    assert tick(cortex, "Garden.md:15", "--undo")["outcome"] == "opened"
    assert "- [ ] cut the hedge" in (root / "Garden.md").read_text()


def test_status_counts_what_actions_lists(root, cortex):
    shown = json.loads(cortex("status", "--json").stdout)
    listed = json.loads(cortex("actions", "--json").stdout)
    late = json.loads(cortex("actions", "--overdue", "--json").stdout)
    assert shown["open_actions"] == listed["total"] == 9
    assert shown["overdue"]["total"] == late["total"] == 1
    assert [one["id"] for one in shown["overdue"]["hits"]] == ["Garden.md:2"]


def test_an_action_ticks_its_line_in_the_minutes_with_the_day_of_its_signs(cortex, vault):
    minutes = "# Weekly 2026-11-03\n\n## Actions\n- [ ] Ana: order seeds 📅 2026-12-01\n- [ ] Ben: fix the gate\n"
    assert cortex("capture", "--type", "meeting", "-", stdin=minutes).returncode == 0
    assert cortex("done", "order seeds").returncode == 0
    (file,) = Path(vault.root, "records/meeting").iterdir()
    lines = file.read_text().splitlines()
    assert "- [ ] Ben: fix the gate" in lines
    (ticked,) = (line for line in lines if "[x]" in line)
    assert ticked.startswith("- [x] Ana: order seeds 📅 2026-12-01 ✅ 20")
    assert cortex("done", "order-seeds", "--undo").returncode == 0
    assert minutes.splitlines()[3] in file.read_text().splitlines()


@pytest.mark.parametrize(("line", "ticked"), [
    ("a ✅ 2026-11-01", "a ✅ TODAY"),
    ("a ❌ 2026-11-02 #home", "a #home ✅ TODAY"),
    ("a [completion:: 2026-11-02]", "a  [completion:: TODAY]"),
    ("a [cancelled:: 2026-11-02] ^a1", "a  [completion:: TODAY] ^a1"),
])  # fmt: skip
def test_a_day_that_an_open_task_has_gives_way_to_that_of_the_tick(line, ticked, root, cortex):
    (root / "T.md").write_text(f"- [ ] {line}\n")
    answer = tick(cortex, "T.md:1")
    text = (root / "T.md").read_text()
    assert re.sub(r"20\d\d-\d\d-\d\d", "TODAY", text) == f"- [x] {ticked}\n"
    assert "2026-11-0" not in text
    assert answer["hint"].endswith(f"; only your editor brings back - [ ] {line}")


def test_a_day_that_opening_takes_out_is_told_unless_a_tick_writes_the_same(root, cortex):
    (root / "T.md").write_text("- [x] a ✅ 2026-11-01\n- [ ] b #task\n")
    assert "brings back - [x] a ✅ 2026-11-01" in tick(cortex, "T.md:1", "--undo")["hint"]
    assert tick(cortex, "T.md:2")["hint"] == tick(cortex, "T.md:2", "--undo")["hint"] == "b"


def test_words_mean_the_ticked_task_where_it_is_to_be_opened(root, cortex):
    file = root / "Tasks.md"
    file.write_text("- [ ] pay rent 🔁 every month 📅 2026-11-01\n- [x] pay rent ✅ 2026-10-01\n")
    old = file.read_bytes()
    assert tick(cortex, "pay rent")["id"] == "Tasks.md:2"
    assert tick(cortex, "pay rent", "--undo")["id"] == "Tasks.md:1"
    assert file.read_bytes() == old
    assert tick(cortex, "Tasks", "--undo")["id"] == "Tasks.md:2"
    assert "no ticked task says 'pay rent'" in cortex("done", "pay rent", "--undo").stderr
    (root / "T.md").write_text("- [x] paint the door\n- [x] paint the wall\n")
    tick(cortex, "paint-it")
    assert "names 2 tasks" in cortex("done", "paint the", "--undo").stderr
    assert tick(cortex, "paint it", "--undo")["path"].startswith("records/action/")


def test_a_box_that_alone_changes_is_what_the_answer_names(cortex, vault):
    minutes = "# Weekly 2026-11-03\n\n## Actions\n- [ ] Ana: order seeds\n"
    assert cortex("capture", "--type", "meeting", "-", stdin=minutes).returncode == 0
    assert cortex("normalize").returncode == 0
    (file,) = Path(vault.root, "records/meeting").iterdir()
    place = f"{file.relative_to(vault.root)}:{file.read_text().splitlines().index(minutes.splitlines()[3]) + 1}"
    file.write_text(ticked := file.read_text().replace("[ ] Ana", "[x] Ana"))
    opened = tick(cortex, "order seeds", "--undo")
    assert (opened["outcome"], opened["id"]) == ("opened", place)
    assert file.read_text() == ticked.replace("[x] Ana", "[ ] Ana")
    assert cortex(*shlex.split(opened["undo"])[1:]).returncode == 0
    assert file.read_text() == ticked
    assert f"its box: {place}" in tick(cortex, "order-seeds", "--undo")["hint"]
    done = tick(cortex, "order-seeds")
    assert done["path"].startswith("records/action/")
    assert f"its box: {place}" in done["hint"]
