from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.earlier.cortex_export import accepts, read
from cortex.importers.item import ForeignFile
from cortex.operations.exchange.import_ import import_

HEAD = '{"kind": "cortex-export", "format": 1, "version": "0.1.0"}\n'
NOTE = "---\nid: use-sqlite-aaaaaa\ntype: decision\nproject: shop\n---\n"


def lines(tmp_path: Path, *rows: object, head: str = HEAD) -> str:
    path = tmp_path / "memory.txt"
    said = (one if isinstance(one, str) else json.dumps(one) for one in rows)
    path.write_text(head + "".join(f"{one}\n" for one in said))
    return str(path)


def row(path: object, text: object = "text\n", head: str = "") -> dict[str, object]:
    return {"kind": "note", "path": path, "head": head, "text": text}


def test_each_line_is_a_note_as_it_was(tmp_path) -> None:
    path = lines(tmp_path, row("records/decision/use-sqlite-aaaaaa.md", "# Use SQLite\n", NOTE))
    assert accepts(path)
    [item] = read(path)
    assert item == ForeignFile(
        "records/decision/use-sqlite-aaaaaa.md",
        "records/decision/use-sqlite-aaaaaa.md",
        f"{NOTE}# Use SQLite\n",
    )


@pytest.mark.parametrize(
    "bad",
    [
        row("../out.md"), row("/etc/out.md"), row(".git/hooks/x.md"), row("a/.obsidian/x.md"),
        row("cortex.toml"), row("a//b.md"), row("a\0.md"), row(""), row(5), row("a.md", ["x"]),
        "[1, 2]", "null", '{"kind": "note", "path": "a.m', "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_note_is_named_and_the_others_come(tmp_path, bad) -> None:
    first, last = read(lines(tmp_path, bad, row("own/last.md")))
    assert isinstance(first, Problem)
    assert first.where == "line 2"
    assert isinstance(last, ForeignFile)


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE.md", "notes/claude.md", "a/Agents.md", "GEMINI.md", "CLAUDE.local.md", "AGENT\u017f.md",
        "templates/a.md", "Templates/a.md", "briefings/a.md", "agents/a.md", "inbox/a.md",
        "runs/a.md", "a/.b/c.md", "a/.md", "a\x1b[2J.md", "a\n.md", "a\x85.md", "a\u202egpj.md",
        "con.md", "a/NUL.md", "Aux/a.md", "com1.x.md", "a/prn .md", "a./b.md", "a /b.md", "\ud83d.md",
    ],
)  # fmt: skip
def test_a_path_that_could_do_harm_is_refused(tmp_path, path) -> None:
    first, last = read(lines(tmp_path, row(path), row("own/last.md")))
    assert isinstance(first, Problem)
    assert (first.where, first.message) == ("line 2", f"a note from elsewhere may not be {path}")
    assert isinstance(last, ForeignFile)


@pytest.mark.parametrize(
    "path",
    [
        "records/decision/use-sqlite-aaaaaa.md", "own/\u00dcber uns?: 1. a.md", "own/\u0646\u200c\u0627.md",
        "my claude.md", "console/nulls.md", "own/templates/a.md", "com.md", "a . b/c .md",
    ],
)  # fmt: skip
def test_any_other_name_comes(tmp_path, path) -> None:
    [item] = read(lines(tmp_path, row(path)))
    assert isinstance(item, ForeignFile)


def test_a_text_of_marks_takes_linear_time(tmp_path) -> None:
    (tmp_path / "bm").mkdir()
    text = "---\nid: a-aaaaaa\n" + "cortex_path: own/a.md\n" * 20_000
    (tmp_path / "bm/a.md").write_text(f"{text}---\n# A\n{text}")
    started = time.process_time()
    assert len([*read(str(tmp_path / "bm"))]) == 1
    assert time.process_time() - started < 5


def test_half_of_a_character_stops_nothing(tmp_path, vault, caller) -> None:
    path = lines(tmp_path, '{"path": "own/a.md", "text": "half \\ud83d of one"}')
    done = import_(vault, caller, ("cortex-export", path))
    assert done.problems == []
    assert Path(vault.root, "own/a.md").read_text().startswith("half ")


