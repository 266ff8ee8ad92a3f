"""People's own notes answer at once: their tasks, meetings and decisions are told, their templates are not, and none is written to."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from cortex.vault import user_settings

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
        ("order seeds", "bob", "2026-11-01", "Meetings/Garden club.md:6"),
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


def test_me_is_who_git_and_my_settings_say_and_two_spellings_are_one_person(
    vault_from, cortex, git, tmp_path, monkeypatch
):
    vault = vault_from(
        "=== a.md\n- [ ] one @ana-maria\n- [ ] two owner:: Ana Maria\n- [ ] three (@ana)\n- [ ] four @me\n- [ ] five @ben\n- [ ] six @amz\n"
    )

    def mine(owner: str = "me") -> list[str]:
        ran = cortex("actions", "--owner", owner, "--json")
        return [one["title"].split()[0] for one in json.loads(ran.stdout)["hits"]]

    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    ran = cortex("actions", "--owner", "me")
    assert (ran.returncode, 'git config --global user.name "Your Name"' in ran.stderr) == (2, True)
    git(vault.root, "init", "-q")
    git(vault.root, "config", "user.name", "Ana María López")
    assert mine() == ["one", "two", "three", "four"]
    git(vault.root, "config", "user.email", "123+amz@users.noreply.github.com")
    assert mine() == ["one", "two", "three", "four", "six"]
    Path(vault.root, "b.md").write_text("- [ ] seven owner:: Ana Diaz\n")
    assert mine() == ["one", "two", "four", "six"]  # which Ana, nobody knows
    settings = Path(user_settings.settings_file())
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[person]\naliases = ["Ana", "ben"]\n')
    assert mine() == ["one", "two", "three", "four", "five", "six"]
    assert mine("ana maria") == ["one", "two"]
    settings.write_text('[person]\naliases = "ana"\n')
    assert 'a list of names: ["ana"]' in cortex("actions", "--owner", "me").stderr


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


WEEKLY = """\
# Weekly 2026-11-05

Present: Ana Cruz, Ben

## Decisions
- We meet on Tuesdays

## Action items
- [ ] Ana: order the boards by 2026-12-01
- [ ] Ben to fix the gate by Friday
- [x] Ben: paint the door

Open question: who pays for the paint?
"""


def told(cortex) -> list[list[object]]:
    """What each verb tells of the vault's meetings, without the names of notes."""

    def hits(*words: str) -> list[dict[str, object]]:
        return json.loads(cortex(*words, "--json").stdout).get("hits", [])

    def title(hit: dict[str, object]) -> str:
        return str(hit["title"]).casefold()

    return [
        [one["date"][:10], one["attendees"], one["open_actions"], one["done_actions"], one["decisions"]]
        for one in hits("meetings")
    ] + [
        sorted([title(one), one["owner"], one["due"]] for one in hits("actions", *words))
        for words in ((), ("--done",))
    ] + [
        sorted([title(one), one["type"], one["date"][:10]] for one in hits(verb, f"type:{type_}"))
        for verb in ("search", "recall") for type_ in ("decision", "question")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Weekly.md", f"---\ntype: meeting\n---\n{WEEKLY}"),
        ("Weekly.md", f"---\ntags: [club, minutes]\n---\n{WEEKLY}"),
        ("Meetings/Weekly.md", WEEKLY),
        ("Meetings/2026-11-05.md", WEEKLY.replace("2026-11-05", "of the club")),
        ("Protokoll.md", WEEKLY.replace("\n", "\r\n")),
        ("2026.md", WEEKLY.replace("Weekly", "Weekly meeting")),
    ],
)
def test_minutes_of_a_persons_own_tell_what_captured_ones_do(path, text, vault, vault_from, cortex):
    cortex("capture", "--type", "meeting", "-", stdin=WEEKLY)
    captured = told(cortex)
    assert captured[0] == ["2026-11-05", ["Ana Cruz", "Ben"], 2, 1, 1]
    for folder in ("records", "events"):
        shutil.rmtree(Path(vault.root, folder))
    vault_from(f"=== {path}\n{text}")
    before = hashes(vault.root)
    assert told(cortex) == captured
    assert hashes(vault.root) == before


def test_what_own_minutes_tell_is_named_by_its_line_and_follows_edits(vault_from, cortex):
    vault = vault_from(f"=== Meetings/Weekly.md\n{WEEKLY}")
    (found,) = json.loads(cortex("search", "type:decision", "tuesdays", "--json").stdout)["hits"]
    assert (found["id"], found["line"]) == ("Meetings/Weekly.md:6", 6)
    assert cortex("show", found["id"]).stdout.startswith("# Weekly")
    note = Path(vault.root, "Meetings/Weekly.md")
    note.write_text(note.read_text().replace("Tuesdays", "Tuesdays\n- We buy a house"))
    titles = [
        one["title"]
        for one in json.loads(cortex("search", "type:decision", "--json").stdout)["hits"]
    ]
    assert titles == ["We meet on Tuesdays", "We buy a house"]
    assert "We buy a house" in cortex("brief").stdout
    assert cortex("search", "type:decision", "-n", "1").stdout.count("Meetings/Weekly.md") == 1


