from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import note as notes
from cortex.core.notes.yaml_lines import split_note
from cortex.operations.exchange.export import export
from cortex.operations.exchange.import_ import import_
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault

ROOT = Path(__file__).parents[3]
FORMS = ("jsonl", "okf", "basic-memory", "sqlite")
KEPT = """
=== records/decision/use-sqlite-aaaaaa.md
---
id: use-sqlite-aaaaaa
type: decision
status: superseded
project: shop
branch: main
tags: [db, infra]
aliases: ["Use SQLite, not Postgres", "The database"]
created: 2020-01-02T03:04:05Z
updated: 2021-01-02T03:04:05Z
confidence: 0.4
priority: 7
pinned: true
superseded_by: "[[use-postgres-bbbbbb]]"
superseded_at: 2021-01-02T03:04:05Z
superseded_because: two writers
mine: 5  # of a person
---

# Use SQLite, not Postgres

**Why.** One file.
=== records/decision/use-postgres-bbbbbb.md
---
id: use-postgres-bbbbbb
type: decision
scope: personal
topic: decision/db
created: 2021-01-02T03:04:05Z
supersedes: ["[[use-sqlite-aaaaaa]]"]
refines: ["[[old-gotcha-cccccc]]"]
provenance:
  events: ["[[20210102t030405z-aaaaaaaaaa]]"]
  session: s-1
---

# Use Postgres [now]

Two writers.
=== records/gotcha/old-gotcha-cccccc.md
---
id: old-gotcha-cccccc
type: gotcha
status: archived
created: 2019-01-01T00:00:00Z
archived_at: 2020-01-01T00:00:00Z
archived_because: "it: is gone"
---

# Old gotcha
=== records/action/do-it-dddddd.md
---
id: do-it-dddddd
type: action
status: done
owner: Ada
due: 2026-12-01
closed: 2026-11-20
created: 2026-11-01T00:00:00Z
---

# Do it
=== records/meeting/2026-11-20-planning-eeeeee.md
---
id: 2026-11-20-planning-eeeeee
type: meeting
date: 2026-11-20
attendees: [Ada, Zoë]
created: 2026-11-20T10:00:00Z
---

# Planning

- [x] Ada: do it
=== own/index.md
# A page of mine
=== own/of index.md
# Another page of mine
=== own/broken.md
---
bad: [1
---
Its frontmatter is no YAML.
=== own/bare.md
---
---
"""
EVENT = "events/2021/01/20210102t030405z-aaaaaaaaaa.md"
EVENT_TEXT = """---
id: 20210102t030405z-aaaaaaaaaa
type: stop
at: 2021-01-02T03:04:05Z
session: s-1
---

## Raw Content

Two writers.
"""


@pytest.fixture
def kept(vault_from) -> Vault:
    vault = vault_from(KEPT)
    event = Path(vault.root, EVENT)
    event.parent.mkdir(parents=True)
    event.write_text(EVENT_TEXT)
    Path(vault.root, "own/bare.md").write_text("no end of line")
    return vault


@pytest.fixture
def empty(tmp_path: Path, caller: Caller) -> Vault:
    from cortex.operations.care.init import init

    return Vault(init(caller, str(tmp_path / "empty"), no_git=True).root)


def texts_of(vault: Vault) -> dict[str, str]:
    root = Path(vault.root)
    paths = (path.relative_to(root) for path in root.rglob("*.md"))
    return {str(path): (root / path).read_text() for path in paths if path.parts[0] != "briefings"}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(answer: Any) -> dict[str, int]:
    return {one.kind: one.new for one in answer.sources[0].items}


@pytest.mark.parametrize("to", FORMS)
def test_what_leaves_comes_back_to_the_byte(kept, empty, caller, tmp_path, to) -> None:
    target = str(tmp_path / "out")
    answer = export(kept, caller, to=to, output=target)
    assert (answer.path, answer.problems) == (target, [])
    before = texts_of(kept)
    if to in ("okf", "basic-memory"):
        del before[EVENT]
    done = import_(empty, caller, (target,))
    assert done.hosts == ["cortex-export"]
    assert done.problems == []
    assert rows(done)["record"] == answer.notes["record"] == done.records == 5
    assert texts_of(empty) == before
    again = import_(empty, caller, (target,))
    assert rows(again) == {"record": 0, "file": 0}
    assert texts_of(empty) == before


