"""`cortex import` of a source: what is found, captured, known again, and left alone."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import cast

import pytest

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.notes.note import Note, read
from cortex.importers.item import ForeignRecord, ForeignSession, ForeignTurn
from cortex.operations.care.doctor import doctor
from cortex.operations.exchange import import_items
from cortex.operations.exchange.foreign_events import (
    clean_record,
    events_of_session,
    project_name,
    read_time,
)
from cortex.operations.exchange.import_ import import_
from cortex.operations.records.save import save
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault
from tests.conftest import caller_at

# A claude-mem of its first version.
TABLES = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT,
  project TEXT, user_prompt TEXT, started_at TEXT, completed_at TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT,
  type TEXT, created_at TEXT);
INSERT INTO sdk_sessions VALUES (1, 'c-1', 's-1', '/home/ana/Shop', 'Fix the tax',
  '2025-09-01T08:00:00Z', NULL);
"""
THREE = """
INSERT INTO observations VALUES (1, 's-1', 'shop', 'Tax is per line.', 'discovery', '2025-09-01T08:05:00Z');
INSERT INTO observations VALUES (2, 's-1', 'shop', 'Round half up.', 'decision', '2026-02-01T08:05:00Z');
INSERT INTO observations VALUES (3, '', 'blog', 'Feeds are cached.', 'feature', '2026-03-01T08:05:00Z');
"""
# A graph of memories of the reference server: relations lead both ways.
GRAPH = [
    {"type": "entity", "name": "Old cache", "entityType": "component", "observations": ["slow"]},
    {"type": "entity", "name": "New cache", "entityType": "component", "observations": ["fast"]},
    {"type": "relation", "from": "New cache", "to": "Old cache", "relationType": "supersedes"},
]


@pytest.fixture
def store(database) -> str:
    return database("claude-mem.db", TABLES + THREE)


def records(vault: Vault) -> list[Note]:
    files = sorted(Path(vault.root, "records").rglob("*.md"))
    return sorted((read(file.read_bytes()) for file in files), key=lambda note: note.get("created"))


def counts(done) -> dict[str, tuple[int, ...]]:
    """Of each kind: found, new, known, same, changed, left."""
    return {items.kind: items[1:7] for items in done.sources[0].items}


def test_a_preview_counts_and_shows_samples_and_writes_nothing(vault, caller, store):
    before = sorted(Path(vault.root).rglob("*"))
    done = import_(vault, caller, ("claude-mem", store), dry_run=True)
    assert counts(done) == {"record": (3, 3, 0, 0, 0, 0), "session": (1, 1, 0, 0, 0, 0)}
    assert [(one.kind, one.title, one.at[:10], one.project) for one in done.sources[0].samples] == [
        ("session", "Fix the tax", "2025-09-01", "shop"),
        ("record", "Tax is per line.", "2025-09-01", "shop"),
        ("record", "Round half up.", "2026-02-01", "shop"),
        ("record", "Feeds are cached.", "2026-03-01", "blog"),
    ]
    assert sorted(Path(vault.root).rglob("*")) == before


def test_records_keep_dates_and_say_where_they_come_from(vault, caller, store):
    import_(vault, caller, ("claude-mem", store))
    made = [
        (one.get("created"), one.get("type"), one.get("imported_from")) for one in records(vault)
    ]
    assert made == [
        ("2025-09-01T08:05:00Z", "discovery", "claude-mem observation 1"),
        ("2026-02-01T08:05:00Z", "decision", "claude-mem observation 2"),
        ("2026-03-01T08:05:00Z", "feature", "claude-mem observation 3"),
    ]
    [session] = Path(vault.root, "sessions").rglob("*.md")
    assert "Fix the tax" in session.read_text()
    assert doctor(vault, caller).problems == ()


