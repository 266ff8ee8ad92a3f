"""Files of any encoding and size, and zips that are damaged or meant to harm."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.importers import archive, load_importer
from cortex.importers.archive import Archive, decode, iter_json_array, open_archive
from cortex.importers.item import ForeignFile
from cortex.importers.notes import markdown

GUESS = "what in it is no UTF-8 was read as Windows-1252"
TEXT = "---\ntitle: Café\ntype: note\n---\n# Café\n\n## Status\n\nÜberall “so”.\n"


@pytest.mark.parametrize(
    ("data", "text", "guess"),
    [
        ("Café".encode("utf-8-sig"), "\ufeffCafé", ""),
        ("Café".encode("utf-16"), "Café", ""),
        ("Café “x” 5 €".encode("cp1252"), "Café “x” 5 €", GUESS),
        ("Café é".encode() + " “x” é".encode("cp1252"), "Café é “x” é", GUESS),
        (b"PNG\0\x81\xff", "PNG\0\ufffdÿ", GUESS),
    ],
)
def test_a_text_of_any_encoding_is_read(data: bytes, text: str, guess: str) -> None:
    assert decode(data) == (text, guess)


def test_of_a_beginning_the_last_character_may_be_cut() -> None:
    assert decode("né".encode()[:-1], is_cut=True) == ("n", "")
    assert decode("né".encode()[:-1]) == ("nÃ", GUESS)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("markdown", "Café.md"), ("adr", "0001-cafe.md"), ("okf", "cafe.md"),
        ("logseq", "pages/cafe.md"), ("basic-memory", "cafe.md"),
        ("claude-memory", "memory/cafe.md"), ("codex-memory", "MEMORY.md"),
    ],
)  # fmt: skip
def test_that_an_encoding_was_guessed_is_said_once_a_file(tmp_path, source, name) -> None:
    for other in ("index.md", "memory/MEMORY.md", "logseq/config.edn", name):
        path = tmp_path / other
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(TEXT.replace("# Café", "# Task Group: Café").encode("cp1252"))
    for _ in range(2):
        items = list(load_importer(source).read(str(tmp_path)))
        told = [one for one in items if isinstance(one, Problem) and one.where.endswith(name[-7:])]
        assert [(one.message, one.hint) for one in told] == [(GUESS, "")]
        assert any("Überall “so”." in repr(one) for one in items)


def test_an_encoding_that_was_guessed_is_no_failure(tmp_path, cortex) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Old.md").write_bytes(TEXT.encode("cp1252"))
    done = cortex("import", "markdown", str(tmp_path / "in"))
    assert done.returncode == 0
    assert GUESS in done.stdout


def test_that_a_file_is_read_in_part_is_said(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.md").write_text("x" * 100)
    assert Archive(str(tmp_path), None).read("a.md", 10) == "x" * 10
    monkeypatch.setattr(Archive.read, "__defaults__", (10,))
    monkeypatch.setattr(archive, "_MAX_TEXT_BYTES", 10)
    of = Archive(str(tmp_path), None)
    assert of.read("a.md") == of.note("a.md").text == "x" * 10
    assert list(of.problems) == [
        Problem("a.md", "only its first 10 bytes are read", "split it, then import again")
    ]


def test_a_bomb_is_refused_and_what_packs_well_is_not(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bomb.md", bytes(20_000_000))
        packed.writestr("small.md", " " * 1_000_000)
        packed.writestr("large.md", "".join(f"{number} is a line\n" for number in range(1_500_000)))
    with open_archive(str(path)) as of:
        assert len(of.read("small.md")) == 1_000_000
        assert of.read("large.md").startswith("0 is")
        with pytest.raises(InvalidInputError, match="would unpack from 19,"):
            of.read("bomb.md")


def test_a_bomb_of_many_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(20):
            packed.writestr(f"{number:02}.md", bytes(10_000_000))
    items = load_importer("markdown").read(str(path))
    with pytest.raises(InvalidInputError, match="would unpack"):
        list(items)


@pytest.mark.parametrize("form", ["half", "flipped"])
def test_a_damaged_zip_is_named(tmp_path: Path, form: str) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.md", "".join(map(str, range(10_000))))
    data = bytearray(path.read_bytes())
    data[200:300] = bytes(100)
    path.write_bytes(data if form == "flipped" else data[:2000])
    with pytest.raises(InvalidInputError, match="is a damaged zip"):
        list(load_importer("markdown").read(str(path)))


def test_json_that_is_nested_too_deeply_is_named() -> None:
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        list(iter_json_array(io.BytesIO(b"[" * 200_000)))


def test_what_may_not_be_read_is_named_and_stops_nothing(tmp_path: Path, monkeypatch) -> None:
    for name in ("a.md", "closed.md", "shut/b.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    access, scandir = os.access, os.scandir  # root may read everything

    def refuse(path: str):
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(
        os, "access", lambda path, mode: "closed" not in path and access(path, mode)
    )
    monkeypatch.setattr(os, "scandir", refuse)
    items = list(markdown.read(str(tmp_path)))
    assert [one.text for one in items if isinstance(one, ForeignFile)] == ["a.md"]
    assert [one.where for one in items if isinstance(one, Problem)] == ["closed.md", "shut"]