def test_the_form_of_a_later_cortex_is_refused(tmp_path) -> None:
    head = HEAD.replace('"format": 1', '"format": 2')
    path = lines(tmp_path, row("own/a.md"), head=head)
    with pytest.raises(InvalidInputError, match=r"of Cortex 0\.1\.0, and another form"):
        list(read(path))


def test_other_files_and_folders_are_none(tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a.md").write_text("---\ntitle: A\n---\ntext\n")
    (tmp_path / "other.jsonl").write_text('{"kind": "entity"}\n')
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    for name in ("folder", "other.jsonl", "empty", "binary"):
        assert not accepts(str(tmp_path / name)), name


def test_a_folder_in_a_zip_is_read_and_what_was_added_there_is_named(tmp_path) -> None:
    text = "---\nid: a-aaaaaa\ncortex_path: records/note/a-aaaaaa.md\ntitle: A\n---\n\n# A\n"
    with zipfile.ZipFile(tmp_path / "okf.zip", "w") as packed:
        packed.writestr("okf/index.md", "# note\n")
        packed.writestr(
            "okf/records/note/a-aaaaaa.md", text + "\n\n<!-- cortex-export -->\n\n## R\n"
        )
        packed.writestr("okf/mine.md", "# Mine\n")
    path = str(tmp_path / "okf.zip")
    assert accepts(path)
    item, added = read(path)
    assert isinstance(added, Problem)
    assert added.where == "okf/mine.md"
    assert item == ForeignFile(
        "records/note/a-aaaaaa.md", "records/note/a-aaaaaa.md", "---\nid: a-aaaaaa\n---\n\n# A\n"
    )


def test_an_edit_in_the_other_program_comes_back(tmp_path) -> None:
    """basic-memory writes the frontmatter anew, in its own quotes, as it saves a note."""
    text = "---\nid: a-aaaaaa\ntags:\n- db\ncortex_path: 'records/note/a-aaaaaa.md'\npermalink: a-aaaaaa\n---\n\n# A\n\nedited"
    (tmp_path / "bm").mkdir()
    (tmp_path / "bm/a.md").write_text(text)
    [item] = read(str(tmp_path / "bm"))
    assert isinstance(item, ForeignFile)
    assert item.path == "records/note/a-aaaaaa.md"
    assert item.text == "---\nid: a-aaaaaa\ntags:\n- db\n---\n\n# A\n\nedited"


def test_a_record_that_was_moved_or_erased_here_is_not_made_again(tmp_path, vault, caller) -> None:
    path = lines(tmp_path, row("records/decision/use-sqlite-aaaaaa.md", "# Use SQLite\n", NOTE))
    there = Path(vault.root, "records/decision/use-sqlite-aaaaaa.md")
    import_(vault, caller, ("cortex-export", path))
    moved = Path(vault.root, "kept/db.md")
    moved.parent.mkdir()
    there.rename(moved)
    [count] = import_(vault, caller, ("cortex-export", path)).sources[0].items
    assert (count.kind, count.changed, count.new) == ("record", 1, 0)
    moved.unlink()
    erased = Path(vault.root, "events/erased/one")
    erased.parent.mkdir(parents=True)
    erased.write_text("record aaaaaa\n")
    [count] = import_(vault, caller, ("cortex-export", path)).sources[0].items
    assert count.left == 1
    assert not there.exists()


@pytest.mark.parametrize(("given", "new"), [({"project": "shop"}, 2), ({"project": "other"}, 1)])
def test_only_the_project_that_was_asked_for_is_taken(tmp_path, vault, caller, given, new) -> None:
    record = row("records/decision/use-sqlite-aaaaaa.md", "# Use SQLite\n", NOTE)
    path = lines(tmp_path, record, row("own/a.md"))
    done = import_(vault, caller, ("cortex-export", path), **given)
    assert sum(one.new for one in done.sources[0].items) == new