def test_again_only_what_is_new_comes_in_and_what_changed_there_is_said(
    vault, caller, store, database
):
    import_(vault, caller, ("claude-mem", store))
    more = THREE.replace("Round half up", "Round half to even") + (
        "INSERT INTO observations VALUES (4, 's-1', 'shop', 'VAT is 19 %.', 'discovery',"
        " '2026-04-01T08:05:00Z');"
    )
    Path(store).unlink()
    again = import_(vault, caller, ("claude-mem", database("claude-mem.db", TABLES + more)))
    assert counts(again)["record"] == (4, 1, 2, 0, 1, 0)
    assert [one.title for one in records(vault)] == [
        "Tax is per line.", "Round half up.", "Feeds are cached.", "VAT is 19 %.",
    ]  # fmt: skip


def test_what_a_person_removed_does_not_come_back(vault, caller, store):
    import_(vault, caller, ("claude-mem", store))
    for path in Path(vault.root, "records/feature").iterdir():
        path.unlink()
    assert counts(import_(vault, caller, ("claude-mem", store)))["record"] == (3, 0, 3, 0, 0, 0)
    assert len(records(vault)) == 2


def test_what_is_here_already_is_one_record_and_that_is_said(vault, caller, store, cortex):
    save(vault, caller, "Round half up.", body="Round half up.", project="shop")
    told = cortex("import", "claude-mem", store).stdout
    assert "3 records: 2 new, 1 told by another source already" in told
    assert len(records(vault)) == 3


def test_since_and_project_narrow_it(vault, caller, store):
    late = import_(vault, caller, ("claude-mem", store), since=1767225600, dry_run=True)  # 2026
    assert counts(late)["record"] == (3, 2, 0, 0, 0, 1)
    of_shop = import_(vault, caller, ("claude-mem", store), project="shop", dry_run=True)
    assert counts(of_shop)["record"] == (3, 2, 0, 0, 0, 1)


def test_what_replaces_what_is_known_in_either_order_and_across_batches(
    vault, caller, tmp_path, monkeypatch
):
    monkeypatch.setattr(import_items, "_BATCH", 1)
    file = tmp_path / "memory.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in GRAPH))
    import_(vault, caller, ("mcp-memory", str(file)))
    old, new = sorted(records(vault), key=lambda note: note.title, reverse=True)
    assert (old.title, old.get("status")) == ("Old cache", "superseded")
    assert old.get("superseded_by") == f"[[{new.get('id')}]]"
    assert list(new.get_list("supersedes")) == [f"[[{old.get('id')}]]"]
    assert doctor(vault, caller).problems == ()


