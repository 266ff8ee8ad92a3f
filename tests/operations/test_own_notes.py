"""People's own notes answer at once: their tasks, meetings and decisions are told, their templates are not, and none is written to."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

NOTES = """
=== Daily/2026-11-02.md
- [ ] water the plants 📅 2026-12-02 ⏫
- [ ] call [[People/Ana|Ana]] due:: 2026-11-10
- [x] post the letter 📅 2026-11-01
- [-] cancelled
- We buy soil from Bob, it is near #decision
```
- [ ] an example, #decision
```
=== Meetings/Garden club.md
---
type: meeting
date: 2026-11-03
---
# Garden club
- [ ] @bob order seeds [due:: 2026-11-01]
- [ ] plan the beds
=== Meetings/2026-10-06 Board.md
---
tags: [meeting]
---
The board met.
=== Compost.md
---
type: decision
created: 2026-10-20
---
We compost everything.
=== Templates/Daily.md
---
created: {{date}}
type: meeting
---
- [ ] a task of every day
=== Quick.md
# <% tp.file.title %>
- [ ] from a template
=== Templates/Minutes.md
---
id: {{date}}-{{title}}
type: meeting
date: {{date}}
---
=== Templates/Talk.md
---
id: {{date}}-{{title}}
type: meeting
---
=== About templates.md
Write `{{title}}` in it.
- [ ] explain `<% tp.file.title %>`
"""


def hashes(root: str) -> dict[str, str]:
    return {
        str(path): hashlib.sha1(path.read_bytes()).hexdigest()
        for path in Path(root).rglob("*.md")
        if "briefings" not in path.parts
    }


def test_tasks_meetings_and_decisions_are_told_and_nothing_is_written(vault_from, cortex):
    vault = vault_from(NOTES)
    before = hashes(vault.root)
    found = json.loads(cortex("actions", "--json").stdout)
    told = [(one["title"], one["owner"], one["due"], one["id"]) for one in found["hits"]]
    assert told == [
        ("@bob order seeds", "bob", "2026-11-01", "Meetings/Garden club.md:6"),
        ("call Ana", "", "2026-11-10", "Daily/2026-11-02.md:2"),
        ("water the plants", "", "2026-12-02", "Daily/2026-11-02.md:1"),
        ("explain `<% tp.file.title %>`", "", "", "About templates.md:2"),
        ("plan the beds", "", "", "Meetings/Garden club.md:7"),
    ]
    by_bob = json.loads(cortex("actions", "--owner", "Bob", "--json").stdout)
    assert (by_bob["total"], cortex("actions", "--done").returncode) == (1, 1)
    recalled = cortex("recall").stdout
    for words in ("Garden club", "2026-10-06 Board", "Compost", "We buy soil from Bob, it is near"):
        assert words in recalled
    assert "About templates" not in recalled
    meetings = cortex("meetings").stdout
    assert re.search(r"2026-11-03  Garden club  2 open actions", meetings)
    brief = cortex("brief").stdout
    parts = brief.split("\n\n")
    heads = ["Open", "Decisions and rejections", "Meetings"]
    assert [part.splitlines()[0] for part in parts[1:4]] == heads
    assert "2026-11-02 We buy soil from Bob, it is near  Daily/2026-11-02.md:5" in parts[2]
    assert "call Ana (due 2026-11-10)" in parts[1]
    shown = cortex("show", "Daily/2026-11-02.md:5").stdout
    assert shown.startswith("- [ ] water")
    assert hashes(vault.root) == before


def test_templates_are_no_notes_and_no_problems(vault_from, cortex):
    vault = vault_from(NOTES)
    assert "no problems" in cortex("doctor").stdout
    told = "".join(cortex(verb).stdout for verb in ("actions", "brief", "recall", "timeline"))
    assert "every day" not in told
    assert "from a template" not in told
    assert cortex("search", "every day").stdout.startswith("Daily  template\n")
    # The folder that Obsidian names holds templates alone, wherever it stands.
    plugin = Path(vault.root, ".obsidian/plugins/templater-obsidian")
    plugin.mkdir(parents=True)
    (plugin / "data.json").write_text('{"templates_folder": "Meetings/"}')
    (plugin.parent.parent / "templates.json").write_text("broken {")
    assert "Garden club" not in cortex("recall").stdout + cortex("meetings").stdout
    (plugin / "data.json").unlink()
    assert "Garden club" in cortex("recall").stdout


def test_a_record_that_speaks_of_placeholders_is_no_template(cortex):
    said = "Decision: a daily note begins with {{date}} and {{title}}"
    assert cortex("capture", said).returncode == 0
    assert cortex("new", "gotcha", "{{title}} stays empty in a link").returncode == 0
    recalled = cortex("recall").stdout
    assert "A daily note begins with" in recalled
    assert "stays empty in a link" in recalled


def test_a_task_that_is_a_link_to_an_action_is_told_once(vault_from, cortex):
    vault_from(
        "=== records/action/ship-it-k3f9q2.md\n---\nid: ship-it-k3f9q2\ntype: action\ntitle: Ship it\nstatus: open\n---\n"
        "=== Today.md\n- [ ] [[ship-it-k3f9q2|Ship it]]\n- [ ] [[Call Ana]]\n"
    )
    found = json.loads(cortex("actions", "--json").stdout)["hits"]
    assert [one["title"] for one in found] == ["Ship it", "Call Ana"]


def test_notes_without_any_of_it_answer_by_their_links_and_dates(vault_from, cortex):
    vault_from(
        "=== 202601021030.md\n# Slips\n[[202603041200]]\n=== 202603041200 Links.md\n# Links\n"
        "=== 202602031100.md\n# Boxes\n[[202603041200 Links]]\n"
    )
    assert cortex("recall").returncode == 0
    assert cortex("brief").stdout.split("\n\n")[1].splitlines()[1].strip().startswith("Links")
    days = re.findall(r"(2026-\d\d-\d\d)  (\w+)", cortex("timeline", "Boxes").stdout)
    assert days == [("2026-01-02", "Slips"), ("2026-02-03", "Boxes"), ("2026-03-04", "Links")]
    assert cortex("actions").returncode == 1


def test_in_a_project_elsewhere_only_its_notes_are_told(vault_from, cortex, tmp_path):
    vault_from(NOTES + "=== shop.md\n---\nproject: shop\n---\n- [ ] sell seeds\n")
    brief = cortex("brief", "--project", "shop").stdout
    assert "sell seeds" in brief
    assert "water" not in brief


def test_a_tick_is_seen_in_the_next_briefing(vault_from, cortex):
    vault = vault_from(NOTES)
    assert "plan the beds" in cortex("brief", "--print").stdout
    note = Path(vault.root, "Meetings/Garden club.md")
    note.write_text(note.read_text().replace("- [ ] plan", "- [x] plan"))
    assert "plan the beds" not in cortex("brief", "--print").stdout


@pytest.mark.parametrize("number", [3000])
def test_thousands_of_tasks_are_counted(number, vault_from, cortex):
    tasks = "".join(f"=== docs/{n}.md\n" + "- [ ] check it\n" * 100 for n in range(number // 100))
    vault_from(tasks)
    assert cortex("actions").stdout.endswith("2,950 more: --number\n")
    assert "2,988 more: cortex actions" in cortex("brief").stdout