@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "---\n---\n", "---\n---\ntext\n", "---\n\n---\ntext\n", "---\r\na: 1\r\n---\r\ntext\r\n", "",
        "---\ntitle: A\ncortex_path: mine.md\nb: 1\n---\ncortex_path: x\n\n---\n",
        "---\ncortex_path: mine.md\n---\n", "cortex_path: x\n\n---\n", "---\n# A rule, and text\n",
        "a\n\n<!-- cortex-export -->\nb\n\n<!-- cortex-export -->\n", "a\n\n<!-- cortex-export -->",
        "<!-- cortex-export -->\n", "---\n\n<!-- cortex-export -->\n---\nb",
        '{"kind": "cortex-export", "format": 1}\n', "---\n---\n---\ncortex_path: a.md\n---\n",
    ],
)  # fmt: skip
def test_a_text_that_is_written_as_an_export_is_comes_back(
    vault, empty, caller, tmp_path, to, text
) -> None:
    # A record has sections added.
    record = "---\nid: a-aaaaaa\ntype: note\n---\n# A\n\n" + text
    texts = {"0.md": text, "records/note/a-aaaaaa.md": record}
    for path, whole in texts.items():
        Path(vault.root, path).parent.mkdir(parents=True, exist_ok=True)
        Path(vault.root, path).write_text(whole, newline="")
    export(vault, caller, to=to, output=str(tmp_path / "out"))
    assert import_(empty, caller, (str(tmp_path / "out"),)).problems == []
    for path, whole in texts.items():
        assert Path(empty.root, path).read_bytes() == whole.encode()


@pytest.mark.parametrize("to", FORMS)
def test_this_projects_own_vault_comes_back(empty, caller, tmp_path, to) -> None:
    shutil.copytree(ROOT / "vault", tmp_path / "own")
    own = Vault(str(tmp_path / "own"))
    shutil.copy(ROOT / "vault/cortex.toml", empty.root)  # the same project goes without saying
    export(own, caller, to=to, output=str(tmp_path / "out"))
    import_(empty, caller, (str(tmp_path / "out"),))
    count = 0
    for path in sorted(Path(own.root).glob("records/**/*.md")):
        data = (Path(empty.root) / path.relative_to(own.root)).read_bytes()
        assert data == path.read_bytes()
        assert record_from_note(notes.read(data)).id == path.stem
        count += 1
    assert count > 200
    assert normalize(empty, caller).events == ()


def test_a_line_says_what_a_record_is(kept, caller, tmp_path) -> None:
    export(kept, caller, output=str(tmp_path / "a.jsonl"))
    head, *lines = lines_of(tmp_path / "a.jsonl")
    assert (head["kind"], head["format"]) == ("cortex-export", 1)
    by_id = {line["id"]: line for line in lines}
    old, new = by_id["use-sqlite-aaaaaa"], by_id["use-postgres-bbbbbb"]
    assert (old["kind"], old["type"], old["status"]) == ("record", "decision", "superseded")
    assert (old["title"], old["tags"]) == ("Use SQLite, not Postgres", ["db", "infra"])
    assert old["text"] == "# Use SQLite, not Postgres\n\n**Why.** One file.\n"
    assert old["relations"] == [["superseded_by", "use-postgres-bbbbbb"]]
    assert new["status"] == "active"
    assert ["supersedes", "use-sqlite-aaaaaa"] in new["relations"]
    assert "Zoë" in (tmp_path / "a.jsonl").read_text()
    kinds = {line["path"]: line["kind"] for line in lines}
    assert kinds["own/index.md"] == "note"
    assert kinds[EVENT] == "event"
    assert list(kinds)[-1] == EVENT
    again = (tmp_path / "a.jsonl").read_bytes()
    export(kept, caller, output=str(tmp_path / "a.jsonl"))
    assert (tmp_path / "a.jsonl").read_bytes() == again


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"project": "shop"}, {"use-sqlite-aaaaaa"}),
        ({"type": ("decisions",)}, {"use-sqlite-aaaaaa", "use-postgres-bbbbbb"}),
        ({"since": 1_790_000_000}, {"do-it-dddddd", "2026-11-20-planning-eeeeee"}),
    ],
)
def test_of_a_part_only_the_events_that_it_came_from_are_told(
    kept, caller, tmp_path, given, ids
) -> None:
    export(kept, caller, output=str(tmp_path / "a.jsonl"), **given)
    found = {line["id"]: line["kind"] for line in lines_of(tmp_path / "a.jsonl")[1:]}
    assert {id_ for id_, kind in found.items() if kind == "record"} == ids
    assert ("event" in found.values()) == ("use-postgres-bbbbbb" in ids)