@pytest.mark.parametrize(
    "note",
    [
        "Meeting rooms.md\n---\ncreated: 2026-11-05\n---\nThe large one is upstairs.\n- [ ] measure it\n",
        "Meetings/Ideas.md\n## Decisions\n- none has a day\n",
        "Meetings/2026-11-05.md\n---\ntype: journal\n---\n## Decisions\n- We sold it\n",
    ],
)
def test_a_note_is_no_meeting_by_its_name_alone(note, vault_from, cortex):
    vault_from(f"=== {note}")
    assert cortex("meetings").returncode == 1
    assert cortex("search", "type:decision").returncode == 1


def test_tasks_behind_what_is_read_of_long_minutes_are_told(vault_from, cortex):
    talk = "We talked on.\n" * 5000
    vault_from(f"=== 2026-11-05.md\n---\ntype: meeting\n---\n{WEEKLY}{talk}- [ ] send the bill\n")
    assert "send the bill" in cortex("actions").stdout
    assert "too long" in cortex("doctor").stdout


def test_one_person_is_named_in_several_ways(vault_from, cortex):
    vault_from(
        "=== Meetings/2026-11-05.md\n# Club\n\nPresent: Cleo Diaz, Ana Cruz, Ana Bell, cleo\n\n"
        "## Actions\n- [ ] Cleo: order the boards\n- [ ] Ana: fix the gate\n- [ ] Ana Cruz, Cleo: sweep the yard\n"
        "=== Todo.md\n- [ ] water the ferns @cleo\n- [ ] call the printer [owner:: Cleo]\n"
    )

    def owned_by(name: str) -> list[tuple[str, str]]:
        found = json.loads(cortex("actions", "--owner", name, "--json").stdout).get("hits", [])
        return sorted((one["title"], one["owner"]) for one in found)

    for name in ("Cleo", "cleo", "@cleo", "Cleo Diaz", "CLEO"):
        assert owned_by(name) == [
            ("call the printer", "Cleo"),
            ("order the boards", "Cleo"),
            ("sweep the yard", "Ana Cruz, Cleo"),
            ("water the ferns @cleo", "Cleo"),
        ]
    assert owned_by("Ana") == [("fix the gate", "Ana")]  # there are two
    (meeting,) = json.loads(cortex("meetings", "--json").stdout)["hits"]
    assert meeting["attendees"] == ["Cleo", "Ana Cruz", "Ana Bell"]


def test_a_meeting_of_a_written_offset_is_on_the_day_that_is_written(vault_from, cortex):
    vault_from("=== m.md\n---\ntype: meeting\ndate: 2026-11-10T20:00:00-05:00\n---\n# Board\n")
    assert cortex("meetings").stdout.startswith("2026-11-10  Board")
    assert cortex("search", "board", "after:2026-11-11").returncode == 1


def test_a_due_is_its_day_in_whatever_form_a_property_has_it(vault_from, cortex):
    forms = {
        "2026-11-01T18:00:00": "2026-11-01",
        '"[[2026-12-07]]"': "2026-12-07",
        "[2026-12-01, 2027-01-01]": "2026-12-01",
        '"[[Days/2026-12-03.md|Thursday]]"': "2026-12-03",
        "2026-12-05 18:00": "2026-12-05",
        "2026-12-02 or later": "2026-12-02 or later",
        "2026-11-20x": "2026-11-20x",
    }
    text = "".join(
        f"=== a/A{number}.md\n---\nid: act-{number}-abcdef\ntype: action\nstatus: open\ntitle: A{number}\ndue: {form}\n---\n"
        for number, form in enumerate(forms)
    )
    vault_from(text)
    hits = json.loads(cortex("actions", "--json").stdout)["hits"]
    days = sorted(day for day in forms.values() if len(day) == 10)
    others = ["2026-11-20x", "2026-12-02 or later"]
    assert [one["due"] for one in hits] == [*days, *others]
    assert {one["due"] for one in hits if one["overdue"]} >= {"2026-11-01"}
    calendar = cortex("export", "--to", "ics").stdout
    assert sorted(re.findall(r"DUE;VALUE=DATE:(\d+)", calendar)) == [
        day.replace("-", "") for day in days
    ]


def test_properties_in_toml_are_only_read_and_the_refusal_says_so(vault_from, cortex):
    root = Path(vault_from('=== T.md\n+++\nid = "of-a-note-abcdef"\n+++\nText\n').root)
    assert "in YAML (TOML and JSON are only read)" in cortex("pin", "T").stderr
    assert (root / "T.md").read_text() == '+++\nid = "of-a-note-abcdef"\n+++\nText\n'
