"""Pages to land on: from the dashboard every record is reached by links that resolve."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes import note as notes
from cortex.operations.upkeep.heal import heal
from cortex.vault.locate import Vault

Command = Callable[..., subprocess.CompletedProcess[str]]
LINK = re.compile(r"\[\[([^\[\]|#\n]+)")
MINUTES = """# Weekly

Date: 2026-11-03
Attendees: Ana, Bob, Cem, Dora

## Decisions

- Ship on Fridays

## Actions

- [ ] Bob: write the notes by Friday
- [x] Ana: book a room
"""


@pytest.fixture
def full(vault: Vault, cortex: Command) -> Vault:
    """A vault of every type of record, of sessions, a meeting, topics and what no longer holds."""
    for number, type_ in enumerate(RECORD_TYPES):
        project = ("--project", ("shop", "house")[number % 2])
        cortex(
            "save", f"What we know {number}", "--type", type_, "--body", f"text {number}", *project
        )
    for topic in ("decision/store", "bug/roof", "pattern/retry"):
        cortex("save", f"About {topic}", "--topic", topic, "--project", "shop", "--why", "so")
    cortex("capture", "--type", "meeting", "--project", "shop", "-", stdin=MINUTES)
    for name in ("one", "two"):
        turn = (
            f"[MEMORY: decision] Carts of {name} are kept for a day because the table stays small"
        )
        words = f"--type stop --session {name} --project shop --branch main"
        cortex("capture", turn, *words.split())
    cortex("normalize")
    for type_, verb in (("gotcha", "archive"), ("decision", "supersede"), ("action", "archive")):
        (file,) = Path(vault.root, f"records/{type_}").glob("what-we-know-*.md")
        assert cortex(verb, file.stem).returncode == 0
    assert cortex("heal").returncode == 0
    return vault


def linked(vault: Vault) -> dict[str, set[str]]:
    """The targets of the wikilinks of each note, as Obsidian finds them: by file name or by path."""
    texts = {
        str(path.relative_to(vault.root)).removesuffix(".md"): path.read_text()
        for path in Path(vault.root).rglob("*.md")
    }
    names = {path.rpartition("/")[2]: path for path in texts} | {path: path for path in texts}
    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        targets = LINK.findall(text) if not path.startswith("events/") else []
        missing = [target for target in targets if target not in names]
        assert not missing, (path, missing)
        found[path] = {names[target] for target in targets}
    return found


def test_every_record_is_reached_from_the_index_and_every_link_resolves(full):
    links = linked(full)
    reached, waiting = {"briefings/index"}, ["briefings/index"]
    while waiting:
        new = links[waiting.pop()] - reached
        reached |= new
        waiting += new
    ours = {path for path in links if path.startswith(("records/", "sessions/"))}
    assert len(ours) > len(RECORD_TYPES) + 6
    assert ours <= reached


def test_a_record_links_to_where_it_came_from_and_back(full):
    links = linked(full)
    for path in (path for path in links if path.startswith("records/")):
        assert any(one.startswith("events/") for one in links[path]), path
    kept = [path for path in links if path.startswith("records/") and "carts-of-" in path]
    assert len(kept) == 2
    for path in kept:
        (session,) = (one for one in links[path] if one.startswith("sessions/"))
        assert path in links[session]


def test_names_and_properties_are_what_a_person_expects(full):
    for file in Path(full.root, "records").rglob("*.md"):
        note = notes.read_strict(file.read_bytes(), file.name)
        assert note.text.lstrip().startswith(f"# {note.title}\n")
        assert not note.get_list("aliases")
        values = (
            one
            for value in note.fields.values()
            for one in (value if isinstance(value, list) else [value])
        )
        assert not any(isinstance(value, (dict, list)) for value in values), file
    (plain,) = Path(full.root, "records/decision").glob("what-we-know-0*.md")
    _, frontmatter, _ = plain.read_text().split("---\n", 2)
    assert len(frontmatter.replace("status: superseded\n", "").splitlines()) <= 7


def test_the_dashboard_says_what_is_open_new_and_gone(full):
    index = Path(full.root, "briefings/index.md").read_text()
    sections = dict(part.split("\n", 1) for part in index.split("\n## ")[1:])
    assert "Write the notes]] (shop, Bob, due 2026-11-06)" in sections["Open actions"]
    assert "ook a room" not in sections["Open actions"]
    assert "Carts of two" in sections["Decisions that hold"]
    line = sections["Recent meetings"]
    assert "- 2026-11-03 [[" in line
    assert "|Weekly]] (shop): Ana, Bob, Cem and 1 more ^" in line
    assert len(re.findall(r"^- \d{4}-", sections["Recent sessions"], re.MULTILINE)) == 2
    assert "superseded" in sections["No longer hold"]
    assert "Conflicts" not in sections
    for page in ("types/gotcha|house: gotchas", "topics/bug|shop: topics: bug", "types/session|"):
        assert page in sections["Pages"]


def test_the_dashboard_lists_pages_of_branches_that_go_on(full, caller):
    for branch, day in (("old", "01"), ("young", "24")):
        at = f"2026-11-{day}T10:00:00Z"
        text = f"---\nid: {branch}\ntype: gotcha\ntitle: Of {branch}\nproject: shop\nbranch: {branch}\ncreated: {at}\n---\n\nText.\n"
        Path(full.root, f"records/gotcha/{branch}.md").write_text(text)
    heal(full, caller)
    pages = Path(full.root, "briefings/index.md").read_text().partition("## Pages")[2]
    assert "|shop: young]]" in pages
    assert "|shop: old]]" not in pages
    assert Path(full.root, "briefings/shop/old.md").exists()


def test_the_dashboard_links_the_latest_daily_notes(full, cortex):
    daily = Path(full.root, "Daily notes")
    daily.mkdir()
    for day in range(1, 10):
        (daily / f"2026-11-{day:02}.md").write_text("walked\n" if day % 2 else "# Walked\n")
    (daily / "2026-W46.md").write_text("a week\n")
    cortex("heal")
    index = Path(full.root, "briefings/index.md").read_text()
    lines = index.partition("## Daily notes\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.partition(" ^")[0] for line in lines[:2]] == [
        "- [[Daily notes/2026-11-09|2026-11-09]]",
        "- 2026-11-08 [[Daily notes/2026-11-08|Walked]]",
    ]
    assert len(lines) == 7


def test_what_a_merge_left_to_a_person_stands_on_the_dashboard(full, caller):
    (file,) = Path(full.root, "records/pattern").glob("*retry*.md")
    file.write_text(
        file.read_text().replace("events:", "merge_conflicts:\n  - {field: body}\nevents:", 1)
    )
    heal(full, caller)
    index = Path(full.root, "briefings/index.md").read_text()
    assert "About pattern/retry" in index.partition("## Conflicts")[2].partition("\n## ")[0]


def test_a_save_changes_the_pages_as_a_heal_would(full, caller, cortex):
    for words in (("What is new", "--type", "gotcha"), ("About decision/store, anew", "--topic", "decision/store"), ("To do", "--type", "action")):  # fmt: skip
        assert cortex("save", *words, "--project", "shop").returncode == 0
        assert heal(full, caller, check=True).stale == (), words