def test_an_okf_bundle_has_types_an_index_and_a_log(kept, caller, tmp_path) -> None:
    root = tmp_path / "okf"
    export(kept, caller, to="okf", output=str(root))
    for path in root.rglob("*.md"):
        if path.name not in ("index.md", "log.md"):
            # Of a note whose own properties are broken these stand below, as they are.
            assert yaml.safe_load(split_note(path.read_bytes()).frontmatter)["type"], path
    index, log = (root / "index.md").read_text(), (root / "log.md").read_text()
    assert index.startswith('---\nokf_version: "0.2"\n---\n')
    link = "[Use SQLite, not Postgres](/records/decision/use-sqlite-aaaaaa.md)"
    assert f"\n# decision\n\n* {link} - Why. One file.\n* [Use Postgres (now)](" in index
    days = re.findall(r"^## (.*)$", log, re.MULTILINE)
    assert days == sorted(days, reverse=True)
    assert len(days) == 5
    assert (root / "own/of index.md").is_file()
    text = (root / "records/decision/use-postgres-bbbbbb.md").read_text()
    assert f"\n## Related\n\n- supersedes {link}\n" in text
    assert "generated:\n  by: cortex/" in text
    assert "description: Two writers.\n" in text


def test_basic_memory_finds_titles_permalinks_observations_and_relations(
    kept, caller, tmp_path
) -> None:
    root = tmp_path / "bm"
    export(kept, caller, to="basic-memory", output=str(root))
    old = (root / "records/decision/use-sqlite-aaaaaa.md").read_text()
    assert 'title: "Use SQLite, not Postgres"\npermalink: use-sqlite-aaaaaa\n---\n' in old
    assert "\n## Observations\n\n- [decision] Why. One file. #db #infra\n" in old
    # A title with brackets is no link there: the permalink is.
    assert old.endswith("\n## Relations\n\n- superseded_by [[use-postgres-bbbbbb]]\n")
    new = (root / "records/decision/use-postgres-bbbbbb.md").read_text()
    assert "- supersedes [[Use SQLite, not Postgres]]\n" in new
    assert "permalink: own-index\n" in (root / "own/index.md").read_text()


def test_a_database_can_be_asked(kept, caller, tmp_path) -> None:
    file = tmp_path / "a.db"
    export(kept, caller, to="sqlite", output=str(file))
    with closing(sqlite3.connect(file)) as database:

        def ask(query: str) -> list[Any]:
            return database.execute(query).fetchall()

        assert ask("SELECT title, status, confidence FROM records WHERE due = '2026-12-01'") == [
            ("Do it", "done", None)
        ]
        assert ask("SELECT record, target FROM relations WHERE kind = 'supersedes'") == [
            ("use-postgres-bbbbbb", "use-sqlite-aaaaaa")
        ]
        assert ask("SELECT tag FROM tags WHERE id = 'use-sqlite-aaaaaa'") == [("db",), ("infra",)]
        assert ask("SELECT session, text FROM events") == [
            ("s-1", "## Raw Content\n\nTwo writers.\n")
        ]
        assert [path for (path,) in ask("SELECT path FROM notes ORDER BY path")] == [
            "own/bare.md", "own/broken.md", "own/index.md", "own/of index.md"
        ]  # fmt: skip
        found = "SELECT title FROM records_fts WHERE records_fts MATCH 'writers'"
        assert ask(found) == [("Use Postgres [now]",)]


def test_a_folder_is_written_over_only_where_an_export_wrote_it(kept, caller, tmp_path) -> None:
    root = tmp_path / "okf"
    root.mkdir()
    export(kept, caller, to="okf", output=str(root))
    (root / "mine.md").write_text("mine")
    gone = Path(kept.root, "own/bare.md")
    gone.unlink()
    export(kept, caller, to="okf", output=str(root))
    assert not (root / "own/bare.md").exists()
    assert (root / "mine.md").read_text() == "mine"
    (root / ".cortex-export").unlink()
    with pytest.raises(ConflictError, match="no export has written it"):
        export(kept, caller, to="okf", output=str(root))
    export(kept, caller, to="okf", output=str(root), force=True)
    assert (root / "mine.md").exists()


