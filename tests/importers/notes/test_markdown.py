"""A folder of notes, and a vault of Obsidian, come in as they are."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers.item import ForeignFile
from cortex.importers.notes import markdown

FILES: dict[str, bytes] = {
    "Home.md": b"\xef\xbb\xbf---\r\ntags: [a]\r\n---\r\n# Home\r\n[[Ideas/One|first]] ![[Images/a b.png|200]]\r\n",
    "Ideas/One.md": b"![chart](../Images/chart.svg) ![[Home#top]] ![x](https://x.y/z.png)\n",
    "Ideas/Old.md": "Café\n".encode("cp1252"),
    "Forms/Daily.md": b"{{date}}\n",
    "templates/Weekly.md": b"{{date}}\n",
    ".trash/Gone.md": b"gone\n",
    ".hidden.md": b"hidden\n",
    ".obsidian/templates.json": b'{"folder": "Forms"}',
    "Images/a b.png": b"\x89PNG",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "Second brain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "Second brain" / "Link.md").symlink_to("/etc/hostname")
    return tmp_path / "Second brain"


def test_notes_keep_their_paths_and_bytes(folder: Path) -> None:
    assert markdown.accepts(str(folder))
    files = [one for one in markdown.read(str(folder)) if isinstance(one, ForeignFile)]
    assert {one.path: one.text.encode() for one in files} == {
        "notes/Second brain/Home.md": FILES["Home.md"],
        "notes/Second brain/Ideas/One.md": FILES["Ideas/One.md"],
        "notes/Second brain/Ideas/Old.md": "Café\n".encode(),
    }


def test_what_cannot_come_is_named_with_how_to_copy_it(folder: Path) -> None:
    problems = [one for one in markdown.read(str(folder)) if isinstance(one, Problem)]
    assert [(one.where, one.message) for one in problems] == [
        ("Ideas/Old.md", "what in it is no UTF-8 was read as Windows-1252"),
        (
            "../Images/chart.svg and 1 more",
            "2 attachments of these notes cannot be imported",
        ),
        (str(folder), "left out: 1 link, such as Link.md"),
    ]
    assert f"'{folder}/' 'notes/Second brain/'" in problems[1].hint


def test_what_else_there_is_is_counted_by_its_kind(folder: Path) -> None:
    for name in ("Board.canvas", "a.txt", "b.txt", "Makefile", "Ideas/.DS_Store"):
        (folder / name).write_text("{}")
    (folder / "Linked").symlink_to(folder / "Ideas", target_is_directory=True)
    (folder / "Ideas" / "Home.md").symlink_to(folder / "Home.md")
    told = "left out: 1  file, 1 .canvas file, 2 .txt files, 3 links, such as Board.canvas"
    *_, last = markdown.read(str(folder))
    assert last == Problem(str(folder), told)


def test_a_zip_of_notes_and_a_note_alone(folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as packed:
        packed.writestr("Page/Sub.md", "# Sub\n")
        packed.writestr("../../Out.md", "# Out\n")
    assert markdown.accepts(str(tmp_path / "export.zip"))
    [file] = markdown.read(str(tmp_path / "export.zip"))
    assert file == ForeignFile("export/Page/Sub.md", "notes/export/Page/Sub.md", "# Sub\n")
    [note, _] = markdown.read(str(folder / "Ideas" / "One.md"))
    assert isinstance(note, ForeignFile)
    assert note.path == "notes/Ideas/One.md"


def test_a_folder_without_notes_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    assert not markdown.accepts(str(tmp_path))
    with pytest.raises(InvalidInputError, match="no notes"):
        list(markdown.read(str(tmp_path)))


def test_the_verb_copies_them_and_their_links_go_on(folder: Path, vault, import_twice) -> None:
    done = import_twice("markdown", folder)
    assert [(one.kind, one.new) for one in done.items] == [("file", 3)]
    copied = Path(vault.root, "notes/Second brain/Ideas/One.md")
    assert copied.read_bytes() == FILES["Ideas/One.md"]