def test_secrets_do_not_come_in(vault, caller, database):
    token = "ghp_" + "a1B2" * 9
    leaky = THREE.replace("Tax is per line", f"The token is {token}")
    import_(vault, caller, ("claude-mem", database("claude-mem.db", TABLES + leaky)))
    assert not [
        path for path in Path(vault.root).rglob("*.md") if token.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("batch", [1, 2, 4000])
@pytest.mark.parametrize("stop", [2, 3, 4])
def test_stopped_it_goes_on_with_the_same_command(
    vault, caller, store, monkeypatch, tmp_path, stop, batch
):
    whole = Vault(shutil.copytree(vault.root, tmp_path / "whole"))
    import_(whole, caller, ("claude-mem", store))
    monkeypatch.setattr(import_items, "_BATCH", batch)
    real, calls = import_items.publish_event, []

    def interrupted(*words, **more):
        calls.append(words)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return real(*words, **more)

    monkeypatch.setattr(import_items, "publish_event", interrupted)
    assert import_(vault, caller, ("claude-mem", store)).stopped
    monkeypatch.setattr(import_items, "publish_event", real)
    assert not import_(vault, caller, ("claude-mem", store)).stopped
    normalize(vault, caller)
    made = [
        {one.name: one.read_text() for one in Path(root, "records").rglob("*.md")}
        for root in (vault.root, whole.root)
    ]
    assert made[0] == made[1]
    assert len(made[0]) == 3
    assert sum('session: "[[' in text for text in made[0].values()) == 2


def test_two_machines_that_import_the_same_have_the_same_files(vault, tmp_path, store):
    trees = []
    for name, now in (("one", "2026-11-20T16:45:12Z"), ("two", "2026-12-24T08:00:00Z")):
        root = tmp_path / name
        shutil.copytree(vault.root, root)
        import_(Vault(str(root)), caller_at(now, str(tmp_path)), ("claude-mem", store))
        trees.append(
            {
                str(path.relative_to(root)): path.read_bytes()
                for folder in ("events", "records", "sessions", "briefings")
                for path in (root / folder).rglob("*.md")
            }
        )
    assert trees[0] == trees[1]
    assert len(trees[0]) > 6


def test_a_file_alone_is_recognised(vault, caller, store):
    assert import_(vault, caller, (store,), dry_run=True).hosts == ["claude-mem"]
    notes = Path(vault.root).parent / "talk.bin"
    notes.write_bytes(b"\x00\x01")
    with pytest.raises(InvalidInputError, match="of no source that Cortex knows"):
        import_(vault, caller, (str(notes),))


def test_nothing_found_is_said_and_ends_with_1(cortex, tmp_path, database):
    done = cortex("import", "claude-mem")
    assert (done.returncode, "nothing to import: nothing in" in done.stdout) == (1, True)
    assert ".claude-mem/claude-mem.db" in done.stdout
    empty = cortex("import", "claude-mem", database("claude-mem.db", TABLES.partition("INSERT")[0]))
    assert (empty.returncode, "nothing to import" in empty.stdout) == (1, True)


def test_a_wrong_word_is_answered_with_what_is_meant(vault, caller, store):
    with pytest.raises(NotFoundError, match="'claude-men' is no source"):
        import_(vault, caller, ("claude-men",))
    with pytest.raises(NotFoundError, match="'claude-men' is no source"):
        import_(vault, caller, ("claude", "claude-men"))
    for words in (("basic-memory", "/nowhere"), ("/nowhere",), ("basic-memory", "nowhere")):
        with pytest.raises(NotFoundError, match=r"there is no /?nowhere") as raised:
            import_(vault, caller, words)
        assert raised.value.hint == "name a file or folder that is there"
    with pytest.raises(InvalidInputError, match="is of one source"):
        import_(vault, caller, ("claude-mem", "engram", store))


def test_the_vault_itself_is_no_source(vault, caller):
    for place in (vault.root, str(Path(vault.root).parent), f"{vault.root}/cortex.toml"):
        with pytest.raises(InvalidInputError, match="this vault itself"):
            import_(vault, caller, ("markdown", place))


def test_without_a_source_it_lists_what_lies_here(cortex, tmp_path, store, monkeypatch):
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(tmp_path))
    assert f"claude-mem       {store}" in cortex("import").stdout


@pytest.mark.parametrize(("when", "moment"), [
    ("2026-03-01T09:00:00.123Z", "2026-03-01T09:00:00Z"),
    ("2026-03-01T09:00:00+02:00", "2026-03-01T07:00:00Z"),
    ("2026-03-01 09:00:00", "2026-03-01T09:00:00Z"),
    ("2026-03-01", "2026-03-01T00:00:00Z"),
    ("20260301", "2026-03-01T00:00:00Z"),
    (1772355600, "2026-03-01T09:00:00Z"),
    (1772355600000, "2026-03-01T09:00:00Z"),
    ("1772355600.5", "2026-03-01T09:00:00Z"),
    ("1970-01-01T00:00:09Z", "1970-01-01T00:00:09Z"),
    (2145916800, "2038-01-01T00:00:00Z"),
    (0, ""), (-1, ""), ("", ""), (None, ""), ("soon", ""), ("2026-02-31", ""), (1e30, ""),
    (253402300799000, ""),
])  # fmt: skip
def test_times_of_many_forms(when, moment):
    assert read_time(when) == moment


def test_a_project_may_be_named_by_its_folder():
    named = ["Shop", "/home/ana/Shop/", r"C:\work\My Shop", ".dotfiles", "", "~"]
    assert [project_name(one) for one in named] == ["shop", "shop", "my-shop", "dotfiles", "", ""]