def test_a_marker_that_names_other_files_takes_none_away(kept, caller, tmp_path) -> None:
    (tmp_path / "okf").mkdir()
    (tmp_path / "mine.md").write_text("mine")
    (tmp_path / "okf/.cortex-export").write_text("cortex-export\n../mine.md")
    with pytest.raises(InvalidInputError):
        export(kept, caller, to="okf", output=str(tmp_path / "okf"))
    assert (tmp_path / "mine.md").exists()


def test_a_file_is_written_over_only_where_an_export_wrote_it(kept, caller, tmp_path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"kind": "mine"}\n')
    with pytest.raises(ConflictError, match="no export has written it"):
        export(kept, caller, output=str(file))
    export(kept, caller, output=str(file), force=True)
    export(kept, caller, output=str(file))
    assert lines_of(file)[0]["kind"] == "cortex-export"
    assert [path.name for path in tmp_path.iterdir() if ".new" in path.name] == []


def test_a_file_is_no_folder_and_a_folder_no_file(kept, caller, tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.iterdir())
    for to, name in (("jsonl", "folder"), ("okf", "file")):
        with pytest.raises(InvalidInputError, match=f"{name} is no "):
            export(kept, caller, to=to, output=str(tmp_path / name), force=True)
    assert sorted(tmp_path.iterdir()) == before


def test_no_export_lies_in_the_vault(kept, caller) -> None:
    with pytest.raises(InvalidInputError, match="lies in the vault"):
        export(kept, caller, output=f"{kept.root}/a.jsonl")


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(kept, caller, tmp_path) -> None:
    file = Path(kept.root, "own/broken.md")
    export(kept, caller, output=str(tmp_path / "a.jsonl"))
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.md")
    answer = export(kept, caller, output=str(tmp_path / "b.jsonl"))
    assert answer.notes["record"] == 5


def test_the_command_prints_lines_and_says_where_it_wrote(kept, cortex, tmp_path) -> None:
    printed = cortex("export")
    assert json.loads(printed.stdout.splitlines()[0])["kind"] == "cortex-export"
    assert printed.returncode == 0
    assert cortex("export", "-o", "-", stdin="not read").stdout == printed.stdout
    done = cortex("export", "--to", "okf", "-o", str(tmp_path / "okf"))
    assert done.stdout.startswith("exported ")
    assert "5 records" in done.stdout
    known = cortex("import", str(tmp_path / "okf"), "--dry-run").stdout
    assert "5 imported before" in known
    for to in ("okf", "basic-memory", "sqlite"):
        missing = cortex("export", "--to", to)
        assert missing.returncode == 2
        assert f"cortex export --to {to} -o PATH" in missing.stderr
    assert (
        "--to 'xml' is not jsonl, okf, basic-memory, sqlite, html or ics"
        in cortex("export", "--to", "xml").stderr
    )


def test_nothing_to_export_is_said(kept, cortex, tmp_path) -> None:
    done = cortex("export", "--type", "pattern", "-o", str(tmp_path / "a.jsonl"))
    assert done.returncode == 1
    assert done.stdout.startswith("nothing to export")
    assert not (tmp_path / "a.jsonl").exists()
    assert cortex("export", "--type", "pattern").returncode == 1


def test_an_export_does_not_hold_all_notes_in_memory(vault, caller, tmp_path) -> None:
    folder = Path(vault.root, "own")
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.md").write_text("a line of a long note\n" * 20_000)
    export(vault, caller, output=str(tmp_path / "a.jsonl"))  # the index is built
    told = []

    def progress(what: str, done: int, total: int) -> None:
        if (what, done) == ("exporting", 0):
            tracemalloc.reset_peak()  # of the index
        told.append((what, done, total))

    tracemalloc.start()
    export(vault, caller._replace(progress=progress), output=str(tmp_path / "a.jsonl"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "a.jsonl").stat().st_size > 24_000_000
    assert most < 15_000_000
    assert ("exporting", 50, 60) in told
