"""The protocol of the catalogue: what others may ask of it, and what stays within its SQLite class."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.index.catalogue import Catalogue, IndexDamaged, WritableCatalogue
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.catalogue.sqlite_catalogue import SqliteCatalogue
from cortex.index.note_summary import summarize_note
from cortex.index.state_file import open_catalogue

PACKAGE = Path(inspect.getfile(Catalogue)).parents[2]


def public_names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def attributes_used_outside() -> Iterator[tuple[Path, ast.Attribute]]:
    """What code outside of the catalogue's room uses, of whatever object."""
    for path in PACKAGE.rglob("*.py"):
        if PACKAGE / "index" / "catalogue" not in path.parents:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute):
                    yield path, node


def test_each_method_is_declared_as_it_is_kept_and_used() -> None:
    declared = public_names(WritableCatalogue)
    assert len(declared) > 40
    for name in declared - {"folder"}:
        method = getattr(WritableCatalogue, name)
        assert inspect.getdoc(method), name
        if callable(method):
            kept = getattr(SqliteCatalogue, name)
            assert inspect.signature(method) == inspect.signature(kept), name
    assert declared <= {node.attr for _, node in attributes_used_outside()}


def test_no_sql_comes_out_and_none_goes_in() -> None:
    beyond = public_names(SqliteCatalogue) - public_names(WritableCatalogue)
    assert {"select", "rows"} <= beyond
    used = [
        (path.name, node.attr)
        for path, node in attributes_used_outside()
        if node.attr in beyond and ast.unparse(node.value).endswith("atalogue")
    ]
    assert used == [("state_file.py", "create")]


def test_what_cannot_be_read_is_told_as_damage_alone(tmp_path) -> None:
    with open_catalogue(str(tmp_path), "new") as catalogue:
        for number in range(200):
            catalogue.put_note(summarize_note(f"{number}.md", b"# A title\n", 0))
        catalogue.commit()
    with open_catalogue(str(tmp_path)) as catalogue:
        assert catalogue.count(NoteFilter()) == 200
        catalogue.check_integrity()
        with pytest.raises(IndexDamaged):
            catalogue.queue_addition(1)  # it was opened to be read
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    for read in (
        lambda catalogue: catalogue.find(NoteFilter()),
        lambda catalogue: catalogue.project_totals(),
        lambda catalogue: catalogue.check_integrity(),
    ):
        with open_catalogue(str(tmp_path)) as catalogue, pytest.raises(IndexDamaged):
            read(catalogue)
    file.unlink()
    with pytest.raises(IndexDamaged):
        open_catalogue(str(tmp_path))