def test_a_name_that_is_no_topic_here_is_made_one(vault, caller, database):
    long = "../" + "a" * 200
    sql = (
        "CREATE TABLE sessions (id TEXT, project TEXT, directory TEXT, started_at TEXT, ended_at TEXT, summary TEXT);"
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, session_id TEXT, type TEXT, title TEXT,"
        " content TEXT, tool_name TEXT, project TEXT, scope TEXT, topic_key TEXT, created_at TEXT,"
        " updated_at TEXT, deleted_at TEXT);"
        f"INSERT INTO observations VALUES (1, 's', 'decision', 'Kept', 'It is kept.', '', 'shop', 'project', '{long}',"
        " '2026-03-01 09:00:00', '2026-03-01 09:00:00', NULL);"
        "INSERT INTO observations VALUES (2, 's', 'decision', 'Too', 'It is, too.', '', 'shop', 'project', '',"
        " '2026-03-01 09:00:00', '2026-03-01 09:00:00', NULL);"
    )
    done = import_(vault, caller, ("engram", database("engram.db", sql)))
    assert (counts(done)["record"], done.problems) == ((2, 2, 0, 0, 0, 0), [])
    assert sorted(note.get("topic")[:10] for note in records(vault)) == ["", "imported/a"]


def test_a_file_that_leads_out_of_the_vault_is_named_and_stops_nothing(vault, caller, tmp_path):
    note = "---\nid: {0}\ntype: decision\naliases: [{0}]\ncreated: 2026-03-01T09:00:00Z\n---\n\n# {0}\n"
    lines = [
        {"kind": "cortex-export", "format": 1},
        {"kind": "note", "path": "../../evil.md", "text": note.format("evil-abcdef")},
        {
            "kind": "note",
            "path": "records/decision/good-abcdef.md",
            "text": note.format("good-abcdef"),
        },
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = import_(vault, caller, ("cortex-export", str(file)))
    assert [problem.where.rpartition(": ")[2] for problem in done.problems] == ["line 2"]
    assert [one.title for one in records(vault)] == ["good-abcdef"]
    assert not (tmp_path.parent / "evil.md").exists()


def test_another_machine_counts_its_rows_from_one_as_well(vault, caller, store, database):
    import_(vault, caller, ("claude-mem", store))
    other = (
        THREE.replace("'2025-09", "'2025-10").replace("'2026-0", "'2026-1").replace("is ", "was ")
    )
    other = other.replace("Round half up", "Cut it off").replace("are cached", "were cached")
    there = database("b/claude-mem.db", TABLES + other)
    done = import_(vault, caller, ("claude-mem", there))
    assert counts(done)["record"] == (3, 3, 0, 0, 0, 0)
    assert len(records(vault)) == 6
    assert counts(import_(vault, caller, ("claude-mem", there)))["record"] == (3, 0, 3, 0, 0, 0)


def test_two_that_replace_each_other_are_named_and_one_still_holds(vault, caller, tmp_path):
    file = tmp_path / "memory.jsonl"
    back = {
        "type": "relation",
        "from": "Old cache",
        "to": "New cache",
        "relationType": "supersedes",
    }
    file.write_text("".join(json.dumps(line) + "\n" for line in [*GRAPH, back]))
    [problem] = import_(vault, caller, ("mcp-memory", str(file))).problems
    assert "which replaces it" in problem.message
    assert sorted(note.get("status") for note in records(vault)) == ["", "superseded"]


def test_a_text_that_was_changed_and_changed_back_is_taken(vault, caller, tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n\n- [Indent](indent.md): how\n")
    for day, text in enumerate(("Tabs.", "Spaces.", "Tabs."), start=1):
        (folder / "indent.md").write_text(
            f"---\nname: Indent\ndescription: how\nmetadata:\n  type: feedback\n---\n{text}\n"
        )
        os.utime(folder / "indent.md", (1_760_000_000 + day, 1_760_000_000 + day))
        os.utime(folder, (1_760_000_000 + day, 1_760_000_000 + day))
        import_(vault, caller, ("claude-memory", str(folder)))
        assert text in records(vault)[0].text
    assert counts(import_(vault, caller, ("claude-memory", str(folder))))["record"][1:3] == (0, 1)


def test_an_undated_memory_has_one_id_whenever_its_file_came_here(
    vault, tmp_path, caller, database
):
    undated = THREE.replace("'2025-09-01T08:05:00Z'", "NULL").replace(
        "'2026-02-01T08:05:00Z'", "''"
    )
    names = []
    for name, moment in (("one", 1_760_000_000), ("two", 1_770_000_000)):
        shutil.copytree(vault.root, tmp_path / name)
        file = database(f"{name}-db/claude-mem.db", TABLES + undated)
        os.utime(file, (moment, moment))
        import_(Vault(str(tmp_path / name)), caller, ("claude-mem", file))
        names.append(sorted(path.name for path in (tmp_path / name / "records").rglob("*.md")))
    assert names[0] == names[1]


@pytest.mark.parametrize("source", [(), ("claude-mem",)])
def test_a_half_database_is_named_as_such(tmp_path, store, cortex, source) -> None:
    half = tmp_path / "half.db"
    half.write_bytes(Path(store).read_bytes()[:6000])
    done = cortex("import", *source, str(half))
    assert done.returncode == 2 - len(source)
    assert "half.db is a damaged or half database" in done.stdout + done.stderr
    assert "nothing" not in done.stdout


def test_a_half_zip_and_a_bomb_are_named_without_a_source(tmp_path, vault, caller) -> None:
    bomb, half = tmp_path / "bomb.zip", tmp_path / "half.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("conversations.json", bytes(20_000_000))
    half.write_bytes(bomb.read_bytes()[:5000])
    with pytest.raises(InvalidInputError, match="would unpack from") as told:
        import_(vault, caller, (str(bomb),))
    assert told.value.hint == "if you trust it, unpack it; import the folder"
    with pytest.raises(InvalidInputError, match=r"half\.zip is a damaged zip"):
        import_(vault, caller, (str(half),))


def test_a_damaged_store_in_its_place_is_named(store, cortex, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(tmp_path / "place"))
    (tmp_path / "place").mkdir()
    Path(tmp_path, "place", "claude-mem.db").write_bytes(Path(store).read_bytes()[:6000])
    done = cortex("import")
    assert done.returncode == 1
    assert "claude-mem.db is a damaged or half database" in done.stdout


def test_json_that_is_nested_too_deeply_stops_nothing_else(tmp_path, vault, caller) -> None:
    deep = "[" * 100_000
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "events.json").write_text(f'[{{"salience": 1, "x": {deep}')
    (tmp_path / "a" / "conversations.json").write_text(f'[{{"mapping": {deep}')
    (tmp_path / "a" / "chat.json").write_text('{"sessionId":"1","projectHash":"2","x":' + deep)
    for source in ("cortex-events", "chatgpt", "gemini"):
        [problem] = import_(vault, caller, (source, str(tmp_path / "a"))).problems
        assert "nested too deeply" in problem.message


SECRET = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def test_a_secret_in_the_name_of_a_file_does_not_come_in(vault, caller, tmp_path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / f"notes/{SECRET}.md").write_text("A note.\n")
    done = import_(vault, caller, ("markdown", str(tmp_path / "notes")))
    names = [path.name for path in Path(vault.root, "notes/notes").iterdir()]
    assert (names, done.sources[0].items[0].new) == (["redacted.md"], 1)
    assert SECRET not in repr(done)


def test_a_record_of_before_1970_comes_back_and_events_are_narrowed_by_their_time(
    vault, caller, tmp_path
) -> None:
    old = "---\nid: old-abcdef\ntype: decision\ncreated: 1960-03-01T09:00:00Z\n---\n\n# Old\n"
    event = "---\nid: 20260301t090000z-abcdefghij\ntype: note\nat: 2026-03-01T09:00:00Z\n---\n"
    lines = [
        {"kind": "cortex-export", "format": 1},
        {"kind": "note", "path": "records/decision/old-abcdef.md", "text": old},
        {"kind": "note", "path": "events/2026/03/20260301t090000z-abcdefghij.md", "text": event},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    late = import_(vault, caller, ("cortex-export", str(file)), since=1_800_000_000)
    assert [(one.kind, one.left) for one in late.sources[0].items] == [("record", 1), ("file", 1)]
    done = import_(vault, caller, ("cortex-export", str(file)))
    assert [(one.kind, one.new) for one in done.sources[0].items] == [("record", 1), ("file", 1)]


def test_what_is_no_number_is_no_confidence(vault, caller, tmp_path) -> None:
    item = ForeignRecord(
        "a", "Round half up", "We do.", confidence=float("nan"), priority=cast("int", "high")
    )
    clean = clean_record(item, "2026-03-01T09:00:00Z", "")
    assert (clean.confidence, clean.priority) == (None, None)


def test_where_nothing_can_be_written_that_is_said_once_and_again_goes_on(
    vault, caller, store, cortex, monkeypatch
) -> None:
    real, calls = import_items.publish_event, []

    def full(*words, **more):
        calls.append(words)
        if len(calls) > 3:
            raise CortexError("nothing was captured", "df") from OSError(
                28, "No space left on device"
            )
        return real(*words, **more)

    monkeypatch.setattr(import_items, "publish_event", full)
    done = import_(vault, caller, ("claude-mem", store))
    assert {one.kind: (one.new, one.missed) for one in done.sources[0].items} == {
        "session": (1, 0), "record": (1, 2),
    }  # fmt: skip
    assert [one.message for one in done.problems] == ["nothing was captured"]
    monkeypatch.setattr(import_items, "publish_event", real)
    assert "3 records: 2 new, 1 imported before" in cortex("import", "claude-mem", store).stdout
    assert len(records(vault)) == 3


def test_the_same_problem_of_many_is_said_of_some_and_counted(vault, caller, tmp_path) -> None:
    rows = [{"type": "entity", "name": f"e{number}"} for number in range(30)]
    good = {"type": "entity", "name": "e", "entityType": "t", "observations": ["o"]}
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, [good, *rows])))
    done = import_(vault, caller, ("mcp-memory", str(tmp_path / "memory.jsonl")))
    assert len(done.problems) == 6
    assert done.problems[-1].message == "25 more problems"


@pytest.mark.parametrize("source", ["claude-mem", "engram", "mcp-memory", "cortex-ranked"])
def test_an_empty_folder_or_file_is_named_as_such(vault, caller, tmp_path, source) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none.db").touch()
    [told] = import_(vault, caller, (source, str(tmp_path / "none"))).problems
    said = "no entities of a graph" if source == "mcp-memory" else "no such database"
    assert told.message == f"{tmp_path / 'none'} holds {said}"
    [told] = import_(vault, caller, (source, str(tmp_path / "none.db"))).problems
    said = f"holds {said}" if source == "mcp-memory" else "is empty"
    assert told.message == f"{tmp_path / 'none.db'} {said}"


def test_messages_that_share_an_id_are_events_of_their_own() -> None:
    turns = [ForeignTurn("m", f"2026-03-01T09:0{n}:00Z", summary=f"Said {n}.") for n in range(3)]
    item = ForeignSession("s", tuple(turns))
    made = [
        one.id for one in events_of_session("opencode", item, "2026-03-01T09:00:00Z", "", "short")
    ]
    assert len({id_.rpartition("-")[2] for id_ in made}) == 3


def test_a_part_of_the_name_of_a_source_does_beside_a_file_that_is_known(cortex, tmp_path):
    file = tmp_path / "memory.jsonl"
    file.write_text(
        '{"type":"entity","name":"Greenhouse","entityType":"place","observations":["has a medlar"]}\n'
    )
    assert cortex("import", "memory", "--path", str(file)).returncode == 0
    assert "Greenhouse" in cortex("search", "medlar").stdout
    assert cortex("import", "logseq-graph", "--path", str(file)).returncode == 2
